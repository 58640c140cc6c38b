/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/columns.h - which field of which stream goes into which column of which
 * table.  The tables of columns.c are the whole mapping; statements are made from them.
 */
#ifndef SKEP_SINKS_LAKE_COLUMNS_H
#define SKEP_SINKS_LAKE_COLUMNS_H

#include <skep/record.h>

#include "sinks/lake/db.h"

enum column_how {
	COL_NUMBER = 1, /* numeric or boolean field */
	COL_TIME,       /* time field, turned into realtime */
	COL_TEXT,       /* string field, as it is */
	COL_DICT,       /* string field, as a number of dict; context of the same name where the stream has none */
	COL_LIST,       /* list field, as it is */
	COL_TOTAL,      /* of that list or string: its length before it was cut */
	COL_UPID_PID,   /* upid field: its two halves */
	COL_UPID_START,
	COL_RECORD_PID, /* the record's own upid */
	COL_RECORD_START,
	COL_RECORD_TIME,
	COL_BOOT,    /* dict: the host's boot id */
	COL_RUN,     /* row of the run */
	COL_NOWHERE, /* known, but not a column: kept by other rows */
};

struct column {
	const char *name;  /* NULL with COL_NOWHERE */
	const char *field; /* NULL: not from a field */
	enum column_how how;
};

struct table {
	const char *stream;
	const char *name;
	const char *after; /* what follows the VALUES: "" or the ON CONFLICT part; "%" stands for the assignments */
	enum db_statement statement;
	size_t n;
	const struct column *columns;
};

/* Every stream that has a table of its own; others go to `record`. */
extern const struct table tables[];
extern const size_t tables_n;
#define COLUMNS_MOST 64

/* The INSERT of a table; NULL: no memory. sqlite3_free() it. */
char *columns_insert(const struct table *);

/* What the rollups read from a proc record; DB_IMAGE_FIND reads the same from its row, in this order. */
enum rolled {
	ROLLED_WRAPPER,
	ROLLED_EXECED,
	ROLLED_LAST,
	ROLLED_START,
	ROLLED_END,
	ROLLED_EXIT_CODE,
	ROLLED_SIGNAL,
	ROLLED_CPU,
	ROLLED_RUN_DELAY,
	ROLLED_RCHAR,
	ROLLED_WCHAR,
	ROLLED_READ,
	ROLLED_WRITE,
	ROLLED_RSS_PEAK,
	ROLLED_NUMBERS,
};

/* A stream's fields, found once for its table. */
struct binding {
	const struct skep_stream *stream;
	const struct table *table;                    /* NULL: `record` */
	const struct skep_field *field[COLUMNS_MOST]; /* by column; NULL: the stream has none that fits */
	const struct skep_field *run;
	const struct skep_field *start; /* start_ns of a table that has a run */
	const struct skep_field *state, *pipeline, *image, *origin, *uid;
	const struct skep_field *rolled[ROLLED_NUMBERS];
	size_t n_extra;
	const struct skep_field **extra; /* what no column takes */
};

/* 0 or -ENOMEM. */
int binding_new(const struct skep_stream *, struct binding **ret);
struct binding *binding_free(struct binding *);

#endif
