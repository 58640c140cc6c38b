/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp: metrics from streams of any table, and the bound on series.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <skep/mock.h>
#include <skep/hist.h>

#include "core/process/records.h"
#include "sinks/otlp/metrics.h"
#include "sinks/otlp/runs.h"

#define S UINT64_C(1000000000)

/* A stream that a site's plugin may have. */
struct thing {
	struct skep_str pool;
	uint64_t id, done, level;
	int64_t net;
	double heat;
	struct skep_hist wait;
};
#define F(m_, type_, sem_, unit_) SKEP_FIELD(struct thing, m_, #m_, type_, sem_, unit_, "")
static const struct skep_field fields[] = {
	F(pool, SKEP_T_STR, SKEP_S_ATTRIBUTE, ""),
	F(id, SKEP_T_U64, SKEP_S_ATTRIBUTE, ""),
	SKEP_FIELD(struct thing, done, "done_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
	F(level, SKEP_T_U64, SKEP_S_GAUGE, "By"),
	F(net, SKEP_T_I64, SKEP_S_DELTA, "1"),
	SKEP_FIELD(struct thing, heat, "hw.temperature", SKEP_T_F64, SKEP_S_GAUGE, "Cel", ""),
	F(wait, SKEP_T_HIST, SKEP_S_DELTA, "ns"),
};
static const struct skep_stream stream = {
	.size = sizeof(stream),
	.field_size = sizeof(fields[0]),
	.name = "site.thing",
	.record_size = sizeof(struct thing),
	.n_fields = sizeof(fields) / sizeof(fields[0]),
	.fields = fields,
};

static struct metrics m;

static void begin(uint32_t most)
{
	assert_int_equal(metrics_init(&m, most, false, S), 0);
}

static void add(const struct skep_stream *s, uint64_t time_ns, const void *data, const struct view *v, bool count)
{
	const struct skep_record r = { .size = sizeof(r), .stream = s, .time_ns = time_ns, .data = data };

	assert_int_equal(metrics_add(&m, &r, v, 0, count), 0);
}

/* Empties the output; returns the number of its points. */
static uint32_t tell(void)
{
	struct pb pb = { 0 };
	uint32_t n = metrics_write(&m, &pb);

	assert_int_equal(pb.err, 0);
	pb_free(&pb);
	return n;
}

/* The only group. */
static struct group *only(void)
{
	struct group *found = NULL;

	for (uint32_t i = 0; i < m.groups.room; i++)
		for (struct group *g = m.groups.table[i]; g; g = g->next) {
			assert_null(found);
			found = g;
		}
	assert_non_null(found);
	return found;
}

static const struct plan_metric *metric_of(const struct group *g, const char *name, union group_value *ret)
{
	for (uint32_t i = 0; i < g->plan->n_points; i++) {
		const struct plan_metric *metric = &g->plan->metrics[g->plan->points[i].metric];

		if (strcmp(metric->name.metric, name) == 0) {
			*ret = g->values[i];
			return metric;
		}
	}
	fail_msg("no metric %s", name);
	return NULL;
}

static void any_table(void **state)
{
	uint64_t slots[8] = { [3] = 2, [7] = 1 };
	struct thing t = { .pool = skep_mock_text("fast"),
			   .id = 1,
			   .done = 5,
			   .level = 10,
			   .net = -3,
			   .heat = 21.5,
			   .wait = { slots, 8, 0, 100 } };
	const struct view v = { .tool = skep_mock_text("samtools") };
	union group_value value;
	const struct plan_metric *metric;

	(void)state;
	begin(100);
	add(&stream, 10 * S, &t, &v, true);
	t.id = 2; /* an id makes no series of its own */
	t.level = 7;
	add(&stream, 11 * S, &t, &v, true);
	add(&stream, 11 * S, &t, &v, false); /* counted earlier */

	metric = metric_of(only(), "skep.site.thing.done.time", &value);
	assert_int_equal(value.u, 10);
	assert_true(metric->sum && metric->seconds && !metric->signed_sum);
	assert_string_equal(metric->unit, "s");
	metric = metric_of(only(), "skep.site.thing.level", &value);
	assert_int_equal(value.u, 7);
	assert_true(!metric->sum && !metric->seconds);
	metric = metric_of(only(), "skep.site.thing.net", &value);
	assert_int_equal(value.i, -6);
	assert_true(metric->signed_sum);
	metric = metric_of(only(), "hw.temperature", &value);
	assert_true(value.f == 21.5);
	metric = metric_of(only(), "skep.site.thing.wait", &value);
	assert_true(metric->hist);
	assert_string_equal(metric->unit, "ns"); /* another unit would have other buckets */
	assert_int_equal(value.hist->slots[3], 4);
	assert_int_equal(value.hist->slots[7], 2);
	assert_int_equal(value.hist->sum, 200);
	assert_non_null(memmem(only()->key, only()->key_len, "pool\0fast", 10));
	assert_non_null(memmem(only()->key, only()->key_len, "skep.tool\0samtools", 19));
	assert_int_equal(only()->start_ns, 9 * S);
	assert_int_equal(tell(), 5);
	assert_int_equal(only()->sent_ns, 11 * S);
	assert_int_equal(tell(), 0); /* no new points */

	/* Points of the same or an earlier time: the next point is later than the last, never earlier. */
	add(&stream, 11 * S, &t, &v, true);
	tell();
	assert_int_equal(only()->sent_ns, 11 * S + 1000000);
	add(&stream, 10 * S, &t, &v, true);
	tell();
	assert_int_equal(only()->sent_ns, 11 * S + 2000000);
	metrics_free(&m);
}

/* Levels of two runs at one time belong to one series: they add up. Levels of another time replace them. */
static void levels_of_runs(void **state)
{
	const struct view v = { .tool = skep_mock_text("bwa"), .pipeline = skep_mock_text("p") };
	struct record_tool_sample t = { .rss_bytes = 100, .cpu_ns = S };
	union group_value value;

	(void)state;
	begin(100);
	add(&record_stream_tool_sample, 10 * S, &t, &v, true);
	t.rss_bytes = 30;
	add(&record_stream_tool_sample, 10 * S, &t, &v, true);
	metric_of(only(), "process.memory.usage", &value);
	assert_int_equal(value.u, 130);
	metric_of(only(), "process.cpu.time", &value);
	assert_int_equal(value.u, 2 * S);
	add(&record_stream_tool_sample, 11 * S, &t, &v, true);
	metric_of(only(), "process.memory.usage", &value);
	assert_int_equal(value.u, 30);
	tell();
	metrics_free(&m);
}

static uint64_t total_of(const char *name)
{
	union group_value value;
	uint64_t n = 0;

	for (uint32_t i = 0; i < m.groups.room; i++)
		for (struct group *g = m.groups.table[i]; g; g = g->next) {
			metric_of(g, name, &value);
			n += value.u;
		}
	return n;
}

/* The attribute of the overflow series: AnyValue { bool_value = 2 }, true. */
static bool tells_overflow(void)
{
	static const char pair[] = NAME_OVERFLOW "\x12\x02\x10\x01";

	for (uint32_t i = 0; i < m.groups.room; i++)
		for (struct group *g = m.groups.table[i]; g; g = g->next)
			if (memmem(g->attrs, g->attrs_len, pair, sizeof(pair) - 1) &&
			    memmem(g->hist_attrs, g->hist_attrs_len, pair, sizeof(pair) - 1))
				return true;
	return false;
}

/* More attributes than allowed: the sink counts them in a series marked as overflow. Silent series make room. */
static void too_many(void **state)
{
	struct record_tool_sample t = { .cpu_ns = 1 };
	char tool[32];

	(void)state;
	begin(16);
	for (int i = 0; i < 40; i++) {
		struct view v;

		memset(&v, 0, sizeof(v));
		snprintf(tool, sizeof(tool), "tool%d", i);
		v.tool = skep_mock_text(tool);
		add(&record_stream_tool_sample, 10 * S, &t, &v, true);
	}
	assert_int_equal(m.groups.n, 17);
	assert_int_equal(m.groups.overflowed, 24);
	assert_int_equal(total_of("process.cpu.time"), 40);
	assert_true(tells_overflow());
	assert_int_equal(tell(), 17 + 17 + 17); /* CPU time, memory and processes */
	for (int i = 100; i < 110; i++) {
		struct view v;

		memset(&v, 0, sizeof(v));
		snprintf(tool, sizeof(tool), "tool%d", i);
		v.tool = skep_mock_text(tool);
		t.start_ns = 5 * S;
		add(&record_stream_tool_sample, 10 * S + GROUPS_FORGET_NS + S, &t, &v, true);
	}
	assert_int_equal(m.groups.n, 10);
	assert_int_equal(m.groups.overflowed, 24);
	for (uint32_t i = 0; i < m.groups.room; i++)
		for (struct group *g = m.groups.table[i]; g; g = g->next)
			assert_int_equal(g->start_ns, 10 * S); /* not before the last point of the removed series */
	metrics_free(&m);
}

/*
 * Without room for a series, sums go into the overflow; a level of many series would be only the last one's. A repeated
 * batch counts once.
 */
static void overflow_has_no_levels(void **state)
{
	char pool[32];

	(void)state;
	begin(16);
	for (int again = 0; again < 2; again++)
		for (int i = 0; i < 20; i++) {
			struct thing t = { .done = 5, .level = 10, .heat = 21.5 };
			const struct view v = { 0 };

			snprintf(pool, sizeof(pool), "pool%d", i);
			t.pool = skep_mock_text(pool);
			add(&stream, 10 * S, &t, &v, !again);
		}
	assert_int_equal(m.groups.overflowed, 4);
	assert_int_equal(m.groups.n, 17);
	assert_int_equal(tell(), 17 + 16 + 16); /* done; level and temperature */
	metrics_free(&m);
}

/* The clock is set back by an hour: points have the new time at once, and their sums start anew. */
static void clock_set_back(void **state)
{
	const struct thing t = { .pool = skep_mock_text("p"), .done = 5 };
	const struct skep_record r = { .size = sizeof(r), .stream = &stream, .time_ns = 100 * S, .data = &t };
	const int64_t before = 7200 * (int64_t)S, after = 3600 * (int64_t)S;
	const struct view v = { 0 };

	(void)state;
	begin(16);
	metrics_clock(&m, "boot", before);
	assert_int_equal(metrics_add(&m, &r, &v, before, true), 0);
	tell();
	assert_int_equal(only()->sent_ns, 7300 * S);
	metrics_clock(&m, "boot", after);
	assert_int_equal(metrics_add(&m, &r, &v, after, true), 0);
	tell();
	assert_int_equal(only()->sent_ns, 3700 * S);
	assert_int_equal(only()->start_ns, 3699 * S);
	assert_int_equal(total_of("skep.site.thing.done.time"), 5);
	metrics_clock(&m, "another boot", 0); /* another boot's time has no relation to this clock */
	assert_int_equal(metrics_add(&m, &r, &v, after, true), 0);
	assert_int_equal(total_of("skep.site.thing.done.time"), 10);
	metrics_free(&m);
}

/*
 * The sink learns an adopted trace from one record. It forgets runs that have ended first, then runs without a trace.
 */
static void an_adopted_trace_stays(void **state)
{
	static const char parent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	struct skep_str none = { 0 };
	struct runs r;
	char id[32];

	(void)state;
	assert_int_equal(runs_init(&r), 0);
	assert_non_null(runs_get(&r, "boot", skep_mock_text("adopted"), skep_mock_text(parent)));
	for (int i = 0; i < 3 * RUNS_MOST; i++) {
		struct run_trace *t;

		snprintf(id, sizeof(id), "run%d", i);
		t = runs_get(&r, "boot", skep_mock_text(id), i % 2 ? none : skep_mock_text(parent));
		assert_non_null(t);
		t->ended = i % 2 == 0;
	}
	assert_int_equal(runs_get(&r, "boot", skep_mock_text("adopted"), none)->trace.trace[0], 0x0a);
	runs_free(&r);
}

/* Sums of this sink do not start before it, as those of an earlier sink did, and never after their own points. */
static void begins(void **state)
{
	static const struct {
		uint64_t start, time, begin;
	} cases[] = { { 5 * S, 12 * S, 10 * S }, { 11 * S, 12 * S, 11 * S }, { 5 * S, 9 * S, 9 * S } };
	const struct view v = { .tool = skep_mock_text("bwa") };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct record_tool_sample t = { .start_ns = cases[i].start, .cpu_ns = 1 };

		begin(16);
		m.groups.floor_ns = 10 * S;
		add(&record_stream_tool_sample, cases[i].time, &t, &v, true);
		tell();
		assert_int_equal(only()->start_ns, cases[i].begin);
		metrics_free(&m);
	}
}

