/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_track_verdict.c - core/process/track_verdict.c: the records of processes that rules exclude and
 * include again, their bytes in the verdict map, and that all CPU time is in one of the ledger's items.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules/rule_eval.h"
#include "core/rules/rule_fields.h"
#include "tests/unit/track_fixture.h"

#define T0 (1000 * SECOND)
#define PIDS 1024u

static struct fixture f;
static struct verdict verdict;
static struct rule_eval *judge;

static struct ruleset *rules(const char *const *when, const bool *inherit, size_t n)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	static const char *const ids[] = { "r0", "r1", "r2", "r3" };
	struct filter_error error;

	for (size_t i = 0; i < n; i++) {
		struct rule_spec spec = {
			.id = ids[i],
			.when = when[i],
			.when_len = strlen(when[i]),
			.verdict = RULE_EXCLUDE,
			.inherit = inherit && inherit[i],
		};

		if (ruleset_add(set, &spec, &error) != 0)
			fail_msg("%s: %s", when[i], error.what);
	}
	return set;
}

static void use(const char *when, bool inherit)
{
	struct ruleset *set = when ? rules(&when, &inherit, 1) : NULL;

	assert_int_equal(rule_eval_use(judge, set), 0);
	ruleset_unref(set);
}

static int open_all(void **state)
{
	struct rule_eval_env env = { .verdict = &verdict, .kernel = true };

	(void)state;
	memset(&f, 0, sizeof(f));
	fixture_open(&f, false, T0);
	verdict = (struct verdict){ .fd = -1, .pids = PIDS, .bytes = calloc(1, PIDS) };
	env.tools = f.tools;
	env.cgroups = f.cgroups;
	assert_int_equal(rule_eval_new(&env, &judge), 0);
	assert_int_equal(track_rules(f.track, judge), 0);
	f.track->swept_ns = T0; /* the first scan is over */
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	fixture_close(&f);
	judge = rule_eval_free(judge);
	free(verdict.bytes);
	return 0;
}

static void excluded_at_its_exec(void **state)
{
	(void)state;
	use("tool = 'date'", false);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/bin/date", 100, 0);
	assert_int_equal(verdict.bytes[10], 0); /* the ring may still have its records */
	track_verdicts_out(f.track);
	assert_true(verdict.bytes[10] >= SKEP_VERDICT_EXCLUDED && verdict.bytes[10] < SKEP_VERDICT_NOBODY);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 0); /* nor a record of the fork that became it */
	assert_int_equal(f.track->cpu_ns + f.track->reevaluated_ns, 0);
	/* From now on the kernel sums its usage. The next scan does not see the process, so the table drops it. */
	track_sweep_begin(f.track, T0 + SECOND, T0 + SECOND);
	track_sweep_end(f.track, true, T0 + SECOND);
	track_tick(f.track, T0 + SECOND + TRACK_FINAL_NS + 1);
	assert_int_equal(proctab_count(f.track->table), 0);
	assert_int_equal(f.track->stats.lost, 0);
}

static void exec_in(uint64_t t, uint32_t pid, uint64_t start, const char *environ)
{
	struct skep_process_exec rec = {
		.comm = str("x"), .exe = str("/bin/x"), .argv = { "x", 2, 2 }, .environ = str(environ)
	};

	tell(&f, SKEP_ROLE_PROC_EXEC, t, pid, start, &rec);
}

