/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/scope/choose.c: what an exec is to the engines around it, by the facts alone.  tests/unit/test_track_scope.c has
 * what becomes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/scope/choose.h"

static struct recognizers *recognizers;
static struct intern *intern;
static struct scopes scopes;
static struct scope_choice choice;
static char a_run; /* scopes and the choice never look into a run */

static void no_unref(struct run *run)
{
	(void)run;
}

static int set_up(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	recognizers = recognizers_new(NULL, &diag);
	diag_clear(&diag);
	intern = intern_new();
	scopes = (struct scopes){ .run_unref = no_unref };
	return !recognizers || !intern;
}

static int tear_down(void **state)
{
	(void)state;
	recognizers_unref(recognizers);
	intern_free(intern);
	return 0;
}

static struct filter_text words(const char *text, uint32_t len)
{
	return (struct filter_text){ text, len };
}

#define TEXT(t_) words(t_, sizeof(t_) - 1)
#define ARGV(t_) words(t_, sizeof(t_)) /* "a\0b": with the last NUL */

static struct scope_exec snakemake_exec(void)
{
	return (struct scope_exec){
		.self = { .tool = TEXT("snakemake"), .exe = TEXT("/usr/bin/python3"), .cwd = TEXT("/data"),
			  .argv = ARGV("python3\0/usr/bin/snakemake\0-j4") },
		.upid = { .pid = 30, .start_ns = 30 },
		.rank = SCOPE_NO_RUN,
		.run_engine = "",
		.run_key = "",
	};
}

static struct scope_exec shell_exec(void)
{
	return (struct scope_exec){
		.self = { .tool = TEXT("bash"), .exe = TEXT("/bin/bash"), .cwd = TEXT("/data"),
			  .argv = ARGV("/bin/bash\0-c\0set -euo pipefail;  sort x") },
		.upid = { .pid = 40, .start_ns = 40 },
		.of_engine = true,
		.rank = RECOGNIZER_WORKFLOW,
		.run_engine = "snakemake",
		.run_key = "",
	};
}

/* An engine around the exec, opened by the process of that pid; takes the reference of outer. */
static struct scope *around(const char *engine, uint32_t pid, bool run, struct scope *outer)
{
	struct scope *s = scope_new(&scopes, outer);

	assert_non_null(s);
	scope_unref(&scopes, intern, outer);
	s->entry = recognizers_find(recognizers, engine);
	assert_non_null(s->entry);
	s->engine = intern_text(intern, engine);
	s->class = recognizer_class(s->entry);
	s->nests = recognizer_nests(s->entry);
	s->root = (struct skep_upid){ .pid = pid, .start_ns = pid };
	s->cwd = intern_text(intern, "/data");
	s->run = run ? (struct run *)&a_run : NULL;
	return s;
}

static void choose(struct scope *chain, const struct scope_exec *x)
{
	memset(&choice, 0xa5, sizeof(choice)); /* what it does not set must not be read */
	scope_choose(recognizers, chain, x, &choice);
}

static void no_engine(void **state)
{
	struct scope_exec x = shell_exec();

	(void)state;
	choose(NULL, &x);
	assert_int_equal(choice.n, 0);
	assert_null(choice.of);
	assert_null(choice.learner);
}

/* What an engine's exec does to the run depends on the run around it. */
static void runs(void **state)
{
	const struct {
		int rank;
		bool last_root, undescribed, only_run, in_task;
		enum scope_run want;
	} cases[] = {
		{ SCOPE_NO_RUN, false, false, false, false, SCOPE_BEGINS },
		{ SCOPE_SESSION, false, false, false, false, SCOPE_BEGINS },
		{ SCOPE_SESSION, true, false, false, false, SCOPE_TAKES },
		{ RECOGNIZER_LAUNCHER, false, false, false, true, SCOPE_BEGINS },
		{ RECOGNIZER_SCHEDULER, true, false, false, true, SCOPE_TAKES },
		{ RECOGNIZER_WORKFLOW, false, false, false, false, SCOPE_AROUND },
		{ RECOGNIZER_WORKFLOW, false, false, false, true, SCOPE_BEGINS },
		{ RECOGNIZER_WORKFLOW, false, false, true, true, SCOPE_AROUND },
		{ SCOPE_NAMED, true, true, false, false, SCOPE_DESCRIBES },
		{ SCOPE_NAMED, false, false, false, false, SCOPE_AROUND },
		{ SCOPE_NAMED, false, false, false, true, SCOPE_AROUND },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scope_exec x = snakemake_exec();

		x.rank = cases[i].rank;
		x.root = x.last_root = cases[i].last_root;
		x.undescribed = cases[i].undescribed;
		x.only_run = cases[i].only_run;
		x.in_task = cases[i].in_task;
		choose(NULL, &x);
		assert_int_equal(choice.n, 1);
		assert_string_equal(recognizer_engine(choice.opened[0].entry), "snakemake");
		if (choice.opened[0].run != cases[i].want)
			fail_msg("case %zu: %d, wanted %d", i, choice.opened[0].run, cases[i].want);
		assert_null(choice.opened[0].root.mark);
	}
}

