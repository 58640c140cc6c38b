/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a record to its row: the columns in the order of its table, then the row's identity.
 */
#include "sinks/clickhouse/rows.h"

#include <endian.h>
#include <errno.h>
#include <skep/sink/fields.h>
#include <skep/sink/record_json.h>
#include <skep/upid.h>
#include <stdio.h>
#include <string.h>

#include "sinks/clickhouse/rowbinary.h"

struct row {
	struct rows *rows;
	struct jsonw *out;
	const struct binding *binding;
	const struct skep_record *record;
	int64_t offset;
};

/* ---- values ------------------------------------------------------------------------- */

static uint64_t clamp(enum column_type type, bool is_signed, uint64_t v)
{
	switch (type) {
	case CH_U8:
		return v > UINT8_MAX ? UINT8_MAX : v;
	case CH_U32:
		return v > UINT32_MAX ? UINT32_MAX : v;
	case CH_I32:
		if (!is_signed)
			return v > INT32_MAX ? INT32_MAX : v;
		return (int64_t)v > INT32_MAX ? INT32_MAX : (int64_t)v < INT32_MIN ? (uint64_t)INT32_MIN : v;
	default:
		return v;
	}
}

static uint64_t realtime(uint64_t boot_ns, int64_t offset)
{
	int64_t ns;

	if (!boot_ns || boot_ns > INT64_MAX || __builtin_add_overflow((int64_t)boot_ns, offset, &ns) || ns < 0)
		return 0;
	return (uint64_t)ns;
}

static uint64_t number(const struct row *r, const struct skep_field *f, enum column_type type)
{
	const unsigned char *at = (const unsigned char *)r->record->data + f->offset;
	uint64_t v = 0;
	double real;

	if (type == CH_F64) {
		real = skep_field_f64(f, r->record->data);
		memcpy(&v, &real, sizeof(v));
		return v;
	}
	switch (f->type) {
	case SKEP_T_U64:
		memcpy(&v, at, sizeof(v));
		return clamp(type, false, v);
	case SKEP_T_TIME:
		memcpy(&v, at, sizeof(v));
		return realtime(v, r->offset);
	default: {
		int64_t i = skep_field_i64(f, r->record->data);

		if (i < 0 && type != CH_I32)
			i = 0;
		return clamp(type, true, (uint64_t)i);
	}
	}
}

/* ---- columns ------------------------------------------------------------------------- */

static bool is_zero(const struct skep_field *f, const void *data)
{
	const unsigned char *at = (const unsigned char *)data + f->offset;
	uint64_t v;

	switch (f->type) {
	case SKEP_T_STR:
	case SKEP_T_STRV:
		return skep_field_str(f, data).len == 0;
	case SKEP_T_BOOL:
		return *at == 0;
	case SKEP_T_U64:
	case SKEP_T_I64:
	case SKEP_T_TIME:
	case SKEP_T_F64:
		memcpy(&v, at, sizeof(v));
		return v == 0;
	case SKEP_T_UPID:
		return skep_field_upid(f, data).pid == 0;
	case SKEP_T_HIST:
		return skep_field_hist(f, data).n == 0;
	default:
		return false;
	}
}

/* Adds the full length of each text that the probe cut, as the sink lake does; a list has a column for it. */
static bool put_totals(const struct row *r, bool any)
{
	const struct binding *b = r->binding;
	struct jsonw *j = &r->rows->json;

	for (size_t i = 0; i < tables[b->table].n; i++) {
		const struct skep_field *f = b->field[i];
		struct skep_str v = { 0 };
		char name[128];

		if (f && tables[b->table].columns[i].type == CH_TEXT)
			v = skep_field_str(f, r->record->data);
		if (v.total <= v.len)
			continue;
		snprintf(name, sizeof(name), "%s\"%.100s_total\":%u", any ? "," : "{", f->name, v.total);
		skep_jsonw_raw(j, name, strlen(name));
		any = true;
	}
	return any;
}