/* A run begun by name is recorded whole, also below a process excluded with its descendants. */
static void begun_by_name(void **state)
{
	struct run_spec spec = { .id = "r", .name = "n", .root = 11 };
	struct run *run;

	(void)state;
	use("tool = 'date'", true);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/bin/date", 100, 0);
	tell_fork(&f, T0 + 3, 11, T0 + 3, 10, T0 + 1);
	track_verdicts_out(f.track);
	assert_true(verdict.bytes[11] >= SKEP_VERDICT_EXCLUDED);
	assert_int_equal(run_new(&f.track->runs, &spec, T0 + 4, &run), 0);
	assert_int_equal(track_run_root(f.track, run, T0 + 4), 0);
	assert_int_equal(verdict.bytes[11], SKEP_VERDICT_KEEP);
	tell_exec(&f, T0 + 5, 11, T0 + 3, "/bin/date", 100, 0);
	tell_fork(&f, T0 + 6, 12, T0 + 6, 11, T0 + 3);
	/* other rules find the processes of the run */
	use("tool in ('date', 'x')", false);
	verdict.bytes[11] = 0;
	track_reevaluate(f.track, T0 + 7);
	assert_int_equal(verdict.bytes[11], SKEP_VERDICT_KEEP);
	tell_exec(&f, T0 + 8, 12, T0 + 6, "/bin/date", 100, 0);
	tell_final(&f, T0 + 9, 12, T0 + 6, 0, 200, 0);
	tell_final(&f, T0 + 9, 11, T0 + 3, 0, 200, 0);
	assert_string_equal(fixture_image(&f, 11, 1)->state, "exited");
	assert_string_equal(fixture_image(&f, 12, 1)->run, "r");
	assert_int_equal(fixture_images(&f, 10), 0);
}

/* By fields of the exec itself, before it is in any task, and by its task. */
static void excluded_by_its_task(void **state)
{
	(void)state;
	use("task = 'noise'", false);
	tell_fork(&f, T0, 5, 7, 0, 0);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_fork(&f, T0 + 1, 11, T0 + 2, 5, 7);
	exec_in(T0 + 3, 10, T0 + 1, "SKEP_TASK=noise");
	exec_in(T0 + 3, 11, T0 + 2, "SKEP_TASK=signal");
	track_verdicts_out(f.track);
	assert_true(verdict.bytes[10] >= SKEP_VERDICT_EXCLUDED);
	assert_int_equal(verdict.bytes[11], 0);
	assert_int_equal(f.track->tasks.n, 1);
	use("task = 'signal'", false);
	track_reevaluate(f.track, T0 + 4);
	assert_true(verdict.bytes[11] >= SKEP_VERDICT_EXCLUDED);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1); /* with its root */
	assert_string_equal(f.tasks[0].state, "excluded");
}

/* The process had ended before user space read its exec: its records are complete, and no kernel sum has it. */
static void over_before_the_verdict(void **state)
{
	(void)state;
	use("tool = 'date'", false);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/bin/date", 100, 0);
	tell_exit(&f, T0 + 3, 10, T0 + 1, 0);
	tell_final(&f, T0 + 4, 10, T0 + 1, 0, 777, 0);
	track_verdicts_out(f.track);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 0);
	assert_int_equal(verdict.bytes[10], 0); /* another process has the pid now */
	assert_int_equal(f.track->cpu_ns, 0);
	assert_int_equal(f.track->reevaluated_ns, 777);
	assert_int_equal(proctab_count(f.track->table), 0);
}

static void an_image_before_is_told(void **state)
{
	const struct seen_process *p;

	(void)state;
	use("exe suffix '/date'", false);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/opt/wrap", 100, 0);
	tell_exec(&f, T0 + 3, 10, T0 + 1, "/bin/date", 350, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 2);
	p = fixture_image(&f, 10, 1);
	assert_string_equal(p->state, "excluded");
	assert_string_equal(p->exe, "/opt/wrap");
	assert_int_equal(p->r.cpu_ns, 250);
	assert_true(p->r.last);
	assert_int_equal(f.track->cpu_ns, 350);
	/* The kernel's sum will have its whole life. */
	assert_int_equal(f.track->reevaluated_ns, -350);
}