/* In no metric: items of a sum that is reported as a whole, fields of another stream, a running run. */
static void left_out(void **state)
{
	struct record_ledger of_run = { .run = skep_mock_text("r"),
					.account = skep_mock_text("cpu"),
					.item = skep_mock_text("idle"),
					.amount = 1 };
	struct record_process_sample sample = { .cpu_ns = 1 };
	struct record_run run = { .state = skep_mock_text("running"), .start_ns = 1 };
	const struct view going = { .kind = VIEW_RUN, .state = skep_mock_text("running") }, none = { 0 };

	(void)state;
	begin(100);
	add(&record_stream_ledger, 10 * S, &of_run, &none, true);
	add(&record_stream_process_sample, 10 * S, &sample, &none, true);
	add(&record_stream_run, 10 * S, &run, &going, true);
	assert_int_equal(m.groups.n, 0);
	assert_int_equal(tell(), 0);
	of_run.run = (struct skep_str){ 0 };
	add(&record_stream_ledger, 10 * S, &of_run, &none, true);
	assert_int_equal(m.groups.n, 1);
	assert_int_equal(tell(), 1);
	metrics_free(&m);
}

/* The conventions make the end of this name an attribute. */
static void conventions(void **state)
{
	static const struct {
		const char *field, *unit, *metric, *attribute, *value;
	} cases[] = {
		{ "system.cpu.time.user", "ns", "system.cpu.time", "cpu.mode", "user" },
		{ "system.disk.io.read", "By", "system.disk.io", "disk.io.direction", "read" },
		{ "system.filesystem.inode.usage.free", "{inode}", "system.filesystem.inode.usage",
		  "system.filesystem.state", "free" },
		{ "system.cpu.load_average.1m", "{thread}", "system.cpu.load_average.1m", NULL, NULL },
		{ "hw.gpu.memory.usage", "By", "hw.gpu.memory.usage", NULL, NULL },
		{ "net.rx_bytes", "By", "skep.process.net.rx", NULL, NULL },
		{ "cpu_throttled_ns", "ns", "skep.process.cpu_throttled.time", NULL, NULL },
		{ "minor_faults", "{fault}", "process.paging.faults", "system.paging.fault.type", "minor" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct skep_field f = {
			.name = cases[i].field, .unit = cases[i].unit, .type = SKEP_T_U64, .semantics = SKEP_S_DELTA
		};
		struct names_metric name;

		assert_int_equal(names_metric(&record_stream_process, &f, &name), 0);
		assert_string_equal(name.metric, cases[i].metric);
		if (cases[i].attribute) {
			assert_string_equal(name.attribute, cases[i].attribute);
			assert_string_equal(name.value, cases[i].value);
		} else {
			assert_null(name.attribute);
		}
		names_metric_clear(&name);
	}
}

/* Values chosen against a hash without a secret, (h ^ word) * odd, h ^= h >> 32: their bits cancel each other. */
static void chosen_values(void **state)
{
	enum { BLOCKS = 10, CHOSEN = 1 << BLOCKS };
	const uint64_t flips[] = { 1ull << 63, 1ull << 63 | 1ull << 31 };
	uint64_t words[2 * BLOCKS];
	struct plan *plan = plan_new(&stream);
	uint32_t longest = 0;
	struct groups g;

	(void)state;
	assert_non_null(plan);
	assert_int_equal(groups_init(&g, CHOSEN + 1), 0);
	for (uint32_t n = 0; n < CHOSEN; n++) {
		struct group_key k = { 0 };

		for (unsigned i = 0; i < 2 * BLOCKS; i++)
			words[i] = 0x2f6e69622f727375u ^ (n >> i / 2 & 1 ? flips[i % 2] : 0);
		/* 8 bytes with its NUL */
		group_key_add(&k, "program", (struct skep_str){ (const char *)words, sizeof(words), sizeof(words) });
		assert_non_null(groups_get(&g, plan, &k, S));
	}
	assert_int_equal(g.n, CHOSEN);
	for (uint32_t i = 0; i < g.room; i++) {
		uint32_t chain = 0;

		for (const struct group *one = g.table[i]; one; one = one->next)
			chain++;
		longest = chain > longest ? chain : longest;
	}
	assert_true(longest <= 20);
	groups_free(&g);
	plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overflow_has_no_levels),
		cmocka_unit_test(clock_set_back),
		cmocka_unit_test(an_adopted_trace_stays),
		cmocka_unit_test(any_table),
		cmocka_unit_test(levels_of_runs),
		cmocka_unit_test(too_many),
		cmocka_unit_test(chosen_values),
		cmocka_unit_test(begins),
		cmocka_unit_test(left_out),
		cmocka_unit_test(conventions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
