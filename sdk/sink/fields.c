/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a record's values by its field table, for sinks.  Every access copies the value, because a plugin's struct may
 * not be aligned for its types.
 */

#include <skep/sink/fields.h>
#include <string.h>

static const uint32_t type_size[] = {
	[SKEP_T_U64] = 8,
	[SKEP_T_I64] = 8,
	[SKEP_T_F64] = 8,
	[SKEP_T_BOOL] = 1,
	[SKEP_T_TIME] = 8,
	[SKEP_T_STR] = sizeof(struct skep_str),
	[SKEP_T_STRV] = sizeof(struct skep_str),
	[SKEP_T_UPID] = sizeof(struct skep_upid),
	[SKEP_T_HASH] = 16,
	[SKEP_T_IP] = 16,
	[SKEP_T_HIST] = sizeof(struct skep_hist),
};

uint32_t skep_fields_count(const struct skep_stream *s)
{
	/* the last member that this code reads ends where `reserved` begins */
	if (!s || !SKEP_HAS(s, fields) || s->field_size < offsetof(struct skep_field, reserved))
		return 0;
	return s->n_fields;
}

const struct skep_field *skep_fields_at(const struct skep_stream *s, uint32_t i)
{
	const struct skep_field *f;

	if (i >= skep_fields_count(s))
		return NULL;
	f = skep_stream_field(s, i);
	if (!f->name || !*f->name || f->type >= sizeof(type_size) / sizeof(type_size[0]) || !type_size[f->type])
		return NULL;
	if ((uint64_t)f->offset + type_size[f->type] > s->record_size)
		return NULL;
	return f;
}

const struct skep_field *skep_fields_find(const struct skep_stream *s, const char *name)
{
	for (uint32_t i = 0, n = skep_fields_count(s); i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		if (f && strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

bool skep_fields_wanted(const char *const *streams, const struct skep_record *r)
{
	if (!r || !r->stream)
		return false;
	if (!streams)
		return true;
	for (; *streams; streams++)
		if (r->stream->name && strcmp(*streams, r->stream->name) == 0)
			return true;
	return false;
}

struct skep_str skep_fields_context(const struct skep_record *r, const char *name)
{
	static const struct {
		const char *name;
		size_t offset;
	} members[] = {
		{ "run", offsetof(struct skep_context, run) },
		{ "pipeline", offsetof(struct skep_context, pipeline) },
		{ "task", offsetof(struct skep_context, task) },
		{ "tool", offsetof(struct skep_context, tool) },
		{ "container", offsetof(struct skep_context, container) },
	};
	const struct skep_context *c = r->context;
	struct skep_str s = { .ptr = "" };

	for (size_t i = 0; c && i < sizeof(members) / sizeof(members[0]); i++) {
		if (strcmp(members[i].name, name) != 0)
			continue;
		memcpy(&s, (const char *)c + members[i].offset, sizeof(s));
		if (!s.ptr)
			s = (struct skep_str){ .ptr = "" };
	}
	return s;
}

bool skep_field_is_number(const struct skep_field *f)
{
	switch (f->type) {
	case SKEP_T_U64:
	case SKEP_T_I64:
	case SKEP_T_F64:
	case SKEP_T_BOOL:
	case SKEP_T_TIME:
		return true;
	default:
		return false;
	}
}

int64_t skep_field_i64(const struct skep_field *f, const void *data)
{
	const char *at = (const char *)data + f->offset;
	uint64_t u;
	double d;

	if (f->type == SKEP_T_BOOL)
		return *(const uint8_t *)at != 0;
	if (f->type == SKEP_T_F64) {
		memcpy(&d, at, sizeof(d));
		if (!(d > -9.2e18))
			return d <= -9.2e18 ? INT64_MIN : 0; /* NaN becomes 0 */
		return d < 9.2e18 ? (int64_t)d : INT64_MAX;
	}
	memcpy(&u, at, sizeof(u));
	if (f->type != SKEP_T_I64 && u > INT64_MAX)
		return INT64_MAX;
	return (int64_t)u;
}

double skep_field_f64(const struct skep_field *f, const void *data)
{
	uint64_t u;
	double d;

	if (f->type == SKEP_T_F64) {
		memcpy(&d, (const char *)data + f->offset, sizeof(d));
		return d;
	}
	if (f->type == SKEP_T_U64 || f->type == SKEP_T_TIME) {
		memcpy(&u, (const char *)data + f->offset, sizeof(u));
		return (double)u;
	}
	return (double)skep_field_i64(f, data);
}

struct skep_str skep_field_str(const struct skep_field *f, const void *data)
{
	struct skep_str s;

	memcpy(&s, (const char *)data + f->offset, sizeof(s));
	if (!s.ptr) {
		s.ptr = "";
		s.len = 0;
	}
	if (s.total < s.len)
		s.total = s.len;
	return s;
}

struct skep_hist skep_field_hist(const struct skep_field *f, const void *data)
{
	struct skep_hist h;

	memcpy(&h, (const char *)data + f->offset, sizeof(h));
	if (!h.slots)
		h.n = 0;
	return h;
}

struct skep_upid skep_field_upid(const struct skep_field *f, const void *data)
{
	struct skep_upid u;

	memcpy(&u, (const char *)data + f->offset, sizeof(u));
	return u;
}
