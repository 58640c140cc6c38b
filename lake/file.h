/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/file.h - one month's file open for reading, and functions that all queries share.  Internal to lake/.
 */
#ifndef SKEP_LAKE_FILE_H
#define SKEP_LAKE_FILE_H

#include <sqlite3.h>

#include "lake/arena.h"
#include "lake/lake.h"

#define LAKE_SCHEMA_VERSION 1
#define LAKE_APPLICATION_ID 0x534b4550 /* "SKEP" */

#define LAKE_PARTS 1000u /* sinks/lake/files.h */

struct lake {
	char *path; /* of a copy: words for messages; of a server: its address */
	struct server *server; /* NULL: files; else one month stands for all: 0 */
	int fd;     /* of a copy (lake/copy.h); -1: a folder */
	size_t n_months;
	unsigned *months; /* (year * 12 + month (0..11)) * LAKE_PARTS + part of the month, newest first */
	size_t n_unread;
	char **unread; /* lake_unread() */
	bool saturated; /* lake_is_saturated() */
	bool few_arguments; /* lake_few_arguments() */
	struct lake_batch *batch; /* of a server: while lake_reports() reads its runs; else NULL */
};

/* The caller's buffer for the reason of a failure. */
struct lake_why {
	char *text;
	size_t size;
};

void lake_say(struct lake_why *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
unsigned lake_month(int64_t realtime_ns);

struct lake_file {
	sqlite3 *sql;
	struct server *server; /* borrowed; NULL: a file */
	char *path;
	struct lake_why *why; /* borrowed */
	bool copy;            /* a copy (lake/copy.h): its processes are in proc_flat */
	bool *saturated;      /* of its lake */
	struct lake_batch *batch; /* as of its lake */
};

/* The caller frees it; NULL: no memory. */
char *lake_file_path(const struct lake *, unsigned number);
/*
 * Opens a file and begins a read transaction: all queries see the same state. -ENOENT: the file was removed since
 * lake_open, or is empty.
 */
int lake_file_open(struct lake *, unsigned number, struct lake_why *, struct lake_file *ret);
void lake_file_close(struct lake_file *);
/*
 * Lets a question go on without a file that it could not read: notes the message in `why` for lake_unread().  err: what
 * reading the file returned.  0, or err if the question must end: memory ran out, or the lake is a copy
 * or a server.
 */
int lake_skip(struct lake *, int err, const struct lake_why *);
/*
 * Opens each file, the newest first, and calls read, which returns 0; 1: the question needs no more files; or -errno.
 * A file that cannot be read is left out, if lake_skip() allows it.  0 or -errno.  ret_unread: NULL, or the error of
 * the last file if none could be read, else 0.
 */
int lake_each_file(struct lake *, struct lake_why *, int (*read)(struct lake_file *, void *arg), void *arg,
		   int *ret_unread);
/*
 * Calls read for each file that may have records of that time (ns, both included) and of no run, the oldest first.
 * `open` is the file of number `number`, which is open already.  A file that cannot be read is left out, if
 * lake_skip() allows it.  0 or -errno.
 */
int lake_each_of_time(struct lake *, struct lake_file *open, unsigned number, uint64_t from, uint64_t to,
		      int (*read)(struct lake_file *, void *arg), void *arg);
/* SQLite's VFS that opens "/proc/self/fd/N" as it stands: the default one resolves the link to a name, and the file has none. */
const char *lake_vfs(void);
int lake_file_error(struct lake_file *, int rc); /* writes the reason to why; returns -errno */
int lake_file_prepare(struct lake_file *, const char *sql, sqlite3_stmt **ret);

/* Where a run is. */
struct lake_key {
	unsigned month;            /* the number of its file */
	int64_t row;               /* of the table run: SQLite */
	const char *run, *boot_id; /* ClickHouse; in the arena of lake_run_find */
	size_t nth;                /* in the lake's batch, from 1 on */
};

/* Finds the run that `which` names; see lake_report.  uid: only among this user's; NULL: any. */
int lake_run_find(struct lake *, const char *which, const uint64_t *uid, struct lake_why *, struct arena *,
		  struct lake_key *ret);

/* tasks.c: reads the run's task records; 0 or -errno. */
int lake_tasks_read(struct lake_file *, const struct lake_key *, struct arena *, struct lake_report *);

void lake_totals_add(struct lake_totals *to, const struct lake_totals *);
bool lake_is_image(const struct lake_process *);
bool lake_has_failed(const struct lake_process *);

/* check.c: SQLite's check of all pages. *ret_problem: NULL, or the damage in words; the caller frees it. 0, -errno. */
int lake_check_pages(struct lake_file *, char **ret_problem);

/* Copies a text column to the arena; "" for NULL. NULL: no memory. */
const char *lake_text(sqlite3_stmt *, int column, struct arena *);
/* Copies "a\0b\0" to the arena as a NULL-terminated list. NULL: no memory. */
const char *const *lake_list(const char *bytes, size_t n, struct arena *);
const char *lake_upid(struct arena *, const char *boot_id, uint64_t pid, uint64_t start_boot_ns);

#endif
