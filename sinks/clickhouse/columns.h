/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/columns.h - which field of which stream goes into which column of which table
 * of lake/clickhouse.sql, and as what type: the whole mapping.
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
	CH_TEXT, /* String or LowCardinality(String): the same bytes */
	CH_LIST, /* Array(String) */
};

enum column_from {
	FROM_FIELD = 1,   /* the field of that name, turned into the column's type; a time into realtime */
	FROM_TOTAL,       /* of that list or string: its length before it was cut */
	FROM_UPID_PID,    /* of that upid field, its halves */
	FROM_UPID_START,
	FROM_IDENTITY,    /* the table's uid */
	FROM_HOST,
	FROM_BOOT,
	FROM_STREAM,      /* of the record itself from here on */
	FROM_RECORD_PID,
	FROM_RECORD_START,
	FROM_RECORD_TIME,
	FROM_RECORD_UPID, /* as text */
	FROM_EXTRA,       /* JSON of what no column takes, zero and empty left out */
	FROM_JSON,        /* JSON of all fields */
	FROM_REV,         /* larger for a record that supersedes another one */
};

struct column {
	const char *name;
	const char *field; /* NULL: not from a field */
	uint8_t type, from;
};

enum table_identity {
	IDENTITY_CONTENT = 0, /* a record that is sent again is the same, byte for byte */
	IDENTITY_IMAGE,       /* boot id, pid, start, image */
	IDENTITY_RUN,         /* boot id, the run's id: its end takes the place of its begin */
};

struct table {
	const char *stream; /* NULL: any other */
	const char *name;
	enum table_identity identity;
	size_t n;
	const struct column *columns; /* uid is the first */
	const char *const *nowhere;   /* fields that other columns say; NULL-terminated, NULL: none */
};

enum { TABLES = 5 };
extern const struct table tables[TABLES];
#define COLUMNS_MOST 64

/* A stream's fields, found once for its table. */
struct binding {
	const struct skep_stream *stream;
	unsigned table;
	const struct skep_field *field[COLUMNS_MOST]; /* by column; NULL: the stream has none that fits */
	const struct skep_field *image, *run, *end;   /* for identities and revisions */
	size_t n_extra;
	const struct skep_field **extra; /* what no column takes */
	struct binding *next;
};

int binding_new(const struct skep_stream *, struct binding **ret); /* 0 or -ENOMEM */
struct binding *binding_free(struct binding *);                   /* with those after it; returns NULL */

/* "db.proc (uid, host, ...)"; free() it. NULL: no memory. */
char *table_target(const struct table *, const char *database);

#endif
