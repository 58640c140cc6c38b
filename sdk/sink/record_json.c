/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes any record of any stream as one JSON object, by its field table.
 */

#include <arpa/inet.h>
#include <skep/hist.h>
#include <skep/sink/fields.h>
#include <skep/sink/record_json.h>
#include <skep/upid.h>
#include <string.h>

static void write_time(struct jsonw *j, uint64_t boot_ns, int64_t offset)
{
	int64_t ns;

	if (!boot_ns || boot_ns > INT64_MAX || __builtin_add_overflow((int64_t)boot_ns, offset, &ns))
		jsonw_lit(j, "null");
	else
		skep_jsonw_time(j, ns);
}

static void write_upid(struct jsonw *j, const struct skep_upid *upid, const char *boot_id)
{
	char text[SKEP_UPID_TEXT];

	skep_upid_text(boot_id, upid, text);
	if (*text)
		skep_jsonw_string(j, text, strlen(text));
	else
		jsonw_lit(j, "null");
}

static void write_list(struct jsonw *j, struct skep_str s)
{
	const char *p = s.ptr, *end = s.ptr + s.len;

	jsonw_lit(j, "[");
	while (p < end) {
		size_t n = strnlen(p, (size_t)(end - p));

		if (p > s.ptr)
			jsonw_lit(j, ",");
		skep_jsonw_string(j, p, n);
		p += n + 1; /* may step one byte beyond `end` when the last text was cut, but p is then only compared */
	}
	jsonw_lit(j, "]");
}

static void write_hash(struct jsonw *j, const unsigned char *p)
{
	static const char hex[] = "0123456789abcdef";
	char text[32];

	for (int i = 0; i < 16; i++) {
		text[2 * i] = hex[p[i] >> 4];
		text[2 * i + 1] = hex[p[i] & 15];
	}
	skep_jsonw_string(j, text, sizeof(text));
}

static void write_ip(struct jsonw *j, const unsigned char *p)
{
	static const unsigned char v4[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN] = "";

	if (memcmp(p, v4, sizeof(v4)) == 0)
		inet_ntop(AF_INET, p + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, p, text, sizeof(text));
	skep_jsonw_string(j, text, strlen(text));
}

/*
 * Names the parts of an exponential histogram as OpenTelemetry's data model does: the count of zeros, then counts of
 * the buckets offset, offset + 1, ... of this scale.  Slot 1 (ones) is bucket -1.
 */
static void write_hist(struct jsonw *j, const struct skep_hist *h)
{
	uint32_t first = 1, end = h->n;

	while (end > 1 && h->slots[end - 1] == 0)
		end--;
	while (first < end && h->slots[first] == 0)
		first++;
	jsonw_lit(j, "{\"count\":");
	skep_jsonw_u64(j, skep_hist_count(h));
	jsonw_lit(j, ",\"sum\":");
	skep_jsonw_u64(j, h->sum);
	jsonw_lit(j, ",\"scale\":");
	skep_jsonw_i64(j, SKEP_HIST_SCALE);
	jsonw_lit(j, ",\"zero_count\":");
	skep_jsonw_u64(j, h->n > 0 ? h->slots[0] : 0);
	jsonw_lit(j, ",\"offset\":");
	skep_jsonw_i64(j, first < end ? (int64_t)first - 2 : 0);
	jsonw_lit(j, ",\"counts\":[");
	for (uint32_t k = first; k < end; k++) {
		if (k > first)
			jsonw_lit(j, ",");
		skep_jsonw_u64(j, h->slots[k]);
	}
	jsonw_lit(j, "]}");
}

void skep_record_json_value(struct jsonw *j, const struct skep_field *f, const void *data, const char *boot_id,
			    int64_t offset)
{
	const unsigned char *at = (const unsigned char *)data + f->offset;
	struct skep_str s;
	struct skep_upid upid;
	struct skep_hist hist;
	uint64_t u;

	switch (f->type) {
	case SKEP_T_U64:
		memcpy(&u, at, sizeof(u));
		skep_jsonw_u64(j, u);
		break;
	case SKEP_T_I64:
		skep_jsonw_i64(j, skep_field_i64(f, data));
		break;
	case SKEP_T_F64:
		skep_jsonw_f64(j, skep_field_f64(f, data));
		break;
	case SKEP_T_BOOL:
		skep_jsonw_raw(j, *at ? "true" : "false", *at ? 4 : 5);
		break;
	case SKEP_T_TIME:
		memcpy(&u, at, sizeof(u));
		write_time(j, u, offset);
		break;
	case SKEP_T_STR:
		s = skep_field_str(f, data);
		skep_jsonw_string(j, s.ptr, s.len);
		break;
	case SKEP_T_STRV:
		write_list(j, skep_field_str(f, data));
		break;
	case SKEP_T_UPID:
		upid = skep_field_upid(f, data);
		write_upid(j, &upid, boot_id);
		break;
	case SKEP_T_HASH:
		write_hash(j, at);
		break;
	case SKEP_T_IP:
		write_ip(j, at);
		break;
	case SKEP_T_HIST:
		hist = skep_field_hist(f, data);
		write_hist(j, &hist);
		break;
	default:
		jsonw_lit(j, "null"); /* skep_fields_at() returns no field of another type */
	}
}

