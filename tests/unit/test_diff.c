/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_diff.c - what skep diff says about two runs, and about a run and its history.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diff.h"
#include "tests/unit/reports.h"

#define RUN_MS UINT64_C(1000000)

/* A run with n executions of the task "align" of the tool "bwa"; execution i takes `ms` and i times `step` more. */
static struct reports *run_of(const char *command, uint64_t n, uint64_t ms, uint64_t step)
{
	struct reports *r = reports_new("demo", "make", 8);

	reports_add(r, 0, "make", "make", 0, RUN_MS, 10);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t start = i * 40000, end = start + ms + i * step;
		struct lake_process *p = reports_add(r, 0, "bwa", command, start, end, end - start);
		struct lake_task *t = reports_task(r, "align", start, end, end - start);

		p->totals.run_delay_ns = t->totals.run_delay_ns = 0;
		t->task_id = reports_string(r, "%u", (unsigned)i);
		p->task = t->task;
		reports_kind(p)->task_id = t->task_id;
	}
	return r;
}

static struct diff *diff_of(struct reports *a, struct reports *b)
{
	const struct lake_report *before[] = { &a->report };
	struct diff *d = NULL;

	reports_finish(a, RUN_MS, 0, 0);
	reports_finish(b, RUN_MS, 0, 0);
	assert_int_equal(diff_new(before, 1, false, &b->report, &d), 0);
	return d;
}

static const struct diff_row *row_of(const struct diff *d, enum finding_subject of, const char *name)
{
	const struct diff_row *rows;
	const size_t n = diff_rows(d, of, &rows);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static void done(struct diff *d, struct reports *a, struct reports *b)
{
	diff_free(d);
	reports_free(a);
	reports_free(b);
}

static void test_equal(void **state)
{
	struct reports *a = run_of("bwa mem -t 4 ref", 8, 10000, 100), *b = run_of("bwa mem -t 4 ref", 8, 10000, 100);
	struct diff *d = diff_of(a, b);
	static const enum finding_subject subjects[] = { FINDING_OF_TASK, FINDING_OF_TOOL };
	const struct diff_change *changes;
	const struct diff_row *rows;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		assert_true(diff_rows(d, subjects[k], &rows) > 0);
		for (size_t i = 0; i < diff_rows(d, subjects[k], &rows); i++)
			assert_false(rows[i].differs || rows[i].marked);
	}
	assert_false(diff_run(d)->differs);
	assert_int_equal(diff_changes(d, &changes), 0);
	assert_int_equal(row_of(d, FINDING_OF_TASK, "align")->figures[DIFF_CPU].verdict, DIFF_SAME);
	done(d, a, b);
}

/* By 30 %; with 8 executions a side the smallest p is 2 of C(16, 8) divisions. */
static void test_slower(void **state)
{
	struct reports *a = run_of("bwa mem", 8, 10000, 100), *b = run_of("bwa mem", 8, 13000, 100);
	struct diff *d = diff_of(a, b);
	const struct diff_row *r = row_of(d, FINDING_OF_TASK, "align");

	(void)state;
	for (enum diff_metric m = DIFF_CPU; m <= DIFF_WALL; m++) {
		assert_int_equal(r->figures[m].verdict, DIFF_MORE);
		assert_true(fabs(r->figures[m].p - 2.0 / 12870) < 1e-9);
		assert_true(fabs(r->figures[m].change - 3) < 1e-6);
		assert_true(r->figures[m].bounded && r->figures[m].low > 2 && r->figures[m].high < 4);
	}
	assert_true(r->marked && r->split.known);
	assert_true(fabs(r->split.total_s - 3) < 1e-6 && fabs(r->split.cpu_s - 3) < 1e-6);
	assert_true(fabs(r->split.rest_s) < 1e-6 && fabs(r->split.parallel_s) < 1e-6);
	done(d, a, b);
	d = diff_of(a = run_of("bwa mem", 8, 13000, 100), b = run_of("bwa mem", 8, 10000, 100));
	assert_int_equal(row_of(d, FINDING_OF_TASK, "align")->figures[DIFF_CPU].verdict, DIFF_LESS);
	done(d, a, b);
}

/* The same median difference, but the executions overlap; and a significant one of less than 5 %. */
static void test_noise(void **state)
{
	struct reports *a = run_of("bwa mem", 8, 2000, 4000), *b = run_of("bwa mem", 8, 3000, 4500);
	struct diff *d = diff_of(a, b);
	const struct diff_figure *f = &row_of(d, FINDING_OF_TASK, "align")->figures[DIFF_CPU];

	(void)state;
	assert_int_equal(f->verdict, DIFF_SAME);
	assert_true(f->large && f->p > 0.05);
	done(d, a, b);
	d = diff_of(a = run_of("bwa mem", 8, 10000, 10), b = run_of("bwa mem", 8, 10300, 10));
	f = &row_of(d, FINDING_OF_TASK, "align")->figures[DIFF_CPU];
	assert_int_equal(f->verdict, DIFF_SAME);
	assert_true(!f->large && f->p < 0.05);
	done(d, a, b);
}

