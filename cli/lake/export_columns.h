/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export_columns.h - the rows that `skep lake export` writes: their columns, the same
 * in each format.  docs/reference/export.md has them as tables.
 */
#ifndef SKEP_CLI_LAKE_EXPORT_COLUMNS_H
#define SKEP_CLI_LAKE_EXPORT_COLUMNS_H

#include <stddef.h>

#include "lake/lake.h"

enum export_type {
	EXPORT_TEXT,   /* const char *; NULL or "": not known */
	EXPORT_NUMBER, /* uint64_t */
	EXPORT_KNOWN,  /* uint64_t, 0: not known */
	EXPORT_TIME,   /* uint64_t, ns since 1970, 0: not known */
	EXPORT_CODE,   /* int64_t, -1: none */
	EXPORT_SIGNED, /* int64_t */
	EXPORT_REAL,   /* double, 0: not known */
	EXPORT_BOOL,
	EXPORT_NET,    /* uint64_t in lake_process.totals, known if net_known */
	EXPORT_LIST,   /* const char *const *, NULL-terminated */
	EXPORT_FACETS, /* struct lake_process: its facets, by name */
};

enum export_of { EXPORT_OF_ROW, EXPORT_OF_KIND, EXPORT_OF_CONTAINER }; /* of a process: its kind, its container */

struct export_column {
	const char *name;
	enum export_type type;
	enum export_of of;
	size_t offset; /* in the struct of the row, or of that part of it */
};

/* A kind of rows. Each but a run begins with the column "run", which its struct lacks. */
struct export_kind {
	const char *name; /* of --what, and of the key "row" */
	const struct export_column *columns; /* ends with one without a name */
	size_t size;
	size_t rows, n; /* offsets of the rows in struct lake_report; of a run: 0 */
};

/* In the order in which they are written after each other. */
enum export_row { EXPORT_RUNS, EXPORT_TASKS, EXPORT_PROCESSES, EXPORT_SAMPLES, EXPORT_LEDGER, EXPORT_KINDS };
extern const struct export_kind export_kinds[EXPORT_KINDS];

/* Where the row, a struct of the kind that has this column, has the column's value. */
const void *export_at(const struct export_column *, const void *row);
const struct export_kind *export_kind_of(const char *name); /* NULL: no such kind */

#endif
