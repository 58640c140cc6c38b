/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/columns.h - maps the fields of each stream to the columns of its table.  The tables in columns.c are the
 * whole mapping; the INSERT statements are built from them.
 */
#ifndef SKEP_SINKS_LAKE_COLUMNS_H
#define SKEP_SINKS_LAKE_COLUMNS_H

#include <skep/record.h>

#include "sinks/lake/db.h"
#include "sinks/lake/usage.h"

enum column_how {
	COL_NUMBER = 1, /* numeric or boolean field */
	COL_TIME,       /* time field, converted to realtime */
	COL_TEXT,       /* string field, unchanged */
	COL_DICT,       /* string field, stored as an id of dict; without the field, the context of the column's name */
	COL_LIST,       /* list field, unchanged */
	COL_TOTAL,      /* length of a list or string before the probe cut it */
	COL_UPID_PID,   /* the pid of an upid field */
	COL_UPID_START,
	COL_RECORD_PID, /* the pid of the record's own upid */
	COL_RECORD_START,
	COL_RECORD_TIME,
	COL_BOOT,    /* boot id of the machine, as an id of dict */
	COL_RUN,     /* row id of the run */
	COL_NOWHERE, /* a known field without a column, as other rows hold its value */
	COL_MADE,    /* procrow.c makes the value */
};

/* Which table of a process record has the column. */
enum column_part {
	IN_ROW,
	IN_KIND, /* proc_kind */
	IN_ARGV, /* proc_argv */
};

struct column {
	const char *name;  /* NULL with COL_NOWHERE */
	const char *field; /* NULL: not from a field */
	enum column_how how;
	enum column_part part;
};

struct table {
	const char *stream;
	const char *name;
	const char *after; /* SQL after VALUES: "" or an ON CONFLICT clause, where "%" stands for the assignments */
	enum db_statement statement;
	size_t n;
	const struct column *columns;
};

/* Every stream with a table of its own; records of other streams go to the table `record`. */
extern const struct table tables[];
extern const size_t tables_n;
#define COLUMNS_MOST 64
/* The table of process records, and the columns by which procrow.c calculates; the other columns follow. */
extern const struct table *const proc_table;
#define PROC_COLUMNS_MOST 64 /* struct procrow has a bit for each, a cache of ids a place (IDCACHE_PLACES) */
enum proc_column {
	PROC_RUN,
	PROC_KIND,
	PROC_CLOCK,
	PROC_ARGV,
	PROC_ARGV_TOTAL,
	PROC_TASK,
	PROC_TASK_ID,
	PROC_STEP,
	PROC_SCOPES,
	PROC_TOOL,
	PROC_BOOT,
	PROC_START_BOOT,
	PROC_PARENT_START_BOOT,
	PROC_START,
	PROC_END,
	PROC_CPU,
	PROC_USER,
	PROC_SYSTEM,
	PROC_RUN_COUNT,
	PROC_VOLUNTARY,
	PROC_INVOLUNTARY,
	PROC_RSS_PEAK,
	PROC_MAXRSS,
	PROC_OTHERS,
	PROC_NONE = PROC_OTHERS,
};

/* Builds the INSERT statement of a table; free it with sqlite3_free(). NULL: no memory. */
char *columns_insert(const struct table *);
/* The same for proc_kind. */
char *columns_insert_kind(void);

/* The values of a proc record that the rollups sum. */
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

/* The fields of a stream, mapped to the columns of its table once. */
struct binding {
	const struct skep_stream *stream;
	const struct table *table;                    /* NULL: `record` */
	const struct skep_field *field[COLUMNS_MOST]; /* by column; NULL: no field of the stream fits */
	const struct skep_field *run;
	const struct skep_field *start; /* start_ns of a table that has a run */
	const struct skep_field *state, *pipeline;
	const struct skep_field *rolled[ROLLED_NUMBERS];
	struct usage_stream usage;
	size_t n_extra;
	const struct skep_field **extra; /* the fields that no column accepts */
};

/* Returns 0 or -ENOMEM. */
int binding_new(const struct skep_stream *, struct binding **ret);
struct binding *binding_free(struct binding *);

#endif