/* A launcher in a task of a launcher begins no run, however many there are. */
static void launchers(void **state)
{
	struct scope_exec x = { .self = { .tool = TEXT("gzip"), .exe = TEXT("/usr/bin/xargs"), .cwd = TEXT("/"),
					  .argv = ARGV("xargs\0gzip") },
				.upid = { .pid = 30, .start_ns = 30 },
				.rank = RECOGNIZER_LAUNCHER,
				.run_engine = "make",
				.run_key = "",
				.in_task = true };

	(void)state;
	choose(NULL, &x);
	assert_int_equal(choice.n, 1);
	assert_int_equal(choice.opened[0].run, SCOPE_AROUND);
}

/* A child of the engine is a task; of an engine further in, or in a task that the user named, a step. */
static void marks(void **state)
{
	struct scope *chain = around("snakemake", 20, true, NULL);
	struct scope_exec x = shell_exec();

	(void)state;
	choose(chain, &x);
	assert_ptr_equal(choice.of, chain);
	assert_false(choice.marked.step);
	assert_int_equal(choice.n, 0);
	x.named_task = true;
	choose(chain, &x);
	assert_ptr_equal(choice.of, chain);
	assert_true(choice.marked.step);
	x = shell_exec();
	x.of_engine = false; /* a child of the task's shell */
	choose(chain, &x);
	assert_null(choice.of);
	x = shell_exec();
	chain = around("xargs", 21, false, chain);
	choose(chain, &x);
	assert_ptr_equal(choice.of, chain);
	assert_true(choice.marked.step);
	scope_unref(&scopes, intern, chain);
	assert_int_equal(scopes.n, 0);
}

/* A child that is a task and begins a workflow of its own is both. */
static void a_task_that_is_a_workflow(void **state)
{
	struct scope *chain = around("xargs", 20, true, NULL);
	struct scope_exec x = snakemake_exec();

	(void)state;
	x.of_engine = true;
	x.rank = RECOGNIZER_LAUNCHER;
	choose(chain, &x);
	assert_null(choice.of); /* it leaves the launcher's run at once */
	assert_int_equal(choice.opened[0].run, SCOPE_BEGINS);
	scope_unref(&scopes, intern, chain);
	chain = around("cwltool", 20, true, NULL);
	x.rank = RECOGNIZER_WORKFLOW;
	x.self.cwd = TEXT("/tmp/abc12");
	choose(chain, &x);
	assert_ptr_equal(choice.of, chain);
	assert_false(choice.marked.step);
	assert_int_equal(choice.opened[0].run, SCOPE_BEGINS);
	scope_unref(&scopes, intern, chain);
}

/* A task of Airflow starts a bash whose environment names the same DAG run: it stays in the task. */
static void the_same_run_again(void **state)
{
	struct scope *chain = around("airflow", 20, true, NULL);
	struct scope_exec x = shell_exec();

	(void)state;
	x.self.environ = ARGV("AIRFLOW_CTX_DAG_ID=etl\0AIRFLOW_CTX_TASK_ID=t1\0AIRFLOW_CTX_DAG_RUN_ID=r1");
	x.environ_read = true;
	x.in_task = true;
	x.run_engine = "airflow";
	x.run_key = "etl/r1";
	choose(chain, &x);
	assert_int_equal(choice.n, 1);
	assert_int_equal(choice.opened[0].run, SCOPE_AROUND);
	assert_true(choice.opened[0].root.mark && choice.opened[0].root.step);
	x.run_key = "etl/r2"; /* a DAG that starts another one */
	choose(chain, &x);
	assert_int_equal(choice.opened[0].run, SCOPE_BEGINS);
	assert_true(choice.opened[0].root.mark && !choice.opened[0].root.step);
	scope_unref(&scopes, intern, chain);
}

/* The engine executes another image of itself: it has begun already. */
static void another_image(void **state)
{
	struct scope *chain = around("snakemake", 30, true, NULL);
	struct scope_exec x = snakemake_exec();

	(void)state;
	x.rank = RECOGNIZER_WORKFLOW;
	choose(chain, &x);
	assert_int_equal(choice.n, 0);
	assert_null(choice.of);
	scope_unref(&scopes, intern, chain);
}

/* An engine that the table no longer has keeps its descendants, and marks nothing. */
static void a_removed_entry(void **state)
{
	struct scope *chain = around("snakemake", 20, true, NULL);
	struct scope_exec x = shell_exec();

	(void)state;
	chain->entry = NULL;
	choose(chain, &x);
	assert_null(choice.of);
	scope_unref(&scopes, intern, chain);
}

/* The chain tells the leading scope: of the run's own scopes the outermost of the highest class. */
static void leading(void **state)
{
	struct scope *make = around("make", 20, true, NULL), *snakemake = around("snakemake", 21, true, make);
	struct scope *inner = around("make", 22, false, snakemake), *deep = around("make", 23, false, inner);

	(void)state;
	assert_null(scope_leading(NULL));
	assert_ptr_equal(scope_leading(deep), snakemake);
	assert_ptr_equal(scope_leading(snakemake->outer), make);
	scope_unref(&scopes, intern, deep);
	assert_int_equal(scopes.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_engine),       cmocka_unit_test(runs),
		cmocka_unit_test(launchers),       cmocka_unit_test(marks),
		cmocka_unit_test(a_task_that_is_a_workflow), cmocka_unit_test(another_image),
		cmocka_unit_test(a_removed_entry), cmocka_unit_test(leading),
		cmocka_unit_test(the_same_run_again),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