/* An excluded shell runs an included program: by exec, and in a child forked before the verdict. */
static void execs_again(void **state)
{
	(void)state;
	use("tool = 'sh'", false);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/bin/sh", 100, 0);
	tell_fork(&f, T0 + 3, 11, T0 + 3, 10, T0 + 1);
	tell_exec(&f, T0 + 4, 11, T0 + 3, "/opt/tool", 10, 0);
	tell_exec(&f, T0 + 5, 10, T0 + 1, "/opt/other", 400, 0);
	track_verdicts_out(f.track);
	assert_int_equal(verdict.bytes[10], 0);
	assert_int_equal(verdict.bytes[11], 0);
	tell_exit(&f, T0 + 6, 10, T0 + 1, 0);
	tell_final(&f, T0 + 7, 10, T0 + 1, 0, 1000, 0);
	tell_exit(&f, T0 + 8, 11, T0 + 3, 0);
	tell_final(&f, T0 + 9, 11, T0 + 3, 0, 60, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 2);
	assert_string_equal(f.processes[0].exe, "/opt/other");
	assert_int_equal(f.processes[0].r.cpu_ns, 600);
	assert_string_equal(f.processes[1].exe, "/opt/tool");
	assert_int_equal(f.processes[1].r.cpu_ns, 50);
	assert_int_equal(f.track->cpu_ns, 650);
	assert_int_equal(f.track->reevaluated_ns, 410); /* the shell's and its fork's */
}

static void inherited(void **state)
{
	(void)state;
	use("tool = 'agent'", true);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/bin/agent", 100, 0);
	tell_fork(&f, T0 + 3, 11, T0 + 3, 10, T0 + 1);
	tell_exec(&f, T0 + 4, 11, T0 + 3, "/opt/tool", 10, 0);
	tell_exec(&f, T0 + 5, 10, T0 + 1, "/opt/other", 400, 0);
	track_verdicts_out(f.track);
	assert_int_equal(verdict.bytes[10], verdict.bytes[11]);
	assert_true(verdict.bytes[11] >= SKEP_VERDICT_EXCLUDED);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 0);
}

/* The kernel's own verdict: a record in place of the exec's. */
static void by_the_kernel(void **state)
{
	struct skep_process_excluded rec = { .counters = { .cpu_ns = 90 }, .byte = 190 };

	(void)state;
	use("tool = 'date'", false);
	rec.generation = rule_eval_generation(judge);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell(&f, SKEP_ROLE_PROC_EXCLUDED, T0 + 2, 10, T0 + 1, &rec);
	assert_int_equal(proctab_count(f.track->table), 0);
	/* of a process with a program of its own */
	tell_fork(&f, T0 + 1, 11, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 11, T0 + 1, "/opt/wrap", 10, 0);
	tell(&f, SKEP_ROLE_PROC_EXCLUDED, T0 + 3, 11, T0 + 1, &rec);
	/* by rules that are gone: the next scan may include the process */
	rec.generation--;
	tell_fork(&f, T0 + 1, 12, T0 + 1, 5, 7);
	tell(&f, SKEP_ROLE_PROC_EXCLUDED, T0 + 2, 12, T0 + 1, &rec);
	assert_int_equal(proctab_count(f.track->table), 1);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 2);
	assert_string_equal(fixture_image(&f, 11, 1)->state, "excluded");
	assert_int_equal(fixture_image(&f, 11, 1)->r.cpu_ns, 80);
	assert_int_equal(f.track->cpu_ns, 90);
	assert_int_equal(f.track->reevaluated_ns, -90);
}

