/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_record.c - a record of any stream as a JSON object.  The control socket sends only records of
 * attached details, a few each second: an allocation for each record is fast enough.
 */
#include "core/control/control_record.h"

#include <arpa/inet.h>
#include <math.h>
#include <skep/hist.h>
#include <skep/upid.h>
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/plugin/plugin.h"

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

static json_t *upid_json(const struct skep_upid *upid, const char *boot_id)
{
	char text[SKEP_UPID_TEXT];

	skep_upid_text(boot_id, upid, text);
	return *text ? json_string(text) : json_null();
}

static json_t *list_json(const struct skep_str *s)
{
	json_t *array = json_array();

	for (uint32_t at = 0; array && s->ptr && at < s->len;) {
		uint32_t n = (uint32_t)strnlen(s->ptr + at, s->len - at);

		if (json_array_append_new(array, control_json_text(s->ptr + at, n)) < 0) {
			json_decref(array);
			return NULL;
		}
		at += n + 1;
	}
	return array;
}

static json_t *hash_json(const unsigned char *p)
{
	char text[33];

	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	return json_string(text);
}

static json_t *ip_json(const unsigned char *p)
{
	static const unsigned char v4[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN] = "";

	if (memcmp(p, v4, sizeof(v4)) == 0)
		inet_ntop(AF_INET, p + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, p, text, sizeof(text));
	return json_string(text);
}

/*
 * As OpenTelemetry's data model names the parts of an exponential histogram: zeros apart,
 * then the counts of the buckets offset, offset + 1, ... of this scale.  Slot 1 is bucket -1.
 */
static json_t *hist_json(const struct skep_hist *h)
{
	uint32_t first = 1, end = h->slots ? h->n : 0;
	json_t *counts = json_array();
	uint64_t n = 0;

	if (end > SKEP_HIST_SLOTS)
		end = SKEP_HIST_SLOTS;
	while (end > 1 && h->slots[end - 1] == 0)
		end--;
	while (first < end && h->slots[first] == 0)
		first++;
	for (uint32_t k = 0; k < end; k++)
		n += h->slots[k];
	for (uint32_t k = first; counts && k < end; k++)
		if (json_array_append_new(counts, control_json_number(h->slots[k])) < 0) {
			json_decref(counts);
			return NULL;
		}
	/* o steals counts, also when packing fails */
	return json_pack("{s:o, s:o, s:i, s:o, s:i, s:o}", "count", control_json_number(n), "sum",
			 control_json_number(h->sum), "scale", SKEP_HIST_SCALE, "zero_count",
			 control_json_number(end > 0 ? h->slots[0] : 0), "offset", first < end ? (int)first - 2 : 0,
			 "counts", counts);
}

static json_t *field_json(const struct skep_field *f, const unsigned char *at, const char *boot_id, int64_t offset)
{
	union {
		uint64_t u;
		int64_t i;
		double f;
		struct skep_str s;
		struct skep_upid upid;
		struct skep_hist hist;
	} v;
	size_t size, align;

	memset(&v, 0, sizeof(v));
	/* Copy the value: a plugin's record need not have the alignment of the field's type. */
	if (plugin_field_type(f->type, &size, &align) && size <= sizeof(v))
		memcpy(&v, at, size);
	switch (f->type) {
	case SKEP_T_U64:
		return control_json_number(v.u);
	case SKEP_T_I64:
		return json_integer(v.i);
	case SKEP_T_F64:
		return isfinite(v.f) ? json_real(v.f) : json_null();
	case SKEP_T_BOOL:
		return json_boolean(*at);
	case SKEP_T_TIME:
		return control_json_time(v.u, offset);
	case SKEP_T_STR:
		return control_json_text(v.s.ptr, v.s.len);
	case SKEP_T_STRV:
		return list_json(&v.s);
	case SKEP_T_UPID:
		return upid_json(&v.upid, boot_id);
	case SKEP_T_HASH:
		return hash_json(at);
	case SKEP_T_IP:
		return ip_json(at);
	case SKEP_T_HIST:
		return hist_json(&v.hist);
	default:
		return json_null();
	}
}

static int put_field(json_t *object, const struct skep_stream *s, const struct skep_field *f, json_t *value)
{
	char *name = NULL;
	int err;

	/* A field with the name of an envelope key gets the key STREAM.FIELD. */
	if (!json_object_get(object, f->name))
		return json_object_set_new(object, f->name, value);
	if (asprintf(&name, "%s.%s", s->name, f->name) < 0) {
		json_decref(value);
		return -1;
	}
	err = json_object_set_new(object, name, value);
	free(name);
	return err;
}

static int put_fields(json_t *object, const struct skep_record *r, const char *boot_id, int64_t offset)
{
	const struct skep_stream *s = r->stream;

	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);
		const unsigned char *at = (const unsigned char *)r->data + f->offset;

		if (strcmp(f->name, "upid") == 0 && f->type == SKEP_T_UPID &&
		    memcmp(at, &r->upid, offsetof(struct skep_upid, reserved)) == 0)
			continue; /* the envelope already has this upid */
		if (put_field(object, s, f, field_json(f, at, boot_id, offset)) < 0)
			return -1;
	}
	return 0;
}

static int put_context(json_t *object, const struct skep_context *c)
{
	const struct {
		const char *name;
		const struct skep_str *value;
	} members[] = {
		{ "run", &c->run },   { "pipeline", &c->pipeline },   { "task", &c->task },
		{ "tool", &c->tool }, { "container", &c->container },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct skep_str *v = members[i].value;

		if (v->ptr && v->len > 0 && !json_object_get(object, members[i].name) &&
		    json_object_set_new(object, members[i].name, control_json_text(v->ptr, v->len)) < 0)
			return -1;
	}
	return 0;
}

json_t *control_record(const struct skep_record *r, const char *boot_id, int64_t offset)
{
	json_t *object = json_pack("{s:s, s:o, s:o}", "stream", r->stream->name, "time",
				   control_json_time(r->time_ns, offset), "upid", upid_json(&r->upid, boot_id));

	if (!object || put_fields(object, r, boot_id, offset) < 0 ||
	    (r->context && put_context(object, r->context) < 0)) {
		json_decref(object);
		return NULL;
	}
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
