/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/record_json.h - any record of any stream as one JSON object.
 *
 * Keys: "stream", "time", "upid" (the envelope), then the fields in table order, then
 * what the host knows about the process (run, pipeline, task, tool, container) where
 * the stream has no field of that name.  A field named like an envelope key is written
 * as "<stream>.<field>"; an "upid" field that repeats the envelope's is left out.
 */
#ifndef SKEP_SINK_RECORD_JSON_H
#define SKEP_SINK_RECORD_JSON_H

#include <skep/record.h>
#include <skep/sink/jsonw.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECORD_JSON_ENVELOPE 1u
/* Clamps fields of type SKEP_T_U64 to 2^63 - 1: jansson and languages without unsigned integers read no larger one. */
#define RECORD_JSON_INT64    2u

void skep_record_json(struct jsonw *, const struct skep_record *, const char *boot_id, int64_t realtime_offset_ns,
		      unsigned flags);
/* One field's value. */
void skep_record_json_value(struct jsonw *, const struct skep_field *, const void *data, const char *boot_id,
			    int64_t realtime_offset_ns);

#ifdef __cplusplus
}
#endif

#endif
