/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/columns.h - maps the fields of each stream to typed columns of the tables of lake/clickhouse.sql.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_COLUMNS_H
#define SKEP_SINKS_CLICKHOUSE_COLUMNS_H

#include <skep/record.h>

enum column_type {
	CH_UUID = 1,
	CH_U8,
	CH_U32,
	CH_U64,
	CH_I32,
	CH_F64,
	CH_TEXT, /* String or LowCardinality(String): the same bytes */
	CH_LIST, /* Array(String) */
};

enum column_from {
	FROM_FIELD = 1,   /* the field of that name, converted to the column's type; a time becomes realtime */
	FROM_TOTAL,       /* length of a list or string before the probe cut it */
	FROM_UPID_PID,    /* the pid of an upid field */
	FROM_UPID_START,
	FROM_IDENTITY,    /* the table's uid */
	FROM_HOST,
	FROM_BOOT,
	FROM_STREAM,      /* from here on values of the record itself */
	FROM_RECORD_PID,
	FROM_RECORD_START,
	FROM_RECORD_TIME,
	FROM_RECORD_UPID, /* as text */
	FROM_EXTRA,       /* JSON of the fields that no column accepts, without zero and empty values */
	FROM_JSON,        /* JSON of all fields */
	FROM_REV,         /* larger for a record that replaces another one */
};

struct column {
	const char *name;
	const char *field; /* NULL: not from a field */
	uint8_t type, from;
};

enum table_identity {
	IDENTITY_CONTENT = 0, /* hash of the row's bytes: a repeated record is identical */
	IDENTITY_IMAGE,       /* boot id, pid, start, image */
	IDENTITY_RUN,         /* boot id and the run's id: the end record replaces the begin record */
	IDENTITY_TASK,        /* boot id, the run's id and the task's: a later record completes an earlier one */
};

struct table {
	const char *stream; /* NULL: all other streams */
	const char *name;
	enum table_identity identity;
	size_t n;
	const struct column *columns; /* the first column is uid */
	const char *const *nowhere;   /* fields whose value other columns hold; NULL-terminated, NULL: none */
};

enum { TABLES = 6 };
extern const struct table tables[TABLES];
#define COLUMNS_MOST 72

/* The fields of a stream, mapped to the columns of its table once. */
struct binding {
	const struct skep_stream *stream;
	unsigned table;
	const struct skep_field *field[COLUMNS_MOST]; /* by column; NULL: no field of the stream fits */
	const struct skep_field *image, *run, *task_id, *end; /* for identities and revisions */
	size_t n_extra;
	const struct skep_field **extra; /* the fields that no column accepts */
	struct binding *next;
};

int binding_new(const struct skep_stream *, struct binding **ret); /* 0 or -ENOMEM */
struct binding *binding_free(struct binding *);                   /* frees the whole list; returns NULL */

/* Returns "db.proc (uid, host, ...)"; the caller frees it. NULL: no memory. */
char *table_target(const struct table *, const char *database);

#endif
