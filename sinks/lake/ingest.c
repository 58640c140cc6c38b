/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts records to rows of a month's file, by the column tables.
 */
#include "sinks/lake/ingest.h"

#include <errno.h>
#include <skep/sink/fields.h>
#include <skep/sink/record_json.h>
#include <skep/upid.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/lake/procrow.h"

#define ROW_BYTES 100 /* size of a row of another table with its indexes, without texts */
#define FACET_BYTES 15
#define CUT_BYTES 128 /* the sink cuts a text to this length when its user has spent the budget */
#define CUT_JSON  512
#define SECOND_NS INT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)

int ingest_init(struct ingest *in)
{
	*in = (struct ingest){
		.by_run = rollup_new(DB_ROLLUP_TOOL, DB_ROLLUP_RUN),
		.by_day = rollup_new(DB_ROLLUP_DAY, DB_STATEMENTS),
		.by_hour = usage_new(),
	};
	return in->by_run && in->by_day && in->by_hour ? 0 : -ENOMEM;
}

void ingest_free(struct ingest *in)
{
	for (size_t i = 0; i < in->n_bindings; i++)
		binding_free(in->bindings[i]);
	free(in->bindings);
	rollup_free(in->by_run);
	rollup_free(in->by_day);
	usage_free(in->by_hour);
	skep_jsonw_free(&in->json);
	*in = (struct ingest){ 0 };
}

const struct binding *ingest_binding(struct ingest *in, const struct skep_stream *s)
{
	struct binding **grown;

	/* a machine has a few dozen streams at most, and nearly all records belong to one or two of them */
	for (size_t i = 0; i < in->n_bindings; i++) {
		struct binding *b = in->bindings[i];

		if (b->stream != s)
			continue;
		if (i) {
			in->bindings[i] = in->bindings[i - 1];
			in->bindings[i - 1] = b;
		}
		return b;
	}
	grown = realloc(in->bindings, (in->n_bindings + 1) * sizeof(struct binding *));
	if (!grown)
		return NULL;
	in->bindings = grown;
	if (binding_new(s, &grown[in->n_bindings]) != 0)
		return NULL;
	return grown[in->n_bindings++];
}

struct skep_str ingest_run(const struct binding *b, const struct skep_record *r)
{
	struct skep_str s = { 0 };

	if (b->run && r->data)
		s = skep_field_str(b->run, r->data);
	return s.len ? s : skep_fields_context(r, "run");
}

int64_t ingest_time(const struct ingest *in, uint64_t boot_ns)
{
	int64_t ns;

	if (!boot_ns || boot_ns > INT64_MAX || __builtin_add_overflow((int64_t)boot_ns, in->offset, &ns))
		return 0;
	return ns;
}

/* Returns a field's text, cut when the user has spent the budget. */
static struct skep_str text_of(struct ingest *in, const struct skep_field *f, const void *data)
{
	struct skep_str v = skep_field_str(f, data);

	if (in->level != BUDGET_WHOLE && v.len > CUT_BYTES) {
		v.len = CUT_BYTES;
		in->cut = true;
	}
	in->shortened |= v.total > v.len;
	return v;
}

