/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_task.c: the processes of each task, the task's end and sums, and its state across a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/process/saved.h"
#include "core/collect/collector.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)
#define CTX_A "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define CTX_B "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

static struct fixture f;

static int open_host(void **state)
{
	(void)state;
	fixture_open(&f, false, T0);
	/* A shell that leads no session of its own; everything else descends from it. */
	tell_fork(&f, T0, 10, T0, 1, 5);
	tell_exec(&f, T0 + 1, 10, T0, "/bin/init-like", 0, 0);
	track_sweep_begin(f.track, T0 + 2, T0 + 2);
	tell_live(&f, T0 + 2, 10, T0, 1, 5, 0, 0);
	tell_live(&f, T0 + 2, 1, 5, 0, 0, 0, 0);
	track_sweep_end(f.track, true, T0 + 2);
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	fixture_close(&f);
	return 0;
}

/* environ: without its last NUL. */
static void exec_in(uint64_t t, uint32_t pid, uint64_t start, uint64_t cpu_ns, const char *environ, size_t len)
{
	struct skep_process_exec rec = {
		.counters = { .cpu_ns = cpu_ns },
		.comm = str("x"),
		.exe = str("/bin/x"),
		.filename = str("/bin/x"),
		.argv = { "x", 2, 2 },
		.environ = { environ, (uint32_t)len + 1, (uint32_t)len + 1 },
	};

	tell(&f, SKEP_ROLE_PROC_EXEC, t, pid, start, &rec);
}
#define EXEC(t_, pid_, start_, cpu_, text_) exec_in((t_), (pid_), (start_), (cpu_), "" text_, sizeof(text_) - 1)

static void end(uint64_t t, uint32_t pid, uint64_t start, uint32_t status, uint64_t cpu_ns)
{
	tell_exit(&f, t, pid, start, status);
	tell_final(&f, t + 1, pid, start, status, cpu_ns, 0);
}

/* Each variable that the probe reads is a field of the record, of a fork as well, until the next exec. */
static void other_variables(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 5, "SKEP_TASK=align\0SLURM_JOB_ID=77\0TRACEPARENT=" CTX_A "\0LANE=\xff");
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	EXEC(T0 + 40, 20, T0 + 10, 6, "SKEP_TASK=align");
	end(T0 + 50, 21, T0 + 30, 0, 100);
	end(T0 + 60, 20, T0 + 10, 0, 100);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 20, 1)->environ, "SLURM_JOB_ID=77");
	assert_int_equal(fixture_image(&f, 20, 1)->r.environ.len, sizeof("SLURM_JOB_ID=77\0LANE=\xff"));
	assert_string_equal(fixture_image(&f, 21, 0)->environ, "SLURM_JOB_ID=77");
	assert_int_equal(fixture_image(&f, 20, 2)->r.environ.len, 0);
}

/* The image says so whose environment the probe did not search to its end. */
static void an_environment_too_large(void **state)
{
	struct skep_process_exec rec = {
		.comm = str("x"), .exe = str("/bin/x"), .argv = { "x", 2, 2 }, .environ = { "SKEP_TASK=a", 12, 13 }
	};

	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 20, 20, T0 + 10, &rec);
	EXEC(T0 + 30, 20, T0 + 10, 6, "SKEP_TASK=a");
	end(T0 + 40, 20, T0 + 10, 0, 100);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 20, 1)->task, "a");
	assert_true(fixture_image(&f, 20, 1)->r.approx & APPROX_ENVIRON);
	assert_false(fixture_image(&f, 20, 2)->r.approx & APPROX_ENVIRON);
}

