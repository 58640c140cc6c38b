/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_record.c - values as JSON for the control socket.  It sends only records of attached details, a
 * few each second: fast enough for a writer whose text jansson reads again.
 */
#include "core/control/control_record.h"

#include <skep/sink/record_json.h>
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

json_t *control_json_text(const char *ptr, size_t len)
{
	json_t *value;
	char *clean;

	if (!ptr)
		return json_string("");
	if (skep_utf8_valid(ptr, len) == len)
		return json_stringn_nocheck(ptr, len);
	clean = len <= SIZE_MAX / 4 ? malloc(3 * len + 1) : NULL;
	value = clean ? json_stringn_nocheck(clean, skep_utf8_clean(ptr, len, clean)) : NULL;
	free(clean);
	return value;
}

json_t *control_json_string(const char *s)
{
	return control_json_text(s, s ? strlen(s) : 0);
}

json_t *control_json_string_or_null(const char *s)
{
	return s && *s ? control_json_string(s) : json_null();
}

json_t *control_json_number(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *control_json_time(uint64_t boot_ns, int64_t offset)
{
	char text[64];
	struct tm tm;
	int64_t ns;
	time_t s;
	size_t n;

	if (boot_ns == 0 || boot_ns > INT64_MAX || __builtin_add_overflow((int64_t)boot_ns, offset, &ns) || ns < 0)
		return json_null();
	s = (time_t)(ns / 1000000000);
	if (!gmtime_r(&s, &tm))
		return json_null();
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%09lldZ", (long long)(ns % 1000000000));
	return json_string(text);
}

json_t *control_record(const struct skep_record *r, const char *boot_id, int64_t offset)
{
	const struct skep_batch now = { .realtime_offset_ns = offset };
	struct jsonw j = { 0 };
	json_t *object;

	skep_record_json(&j, r, boot_id, skep_record_realtime_offset(&now, r),
			 RECORD_JSON_ENVELOPE | RECORD_JSON_INT64);
	object = j.err ? NULL : json_loadb(j.buf, j.len, JSON_ALLOW_NUL, NULL);
	skep_jsonw_free(&j);
	return object;
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[SKEP_T_U64] = "u64",   [SKEP_T_I64] = "i64",   [SKEP_T_F64] = "f64",   [SKEP_T_BOOL] = "bool",
		[SKEP_T_TIME] = "time", [SKEP_T_STR] = "str",   [SKEP_T_STRV] = "strv", [SKEP_T_UPID] = "upid",
		[SKEP_T_HASH] = "hash", [SKEP_T_IP] = "ip",     [SKEP_T_HIST] = "hist",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "?";
}

const char *control_semantics_name(uint32_t semantics)
{
	static const char *const names[] = {
		[SKEP_S_ATTRIBUTE] = "attribute",
		[SKEP_S_GAUGE] = "gauge",
		[SKEP_S_DELTA] = "delta",
		[SKEP_S_CUMULATIVE] = "cumulative",
	};

	return semantics < sizeof(names) / sizeof(names[0]) && names[semantics] ? names[semantics] : "?";
}

json_t *control_stream(const struct skep_stream *s)
{
	json_t *fields = json_array();

	for (uint32_t i = 0; fields && i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);

		if (json_array_append_new(fields,
					  json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", f->name, "type",
						    type_name(f->type), "semantics", control_semantics_name(f->semantics),
						    "unit", control_json_string(f->unit), "help", control_json_string(f->help))) < 0) {
			json_decref(fields);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o, s:o}", "name", s->name, "help", control_json_string(s->help), "fields", fields);
}