/* The number that a record has for a column, of a text the dictionary's id; without one *ret_known becomes false. */
static int number_of(struct ingest *in, struct db *db, const struct binding *b, size_t i, const struct skep_record *r,
		     int64_t run, int64_t *ret, bool *ret_known)
{
	const struct column *c = &b->table->columns[i];
	const struct skep_field *f = r->data ? b->field[i] : NULL;
	struct skep_str v = { 0 };

	*ret = 0;
	*ret_known = true;
	switch (c->how) {
	case COL_RECORD_TIME:
		*ret = ingest_time(in, r->time_ns);
		return 0;
	case COL_RECORD_PID:
		*ret = r->upid.pid;
		return 0;
	case COL_RECORD_START:
		*ret = (int64_t)r->upid.start_ns;
		return 0;
	case COL_BOOT:
		return db_dict_at(db, i, in->boot_id, strlen(in->boot_id), ret);
	case COL_RUN:
		*ret = run;
		return 0;
	case COL_DICT:
		v = f ? text_of(in, f, r->data) : v;
		if (!v.len)
			v = skep_fields_context(r, c->name);
		return db_dict_at(db, i, v.ptr, v.len, ret);
	default:
		break;
	}
	*ret_known = f != NULL;
	if (!f)
		return 0;
	if (c->how == COL_NUMBER)
		*ret = skep_field_i64(f, r->data);
	else if (c->how == COL_TIME)
		*ret = ingest_time(in, (uint64_t)skep_field_i64(f, r->data));
	else if (c->how == COL_TOTAL)
		*ret = skep_field_str(f, r->data).total;
	else if (c->how == COL_UPID_PID)
		*ret = skep_field_upid(f, r->data).pid;
	else if (c->how == COL_UPID_START)
		*ret = (int64_t)skep_field_upid(f, r->data).start_ns;
	else
		*ret_known = false;
	return 0;
}

static int bind_column(struct ingest *in, struct db *db, sqlite3_stmt *s, const struct binding *b, size_t i,
		       const struct skep_record *r, int64_t run)
{
	const struct column *c = &b->table->columns[i];
	const struct skep_field *f = r->data ? b->field[i] : NULL;
	struct skep_str v = { 0 };
	int64_t number;
	bool known;
	int err;

	if (c->how == COL_NOWHERE)
		return 0;
	if (c->how == COL_TEXT || c->how == COL_LIST) {
		v = f ? text_of(in, f, r->data) : v;
		in->written += v.len;
		if (c->how == COL_TEXT)
			return db_bind_text(db, s, (int)i + 1, v.len ? v.ptr : "", v.len);
		if (v.len)
			sqlite3_bind_blob64(s, (int)i + 1, v.ptr, v.len, SQLITE_STATIC);
		else
			sqlite3_bind_null(s, (int)i + 1);
		return 0;
	}
	if (c->how == COL_NUMBER && f && f->type == SKEP_T_F64) {
		sqlite3_bind_double(s, (int)i + 1, skep_field_f64(f, r->data));
		return 0;
	}
	err = number_of(in, db, b, i, r, run, &number, &known);
	if (err)
		return err;
	if (known)
		sqlite3_bind_int64(s, (int)i + 1, number);
	else
		sqlite3_bind_null(s, (int)i + 1);
	return 0;
}

static struct skep_str str_of(const struct skep_field *f, const struct skep_record *r)
{
	return f && r->data ? skep_field_str(f, r->data) : (struct skep_str) { 0 };
}

static bool str_is(struct skep_str s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.ptr, text, s.len) == 0;
}

