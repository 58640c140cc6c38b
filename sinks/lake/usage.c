/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums records of the ledger, of probes and of tools per host and hour.
 */
#include "sinks/lake/usage.h"

#include <errno.h>
#include <skep/daemons.h>
#include <skep/sink/fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS   (3600 * INT64_C(1000000000))
#define MINUTE_NS (60 * INT64_C(1000000000))
/*
 * The probe cgroup gives all records of a pass the same boot time. Each batch measures the offset to realtime anew, so
 * in two batches the records of a pass differ by some microseconds.
 */
#define PASS_NS INT64_C(10000000)
#define GROUPS  64 /* a batch has a host, its GPUs and containers, one or two passes, and one or two hours */
#define KEYS    4  /* host, item, hour, boot */

struct group {
	int64_t key[KEYS];
	int64_t value[USAGE_VALUES];
};

struct usage {
	size_t n;
	struct group group[GROUPS];
};

/* The fields by stream, in the order in which the functions below name them. */
enum { L_RUN, L_ACCOUNT, L_ITEM, L_KIND, L_INTERVAL, L_AMOUNT };
enum { M_USED, M_LIMIT };
enum { G_ID, G_PARENT, G_INTERVAL, G_BUSY, G_IDLE, G_USED, G_LIMIT };
enum { C_INTERVAL, C_CPU, C_MEMORY, C_LIMIT, C_READ, C_WRITE, C_GONE };
enum { S_RUN, S_TOOL, S_START, S_INTERVAL, S_CPU };

static const struct {
	const char *stream;
	enum usage_of of;
	const char *field[USAGE_FIELDS];
} streams[] = {
	{ "ledger", USAGE_LEDGER, { "run", "account", "item", "kind", "interval_ns", "amount" } },
	{ "host.memory", USAGE_HOST_MEMORY, { "system.memory.usage.used", "system.memory.limit" } },
	{ "gpu.device",
	  USAGE_GPU,
	  { "hw.id", "hw.parent", "interval_ns", "busy_ns", "idle_held_ns", "hw.gpu.memory.usage",
	    "hw.gpu.memory.limit" } },
	{ "cgroup",
	  USAGE_CGROUP,
	  { "interval_ns", "cpu_ns", "memory_bytes", "memory_limit_bytes", "read_bytes", "write_bytes", "gone" } },
	{ "tool.sample", USAGE_SAMPLE, { "run", "tool", "start_ns", "interval_ns", "cpu_ns" } },
};

void usage_bind(const struct skep_stream *s, struct usage_stream *ret)
{
	size_t which = 0;

	*ret = (struct usage_stream){ 0 };
	while (which < sizeof(streams) / sizeof(streams[0]) &&
	       (!s->name || strcmp(streams[which].stream, s->name) != 0))
		which++;
	if (which == sizeof(streams) / sizeof(streams[0]))
		return;
	ret->of = streams[which].of;
	for (uint32_t i = 0; i < skep_fields_count(s); i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		for (size_t k = 0; f && k < USAGE_FIELDS && streams[which].field[k]; k++)
			if (strcmp(f->name, streams[which].field[k]) == 0)
				ret->field[k] = f;
	}
}

struct usage *usage_new(void)
{
	return calloc(1, sizeof(struct usage));
}

struct usage *usage_free(struct usage *u)
{
	free(u);
	return NULL;
}

void usage_clear(struct usage *u)
{
	u->n = 0;
}

int usage_flush(struct usage *u, struct db *db)
{
	sqlite3_stmt *s;
	int err = u->n ? db_statement(db, DB_USAGE_ADD, &s) : 0;

	for (size_t i = 0; !err && i < u->n; i++) {
		for (int k = 0; k < KEYS; k++)
			sqlite3_bind_int64(s, k + 1, u->group[i].key[k]);
		for (int k = 0; k < USAGE_VALUES; k++)
			sqlite3_bind_int64(s, k + 1 + KEYS, u->group[i].value[k]);
		err = db_run_statement(db, s, "adding up an hour");
	}
	if (!err)
		usage_clear(u);
	return err;
}

/* ---- a record ------------------------------------------------------------------------ */

struct reading {
	const struct usage_batch *batch;
	const struct usage_stream *stream;
	const struct skep_record *record;
	char item[160];
	int64_t from_ns, to_ns; /* the record's interval, realtime */
	int64_t value[USAGE_VALUES];
};

static int64_t realtime(const struct usage_batch *b, uint64_t boot_ns)
{
	int64_t ns;

	if (!boot_ns || boot_ns > INT64_MAX || __builtin_add_overflow((int64_t)boot_ns, b->offset, &ns) || ns < 0)
		return 0;
	return ns;
}