static void put_extra(const struct row *r, bool all)
{
	struct jsonw *j = &r->rows->json;
	const struct binding *b = r->binding;
	uint32_t n = all ? skep_fields_count(b->stream) : (uint32_t)b->n_extra;
	bool any = false;

	skep_jsonw_reset(j);
	for (uint32_t i = 0; i < n; i++) {
		const struct skep_field *f = all ? skep_fields_at(b->stream, i) : b->extra[i];

		if (!f || (!all && is_zero(f, r->record->data)))
			continue;
		skep_jsonw_raw(j, any ? "," : "{", 1);
		any = true;
		skep_jsonw_string(j, f->name, strlen(f->name));
		jsonw_lit(j, ":");
		skep_record_json_value(j, f, r->record->data, r->rows->boot_id, r->offset);
	}
	if (tables[b->table].identity == IDENTITY_IMAGE)
		any = put_totals(r, any);
	if (any || all)
		skep_jsonw_raw(j, any ? "}" : "{}", any ? 1 : 2);
	if (j->err)
		r->out->err = j->err;
	else
		rowbinary_text(r->out, j->buf, j->len);
}

static void put_field(const struct row *r, const struct column *c, const struct skep_field *f)
{
	struct skep_str s = { .ptr = "" };
	struct skep_upid upid;
	uint64_t v = 0;

	if (c->type == CH_TEXT) {
		s = f ? skep_field_str(f, r->record->data) : skep_fields_context(r->record, c->field);
		rowbinary_text(r->out, s.ptr, s.len);
		return;
	}
	if (c->type == CH_LIST) {
		rowbinary_list(r->out, f ? skep_field_str(f, r->record->data) : s);
		return;
	}
	if (!f) {
		rowbinary_number(r->out, c->type, 0);
		return;
	}
	switch (c->from) {
	case FROM_TOTAL:
		s = skep_field_str(f, r->record->data);
		v = s.total > s.len ? s.total : s.len;
		break;
	case FROM_UPID_PID:
	case FROM_UPID_START:
		upid = skep_field_upid(f, r->record->data);
		v = c->from == FROM_UPID_PID ? upid.pid : upid.start_ns;
		break;
	default:
		v = number(r, f, c->type);
	}
	rowbinary_number(r->out, c->type, v);
}

static void put_column(const struct row *r, size_t i)
{
	const struct column *c = &tables[r->binding->table].columns[i];
	const struct skep_record *record = r->record;
	char upid[SKEP_UPID_TEXT];

	switch (c->from) {
	case FROM_IDENTITY:
		skep_jsonw_raw(r->out, "0123456789abcdef", 16); /* reserves 16 bytes, which identify() fills */
		break;
	case FROM_HOST:
		rowbinary_text(r->out, r->rows->host, strlen(r->rows->host));
		break;
	case FROM_BOOT:
		rowbinary_text(r->out, r->rows->boot_id, strlen(r->rows->boot_id));
		break;
	case FROM_STREAM:
		rowbinary_text(r->out, record->stream->name, strlen(record->stream->name));
		break;
	case FROM_RECORD_PID:
		rowbinary_number(r->out, c->type, record->upid.pid);
		break;
	case FROM_RECORD_START:
		rowbinary_number(r->out, c->type, record->upid.start_ns);
		break;
	case FROM_RECORD_TIME:
		rowbinary_number(r->out, c->type, realtime(record->time_ns, r->offset));
		break;
	case FROM_RECORD_UPID:
		skep_upid_text(r->rows->boot_id, &record->upid, upid);
		rowbinary_text(r->out, upid, strlen(upid));
		break;
	case FROM_EXTRA:
		put_extra(r, false);
		break;
	case FROM_JSON:
		put_extra(r, true);
		break;
	case FROM_REV:
		rowbinary_number(r->out, c->type, r->binding->end ? number(r, r->binding->end, CH_U64) : 0);
		break;
	default:
		put_field(r, c, r->binding->field[i]);
	}
}