/* Adds a record of a process to the sums. */
static int roll_up(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r,
		   const struct procrow *row)
{
	struct skep_str p = str_of(b->pipeline, r);
	int64_t v[ROLLED_NUMBERS] = { 0 }, sum[ROLLUP_SUMS], pipeline, began, day;
	bool execed, wrapper, replaced = str_is(str_of(b->state, r), "replaced");
	int err;

	if (!p.len)
		p = skep_fields_context(r, "pipeline");
	err = db_dict(db, p.ptr, p.len, &pipeline);
	if (err)
		return err;
	for (size_t i = 0; r->data && i < ROLLED_NUMBERS; i++)
		if (b->rolled[i])
			v[i] = skep_field_i64(b->rolled[i], r->data);
	execed = v[ROLLED_EXECED];
	wrapper = v[ROLLED_WRAPPER];
	sum[ROLLUP_PROCESSES] = v[ROLLED_LAST] != 0;
	sum[ROLLUP_IMAGES] = execed || !replaced; /* not the forked image that an exec replaces */
	sum[ROLLUP_CALLS] = execed && !wrapper;
	sum[ROLLUP_FORKS] = !execed && !replaced;
	sum[ROLLUP_FAILURES] = v[ROLLED_EXIT_CODE] > 0 || v[ROLLED_SIGNAL] != 0;
	sum[ROLLUP_CPU] = v[ROLLED_CPU];
	sum[ROLLUP_WALL] = !wrapper && v[ROLLED_START] && v[ROLLED_END] > v[ROLLED_START]
				   ? v[ROLLED_END] - v[ROLLED_START] : 0;
	sum[ROLLUP_RUN_DELAY] = v[ROLLED_RUN_DELAY];
	sum[ROLLUP_RCHAR] = v[ROLLED_RCHAR];
	sum[ROLLUP_WCHAR] = v[ROLLED_WCHAR];
	sum[ROLLUP_READ] = v[ROLLED_READ];
	sum[ROLLUP_WRITE] = v[ROLLED_WRITE];
	sum[ROLLUP_RSS_MAX] = v[ROLLED_RSS_PEAK];
	began = ingest_time(in, v[ROLLED_START] ? (uint64_t)v[ROLLED_START] : r->time_ns);
	day = began > 0 ? began / DAY_NS : 0;
	err = rollup_add(in->by_run, db, (int64_t[]){ row->value[PROC_RUN], row->value[PROC_TOOL], 0 }, sum);
	return err ? err
		   : rollup_add(in->by_day, db, (int64_t[]){ day, pipeline, row->value[PROC_TOOL] }, sum);
}

static int add_facet(struct ingest *in, struct db *db, int64_t proc, const char *name, const struct skep_field *f,
		     const struct skep_record *r, int64_t total)
{
	struct skep_str v;
	sqlite3_stmt *s;
	int64_t id;
	int err;

	err = db_statement(db, DB_FACET_ADD, &s);
	if (!err)
		err = db_dict(db, name, strlen(name), &id);
	if (err)
		return err;
	in->written += FACET_BYTES;
	sqlite3_bind_int64(s, 1, proc);
	sqlite3_bind_int64(s, 2, id);
	if (!f) {
		sqlite3_bind_int64(s, 3, total);
	} else if (f->type == SKEP_T_F64) {
		sqlite3_bind_double(s, 3, skep_field_f64(f, r->data));
	} else if (f->type == SKEP_T_TIME) {
		sqlite3_bind_int64(s, 3, ingest_time(in, (uint64_t)skep_field_i64(f, r->data)));
	} else if (skep_field_is_number(f)) {
		sqlite3_bind_int64(s, 3, skep_field_i64(f, r->data));
	} else if (f->type == SKEP_T_STR) {
		v = text_of(in, f, r->data);
		in->written += v.len;
		err = db_bind_text(db, s, 3, v.ptr, v.len);
		if (err)
			return err;
	} else {
		skep_jsonw_reset(&in->json);
		skep_record_json_value(&in->json, f, r->data, in->boot_id, in->offset);
		if (in->json.err)
			return db_error(db, SQLITE_NOMEM, "keeping a facet");
		in->written += in->json.len;
		sqlite3_bind_text64(s, 3, in->json.buf, in->json.len, SQLITE_STATIC, SQLITE_UTF8);
	}
	return db_run_statement(db, s, "keeping a facet");
}

/* Zero and empty facets get no row: the plugin host passes every facet of every process, and most are 0. */
static bool facet_is_empty(const struct skep_field *f, const void *data)
{
	static const char zero[sizeof(struct skep_upid)];

	if (f->type == SKEP_T_STR || f->type == SKEP_T_STRV)
		return skep_field_str(f, data).len == 0;
	if (f->type == SKEP_T_F64)
		return skep_field_f64(f, data) == 0;
	if (skep_field_is_number(f))
		return skep_field_i64(f, data) == 0;
	return memcmp((const char *)data + f->offset, zero, sizeof(zero)) == 0; /* upid, hash, ip: 16 bytes each */
}

