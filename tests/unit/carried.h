/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/carried.h - the table "The same field in each sink" of docs/reference/records.md: what each sink must carry,
 * and under which name.  The page is what the tests of the sinks read, so it cannot differ from the code.
 */
#ifndef SKEP_TESTS_CARRIED_H
#define SKEP_TESTS_CARRIED_H

#include <skep/mock.h>

#include "core/process/records.h"

/* A field of a stream.  Names are empty where the sink does not carry it. */
struct carried {
	const struct skep_stream *stream;
	const struct skep_field *field;
	char otlp[64], clickhouse[64], lake[64], prometheus[64];
	bool facet;      /* the lake has it in proc_facet */
	char value[96];  /* what carried_fill() sets */
	double number;   /* likewise, of a field that is no text */
};

/* All of them.  Fails the test that calls it when the page has no table, or names a field that no stream has. */
size_t carried_read(const struct carried **ret);

union carried_record {
	struct record_process process;
	struct record_task task;
	struct record_run run;
};
extern const struct skep_stream *const carried_streams[3];
/* A record of the stream with a value of its own in each field of the table, and an end, a failure, a time. */
void carried_fill(const struct skep_stream *, union carried_record *ret);
/* One batch with a record of each stream; records: three, which live as long as the batch. */
struct skep_mock_batch *carried_batch(union carried_record *records);
/* Whether the line, a JSON object, has each field of its stream under the field's own name. */
void carried_check_json(const char *line, size_t len);

#endif