static void begins_and_ends_with_its_root(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 5, "SKEP_TASK=align");
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	EXEC(T0 + 40, 21, T0 + 30, 7, "SKEP_TASK=align"); /* the same task as its parent's */
	tell_fork(&f, T0 + 50, 22, T0 + 50, 21, T0 + 30);
	tell_exec(&f, T0 + 60, 22, T0 + 50, "/bin/sudo", 0, 0); /* without the variable: it stays in the task */
	end(T0 + 70, 22, T0 + 50, 0, 100);
	end(T0 + 80, 21, T0 + 30, 0, 1000);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 0);
	end(T0 + 90, 20, T0 + 10, 3 << 8, 10000);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "align");
	assert_string_equal(f.tasks[0].state, "exited");
	assert_int_equal(f.tasks[0].r.exit_code, 3);
	assert_int_equal(f.tasks[0].r.start_ns, T0 + 20);
	assert_int_equal(f.tasks[0].r.end_ns, T0 + 90);
	assert_int_equal(f.tasks[0].r.root_upid.pid, 20);
	assert_int_equal(f.tasks[0].r.processes, 3);
	/* usage of its root before the task began does not count */
	assert_int_equal(f.tasks[0].r.cpu_ns, 10000 - 5 + 1000 + 100);
	assert_string_equal(fixture_image(&f, 20, 0)->task, "");
	assert_string_equal(fixture_image(&f, 20, 1)->task, "align");
	assert_string_equal(fixture_image(&f, 22, 1)->task, "align");
	assert_string_equal(fixture_image(&f, 22, 1)->task_id, f.tasks[0].id);
	assert_int_equal(f.track->tasks.n, 0);
}

static void two_of_a_name_are_two(void **state)
{
	(void)state;
	for (uint32_t pid = 20; pid < 22; pid++) {
		tell_fork(&f, T0 + 10, pid, T0 + pid, 10, T0);
		EXEC(T0 + 60, pid, T0 + pid, 0, "SKEP_TASK=align");
	}
	end(T0 + 70, 20, T0 + 20, 0, 1);
	end(T0 + 80, 21, T0 + 21, 0, 2);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_not_equal(f.tasks[0].id, f.tasks[1].id);
	assert_int_equal(f.tasks[0].r.cpu_ns, 1);
	assert_int_equal(f.tasks[1].r.cpu_ns, 2);
}

static void another_within_and_one_after_another(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 0, "SKEP_TASK=outer");
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	EXEC(T0 + 40, 21, T0 + 30, 0, "SKEP_TASK=inner");
	EXEC(T0 + 50, 21, T0 + 30, 6, "SKEP_TASK=next"); /* env SKEP_TASK=next ...: the same process */
	EXEC(T0 + 60, 21, T0 + 30, 9, "SKEP_TASK="); /* and out of every task */
	end(T0 + 70, 21, T0 + 30, 0, 100);
	end(T0 + 90, 20, T0 + 10, 0, 1);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 3);
	assert_string_equal(f.tasks[0].task, "inner");
	assert_string_equal(f.tasks[0].state, "replaced");
	assert_int_equal(f.tasks[0].r.end_ns, T0 + 50);
	assert_int_equal(f.tasks[0].r.exit_code, -1);
	assert_int_equal(f.tasks[0].r.cpu_ns, 6);
	assert_string_equal(f.tasks[1].task, "next");
	assert_int_equal(f.tasks[1].r.cpu_ns, 3);
	assert_string_equal(f.tasks[2].task, "outer");
	assert_string_equal(fixture_image(&f, 21, 3)->task, "");
}

/* A task's end is reported once the processes that exited before are finalized; a living process counts up to then. */
static void waits_for_the_dead_not_for_the_living(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 0, "SKEP_TASK=a");
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	tell_fork(&f, T0 + 30, 22, T0 + 31, 20, T0 + 10);
	tell_live(&f, T0 + 35, 22, T0 + 31, 20, T0 + 10, 50, 0);
	tell_exit(&f, T0 + 40, 21, T0 + 30, 0);
	end(T0 + 50, 20, T0 + 10, 0, 1);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 0);
	tell_final(&f, T0 + 60, 21, T0 + 30, 0, 1000, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_int_equal(f.tasks[0].r.cpu_ns, 1051);
	assert_int_equal(f.tasks[0].r.end_ns, T0 + 50);
	end(T0 + 70, 22, T0 + 31, 0, 5000);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 22, 0)->task, "a");
	assert_int_equal(f.n_tasks, 1);
}

