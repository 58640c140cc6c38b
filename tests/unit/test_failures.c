/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_failures.c - the culprit is found, alike failures are one entry, and
 * damaged parentage does no harm.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/report/failures.h"
#include "tests/unit/reports.h"

static struct reports *r;
static struct family *family;
static struct failures *failures;

static int setup(void **state)
{
	(void)state;
	r = reports_new("test", "test", 4);
	reports_add(r, 0, "sh", "sh -c x", 0, 10000, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	failures = failures_free(failures);
	family = family_free(family);
	r = reports_free(r);
	return 0;
}

static void judge(int64_t exit_code, uint64_t signal)
{
	reports_kind(&r->report.processes[0])->exit_code = signal ? -1 : exit_code;
	reports_kind(&r->report.processes[0])->signal = signal;
	reports_finish(r, 10000, exit_code, signal);
	assert_int_equal(family_new(&r->report, &family), 0);
	assert_int_equal(failures_new(family, &failures), 0);
}

static const char *chain_name(size_t failure, size_t i)
{
	return r->report.processes[failures->list[failure].chain[i]].kind->tool;
}

static void none(void **state)
{
	(void)state;
	reports_add(r, 0, "true", "true", 10, 20, 1);
	judge(0, 0);
	assert_int_equal(failures->n, 0);
	assert_int_equal(failures->processes, 0);
}

/* sh -> make -> cc1: cc1 exits 1, make 2, sh 2. */
static void chain(void **state)
{
	(void)state;
	reports_kind(reports_add(r, 0, "make", "make", 10, 9990, 1))->exit_code = 2;
	reports_add(r, 1, "cc1", "cc1 a.c", 20, 5000, 1);
	reports_kind(reports_add(r, 1, "cc1", "cc1 b.c", 30, 9900, 1))->exit_code = 1;
	judge(2, 0);
	assert_int_equal(failures->n, 1);
	assert_string_equal(failures->list[0].subject, "cc1");
	assert_int_equal(failures->list[0].n, 1);
	assert_int_equal(failures->list[0].severity, FAILURE_ERROR);
	assert_true(failures->list[0].ended_run);
	assert_int_equal(failures->list[0].n_chain, 2);
	assert_string_equal(chain_name(0, 0), "make");
	assert_string_equal(chain_name(0, 1), "sh");
	assert_int_equal(failures->processes, 3);
}

/* 128 + signal is the child's signal. */
static void signal_status(void **state)
{
	struct lake_process *p = reports_add(r, 0, "sort", "sort", 10, 500, 1);

	(void)state;
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGSEGV;
	reports_add(r, 0, "rm", "rm -rf tmp", 600, 610, 1); /* a clean-up after the failure */
	judge(128 + SIGSEGV, 0);
	assert_int_equal(failures->n, 1);
	assert_string_equal(failures->list[0].subject, "sort");
	assert_int_equal(failures->list[0].n_chain, 1);
	assert_true(failures->list[0].ended_run);
}

/* A grep that found nothing long before does not explain the shell's exit 1. */
static void not_the_culprit(void **state)
{
	(void)state;
	reports_kind(reports_add(r, 0, "grep", "grep x", 10, 20, 1))->exit_code = 1;
	reports_add(r, 0, "work", "work", 30, 9000, 1);
	judge(1, 0);
	assert_int_equal(failures->n, 2);
	assert_string_equal(failures->list[0].subject, "sh");
	assert_true(failures->list[0].ended_run);
	assert_int_equal(failures->list[0].n_chain, 0);
	assert_string_equal(failures->list[1].subject, "grep");
	assert_int_equal(failures->list[1].severity, FAILURE_WARNING);
	assert_false(failures->list[1].ended_run);
}

/* sh -c 'crash; nosuch': the shell ends because of nosuch, not because of the earlier crash. */
static void shell_of_its_own(void **state)
{
	struct lake_process *p = reports_add(r, 0, "crash", "crash", 10, 9990, 1);

	(void)state;
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGSEGV;
	judge(127, 0);
	assert_int_equal(failures->n, 2);
	assert_string_equal(failures->list[0].subject, "sh");
	assert_true(failures->list[0].ended_run);
	assert_string_equal(failures->list[1].subject, "crash");
	assert_false(failures->list[1].ended_run);
}

/* A child that fails after its parent has ended cannot be the cause. */
static void too_late(void **state)
{
	(void)state;
	reports_kind(reports_add(r, 0, "make", "make", 10, 1000, 1))->exit_code = 2;
	reports_kind(reports_add(r, 1, "late", "late", 900, 2000, 1))->exit_code = 2;
	judge(0, 0);
	assert_int_equal(failures->n, 2);
	assert_int_equal(failures->list[0].n_chain, 0);
	assert_int_equal(failures->list[1].n_chain, 0);
}

static void alike(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 500; i++)
		reports_kind(reports_add(r, 0, "grep", "grep x", 10 + i, 12 + i, 1))->exit_code = i % 2 ? 1 : 2;
	for (unsigned i = 0; i < 3; i++)
		reports_kind(reports_add(r, 0, "diff", "diff a b", 600 + i, 700 + i, 1))->exit_code = 1;
	judge(0, 0);
	assert_int_equal(failures->n, 3);
	assert_int_equal(failures->list[0].n, 250);
	assert_int_equal(failures->list[1].n, 250);
	assert_int_equal(failures->list[2].n, 3);
	assert_string_equal(failures->list[2].subject, "diff");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(failures->list[i].severity, FAILURE_INFO);
	assert_int_equal(failures->processes, 503);
}