static void write_key(struct jsonw *j, const char *prefix, const char *name, const char *suffix)
{
	if (j->buf && j->len && j->buf[j->len - 1] != '{')
		jsonw_lit(j, ",");
	jsonw_lit(j, "\"");
	if (prefix) {
		skep_jsonw_string_part(j, prefix, strlen(prefix));
		jsonw_lit(j, ".");
	}
	skep_jsonw_string_part(j, name, strlen(name));
	skep_jsonw_string_part(j, suffix, strlen(suffix));
	jsonw_lit(j, "\":");
}

/* Writes a field's name as a key; in one piece when it needs no escape, as nearly every name does. */
static void write_name(struct jsonw *j, const char *name)
{
	size_t n = strlen(name);
	char *at = skep_jsonw_plain(name, n) == n ? skep_jsonw_room(j, n + 4) : NULL;

	if (!at) {
		write_key(j, NULL, name, "");
		return;
	}
	if (j->len && at[-1] != '{')
		*at++ = ',';
	*at++ = '"';
	memcpy(at, name, n);
	at += n;
	*at++ = '"';
	*at++ = ':';
	j->len = (size_t)(at - j->buf);
}

/* The context that the plugin host knows about a process, for streams without a field of that name. */
static const char *const context_names[] = { "run", "pipeline", "task", "tool", "container" };
#define CONTEXT_NAMES (sizeof(context_names) / sizeof(context_names[0]))

/* The first letter distinguishes these names from nearly all others. */
static bool is(const struct skep_field *f, const char *name)
{
	return f->name[0] == name[0] && strcmp(f->name, name) == 0;
}

/* Writes the fields. Returns a bit for each of context_names that the stream has as a field. */
static unsigned write_fields(struct jsonw *j, const struct skep_record *r, const char *boot_id, int64_t offset,
			     unsigned flags)
{
	const struct skep_stream *s = r->stream;
	unsigned has = 0;

	for (uint32_t i = 0, n = s && r->data ? skep_fields_count(s) : 0; i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);
		const char *prefix = NULL;

		if (!f)
			continue;
		for (size_t k = 0; k < CONTEXT_NAMES; k++)
			if (is(f, context_names[k]))
				has |= 1u << k;
		if (f->type == SKEP_T_UPID && is(f, "upid")) {
			struct skep_upid u = skep_field_upid(f, r->data);

			if (u.pid == r->upid.pid && u.start_ns == r->upid.start_ns)
				continue;
		}
		if (is(f, "stream") || is(f, "time") || is(f, "upid"))
			prefix = s->name;
		if (prefix)
			write_key(j, prefix, f->name, "");
		else
			write_name(j, f->name);
		if (flags & RECORD_JSON_INT64 && f->type == SKEP_T_U64)
			skep_jsonw_i64(j, skep_field_i64(f, r->data));
		else
			skep_record_json_value(j, f, r->data, boot_id, offset);
		if (f->type == SKEP_T_STR || f->type == SKEP_T_STRV) {
			struct skep_str v = skep_field_str(f, r->data);

			if (v.total > v.len) {
				write_key(j, prefix, f->name, "_total");
				skep_jsonw_u64(j, v.total);
			}
		}
	}
	return has;
}

static void write_context(struct jsonw *j, const struct skep_record *r, unsigned has)
{
	for (size_t i = 0; i < CONTEXT_NAMES; i++) {
		struct skep_str s;

		if (has & 1u << i)
			continue;
		s = skep_fields_context(r, context_names[i]);
		if (!s.len)
			continue;
		write_name(j, context_names[i]);
		skep_jsonw_string(j, s.ptr, s.len);
	}
}

void skep_record_json(struct jsonw *j, const struct skep_record *r, const char *boot_id, int64_t offset, unsigned flags)
{
	const char *name = r->stream && r->stream->name ? r->stream->name : "";

	jsonw_lit(j, "{");
	if (flags & RECORD_JSON_ENVELOPE) {
		write_name(j, "stream");
		skep_jsonw_string(j, name, strlen(name));
		write_name(j, "time");
		write_time(j, r->time_ns, offset);
		write_name(j, "upid");
		write_upid(j, &r->upid, boot_id);
	}
	write_context(j, r, write_fields(j, r, boot_id, offset, flags));
	jsonw_lit(j, "}");
}
