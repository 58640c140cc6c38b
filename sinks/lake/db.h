/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/db.h - one month's file, open for writing: schema, pragmas, prepared statements, dictionary.  Only one
 * thread may use a file at a time.
 *
 * Functions return 0 or a negative errno that says what the caller can do:
 *   -EAGAIN, -ENOSPC, -EIO, -ENOMEM  try again later
 *   -EUCLEAN  the file is damaged: set it aside
 *   -ENOTSUP  a skep of another version or another program owns the file: do not write to it
 *   -EINVAL   SQLite will never accept these rows: give them up
 * and leave the reason in the struct db_why that the caller gave to db_open().
 */
#ifndef SKEP_SINKS_LAKE_DB_H
#define SKEP_SINKS_LAKE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sinks/lake/idcache.h"

#define DB_SCHEMA_VERSION 1
#define DB_APPLICATION_ID 0x534b4550 /* "SKEP" */

struct db_options {
	bool full_sync;
	int busy_ms;
};

struct db_why {
	char text[1024]; /* for the log; may be cut */
};

enum db_statement {
	DB_BEGIN,
	DB_COMMIT,
	DB_DICT_FIND,
	DB_DICT_ADD,
	DB_RUN_FIND,
	DB_RUN_STUB,
	DB_SEEN_FIND,
	DB_SEEN_ADD,
	DB_SEEN_PRUNE,
	DB_SUMMED_ADD,
	DB_FACET_ADD,
	DB_RECORD_ADD,
	DB_ROLLUP_TOOL,
	DB_ROLLUP_RUN,
	DB_ROLLUP_DAY,
	DB_USAGE_ADD,
	DB_ARGV_ADD,
	DB_KIND_ADD, /* from here on the column tables (columns.h) give the text */
	DB_PROC_ADD,
	DB_RUN_PUT,
	DB_TASK_PUT,
	DB_SAMPLE_ADD,
	DB_LOSS_ADD,
	DB_STATEMENTS,
};

struct db {
	sqlite3 *sql;
	char *path;
	dev_t dev;
	ino_t ino;
	struct db_why *why; /* borrowed */
	sqlite3_stmt *statement[DB_STATEMENTS];
	struct idcache *dict, *runs;
	struct idcache *kinds, *argvs; /* of proc_kind and proc_argv: procrow.c */
	bool closed;    /* the dictionary accepts no new strings and returns the id of "" for them */
	uint64_t added; /* bytes of the strings added to the dictionary since db_open() */
};

/* create: create a missing file; without it a missing file is -ENOENT. */
int db_open(const char *path, const struct db_options *, bool create, struct db_why *, struct db **ret);
struct db *db_close(struct db *);
/* True while the path still leads to the open file; false after a removal or rename. */
bool db_in_place(const struct db *);

/* Stores the reason in the db_why and returns the errno. rc: SQLite's result code. */
int db_error(struct db *, int rc, const char *what);
int db_statement(struct db *, enum db_statement, sqlite3_stmt **ret);
/* Binds s as TEXT, cleaned to UTF-8 (skep/utf8.h); s must live until the statement has run. */
int db_bind_text(struct db *, sqlite3_stmt *, int at, const char *s, size_t n);
/* Runs a bound statement that returns no row, and resets it. */
int db_run_statement(struct db *, sqlite3_stmt *, const char *what);

int db_begin(struct db *);
int db_commit(struct db *);
void db_rollback(struct db *);

int db_seen(struct db *, const char *key, bool *ret_seen);
int db_seen_add(struct db *, const char *key, int64_t time_ns);
/* Notes in the file that it has n records in its sums alone. */
int db_summed_add(struct db *, uint32_t n);
/* Returns the dictionary's id of a string, and adds a new string. */
int db_dict(struct db *, const char *s, size_t n, int64_t *ret_id);
/* The same for a place (idcache.h). */
int db_dict_at(struct db *, size_t place, const char *s, size_t n, int64_t *ret_id);
/* Returns the row id of a run; -ENOENT: no such run. */
int db_run_find(struct db *, const char *s, size_t n, int64_t *ret_id);
/* Returns the row id of a run, and adds a stub row for an unknown run. */
int db_run(struct db *, const char *s, size_t n, int64_t start_ns, int64_t *ret_id);

#endif