/* Ctrl-C is one event for all processes that it ends. */
static void interrupted(void **state)
{
	static const char *const tools[] = { "bwa", "sort", "gzip", "tee", "cat" };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct lake_process *p = reports_add(r, 0, tools[i], tools[i], 10 + i, 9990 + i, 1);

		reports_kind(p)->exit_code = -1;
		reports_kind(p)->signal = SIGINT;
	}
	judge(-1, SIGINT);
	assert_int_equal(failures->n, 1);
	assert_int_equal(failures->list[0].n, 6);
	assert_true(failures->list[0].ended_run);
	assert_non_null(strstr(failures->list[0].subject, "and others"));
}

/* A victim of the out-of-memory killer ranks first, even where the run succeeded; the largest stands for its group. */
static void out_of_memory(void **state)
{
	(void)state;
	reports_kind(reports_add(r, 0, "early", "early", 5, 6, 1))->exit_code = 1;
	for (unsigned i = 0; i < 3; i++) {
		struct lake_process *p = reports_add(r, 0, "java", "java", 10 + i, 100 + i, 1);

		reports_kind(p)->exit_code = -1;
		reports_kind(p)->signal = SIGKILL;
		reports_kind(p)->oom_killed = true;
		reports_kind(p)->oom_cgroup = "/job";
		reports_kind(p)->oom_limit_bytes = 1 << 30;
		p->totals.rss_peak_bytes = i == 1 ? 900 << 20 : 100 << 20;
	}
	judge(0, 0);
	assert_int_equal(failures->n, 2);
	assert_string_equal(failures->list[0].subject, "java");
	assert_int_equal(failures->list[0].severity, FAILURE_ERROR);
	assert_int_equal(failures->list[0].n, 3);
	assert_int_equal(r->report.processes[failures->list[0].images[0]].totals.rss_peak_bytes, 900 << 20);
}

/* `yes | head`: usual. */
static void broken_pipe(void **state)
{
	struct lake_process *p = reports_add(r, 0, "yes", "yes", 10, 100, 1);

	(void)state;
	reports_kind(p)->exit_code = -1;
	reports_kind(p)->signal = SIGPIPE;
	judge(0, 0);
	assert_int_equal(failures->n, 1);
	assert_int_equal(failures->list[0].severity, FAILURE_INFO);
}

