/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/db.h - one month's file, open for writing: schema, pragmas, prepared
 * statements, dictionary.  One thread at a time.
 *
 * Functions return 0 or a negative errno that says what to do about it:
 *   -EAGAIN, -ENOSPC, -EIO, -ENOMEM  not now
 *   -EUCLEAN  the file is damaged: set it aside
 *   -ENOTSUP  the file is not ours to write (newer schema, another program's)
 *   -EINVAL   these rows will never go in
 * and leave the reason in the struct db_why that the file was opened with.
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
	char text[1024]; /* for people: may be cut */
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
	DB_FACET_ADD,
	DB_RECORD_ADD,
	DB_ROLLUP_RUN,
	DB_ROLLUP_DAY,
	DB_IMAGE_FIND,
	DB_IMAGE_PLACE,
	DB_IMAGE_REMOVE,
	DB_FACETS_MOVE,
	DB_FACETS_REMOVE,
	DB_RUN_ORIGIN,
	DB_COMMANDS_FIND,
	DB_COMMANDS_ADD,
	DB_PROC_ADD, /* from here: text made from the column tables (columns.h) */
	DB_RUN_PUT,
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
	bool closed;    /* the dictionary takes no new strings: each is "" */
	uint64_t added; /* bytes of the strings that the dictionary has been given since the file was opened */
	bool by_upid;  /* has the index proc_by_upid: files that an earlier version began lack it */
	bool commands; /* has runs that `skep run` recorded: processes may come from two collectors */
};

/* create: make it when it is missing; else -ENOENT. */
int db_open(const char *path, const struct db_options *, bool create, struct db_why *, struct db **ret);
struct db *db_close(struct db *);
/* The name still leads to the file that is open. */
bool db_in_place(const struct db *);

/* Remembers the reason; rc: SQLite's. */
int db_error(struct db *, int rc, const char *what);
int db_statement(struct db *, enum db_statement, sqlite3_stmt **ret);
/* s as TEXT, UTF-8 (skep/utf8.h): borrowed until the statement has run. */
int db_bind_text(struct db *, sqlite3_stmt *, int at, const char *s, size_t n);
/* Run a bound statement that returns no row; resets it and its bindings. */
int db_run_statement(struct db *, sqlite3_stmt *, const char *what);

int db_begin(struct db *);
int db_commit(struct db *);
void db_rollback(struct db *);

int db_seen(struct db *, const char *key, bool *ret_seen);
int db_seen_add(struct db *, const char *key, int64_t time_ns);
/* The dictionary's number of a string, added when it is new. */
int db_dict(struct db *, const char *s, size_t n, int64_t *ret_id);
/* The row of a run; -ENOENT: none. */
int db_run_find(struct db *, const char *s, size_t n, int64_t *ret_id);
/* A run that `skep run` recorded is in the file from now on. */
int db_commands(struct db *);
/* The row of a run; a stub is added where there is none. */
int db_run(struct db *, const char *s, size_t n, int64_t start_ns, int64_t *ret_id);

#endif