/* 0 too for what a sum cannot take: less than 0. */
static int64_t number(const struct reading *r, int which)
{
	const struct skep_field *f = r->stream->field[which];
	double real = 0;
	int64_t v = 0;

	if (f && f->type == SKEP_T_F64) {
		real = skep_field_f64(f, r->record->data);
		v = real >= 0 && real < 9e18 ? (int64_t)real : 0;
	} else if (f && skep_field_is_number(f)) {
		v = skep_field_i64(f, r->record->data);
	}
	return v > 0 ? v : 0;
}

static struct skep_str text(const struct reading *r, int which)
{
	const struct skep_field *f = r->stream->field[which];

	return f && f->type == SKEP_T_STR ? skep_field_str(f, r->record->data) : (struct skep_str){ 0 };
}

static bool is(struct skep_str s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.ptr, word, s.len) == 0;
}

static bool is_set(struct skep_str s, char *item, size_t size, const char *kind)
{
	return s.len && snprintf(item, size, "%s/%.*s", kind, (int)s.len, s.ptr) < (int)size;
}

/* Each of these functions returns false for a record without usage. */

static bool read_ledger(struct reading *r)
{
	static const struct {
		const char *account, *kind, *item; /* item: NULL: any */
		enum usage_value value;
	} posts[] = {
		{ "cpu", "reference", NULL, USAGE_CAPACITY },   { "cpu", "part", "idle", USAGE_IDLE },
		{ "cpu", "part", "processes", USAGE_BUSY },     { "cpu", "part", "excluded", USAGE_BUSY },
		{ "net.rx", "reference", NULL, USAGE_RX },      { "net.tx", "reference", NULL, USAGE_TX },
		{ "disk.read", "reference", NULL, USAGE_READ }, { "disk.write", "reference", NULL, USAGE_WRITE },
	};
	size_t i = 0;

	if (text(r, L_RUN).len)
		return false;
	while (i < sizeof(posts) / sizeof(posts[0]) &&
	       (!is(text(r, L_ACCOUNT), posts[i].account) || !is(text(r, L_KIND), posts[i].kind) ||
		(posts[i].item && !is(text(r, L_ITEM), posts[i].item))))
		i++;
	if (i == sizeof(posts) / sizeof(posts[0]))
		return false;
	r->value[posts[i].value] = number(r, L_AMOUNT);
	r->from_ns = r->to_ns - number(r, L_INTERVAL);
	if (posts[i].value == USAGE_CAPACITY)
		r->value[USAGE_KNOWN] = number(r, L_INTERVAL);
	return true;
}

static bool read_gpu(struct reading *r)
{
	const int64_t minute = r->to_ns <= 0 ? 0 : INT64_C(1) << ((r->to_ns - 1) / MINUTE_NS % 60);

	/* a MIG instance is part of a device */
	if (text(r, G_PARENT).len || !is_set(text(r, G_ID), r->item, sizeof(r->item), "gpu"))
		return false;
	r->from_ns = r->to_ns - number(r, G_INTERVAL);
	r->value[USAGE_KNOWN] = number(r, G_INTERVAL);
	r->value[USAGE_BUSY] = number(r, G_BUSY);
	r->value[USAGE_IDLE] = number(r, G_IDLE);
	r->value[USAGE_MEMORY] = number(r, G_USED);
	r->value[USAGE_MEMORY_LIMIT] = number(r, G_LIMIT);
	r->value[r->value[USAGE_IDLE] && !r->value[USAGE_BUSY] ? USAGE_IDLE_MINUTES : USAGE_OTHER_MINUTES] = minute;
	return true;
}

/*
 * A container may have several cgroups. Their records of a pass are one reading of the container: it covers the longest
 * of their intervals, and its memory is the sum. The last record of a removed cgroup adds no usage, as the probe has
 * read the cgroup when it became empty; and a cgroup that only had others below it has this one record, of its whole
 * life.
 */
static bool read_cgroup(struct reading *r)
{
	if (number(r, C_GONE) ||
	    !is_set(skep_fields_context(r->record, "container"), r->item, sizeof(r->item), "container"))
		return false;
	r->from_ns = r->to_ns - number(r, C_INTERVAL);
	r->value[USAGE_PASS] = r->to_ns / PASS_NS;
	r->value[USAGE_PASS_KNOWN] = number(r, C_INTERVAL);
	r->value[USAGE_PASS_MEMORY] = number(r, C_MEMORY);
	r->value[USAGE_BUSY] = number(r, C_CPU);
	r->value[USAGE_MEMORY_LIMIT] = number(r, C_LIMIT);
	r->value[USAGE_READ] = number(r, C_READ);
	r->value[USAGE_WRITE] = number(r, C_WRITE);
	return true;
}

