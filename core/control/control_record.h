/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_record.h - records and other values as JSON, for the control socket: by
 * field table, with the same keys and forms that the file sink writes.
 */
#ifndef SKEP_CORE_CONTROL_RECORD_H
#define SKEP_CORE_CONTROL_RECORD_H

#include <jansson.h>
#include <skep/record.h>

/* All return new references, NULL when memory runs out. */

/* Replaces bytes that are not UTF-8 by U+FFFD (skep/utf8.h). ptr NULL is "". */
json_t *control_json_text(const char *ptr, size_t len);
json_t *control_json_string(const char *);         /* control_json_text of a string that ends with NUL */
json_t *control_json_string_or_null(const char *); /* null for NULL and for an empty string */
/* Clamps the number to 2^63 - 1: JSON readers disagree about larger numbers. */
json_t *control_json_number(uint64_t);
/* RFC 3339 with ns, UTC; null where boot_ns is 0. */
json_t *control_json_time(uint64_t boot_ns, int64_t realtime_offset_ns);
/* What skep/sink/record_json.h writes of it, with the envelope. realtime_offset_ns: of records without a run. */
json_t *control_record(const struct skep_record *, const char *boot_id, int64_t realtime_offset_ns);
/* The stream's name and its fields' names, types, semantics, units and help. */
json_t *control_stream(const struct skep_stream *);
const char *control_semantics_name(uint32_t semantics); /* "attribute" "gauge" "delta" "cumulative" */

#endif
