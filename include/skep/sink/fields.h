/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/fields.h - a record's values by its field table, for sinks that know
 * streams by name only.  A field that does not fit its record is as good as absent:
 * a plugin's broken table must not make a sink read beyond the record.
 */
#ifndef SKEP_SINK_FIELDS_H
#define SKEP_SINK_FIELDS_H

#include <skep/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of fields that the table can be asked for; 0 for a table this code cannot read. */
uint32_t skep_fields_count(const struct skep_stream *);
/* Field i, or NULL when it has no name, an unknown type, or lies outside the record. */
const struct skep_field *skep_fields_at(const struct skep_stream *, uint32_t i);

/* The field of that name; NULL: there is none. */
const struct skep_field *skep_fields_find(const struct skep_stream *, const char *name);

/* Is it of one of those streams (NULL-terminated; NULL: all)? A record without a stream is of none. */
bool skep_fields_wanted(const char *const *streams, const struct skep_record *);
/* "run" "pipeline" "task" "tool" "container" of the record's context, as far as the host gives it; never a NULL ptr. */
struct skep_str skep_fields_context(const struct skep_record *, const char *name);

bool skep_field_is_number(const struct skep_field *);
/* Of a numeric, boolean or time field. */
int64_t skep_field_i64(const struct skep_field *,
		       const void *data); /* clamped: SQL and JSON have signed integers only */
double skep_field_f64(const struct skep_field *, const void *data);
/* Of a SKEP_T_STR or SKEP_T_STRV field; never a NULL ptr. */
struct skep_str skep_field_str(const struct skep_field *, const void *data);
struct skep_hist skep_field_hist(const struct skep_field *, const void *data); /* n 0 where there are no slots */
struct skep_upid skep_field_upid(const struct skep_field *, const void *data);

#ifdef __cplusplus
}
#endif

#endif