/* One set of rules excludes the process, the next includes it. */
static void rules_change(void **state)
{
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/opt/long", 100, 0);
	tell_live(&f, T0 + 3, 10, T0 + 1, 5, 7, 5000, 0);
	use("tool = 'long'", false);
	track_reevaluate(f.track, T0 + 4);
	assert_true(verdict.bytes[10] >= SKEP_VERDICT_EXCLUDED);
	fixture_settle(&f);
	p = fixture_image(&f, 10, 1);
	assert_string_equal(p->state, "excluded");
	assert_int_equal(p->r.cpu_ns, 4900);
	assert_int_equal(f.track->cpu_ns + f.track->reevaluated_ns, 0); /* the kernel's sum has its life */

	use("tool = 'nobody'", false);
	assert_int_equal(verdict.bytes[10], 0);
	/* an attachment wants its details */
	assert_false(track_known(f.track, &(struct skep_upid){ .pid = 10, .start_ns = T0 + 1 }));
	track_reevaluate(f.track, T0 + 10);
	tell_live(&f, T0 + 11, 10, T0 + 1, 5, 7, 8000, 0);
	/* The 3,000 of the time of its exclusion stay excluded. */
	assert_int_equal(f.track->cpu_ns, 5000);
	assert_int_equal(f.track->reevaluated_ns, 3000);
	tell_exit(&f, T0 + 12, 10, T0 + 1, 0);
	tell_final(&f, T0 + 13, 10, T0 + 1, 0, 8500, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 3);
	assert_int_equal(f.processes[2].r.cpu_ns, 500);
	assert_int_equal(f.track->cpu_ns, 5500);
}

/* The old rules excluded it, and it ended before the scan that would have included it: its identity is unknown. */
static void ends_before_the_sweep(void **state)
{
	(void)state;
	use("tool = 'x'", false);
	use("tool = 'y'", false);
	track_reevaluate(f.track, T0 + 10);
	tell_exit(&f, T0 + 11, 10, T0 + 1, 0);
	tell_final(&f, T0 + 12, 10, T0 + 1, 0, 10, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 0);
	assert_int_equal(f.track->stats.unborn, 1);
	/* a process that began since has its record */
	tell_exit(&f, T0 + 13, 11, T0 + 11, 0);
	tell_final(&f, T0 + 14, 11, T0 + 11, 0, 10, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_processes, 1);
}

static void counts(void *arg, const struct rule_eval_count *c)
{
	uint64_t *hits = arg;

	hits[c->rule ? c->rule->number : 3] += c->hits_user;
	if (c->rule && c->rule->number == 0)
		assert_int_equal(c->timed, 1); /* of the first verdict of RULE_EVAL_TIMED */
}

static void counted(void **state)
{
	const char *const when[] = { "tool = 'a'", "any parent.tool = 'top' and tool = 'b'", "uid = 4294967295" };
	struct ruleset *set = rules(when, NULL, 3), *other;
	const char *const less[] = { "tool = 'a'" };
	uint64_t hits[4] = { 0 };

	(void)state;
	assert_int_equal(rule_eval_use(judge, set), 0);
	ruleset_unref(set);
	for (uint32_t pid = 20; pid < 25; pid++) {
		tell_fork(&f, T0 + pid, pid, T0 + pid, 5, 7);
		tell_exec(&f, T0 + pid, pid, T0 + pid, pid < 23 ? "/bin/a" : "/bin/top", 1, 0);
	}
	tell_fork(&f, T0 + 50, 50, T0 + 50, 24, T0 + 24);
	tell_exec(&f, T0 + 51, 50, T0 + 50, "/bin/b", 1, 0);
	rule_eval_counts(judge, counts, hits);
	assert_int_equal(hits[0], 3);
	assert_int_equal(hits[1], 1);
	assert_int_equal(hits[2], 0);
	assert_int_equal(hits[3], 2);
	/* a rule that stays keeps its counters */
	other = rules(less, NULL, 1);
	assert_int_equal(rule_eval_use(judge, other), 0);
	ruleset_unref(other);
	memset(hits, 0, sizeof(hits));
	rule_eval_counts(judge, counts, hits);
	assert_int_equal(hits[0], 3);
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, open_all, close_all)
	const struct CMUnitTest tests[] = {
		TEST(excluded_at_its_exec),
		TEST(begun_by_name),
		TEST(excluded_by_its_task),
		TEST(over_before_the_verdict),
		TEST(an_image_before_is_told),
		TEST(execs_again),
		TEST(inherited),
		TEST(by_the_kernel),
		TEST(rules_change),
		TEST(ends_before_the_sweep),
		TEST(counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