static void a_zombie_is_not_waited_for_without_end(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 0, "SKEP_TASK=a");
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	tell_exit(&f, T0 + 40, 21, T0 + 30, 0);
	end(T0 + 50, 20, T0 + 10, 0, 1);
	track_tick(f.track, f.now_ns + TRACK_PATIENCE_MOST_NS / 2);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 0);
	track_tick(f.track, f.now_ns + 2 * TRACK_PATIENCE_MOST_NS);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
}

static void contexts(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 0, "SKEP_TASK=a\0TRACEPARENT=" CTX_A);
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	EXEC(T0 + 40, 21, T0 + 30, 0, "TRACEPARENT=" CTX_A); /* its task's: the process has none of its own */
	tell_fork(&f, T0 + 50, 22, T0 + 50, 21, T0 + 30);
	EXEC(T0 + 60, 22, T0 + 50, 0, "TRACEPARENT=" CTX_B);
	tell_fork(&f, T0 + 62, 23, T0 + 62, 22, T0 + 50); /* inherited from its parent */
	EXEC(T0 + 64, 23, T0 + 62, 0, "TRACEPARENT=00-zz"); /* no context at all */
	end(T0 + 66, 23, T0 + 62, 0, 1);
	end(T0 + 70, 22, T0 + 50, 0, 1);
	end(T0 + 80, 21, T0 + 30, 0, 1);
	end(T0 + 90, 20, T0 + 10, 0, 1);
	fixture_settle(&f);
	assert_string_equal(f.tasks[0].traceparent, CTX_A);
	assert_string_equal(fixture_image(&f, 20, 1)->traceparent, "");
	assert_string_equal(fixture_image(&f, 21, 1)->traceparent, "");
	assert_string_equal(fixture_image(&f, 22, 1)->traceparent, CTX_B);
	assert_string_equal(fixture_image(&f, 23, 1)->traceparent, CTX_B);
}

/* A session without skep run: its run is in the trace of its leader's environment, and its task is the run's. */
static void a_found_run_adopts_its_leaders(void **state)
{
	struct skep_process_exec rec = {
		.comm = str("x"), .exe = str("/bin/x"), .argv = { "x", 2, 2 }, .session = 20,
		.environ = { "TRACEPARENT=" CTX_A "\0SKEP_TASK=s", sizeof("TRACEPARENT=" CTX_A "\0SKEP_TASK=s"), 0 },
	};

	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 20, 20, T0 + 10, &rec);
	assert_int_equal(f.track->runs.n, 1);
	assert_string_equal(f.track->runs.first->traceparent, CTX_A);
	end(T0 + 90, 20, T0 + 10, 0, 1);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].run, f.runs[0].id);
	assert_string_equal(f.tasks[0].traceparent, ""); /* the run's */
	assert_string_equal(fixture_image(&f, 20, 1)->traceparent, "");
}

static void a_run_that_closes_closes_its_tasks(void **state)
{
	struct run_spec spec = { .id = "r", .name = "n", .pipeline = "p", .cwd = "/", .root = 20 };
	struct run *run = NULL;

	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	assert_int_equal(run_new(&f.track->runs, &spec, f.now_ns, &run), 0);
	assert_int_equal(track_run_root(f.track, run, f.now_ns), 0);
	tell_fork(&f, T0 + 20, 21, T0 + 20, 20, T0 + 10);
	EXEC(T0 + 30, 21, T0 + 20, 0, "SKEP_TASK=left");
	tell_live(&f, T0 + 40, 21, T0 + 20, 20, T0 + 10, 77, 0);
	end(T0 + 50, 20, T0 + 10, 0, 1);
	run->status = 0;
	run->end_ns = T0 + 51;
	track_run_close(f.track, run, T0 + 60);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].state, "running");
	assert_string_equal(f.tasks[0].run, "r");
	assert_int_equal(f.tasks[0].r.end_ns, T0 + 51);
	assert_int_equal(f.tasks[0].r.cpu_ns, 77);
	end(T0 + 70, 21, T0 + 20, 0, 99); /* no record: its run is over */
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_int_equal(f.track->tasks.n, 0);
}

