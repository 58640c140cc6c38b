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
	char *path;
	size_t n_months;
	unsigned *months; /* (year * 12 + month (0..11)) * LAKE_PARTS + part of the month, newest first */
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
	char *path;
	struct lake_why *why; /* borrowed */
};

/*
 * Opens a file and begins a read transaction: all queries see the same state. -ENOENT: the file was removed since
 * lake_open.
 */
int lake_file_open(const struct lake *, unsigned number, struct lake_why *, struct lake_file *ret);
void lake_file_close(struct lake_file *);
int lake_file_error(struct lake_file *, int rc); /* writes the reason to why; returns -errno */
int lake_file_prepare(struct lake_file *, const char *sql, sqlite3_stmt **ret);

/* The run columns in the order that lake_run_read reads them. */
#define LAKE_RUN_COLUMNS                                                                                            \
	"r.id, r.run, r.name, r.pipeline, r.host, r.boot_id, r.kernel, r.version, r.state, r.cwd, r.argv, "         \
	"r.root_pid, r.root_start_boot_ns, r.uid, r.start_ns, r.end_ns, coalesce(r.exit_code, -1), r.signal, "      \
	"r.cpus, r.interval_ns, r.rss_peak_bytes, r.processes_seen, r.rusage_cpu_ns, r.lost_kernel, r.lost_queue, " \
	"r.lost_spool, r.lost_sink"
/* Reads a run from LAKE_RUN_COLUMNS; its strings are in the arena. 0 or -ENOMEM. */
int lake_run_read(struct lake_file *, sqlite3_stmt *, struct arena *, int64_t *ret_row, struct lake_run *ret);
/* Fills in the totals from the rollup of the run in this row. 0 or -errno. */
int lake_run_sums(struct lake_file *, int64_t row, struct lake_run *);
/* Finds the month and row of the run that `which` names; see lake_report. */
int lake_run_find(struct lake *, const char *which, struct lake_why *, unsigned *ret_month, int64_t *ret_row);

/* Copies a text column to the arena; "" for NULL. NULL: no memory. */
const char *lake_text(sqlite3_stmt *, int column, struct arena *);
/* Copies a column "a\0b\0" to the arena as a NULL-terminated list. NULL: no memory. */
const char *const *lake_list(sqlite3_stmt *, int column, struct arena *);
const char *lake_upid(struct arena *, const char *boot_id, uint64_t pid, uint64_t start_boot_ns);

#endif