static int add_facets(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r,
		      int64_t proc)
{
	int err = 0;

	for (size_t i = 0; !err && r->data && i < b->n_extra; i++)
		if (!facet_is_empty(b->extra[i], r->data))
			err = add_facet(in, db, proc, b->extra[i]->name, b->extra[i], r, 0);
	/* the full length of each string that was cut, as a facet; argv has a column for its length */
	for (size_t i = 0; !err && in->shortened && r->data && i < b->table->n; i++) {
		const struct skep_field *f = b->field[i];
		struct skep_str v;

		if (!f || b->table->columns[i].how != COL_DICT)
			continue;
		v = text_of(in, f, r->data);
		if (v.total <= v.len)
			continue;
		skep_jsonw_reset(&in->json);
		skep_jsonw_raw(&in->json, f->name, strlen(f->name));
		jsonw_lit(&in->json, "_total\0");
		if (in->json.err)
			return db_error(db, SQLITE_NOMEM, "keeping a facet");
		err = add_facet(in, db, proc, in->json.buf, NULL, r, v.total);
	}
	return err;
}

/* Realtime minus boot time: the same for all rows until it is a second off, as it is a part of their kind. */
static int64_t clock_of(struct ingest *in)
{
	int64_t off;

	if (__builtin_sub_overflow(in->offset, in->clock_ns, &off) || off > SECOND_NS || off < -SECOND_NS)
		in->clock_ns = in->offset;
	return in->clock_ns;
}

static int read_process(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r,
			int64_t run, struct procrow *ret)
{
	const struct skep_field *argv = r->data ? b->field[PROC_ARGV] : NULL;
	int err = 0;

	*ret = (struct procrow){ 0 };
	if (argv)
		ret->argv = text_of(in, argv, r->data);
	for (size_t i = 0; !err && i < b->table->n; i++) {
		bool known;

		err = number_of(in, db, b, i, r, run, &ret->value[i], &known);
		ret->known |= (uint64_t)(known && !err) << i;
	}
	return err;
}

static int add_process(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r,
		       int64_t run)
{
	struct procrow row;
	int64_t id;
	int err;

	err = read_process(in, db, b, r, run, &row);
	if (!err) /* first: procrow_add() replaces values by differences */
		err = roll_up(in, db, b, r, &row);
	if (!err && in->level == BUDGET_SUM) {
		in->refused++;
		return 0;
	}
	if (!err)
		err = procrow_add(db, &row, clock_of(in), &in->written, &id);
	return err ? err : add_facets(in, db, b, r, id);
}

static int add_row(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r, int64_t run)
{
	sqlite3_stmt *s;
	int err;

	if (b->table == proc_table)
		return add_process(in, db, b, r, run);
	err = db_statement(db, b->table->statement, &s);
	for (size_t i = 0; !err && i < b->table->n; i++)
		err = bind_column(in, db, s, b, i, r, run);
	return err ? err : db_run_statement(db, s, "adding a row");
}

static int add_json(struct ingest *in, struct db *db, const struct skep_record *r, int64_t run)
{
	const char *name = r->stream->name ? r->stream->name : "";
	char upid[SKEP_UPID_TEXT];
	sqlite3_stmt *s;
	int64_t stream;
	int err;

	err = db_statement(db, DB_RECORD_ADD, &s);
	if (!err)
		err = db_dict(db, name, strlen(name), &stream);
	if (err)
		return err;
	skep_jsonw_reset(&in->json);
	skep_record_json(&in->json, r, in->boot_id, in->offset, 0);
	if (in->json.err)
		return db_error(db, SQLITE_NOMEM, "keeping a record");
	if (in->level != BUDGET_WHOLE && in->json.len > CUT_JSON) {
		in->refused += !ingest_binding(in, r->stream)->table; /* a stream with a table has its row already */
		return 0;
	}
	skep_upid_text(in->boot_id, &r->upid, upid);
	in->written += in->json.len;
	sqlite3_bind_int64(s, 1, ingest_time(in, r->time_ns));
	sqlite3_bind_int64(s, 2, stream);
	sqlite3_bind_int64(s, 3, run);
	sqlite3_bind_text(s, 4, upid, -1, SQLITE_STATIC);
	sqlite3_bind_text64(s, 5, in->json.buf, in->json.len, SQLITE_STATIC, SQLITE_UTF8);
	return db_run_statement(db, s, "keeping a record");
}