static void test_few(void **state)
{
	struct reports *a = run_of("bwa mem", 3, 10000, 100), *b = run_of("bwa mem", 8, 20000, 100);
	struct diff *d = diff_of(a, b);
	const struct diff_row *r = row_of(d, FINDING_OF_TASK, "align");

	(void)state;
	assert_int_equal(r->figures[DIFF_CPU].verdict, DIFF_OBSERVED);
	assert_true(r->differs && !r->marked && r->figures[DIFF_CPU].large);
	done(d, a, b);
}

/* All figures are the same, but one execution failed, or there is one more. */
static void test_counts(void **state)
{
	(void)state;
	for (int failed = 0; failed < 2; failed++) {
		struct reports *a = run_of("bwa mem", 5, 10000, 0), *b = run_of("bwa mem", failed ? 5 : 6, 10000, 0);
		struct diff *d;
		const struct diff_row *r;

		b->report.tasks[1].exit_code = failed;
		d = diff_of(a, b);
		r = row_of(d, FINDING_OF_TASK, "align");
		assert_true(r->differs && !r->marked);
		assert_int_equal(r->executions_b, failed ? 5 : 6);
		assert_int_equal(r->failed_b, failed);
		assert_int_equal(r->figures[DIFF_CPU].n_b, failed ? 4 : 6);
		done(d, a, b);
	}
}

/* Two tasks of 4 executions each: 2 of 70 divisions are significant for one test, not for two. */
static void test_many(void **state)
{
	struct reports *a = run_of("bwa mem", 8, 10000, 100), *b = run_of("bwa mem", 8, 20000, 100);
	struct diff *d;
	const struct diff_figure *f;

	(void)state;
	for (size_t i = 0; i < 8; i += 2)
		a->report.tasks[i].task = b->report.tasks[i].task = "sort";
	d = diff_of(a, b);
	f = &row_of(d, FINDING_OF_TASK, "align")->figures[DIFF_CPU];
	assert_true(fabs(f->p - 2 * 2.0 / 70) < 1e-9);
	assert_int_equal(f->verdict, DIFF_SAME);
	done(d, a, b);
}

static const struct diff_change *change_of(const struct diff *d, const char *name, enum diff_what what, const char *a,
					   const char *b)
{
	const struct diff_change *c;
	const size_t n = diff_changes(d, &c);

	for (size_t i = 0; i < n; i++)
		if (strcmp(c[i].name, name) == 0 && c[i].what == what && (!a == !c[i].a) && (!b == !c[i].b) &&
		    (!a || strcmp(a, c[i].a) == 0) && (!b || strcmp(b, c[i].b) == 0))
			return &c[i];
	return NULL;
}

static void test_tools(void **state)
{
	struct reports *a = run_of("bwa mem -t 4 --seed=1 -I/x -o a.bam --mode old", 4, 10000, 100);
	struct reports *b = run_of("bwa mem -t 8 --fast -I/y -o b.bam --mode new", 4, 10000, 100);
	const struct diff_change *changes;
	struct diff *d;

	(void)state;
	reports_add(a, 0, "gzip", "gzip -9", 0, 5000, 5000);
	reports_add(b, 0, "zstd", "zstd -3", 0, 5000, 5000);
	reports_kind(&b->report.processes[1])->exe = "/opt/bwa/bin/bwa";
	b->report.run.cpus = 16;
	b->report.tasks[0].requested_cpus = 4;
	b->report.tasks[0].requested_memory_bytes = UINT64_C(2) << 30;
	d = diff_of(a, b);
	assert_int_equal(row_of(d, FINDING_OF_TOOL, "gzip")->presence, DIFF_GONE);
	assert_int_equal(row_of(d, FINDING_OF_TOOL, "zstd")->presence, DIFF_NEW);
	assert_int_equal(row_of(d, FINDING_OF_TOOL, "bwa")->presence, DIFF_BOTH);
	assert_non_null(change_of(d, "", DIFF_CPUS, "8", "16"));
	assert_non_null(change_of(d, "align", DIFF_REQUEST, "", "4 cores, 2.0 GiB"));
	assert_non_null(change_of(d, "bwa", DIFF_OPTION, "-t 4", "-t 8"));
	assert_non_null(change_of(d, "bwa", DIFF_OPTION, "--seed=1", NULL));
	assert_non_null(change_of(d, "bwa", DIFF_OPTION, NULL, "--fast"));
	assert_non_null(change_of(d, "bwa", DIFF_OPTION, "--mode old", "--mode new"));
	assert_int_equal(diff_changes(d, &changes), 7); /* and the binary; not -I, -o, gzip, zstd */
	for (size_t i = 0; i < 7; i++)
		assert_true(changes[i].what != DIFF_BINARY || strstr(changes[i].b, "/opt/bwa/bin/bwa"));
	done(d, a, b);
	a = run_of("bwa mem -t 4", 2, 10000, 0);
	b = run_of("bwa mem -t 4", 2, 10000, 0);
	for (size_t i = 0; i < 3; i++) {
		struct lake_kind *of_a = reports_kind(&a->report.processes[i]);
		struct lake_kind *of_b = reports_kind(&b->report.processes[i]);

		of_a->exe_size_bytes = of_b->exe_size_bytes = 4096;
		of_a->exe_modified_ns = UINT64_C(1682244096000000001);
		of_b->exe_modified_ns = i ? UINT64_C(1682244097000000000) : of_a->exe_modified_ns;
	}
	d = diff_of(a, b);
	assert_int_equal(diff_changes(d, &changes), 1);
	assert_non_null(change_of(d, "bwa", DIFF_FILE, "/usr/bin/bwa of 2023-04-23 10:01:36 UTC, 4096 B",
				  "/usr/bin/bwa of 2023-04-23 10:01:37 UTC, 4096 B"));
	done(d, a, b);
	a = run_of("bwa mem -t 4", 1, 10000, 0);
	b = run_of("bwa mem", 1, 10000, 0);
	b->report.processes[1].argv_cut = true;
	d = diff_of(a, b);
	assert_int_equal(diff_changes(d, &changes), 0); /* the rest of the arguments may have it */
	done(d, a, b);
}

