/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/import.h - reads what `skep lake export --what all` wrote, a run at a time, and writes it into a lake.
 */
#ifndef SKEP_CLI_LAKE_IMPORT_H
#define SKEP_CLI_LAKE_IMPORT_H

#include "cli/lake/export_columns.h"
#include "lake/arena.h"

/* ---- import_rows.c ---------------------------------------------------------------- */

/* A run that is being read; zeroed at first.  Of the report it fills in what rows have; other texts are NULL. */
struct import_run {
	struct lake_report report;
	struct arena arena;
	size_t room[EXPORT_KINDS];
	size_t following, wanted; /* rows that are missing; of the run's row */
};

struct import_error {
	int column; /* in characters, 1-based; 0: the line as a whole */
	char text[512]; /* the value and the remedy */
};

/* Reads a line. 0, and the run is complete when `following` is 0; -EINVAL with *ret_error; -ENOMEM. */
int import_row(struct import_run *, const char *line, size_t len, struct import_error *ret_error);
/* Forgets the run. */
void import_run_free(struct import_run *);
/* Reads the text of a upid. 0 or -EINVAL. */
struct skep_upid;
int import_upid(const char *text, struct skep_upid *ret);

/* ---- import_sink.c ---------------------------------------------------------------- */

struct import_sink;

/* Starts the sink "lake" on a folder, which it makes if it is missing. 0, or an exit status after a message. */
int import_sink_new(const char *folder, struct import_sink **ret);
/* Writes a run, in one transaction. 0; or -errno with a message in why. */
int import_sink_write(struct import_sink *, struct import_run *, char *why, size_t size);
/* Stops the sink. Returns NULL. */
struct import_sink *import_sink_free(struct import_sink *);

#endif
