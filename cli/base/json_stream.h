/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/json_stream.h - writes JSON member by member, laid out as json_out_write() does.  A report of 100,000
 * processes has six million members: as jansson's values they took 30 us a process.
 */
#ifndef SKEP_CLI_BASE_JSON_STREAM_H
#define SKEP_CLI_BASE_JSON_STREAM_H

#include <jansson.h>
#include <skep/sink/jsonw.h>
#include <stdbool.h>
#include <stdio.h>

/* Zeroed but for `out`. After the first failure the functions write nothing. */
struct json_stream {
	FILE *out;
	struct jsonw text; /* not written yet */
	struct json_columns *columns; /* NULL: none are open */
	int depth;
	bool begun; /* the innermost object or array has a member */
	int err;
};

/* key: NULL in an array and of the outermost value. */
void json_stream_open(struct json_stream *, const char *key, char bracket);
void json_stream_close(struct json_stream *, char bracket);
/*
 * Between these two, objects become rows: {"a": 1, "b": 2}, {"a": 3, "b": 4} is written as {"a": [1, 3], "b": [2, 4]}.
 * All of them have the same keys in the same order, which are string literals; else -EINVAL.  Of a run of 30,000
 * processes and 10,000 tasks the text has 38 MB instead of 77, packed by gzip 2.0 MB instead of 4.8.
 */
void json_stream_columns_open(struct json_stream *, const char *key);
void json_stream_columns_close(struct json_stream *);
void json_stream_null(struct json_stream *, const char *key);
void json_stream_bool(struct json_stream *, const char *key, bool);
void json_stream_number(struct json_stream *, const char *key, uint64_t); /* INT64_MAX for more */
void json_stream_signed(struct json_stream *, const char *key, int64_t);
void json_stream_real(struct json_stream *, const char *key, double);
/* NULL: null. Bytes that are not UTF-8 become U+FFFD. */
void json_stream_string(struct json_stream *, const char *key, const char *);
void json_stream_time(struct json_stream *, const char *key, uint64_t realtime_ns); /* json_out_time() */
/* Writes any value, and owns its reference; NULL: -ENOMEM. */
void json_stream_value(struct json_stream *, const char *key, json_t *);
/* Writes the rest of the buffer and a newline, and frees the buffer. 0 or the -errno of the first failure. */
int json_stream_end(struct json_stream *);

#endif