/* The same work, twice as many at once: no CPU time, only parallelism explains the shorter run. */
static void test_split(void **state)
{
	struct reports *a = reports_new("demo", "make", 8), *b = reports_new("demo", "make", 8);
	const struct lake_report *before[] = { &a->report };
	const struct diff_split *s;
	struct diff *d = NULL;

	(void)state;
	reports_add(a, 0, "make", "make", 0, 40000, 10);
	reports_add(b, 0, "make", "make", 0, 20000, 10);
	for (uint64_t i = 0; i < 4; i++) {
		reports_add(a, 0, "cc", "cc", i * 10000, i * 10000 + 10000, 10000);
		reports_add(b, 0, "cc", "cc", i / 2 * 10000, i / 2 * 10000 + 10000, 10000);
	}
	for (uint64_t i = 1; i < 5; i++)
		a->report.processes[i].totals.run_delay_ns = b->report.processes[i].totals.run_delay_ns = 0;
	reports_finish(a, 40000, 0, 0);
	reports_finish(b, 20000, 0, 0);
	assert_int_equal(diff_new(before, 1, false, &b->report, &d), 0);
	s = &diff_run(d)->split;
	assert_true(s->known && fabs(s->total_s + 20) < 1e-6);
	assert_true(fabs(s->parallel_s + 20) < 0.1 && fabs(s->cpu_s) < 0.1);
	assert_true(fabs(s->cpu_s + s->queue_s + s->block_s + s->rest_s + s->parallel_s - s->total_s) < 1e-6);
	done(d, a, b);
}

/* Five earlier runs; the run is outside of their usual range, or within it. Three runs are too few. */
static void test_history(void **state)
{
	struct reports *old[5], *b;
	const struct lake_report *before[5];

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		before[i] = &(old[i] = run_of("bwa mem", 2, 10000 + 200 * i, 100))->report;
		reports_finish(old[i], RUN_MS, 0, 0);
	}
	for (uint64_t ms = 10500; ms <= 13500; ms += 3000)
		for (size_t n = 3; n <= 5; n += 2) {
			struct diff *d = NULL;
			const struct diff_figure *f;

			b = run_of("bwa mem", 2, ms, 100);
			reports_finish(b, RUN_MS, 0, 0);
			assert_int_equal(diff_new(before, n, true, &b->report, &d), 0);
			f = &row_of(d, FINDING_OF_TASK, "align")->figures[DIFF_CPU];
			assert_int_equal(f->n_a, n);
			assert_int_equal(f->verdict, n == 3 ? DIFF_OBSERVED : ms > 11000 ? DIFF_MORE : DIFF_SAME);
			assert_true(n == 3 || (f->low < 10.2 && f->high > 10.6 && f->high < 13));
			diff_free(d);
			reports_free(b);
		}
	for (size_t i = 0; i < 5; i++)
		reports_free(old[i]);
}

/* Each of the situations that the tests of reports use, against each other one: no crash, no number that is none. */
static void test_any_reports(void **state)
{
	(void)state;
	for (const char *const *s = reports_situations; *s; s++)
		for (const char *const *t = reports_situations; *t; t++) {
			struct reports *a = reports_situation(*s), *b = reports_situation(*t);
			const struct lake_report *before[] = { &a->report };
			struct diff *d = NULL;

			assert_int_equal(diff_new(before, 1, false, &b->report, &d), 0);
			for (enum diff_metric m = 0; m < DIFF_METRICS; m++)
				assert_true(isfinite(diff_run(d)->figures[m].change));
			assert_true(isfinite(diff_run(d)->split.total_s) && isfinite(diff_run(d)->split.parallel_s));
			if (s == t)
				assert_false(diff_run(d)->differs);
			done(d, a, b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal), cmocka_unit_test(test_slower), cmocka_unit_test(test_noise),
		cmocka_unit_test(test_few),   cmocka_unit_test(test_counts), cmocka_unit_test(test_many),
		cmocka_unit_test(test_tools), cmocka_unit_test(test_split),  cmocka_unit_test(test_history),
		cmocka_unit_test(test_any_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