static bool read_sample(struct reading *r)
{
	struct skep_str tool = text(r, S_TOOL);

	r->from_ns = realtime(r->batch, (uint64_t)number(r, S_START));
	if (!r->from_ns || __builtin_add_overflow(r->from_ns, number(r, S_INTERVAL), &r->to_ns))
		return false;
	if (text(r, S_RUN).len)
		r->value[USAGE_RUNS] = number(r, S_CPU);
	else if (skep_is_daemon(tool.ptr, tool.len))
		r->value[USAGE_DAEMONS] = number(r, S_CPU);
	else
		return false;
	return true;
}

static bool read_record(struct reading *r)
{
	switch (r->stream->of) {
	case USAGE_LEDGER:
		return read_ledger(r);
	case USAGE_HOST_MEMORY:
		r->value[USAGE_MEMORY] = number(r, M_USED);
		r->value[USAGE_MEMORY_LIMIT] = number(r, M_LIMIT);
		return true;
	case USAGE_GPU:
		return read_gpu(r);
	case USAGE_CGROUP:
		return read_cgroup(r);
	case USAGE_SAMPLE:
		return read_sample(r);
	default:
		return false;
	}
}

/* ---- groups ------------------------------------------------------------------------------ */

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void add(int64_t *to, int64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = INT64_MAX;
}

/* Of one pass, if the values are a container's. */
static void add_up(int64_t *to, const int64_t *value)
{
	to[USAGE_FIRST] = value[USAGE_FIRST] < to[USAGE_FIRST] ? value[USAGE_FIRST] : to[USAGE_FIRST];
	to[USAGE_LAST] = larger(to[USAGE_LAST], value[USAGE_LAST]);
	for (int i = USAGE_KNOWN; i < USAGE_IDLE_MINUTES; i++) {
		if (i == USAGE_MEMORY || i == USAGE_MEMORY_LIMIT)
			to[i] = larger(to[i], value[i]);
		else
			add(&to[i], value[i]);
	}
	to[USAGE_IDLE_MINUTES] |= value[USAGE_IDLE_MINUTES];
	to[USAGE_OTHER_MINUTES] |= value[USAGE_OTHER_MINUTES];
	to[USAGE_PASS_KNOWN] = larger(to[USAGE_PASS_KNOWN], value[USAGE_PASS_KNOWN]);
	add(&to[USAGE_PASS_MEMORY], value[USAGE_PASS_MEMORY]);
}

static int add_group(struct usage *u, struct db *db, const int64_t key[KEYS], const int64_t value[USAGE_VALUES])
{
	int err;

	for (size_t i = 0; i < u->n; i++) {
		if (memcmp(u->group[i].key, key, sizeof(u->group[i].key)) != 0 ||
		    u->group[i].value[USAGE_PASS] != value[USAGE_PASS])
			continue;
		add_up(u->group[i].value, value);
		return 0;
	}
	if (u->n == GROUPS) {
		err = usage_flush(u, db);
		if (err)
			return err;
	}
	memcpy(u->group[u->n].key, key, sizeof(u->group[u->n].key));
	memcpy(u->group[u->n].value, value, sizeof(u->group[u->n].value));
	u->n++;
	return 0;
}

int usage_add(struct usage *u, struct db *db, const struct usage_batch *batch, const struct usage_stream *stream,
	      const struct skep_record *record)
{
	struct reading r = { .batch = batch, .stream = stream, .record = record };
	int64_t key[KEYS] = { 0 };
	int err;

	if (stream->of == USAGE_NONE || !record->data)
		return 0;
	r.from_ns = r.to_ns = realtime(batch, record->time_ns);
	if (!read_record(&r) || !r.to_ns) /* without a time there is no hour */
		return 0;
	r.value[USAGE_FIRST] = larger(r.from_ns, 0);
	r.value[USAGE_LAST] = r.to_ns;
	key[2] = (r.to_ns - 1) / HOUR_NS; /* an interval that ends with the hour is of that hour */
	err = db_dict(db, batch->host, strlen(batch->host), &key[0]);
	if (!err)
		err = db_dict(db, r.item, strlen(r.item), &key[1]);
	if (!err)
		err = db_dict(db, batch->boot_id, strlen(batch->boot_id), &key[3]);
	return err ? err : add_group(u, db, key, r.value);
}