/* Saved tasks are read again and continue as if skepd had not restarted. */
static void outlives_a_restart(void **state)
{
	char *text, id[48];
	size_t size;

	(void)state;
	tell_fork(&f, T0 + 10, 20, T0 + 10, 10, T0);
	EXEC(T0 + 20, 20, T0 + 10, 0, "SKEP_TASK=\xc3\xa4 \"b\"\0TRACEPARENT=" CTX_B);
	tell_fork(&f, T0 + 30, 21, T0 + 30, 20, T0 + 10);
	end(T0 + 40, 21, T0 + 30, 0, 1000); /* in the sums when skepd is killed */
	snprintf(id, sizeof(id), "%s", f.track->tasks.first->id);
	text = fixture_save(f.track, &size);
	fixture_close(&f);

	fixture_open(&f, false, T0 + 100);
	fixture_load(f.track, text, size);
	saved_restore(f.track, T0 + 100);
	assert_int_equal(f.track->tasks.n, 1);
	track_sweep_begin(f.track, T0 + 100, T0 + 100);
	tell_live(&f, T0 + 100, 10, T0, 1, 5, 0, 0);
	tell_live(&f, T0 + 100, 20, T0 + 10, 10, T0, 5, 0);
	track_sweep_end(f.track, true, T0 + 100);
	saved_settle(f.track, T0 + 100);
	tell_fork(&f, T0 + 110, 22, T0 + 110, 20, T0 + 10);
	end(T0 + 120, 22, T0 + 110, 0, 1);
	end(T0 + 130, 20, T0 + 10, 9, 10);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].id, id);
	assert_string_equal(f.tasks[0].task, "\xc3\xa4 \"b\"");
	assert_string_equal(f.tasks[0].traceparent, CTX_B);
	assert_int_equal(f.tasks[0].r.signal, 9);
	assert_int_equal(f.tasks[0].r.processes, 3);
	assert_int_equal(f.tasks[0].r.cpu_ns, 1011);
	assert_int_equal(f.tasks[0].r.start_ns, T0 + 20);
	assert_string_equal(fixture_image(&f, 22, 0)->task_id, id);
}

static void names_are_fit_to_be_shown(void **state)
{
	static const char list[] = "SKEP_TASKS=1\0SKEP_TASK=2\0SKEP_TASK=3\0SKEP_TAS";
	char room[TASK_NAME_MOST], longer[200];
	struct skep_str s, raw = str("a\nb\033[2J");

	(void)state;
	s = task_name(&raw, room);
	assert_int_equal(s.len, 7);
	assert_memory_equal(s.ptr, "a?b?[2J", 7);
	raw = str("\xff\xc3\xa4\xc3");
	s = task_name(&raw, room);
	assert_int_equal(s.len, 4);
	assert_memory_equal(s.ptr, "\xff\xc3\xa4\xc3", 4); /* sinks mend it: skep/utf8.h */
	memset(longer, 'x', sizeof(longer));
	memcpy(longer + 127, "\xc3\xa4", 2); /* the cut is within it */
	raw = (struct skep_str){ longer, sizeof(longer), sizeof(longer) };
	s = task_name(&raw, room);
	assert_int_equal(s.len, 127);
	raw = (struct skep_str){ list, sizeof(list) - 1, sizeof(list) - 1 };
	s = task_variable(&raw, "SKEP_TASK");
	assert_int_equal(s.len, 1);
	assert_memory_equal(s.ptr, "2", 1);
	assert_null(task_variable(&raw, "SKEP").ptr);
}

int main(void)
{
#define HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_it)
	const struct CMUnitTest tests[] = {
		HOST(begins_and_ends_with_its_root),
		HOST(other_variables),
		HOST(an_environment_too_large),
		HOST(two_of_a_name_are_two),
		HOST(another_within_and_one_after_another),
		HOST(waits_for_the_dead_not_for_the_living),
		HOST(a_zombie_is_not_waited_for_without_end),
		HOST(contexts),
		HOST(a_found_run_adopts_its_leaders),
		HOST(a_run_that_closes_closes_its_tasks),
		HOST(outlives_a_restart),
		HOST(names_are_fit_to_be_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