/* exec does not end a process: only the last image's end counts. */
static void images(void **state)
{
	(void)state;
	reports_add(r, 0, "env", "env x", 10, 500, 1);
	reports_kind(reports_exec(r, 1, "x", "x", 20))->exit_code = 4;
	judge(4, 0);
	assert_int_equal(family->n, 2);
	assert_int_equal(failures->n, 1);
	assert_string_equal(failures->list[0].subject, "x");
	assert_int_equal(failures->list[0].n_chain, 1);
}

/* Parents listed after their children, their own parents, or unknown: no endless loop, and every failure is listed. */
static void damaged(void **state)
{
	(void)state;
	reports_kind(reports_add(r, 0, "a", "a", 10, 500, 1))->exit_code = 1;
	reports_kind(reports_add(r, 0, "b", "b", 20, 500, 1))->exit_code = 1;
	reports_kind(reports_add(r, 0, "c", "c", 30, 500, 1))->exit_code = 1;
	reports_kind(reports_add(r, 0, "d", "d", 40, 500, 1))->exit_code = 1;
	r->report.processes[1].parent_upid = r->report.processes[2].upid;
	r->report.processes[2].parent_upid = r->report.processes[1].upid;
	r->report.processes[3].parent_upid = r->report.processes[3].upid;
	r->report.processes[4].upid = "";
	r->report.processes[4].parent_upid = "nobody";
	judge(0, 0);
	assert_int_equal(family->n, 5);
	assert_int_equal(failures->processes, 4);
	for (size_t m = 0; m < family->n; m++)
		assert_true(family->members[m].parent == FAMILY_NONE || family->members[m].parent < m);
}

/* Someone set a clock back: the report has a process's images in any order, and the family sorts them by number. */
static void images_out_of_order(void **state)
{
	static const uint64_t numbers[] = { 2, 0, 3, 1, 1 };
	const char *upid = NULL;
	uint64_t last = 0;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct lake_process *p = reports_add(r, 0, "x", "x", 10 + i, 20 + i, 1);

		p->image = numbers[i];
		p->upid = upid = upid ? upid : p->upid;
	}
	judge(0, 0);
	assert_int_equal(family->n, 2);
	for (uint32_t i = family->members[1].first; i != FAMILY_NONE; i = family->next_image[i], n++) {
		assert_int_equal(family->member_of[i], 1);
		assert_true(r->report.processes[i].image >= last);
		last = r->report.processes[i].image;
		if (family->next_image[i] == FAMILY_NONE)
			assert_int_equal(family->members[1].last, i);
	}
	assert_int_equal(n, 5);
	assert_int_equal(last, 3);
}

static void nothing(void **state)
{
	struct reports *bare = reports_new("none", "", 0);

	(void)state;
	assert_int_equal(family_new(&bare->report, &family), 0);
	assert_int_equal(failures_new(family, &failures), 0);
	assert_int_equal(failures->n, 0);
	assert_int_equal(family->root, FAMILY_NONE);
	assert_null(failures_free(NULL));
	assert_null(family_free(NULL));
	failures = failures_free(failures);
	family = family_free(family);
	reports_free(bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(none, setup, teardown),
		cmocka_unit_test_setup_teardown(chain, setup, teardown),
		cmocka_unit_test_setup_teardown(signal_status, setup, teardown),
		cmocka_unit_test_setup_teardown(not_the_culprit, setup, teardown),
		cmocka_unit_test_setup_teardown(shell_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(too_late, setup, teardown),
		cmocka_unit_test_setup_teardown(alike, setup, teardown),
		cmocka_unit_test_setup_teardown(interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(out_of_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(broken_pipe, setup, teardown),
		cmocka_unit_test_setup_teardown(images, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(images_out_of_order, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