/* Computes the row's uid from the row's bytes from `begin` on. */
static void identify(const struct row *r, size_t begin)
{
	const struct binding *b = r->binding;
	unsigned __int128 h =
		rowbinary_hash(ROWBINARY_HASH_BEGIN, tables[b->table].name, strlen(tables[b->table].name));
	struct skep_str run, task;
	uint64_t halves[2];

	switch (tables[b->table].identity) {
	case IDENTITY_IMAGE:
		/* clones of a virtual machine share the boot id and the processes that lived before */
		h = rowbinary_hash(h, r->rows->host, strlen(r->rows->host));
		h = rowbinary_hash(h, r->rows->boot_id, strlen(r->rows->boot_id));
		h = rowbinary_hash_number(h, r->record->upid.start_ns);
		h = rowbinary_hash_number(h, r->record->upid.pid);
		h = rowbinary_hash_number(h, b->image ? number(r, b->image, CH_U64) : 0);
		break;
	case IDENTITY_RUN:
		run = b->run ? skep_field_str(b->run, r->record->data) : (struct skep_str) { .ptr = "" };
		h = rowbinary_hash(h, r->rows->boot_id, strlen(r->rows->boot_id));
		h = rowbinary_hash(h, run.ptr, run.len);
		break;
	case IDENTITY_TASK:
		run = b->run ? skep_field_str(b->run, r->record->data) : (struct skep_str) { .ptr = "" };
		task = b->task_id ? skep_field_str(b->task_id, r->record->data) : (struct skep_str) { .ptr = "" };
		h = rowbinary_hash(h, r->rows->boot_id, strlen(r->rows->boot_id));
		h = rowbinary_hash(h, run.ptr, run.len);
		h = rowbinary_hash(h, "", 1); /* between two texts */
		h = rowbinary_hash(h, task.ptr, task.len);
		break;
	default:
		h = rowbinary_hash(h, r->out->buf + begin + 16, r->out->len - begin - 16);
	}
	halves[0] = htole64((uint64_t)(h >> 64));
	halves[1] = htole64((uint64_t)h);
	memcpy(r->out->buf + begin, halves, sizeof(halves));
}

static int find_binding(struct rows *rows, const struct skep_stream *s, struct binding **ret)
{
	struct binding *b = rows->bindings;
	int err;

	while (b && b->stream != s)
		b = b->next;
	if (!b) {
		err = binding_new(s, &b);
		if (err)
			return err;
		b->next = rows->bindings;
		rows->bindings = b;
	}
	*ret = b;
	return 0;
}

void rows_begin(struct rows *rows)
{
	for (unsigned t = 0; t < TABLES; t++) {
		skep_jsonw_reset(&rows->table[t].bytes);
		rows->table[t].n = 0;
	}
}

int rows_add(struct rows *rows, const struct skep_record *record, int64_t offset)
{
	struct row r = { .rows = rows, .record = record, .offset = offset };
	struct binding *b;
	size_t begin;
	int err;

	if (!record || !record->stream || !record->stream->name || !record->data)
		return 0;
	err = find_binding(rows, record->stream, &b);
	if (err)
		return err;
	r.binding = b;
	r.out = &rows->table[b->table].bytes;
	begin = r.out->len;
	for (size_t c = 0; c < tables[b->table].n; c++)
		put_column(&r, c);
	if (r.out->err)
		return r.out->err;
	identify(&r, begin);
	rows->table[b->table].n++;
	return 0;
}

void rows_free(struct rows *rows)
{
	for (unsigned t = 0; t < TABLES; t++)
		skep_jsonw_free(&rows->table[t].bytes);
	skep_jsonw_free(&rows->json);
	rows->bindings = binding_free(rows->bindings);
}