/* Adds a record only to the sums, for a user who has spent the budget. */
static int record_summed(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r,
			 struct skep_str run)
{
	int64_t id = 0;
	int err = run.len ? db_run_find(db, run.ptr, run.len, &id) : 0;

	if (err && err != -ENOENT)
		return err;
	if (b->table && b->table->statement == DB_PROC_ADD)
		return add_row(in, db, b, r, id);
	if (id && b->table && b->table->statement == DB_RUN_PUT && r->data)
		return add_row(in, db, b, r, 0); /* updates the run's existing row with the run's end */
	in->refused++;
	return 0;
}

static int record_in(struct ingest *in, struct db *db, const struct binding *b, const struct skep_record *r)
{
	struct skep_str run = ingest_run(b, r);
	int64_t id = 0, when;
	int err = 0;

	if (in->level == BUDGET_SUM)
		return record_summed(in, db, b, r, run);
	if (b->table && b->table->statement == DB_RUN_PUT) {
		if (run.len && b->run && r->data) {
			err = add_row(in, db, b, r, 0);
			if (err || !b->n_extra)
				return err;
		}
	} else if (run.len) {
		when = b->start && r->data ? skep_field_i64(b->start, r->data) : 0;
		err = db_run(db, run.ptr, run.len, ingest_time(in, when ? (uint64_t)when : r->time_ns), &id);
		if (err)
			return err;
	}
	if (b->table && b->table->statement != DB_RUN_PUT) {
		err = add_row(in, db, b, r, id);
		if (err || b->table->statement == DB_PROC_ADD || !b->n_extra)
			return err;
	}
	/* a stream without a table, or with fields that no column accepts */
	if (b->table && b->table->statement == DB_RUN_PUT && run.len)
		err = db_run(db, run.ptr, run.len, ingest_time(in, r->time_ns), &id);
	return err ? err : add_json(in, db, r, id);
}

int ingest_record(struct ingest *in, struct db *db, const struct skep_record *r)
{
	const struct binding *b = ingest_binding(in, r->stream);
	uint64_t added = db->added, written = in->written;
	struct budget_user *user;
	uint32_t payer = r->context ? r->context->payer : SKEP_NOBODY;
	int err;

	if (!b)
		return db_error(db, SQLITE_NOMEM, "reading a stream's fields");
	/* a record without a payer is about the host: no user can make such records */
	user = payer == SKEP_NOBODY ? NULL : budget_user(&in->budget, payer, in->now_ns);
	in->level = in->full ? BUDGET_SUM : budget_level(&in->budget, user);
	if (b->table && b->table->statement == DB_LOSS_ADD)
		in->level = BUDGET_WHOLE;
	in->cut = in->shortened = false;
	err = usage_add(in->by_hour, db, &(struct usage_batch){ in->host, in->boot_id, in->host_offset }, &b->usage, r);
	if (err)
		return err;
	db->closed = in->level == BUDGET_SUM;
	err = record_in(in, db, b, r);
	db->closed = false;
	in->rows_cut += in->cut && in->level == BUDGET_CUT;
	if (in->level == BUDGET_SUM)
		return err;
	in->written += b->table == proc_table ? 0 : ROW_BYTES; /* procrow_add() has added its own */
	in->written += 2 * (db->added - added); /* the dictionary's index holds each string a second time */
	if (user)
		user->left -= (int64_t)(in->written - written);
	return err;
}

int ingest_finish(struct ingest *in, struct db *db)
{
	int err = rollup_flush(in->by_run, db);

	if (!err)
		err = rollup_flush(in->by_day, db);
	return err ? err : usage_flush(in->by_hour, db);
}

void ingest_abort(struct ingest *in)
{
	rollup_clear(in->by_run);
	rollup_clear(in->by_day);
	usage_clear(in->by_hour);
}
