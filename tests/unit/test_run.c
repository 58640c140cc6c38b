/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_run.c - runs: ids, records, wait statuses; cells of samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "core/collect/collector.h"
#include "core/process/run.h"
#include "core/process/sampler.h"

static void ids(void **state)
{
	char a[RUN_ID_SIZE], b[RUN_ID_SIZE];
	unsigned same = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		run_id_new(a);
		run_id_new(b);
		assert_int_equal(strlen(a), RUN_ID_SIZE - 1);
		assert_int_equal(a[8], 'T');
		assert_int_equal(a[15], '-');
		assert_int_equal(strspn(a, "0123456789T-abcdef"), RUN_ID_SIZE - 1);
		same += strcmp(a, b) == 0;
	}
	assert_int_equal(same, 0);
}

static void records(void **state)
{
	const char *argv[] = { "make", "", "all", NULL };
	struct run_spec spec = { .id = "r", .name = "n", .argv = argv, .root = 5 };
	struct runs runs = { 0 };
	struct run *r, *second;
	struct record_run rec;

	(void)state;
	assert_null(run_only(&runs));
	assert_int_equal(run_new(&runs, &spec, 77, &r), 0);
	assert_int_equal(run_new(&runs, &spec, 77, &second), -EEXIST);
	assert_ptr_equal(run_only(&runs), r);
	run_record(r, &rec);
	assert_memory_equal(rec.state.ptr, "running", rec.state.len);
	assert_int_equal(rec.argv.len, 10);
	assert_memory_equal(rec.argv.ptr, "make\0\0all", 10);
	assert_int_equal(rec.exit_code, -1);
	assert_int_equal(rec.start_ns, 77);
	assert_int_equal(rec.pipeline.len, 0);
	r->rss_bytes = 10;
	run_sampled(r);
	r->rss_bytes = 5;
	run_sampled(r);
	r->status = 9;
	r->end_ns = 99;
	r->ended = true;
	run_record(r, &rec);
	assert_memory_equal(rec.state.ptr, "ended", rec.state.len);
	assert_int_equal(rec.signal, 9);
	assert_int_equal(rec.exit_code, -1);
	assert_int_equal(rec.end_ns, 99);
	assert_int_equal(rec.memory_peak_bytes, 10);
	assert_memory_equal(rec.memory_source.ptr, "rss", 3);
	r->pss_peak_bytes = 7;
	run_record(r, &rec);
	assert_int_equal(rec.memory_peak_bytes, 7);
	assert_memory_equal(rec.memory_source.ptr, "pss", 3);
	run_largest(r, 8);
	run_record(r, &rec);
	assert_int_equal(rec.memory_peak_bytes, 8);
	assert_memory_equal(rec.memory_source.ptr, "process", 7);
	assert_null(run_only(&runs));
	spec.id = "s";
	spec.argv = NULL;
	assert_int_equal(run_new(&runs, &spec, 78, &second), 0);
	assert_ptr_equal(run_find(&runs, "s"), second);
	assert_ptr_equal(run_only(&runs), second);
	run_free(&runs, r);
	assert_null(run_find(&runs, "r"));
	run_free(&runs, second);
	assert_int_equal(runs.n, 0);
	assert_null(runs.first);
}

/* Many runs are found by their ids. A run goes when it has ended and nothing refers to it. */
static void many(void **state)
{
	struct runs runs = { 0 };
	struct run_spec spec = { 0 };
	struct run *r;
	char id[16];

	(void)state;
	spec.id = id;
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(id, sizeof(id), "run%u", i);
		assert_int_equal(run_new(&runs, &spec, i, &r), 0);
		assert_int_equal(run_new(&runs, &spec, i, &r), -EEXIST);
		r->ended = i % 2;
		if (i % 5 == 0)
			run_ref(r);
	}
	runs_reap(&runs);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(id, sizeof(id), "run%u", i);
		r = run_find(&runs, id);
		assert_int_equal(r != NULL, i % 2 == 0 || i % 5 == 0);
		if (!r)
			continue;
		assert_string_equal(r->id, id);
		r->ended = true;
		if (i % 5 == 0)
			run_unref(r);
	}
	runs_reap(&runs);
	assert_int_equal(runs.n, 0);
	assert_null(runs.first);
	assert_null(run_find(&runs, "run1"));
}

static void statuses(void **state)
{
	int64_t code;
	uint64_t signal;
	bool core;

	(void)state;
	run_decode_status(3 << 8, &code, &signal, &core);
	assert_true(code == 3 && signal == 0 && !core);
	run_decode_status(11 | 0x80, &code, &signal, &core);
	assert_true(code == -1 && signal == 11 && core);
	run_decode_status(9, &code, &signal, &core);
	assert_true(code == -1 && signal == 9 && !core);
	run_decode_status(0, &code, &signal, &core);
	assert_true(code == 0 && signal == 0);
}

static void keep(const struct cell *cell, void *arg)
{
	uint64_t *sum = arg;

	sum[0]++;
	sum[1] += cell->cpu_ns;
}

static void cells(void **state)
{
	struct intern *in = intern_new();
	struct sampler *s = sampler_new(in);
	const struct interned *tool = intern_text(in, "bwa");
	struct run run = { 0 };
	struct cell *a = sampler_cell(s, NULL, tool), *b = sampler_cell(s, &run, tool);
	uint64_t sum[2] = { 0 };

	(void)state;
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(sampler_cell(s, &run, tool), b);
	sampler_unref(b);
	sampler_take(s, true, NULL, keep, sum);
	assert_int_equal(sum[0], 0); /* no sample to send */
	a->cpu_ns = 5;
	b->cpu_ns = 7;
	b->alive = 1;
	sampler_take(s, false, &run, keep, sum);
	assert_int_equal(sum[0], 1);
	assert_int_equal(sum[1], 7);
	sampler_take(s, true, NULL, keep, sum);
	assert_int_equal(sum[0], 3); /* a live process is reason for a sample */
	assert_int_equal(sum[1], 12);
	b->alive = 0;
	b->cpu_ns = 9;
	sampler_unref(b);
	assert_int_equal(run.refs, 1); /* the cell stays until its last sample */
	sampler_take(s, true, NULL, keep, sum);
	assert_int_equal(sum[1], 21);
	assert_int_equal(run.refs, 0);
	assert_null(run.cells);
	intern_unref(in, tool);
	assert_int_equal(intern_count(in), 1); /* a's */
	sampler_unref(a);
	sampler_unref(NULL);
	sampler_free(s);
	assert_int_equal(intern_count(in), 0);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many),
		cmocka_unit_test(ids),
		cmocka_unit_test(records),
		cmocka_unit_test(statuses),
		cmocka_unit_test(cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
