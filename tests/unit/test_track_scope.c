/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_scope.c: which run and task a process belongs to when an engine started it: two runs from one
 * shell, nesting, helpers, retries, daemons, a late start of skepd, a restart and a reload.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skep/utf8.h>
#include <time.h>

#include "core/process/saved.h"
#include "core/process/why.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)

static struct fixture f;
static uint64_t now;
static uint32_t uid = 1000; /* of the next exec */
static uint32_t group, session; /* of the next exec; group 0: no terminal */
static struct {
	uint64_t id;
	const char *path; /* NULL: the kernel sent it before */
} cgroup; /* of the next exec */

static int open_host(void **state)
{
	(void)state;
	fixture_open(&f, false, T0);
	tell_fork(&f, T0, 10, T0, 1, 5);
	tell_exec(&f, T0 + 1, 10, T0, "/bin/init-like", 0, 0);
	track_sweep_begin(f.track, T0 + 2, T0 + 2);
	tell_live(&f, T0 + 2, 10, T0, 1, 5, 0, 0);
	tell_live(&f, T0 + 2, 1, 5, 0, 0, 0, 0);
	track_sweep_end(f.track, true, T0 + 2);
	now = T0 + 10;
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	fixture_close(&f);
	return 0;
}

/* A process's start is its pid in these tests. */
static void fork_of(uint32_t pid, uint32_t parent)
{
	tell_fork(&f, ++now, pid, pid, parent, parent == 10 ? T0 : parent);
}

/* argv, environ: words that end in '\n' each. */
static void exec_as(uint32_t pid, const char *exe, const char *cwd, const char *argv, const char *environ)
{
	char words[512], variables[256];
	struct skep_process_exec rec = {
		.comm = str("x"),
		.exe = str(exe),
		.filename = str(exe),
		.cwd = str(cwd),
		.cgroup = str(cgroup.path ? cgroup.path : ""),
		.cgroup_id = cgroup.id,
		.argv = { words, (uint32_t)strlen(argv), (uint32_t)strlen(argv) },
		.environ = { variables, (uint32_t)strlen(environ), (uint32_t)strlen(environ) },
		.uid = uid,
		.payer = uid,
		.session = session,
		.group_leader = group,
		.flags = (*environ ? SKEP_EXEC_BOUNDARY : 0) | (group ? SKEP_EXEC_TTY : 0),
	};

	for (size_t i = 0; i <= strlen(argv); i++)
		words[i] = argv[i] == '\n' ? '\0' : argv[i];
	for (size_t i = 0; i <= strlen(environ); i++)
		variables[i] = environ[i] == '\n' ? '\0' : environ[i];
	tell(&f, SKEP_ROLE_PROC_EXEC, ++now, pid, pid, &rec);
}

static void start(uint32_t pid, uint32_t parent, const char *exe, const char *cwd, const char *argv)
{
	fork_of(pid, parent);
	exec_as(pid, exe, cwd, argv, "");
}

static void snakemake(uint32_t pid, uint32_t parent, const char *cwd)
{
	start(pid, parent, "/usr/bin/python3.11", cwd, "python3\n/usr/bin/snakemake\n-j4\n");
}

static void rule(uint32_t pid, uint32_t parent, const char *cwd, const char *command)
{
	char argv[256];

	snprintf(argv, sizeof(argv), "/bin/bash\n-c\nset -euo pipefail;  %s\n", command);
	start(pid, parent, "/bin/bash", cwd, argv);
}

static void end(uint32_t pid, uint32_t status)
{
	tell_exit(&f, ++now, pid, pid, status);
	tell_final(&f, ++now, pid, pid, status, 1000, 0);
}

/* A minute passes, and so the grace of runs with a key. */
static void a_minute_passes(void)
{
	now += 61 * SECOND;
	track_tick(f.track, now);
}

static const struct seen_run *run_of_image(uint32_t pid, uint32_t image)
{
	const struct seen_process *p = fixture_image(&f, pid, image);

	for (size_t i = 0; i < f.n_runs; i++)
		if (strcmp(f.runs[i].id, p->run) == 0)
			return &f.runs[i];
	return NULL;
}

static const struct seen_run *run_of(uint32_t pid)
{
	return run_of_image(pid, 1);
}

static const struct seen_task *task_of(uint32_t pid)
{
	const struct seen_process *p = fixture_image(&f, pid, 1);

	for (size_t i = 0; i < f.n_tasks; i++)
		if (strcmp(f.tasks[i].id, p->task_id) == 0)
			return &f.tasks[i];
	return NULL;
}

static void two_runs_of_one_shell(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	snakemake(30, 10, "/data/b");
	rule(21, 20, "/data/a", "bwa mem x");
	rule(31, 30, "/data/b", "sort y");
	start(22, 21, "/usr/bin/bwa", "/data/a", "bwa\nmem\nx\n");
	end(22, 0);
	end(21, 0);
	end(31, 1 << 8);
	end(20, 0);
	end(30, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(run_of(20)->engine, "snakemake");
	assert_string_equal(run_of(20)->pipeline, "a");
	assert_string_equal(run_of(30)->pipeline, "b");
	assert_ptr_equal(run_of(22), run_of(20));
	assert_ptr_equal(run_of(31), run_of(30));
	assert_true(run_of(20)->over && run_of(30)->over);
	assert_int_equal(f.n_tasks, 2);
	assert_null(task_of(20));
	assert_ptr_equal(task_of(22), task_of(21));
	assert_string_equal(task_of(22)->task, "bwa");
	assert_string_equal(task_of(22)->engine, "snakemake");
	assert_string_equal(task_of(22)->source, "argv");
	assert_string_equal(task_of(22)->run, run_of(20)->id);
	assert_string_equal(task_of(31)->task, "sort");
	assert_int_equal(task_of(31)->r.exit_code, 1);
	assert_int_equal(task_of(21)->r.processes, 2);
	assert_int_equal(f.track->scopes.n, 0);
}

/* A command that failed is a second attempt when it runs again; one that succeeded, or still runs, is another job. */
static void retries(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "flaky");
	end(21, 1 << 8);
	rule(22, 20, "/data/a", "flaky");
	end(22, 9); /* a signal */
	rule(23, 20, "/data/a", "flaky");
	end(23, 0);
	rule(24, 20, "/data/a", "flaky");
	rule(25, 20, "/data/a", "flaky");
	end(24, 0);
	end(25, 0);
	rule(26, 20, "/data/a", "other");
	end(26, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(task_of(21)->r.attempt, 1);
	assert_int_equal(task_of(22)->r.attempt, 2);
	assert_int_equal(task_of(23)->r.attempt, 3);
	assert_int_equal(task_of(24)->r.attempt, 1);
	assert_int_equal(task_of(25)->r.attempt, 1);
	assert_int_equal(task_of(26)->r.attempt, 1);
}

/* A task's daemon stays in the task and the run when both have ended, and ends neither. */
static void daemons(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "server &");
	fork_of(22, 21);
	start(23, 22, "/usr/bin/server", "/", "server\n");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	start(24, 23, "/usr/bin/late", "/", "late\n");
	end(24, 0);
	end(23, 0);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 23, 1)->task_id, f.tasks[0].id);
	assert_string_equal(fixture_image(&f, 24, 1)->task_id, f.tasks[0].id);
	assert_string_equal(fixture_image(&f, 24, 1)->run, f.runs[0].id);
	assert_int_equal(f.track->scopes.n, 0);
	assert_int_equal(f.track->tasks.n, 0);
}

/* An engine inside a task of a workflow: its jobs are steps of the task, and open no run. */
static void steps(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "ls | xargs gzip");
	start(22, 21, "/usr/bin/xargs", "/data/a", "xargs\ngzip\n");
	start(23, 22, "/usr/bin/gzip", "/data/a", "gzip\nx\n");
	start(24, 23, "/usr/bin/pigz", "/data/a", "pigz\nx\n");
	end(24, 0);
	end(23, 0);
	end(22, 0);
	start(25, 21, "/usr/bin/cat", "/data/a", "cat\n");
	end(25, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 1);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(fixture_image(&f, 22, 1)->step, "");
	assert_string_equal(fixture_image(&f, 23, 1)->step, "xargs: gzip");
	assert_string_equal(fixture_image(&f, 24, 1)->step, "xargs: gzip");
	assert_string_equal(fixture_image(&f, 25, 1)->step, "");
	assert_ptr_equal(task_of(23), task_of(21));
}

/* A workflow that make starts has a run of its own, which knows the run of make. */
static void higher_class(void **state)
{
	(void)state;
	start(20, 10, "/usr/bin/make", "/data/a", "make\nall\n");
	fork_of(21, 20);
	exec_as(21, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n", "MAKELEVEL=1\n");
	rule(22, 21, "/data/a", "sort x");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(run_of(20)->engine, "make");
	assert_string_equal(run_of(21)->engine, "snakemake");
	assert_string_equal(run_of(21)->parent, run_of(20)->id);
	assert_ptr_equal(run_of(22), run_of(21));
	assert_string_equal(task_of(22)->engine, "snakemake");
	assert_null(task_of(21));
}

/* The lines of a recipe are tasks, also in a make below; what $(shell) starts is none. */
static void make_in_make(void **state)
{
	(void)state;
	start(20, 10, "/usr/bin/make", "/src", "make\n");
	start(21, 20, "/usr/bin/uname", "/src", "uname\n"); /* $(shell uname): no MAKELEVEL */
	end(21, 0);
	fork_of(22, 20);
	exec_as(22, "/usr/bin/make", "/src", "make\n-C\nlib\n", "MAKELEVEL=1\n");
	fork_of(23, 22);
	exec_as(23, "/usr/bin/date", "/src/lib", "date\n", "MAKELEVEL=1\n"); /* $(shell date) of the inner one */
	end(23, 0);
	fork_of(24, 22);
	exec_as(24, "/usr/bin/gcc", "/src/lib", "gcc\n-c\n-o\nz.o\nz.c\n", "MAKELEVEL=2\n");
	start(25, 24, "/usr/lib/gcc/cc1", "/src/lib", "cc1\n");
	end(25, 0);
	end(24, 0);
	end(22, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 1);
	assert_int_equal(f.n_tasks, 2);
	assert_null(task_of(21));
	assert_ptr_equal(task_of(23), task_of(22));
	assert_string_equal(task_of(25)->task, "z.o");
	assert_ptr_equal(task_of(24), task_of(25));
}

/* `timeout snakemake`, and bash that becomes java: one engine, one run. */
static void one_engine_in_several_images(void **state)
{
	(void)state;
	start(20, 10, "/usr/bin/timeout", "/data/a", "timeout\n1h\nsnakemake\n");
	snakemake(21, 20, "/data/a");
	rule(22, 21, "/data/a", "sort");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	start(30, 10, "/bin/bash", "/data/n", "bash\n/opt/nextflow\nrun\nx.nf\n");
	exec_as(30, "/usr/lib/jvm/bin/java", "/data/n", "java\nnextflow.cli.Launcher\nrun\nx.nf\n", "");
	start(31, 30, "/bin/bash", "/data/n/work/4e/0123456789abcdef0123456789abcd", "/bin/bash\n-ue\n.command.run\n");
	start(32, 31, "/bin/bash", "/data/n/work/4e/0123456789abcdef0123456789abcd",
	      "/bin/bash\n/data/n/work/4e/0123456789abcdef0123456789abcd/.command.run\nnxf_trace\n");
	end(32, 0);
	end(31, 0);
	end(30, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(run_of(21)->engine, "snakemake");
	assert_string_equal(task_of(22)->engine, "snakemake");
	assert_string_equal(run_of(30)->engine, "nextflow");
	assert_int_equal(f.n_tasks, 2);
	assert_ptr_equal(task_of(31), task_of(32));
}

/* skepd starts when the engine and a task run already: the first sweep finds both. */
/* What a sweep says of a process.  argv: words that end in '\\n' each. */
static void found(uint32_t pid, uint32_t parent, const char *exe, const char *argv)
{
	char words[512];
	struct skep_process_live rec = {
		.parent = { .pid = parent, .start_ns = parent == 10 ? T0 : parent },
		.comm = str("x"),
		.exe = str(exe),
		.cwd = str("/data/a"),
		.argv = { words, (uint32_t)strlen(argv), (uint32_t)strlen(argv) },
		.session = session,
		.group_leader = group,
		.flags = group ? SKEP_LIVE_TTY : 0,
	};

	for (size_t i = 0; i <= strlen(argv); i++)
		words[i] = argv[i] == '\n' ? '\0' : argv[i];
	tell(&f, SKEP_ROLE_PROC_LIVE, ++now, pid, pid, &rec);
}

static void found_late(void **state)
{
	(void)state;
	track_sweep_begin(f.track, now, now);
	found(21, 20, "/bin/bash", "/bin/bash\n-c\nset -euo pipefail;  sort x\n"); /* before its parent */
	found(20, 10, "/usr/bin/python3.11", "python3\n/usr/bin/snakemake\n--jobs\n");
	track_sweep_end(f.track, true, ++now);
	rule(22, 20, "/data/a", "later");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 1);
	assert_string_equal(f.runs[0].engine, "snakemake");
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[0].task, "later");
	assert_string_equal(f.tasks[1].task, "sort");
}

/*
 * Processes that end before the sweep has found the engine above them are in its run, in a task each, and so is what
 * they leave behind.
 */
static void found_after_its_children(void **state)
{
	(void)state;
	track_sweep_begin(f.track, now, now);
	start(21, 20, "/bin/dash", "/data/a", "sh\n-c\nsort x; daemon\n");
	start(22, 21, "/usr/bin/sort", "/data/a", "sort\nx\n");
	end(22, 0);
	start(23, 21, "/usr/sbin/daemon", "/data/a", "daemon\n");
	end(21, 3 << 8);
	found(20, 10, "/usr/bin/xargs", "xargs\nsh\n-c\n");
	track_tick(f.track, now);
	assert_int_equal(f.n_tasks, 0);
	track_sweep_end(f.track, true, ++now);
	start(24, 20, "/bin/dash", "/data/a", "sh\n-c\nsort y\n");
	end(24, 0);
	end(23, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 1);
	assert_int_equal(f.n_tasks, 2);
	for (uint32_t pid = 21; pid <= 24; pid++)
		assert_string_equal(run_of(pid)->engine, "xargs");
	assert_int_equal(task_of(21)->r.exit_code, 3);
	assert_ptr_equal(task_of(22), task_of(21));
	assert_ptr_equal(task_of(23), task_of(21));
	assert_ptr_not_equal(task_of(24), task_of(21));
}

/* So is a session whose leader ends during the sweep. */
static void a_leader_that_ends_in_a_sweep(void **state)
{
	(void)state;
	track_sweep_begin(f.track, now, now);
	fork_of(21, 20);
	session = 21;
	exec_as(21, "/bin/bash", "/home/u", "bash\n", "");
	start(22, 21, "/usr/bin/work", "/home/u", "work\n");
	session = 0;
	end(21, 0);
	found(20, 10, "/usr/sbin/sshd", "sshd\n");
	track_sweep_end(f.track, true, ++now);
	end(22, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 1);
	assert_ptr_equal(run_of(21), run_of(22));
	assert_string_equal(run_of(21)->name, "bash");
	assert_true(run_of(21)->over);
}

/* A sweep that does not end keeps an ended process no longer than this. */
static void a_sweep_without_end(void **state)
{
	(void)state;
	track_sweep_begin(f.track, now, now);
	start(21, 20, "/usr/bin/sort", "/data/a", "sort\n");
	end(21, 0);
	track_tick(f.track, now + TRACK_PATIENCE_MOST_NS - SECOND);
	assert_true(track_holds(f.track));
	track_tick(f.track, now + TRACK_PATIENCE_MOST_NS + SECOND);
	assert_false(track_holds(f.track));
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 21, 1)->run, "");
}

/* A Snakemake in a rule of Snakemake is a run of its own within the rule's task, which lasts as long as it. */
static void a_workflow_in_a_rule(void **state)
{
	const struct seen_task *task = NULL;
	uint64_t end_ns;

	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "snakemake -s b; true");
	snakemake(22, 21, "/data/a");
	rule(23, 22, "/data/a", "sort x");
	start(24, 23, "/usr/bin/xargs", "/data/a", "xargs\ngzip\n");
	start(25, 24, "/usr/bin/gzip", "/data/a", "gzip\n");
	for (uint32_t pid = 25; pid >= 21; pid--)
		end(pid, 0);
	rule(31, 20, "/data/a", "snakemake -s c"); /* bash executes it in its own process */
	exec_as(31, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n-s\nc\n", "");
	rule(32, 31, "/data/a", "gzip x");
	end(32, 0);
	end_ns = now;
	end(31, 1 << 8);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 3);
	assert_string_equal(run_of(22)->parent, run_of(20)->id);
	assert_string_equal(run_of_image(31, 2)->parent, run_of(20)->id);
	assert_ptr_equal(run_of_image(31, 1), run_of(20));
	assert_ptr_equal(run_of(23), run_of(22));
	assert_ptr_equal(run_of(32), run_of_image(31, 2));
	assert_int_equal(f.n_tasks, 4);
	assert_string_equal(task_of(21)->run, run_of(20)->id);
	assert_string_equal(task_of(23)->run, run_of(22)->id);
	assert_ptr_equal(task_of(25), task_of(23));
	assert_string_equal(fixture_image(&f, 25, 1)->step, "xargs: gzip");
	assert_null(task_of(22));
	assert_int_equal(task_of(21)->r.inner_runs, 1);
	assert_int_equal(task_of(23)->r.inner_runs, 0);
	assert_string_equal(fixture_image(&f, 31, 2)->task_id, "");
	task = task_of(31);
	assert_int_equal(task->r.inner_runs, 1);
	assert_string_equal(task->run, run_of(20)->id);
	assert_string_equal(task->state, "exited");
	assert_int_equal(task->r.exit_code, 1);
	assert_true(task->r.end_ns > end_ns);
}

/* A process of which no record has the outer run is a process of the inner run alone. */
static void counted_in_one_run(void **state)
{
	static const char argv[] = "python3\0/usr/bin/snakemake\0-s\0b";
	struct skep_process_exec rec = {
		.comm = str("x"),
		.exe = str("/usr/bin/python3.11"),
		.filename = str("/usr/bin/python3.11"),
		.cwd = str("/data/a"),
		.argv = { argv, sizeof(argv), sizeof(argv) },
		.uid = uid,
		.payer = uid,
	};
	uint64_t start;

	(void)state;
	f.track->env.fold_forks = true;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "snakemake -s b; true");
	start = ++now;
	tell_fork(&f, now, 22, start, 21, 21);
	tell(&f, SKEP_ROLE_PROC_EXEC, ++now, 22, start, &rec);
	tell_exit(&f, ++now, 22, start, 0);
	tell_final(&f, ++now, 22, start, 0, 1000, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(fixture_images(&f, 22), 1);
	assert_int_equal(run_of(20)->seen, 2);
	assert_int_equal(run_of(22)->seen, 1);
}

/* The next skepd knows that the task lasts as long as the process, and ends a task whose process has gone. */
static void a_workflow_in_a_rule_and_a_restart(void **state)
{
	char run[48], *saved;
	size_t size;

	(void)state;
	snakemake(20, 10, "/data/a");
	for (uint32_t pid = 31; pid <= 32; pid++) {
		rule(pid, 20, "/data/a", "snakemake -s c");
		exec_as(pid, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n-s\nc\n", "");
	}
	snprintf(run, sizeof(run), "%s", f.runs[0].id);
	saved = fixture_save(f.track, &size);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	tell_live(&f, now, 31, 31, 20, 20, 0, 0);
	track_sweep_end(f.track, true, now);
	now += TRACK_FINAL_NS;
	track_tick(f.track, now);
	saved_settle(f.track, now);
	end(31, 2 << 8);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(f.tasks[i].run, run);
		assert_int_equal(f.tasks[i].r.inner_runs, 1);
		if (f.tasks[i].r.root_upid.pid == 31) {
			assert_string_equal(f.tasks[i].state, "exited");
			assert_int_equal(f.tasks[i].r.exit_code, 2);
		} else {
			assert_string_equal(f.tasks[i].state, "lost");
		}
	}
}

/* The next skepd knows the engine, the task and the step, and recognizes the tasks that begin from then on. */
static void across_a_restart(void **state)
{
	char run[48], task[48], *saved;
	size_t size;

	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "ls | xargs gzip");
	start(22, 21, "/usr/bin/xargs", "/data/a", "xargs\ngzip\n");
	saved = fixture_save(f.track, &size);
	snprintf(run, sizeof(run), "%s", f.runs[0].id);
	snprintf(task, sizeof(task), "%s", f.track->tasks.first->id);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	tell_live(&f, now, 21, 21, 20, 20, 0, 0);
	tell_live(&f, now, 22, 22, 21, 21, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	start(23, 22, "/usr/bin/gzip", "/data/a", "gzip\nx\n");
	rule(24, 20, "/data/a", "second");
	end(24, 0);
	end(23, 0);
	end(22, 0);
	end(21, 1 << 8);
	rule(25, 20, "/data/a", "ls | xargs gzip");
	end(25, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 23, 1)->run, run);
	assert_string_equal(fixture_image(&f, 23, 1)->task_id, task);
	assert_string_equal(fixture_image(&f, 23, 1)->step, "xargs: gzip");
	assert_string_equal(fixture_image(&f, 23, 1)->scopes, "snakemake > xargs");
	assert_string_equal(fixture_image(&f, 20, 1)->scopes, "snakemake");
	assert_string_equal(task_of(21)->scopes, "snakemake");
	assert_string_equal(task_of(24)->task, "second");
	assert_string_equal(task_of(24)->run, run);
	assert_string_equal(task_of(24)->engine, "snakemake");
	assert_int_equal(task_of(24)->r.attempt, 1);
	assert_int_equal(task_of(25)->r.attempt, 2);
	assert_int_equal(f.track->scopes.n, 0);
}

/* A reload exchanges the table: the engines that run go on, or without their entry have no more tasks. */
static void across_a_reload(void **state)
{
	struct recognizers *next;
	struct diag diag;

	(void)state;
	diag_init(&diag);
	next = recognizers_new(NULL, &diag);
	snakemake(20, 10, "/data/a");
	track_recognizers(f.track, next);
	rule(21, 20, "/data/a", "first");
	end(21, 0);
	track_recognizers(f.track, NULL);
	rule(22, 20, "/data/a", "second");
	end(22, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "first");
	assert_ptr_equal(run_of(22), run_of(20));
	recognizers_unref(next);
	diag_clear(&diag);
}

/* A task that the environment names is the user's own: the engine's rules are its steps. */
static void named_by_the_user(void **state)
{
	(void)state;
	fork_of(20, 10);
	exec_as(20, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n", "SKEP_TASK=mine\n");
	fork_of(21, 20);
	exec_as(21, "/bin/bash", "/data/a", "bash\n-c\nset -euo pipefail; sort x\n", "SKEP_TASK=mine\n");
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "mine");
	assert_string_equal(f.tasks[0].engine, "");
	assert_string_equal(fixture_image(&f, 21, 1)->task_id, f.tasks[0].id);
	assert_string_equal(fixture_image(&f, 21, 1)->step, "snakemake: sort");
}

/* The shell of a task that the user named becomes the engine: the task goes with it into the engine's run. */
static void named_and_becomes_an_engine(void **state)
{
	(void)state;
	fork_of(20, 10);
	exec_as(20, "/bin/bash", "/data/a", "bash\n-c\nsnakemake\n", "SKEP_TASK=mine\n");
	exec_as(20, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n", "SKEP_TASK=mine\n");
	end(20, 3 << 8);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "mine");
	assert_string_equal(f.tasks[0].state, "exited");
	assert_int_equal(f.tasks[0].r.exit_code, 3);
	assert_string_equal(f.tasks[0].run, run_of_image(20, 2)->id);
	assert_string_equal(run_of_image(20, 2)->engine, "snakemake");
}

/* A step that `skep run --task` names: of the engine's task, and outside of one a task of the run. */
static void a_step_that_the_user_names(void **state)
{
	struct skep_str prep = str("prep"), last = str("last");

	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "script");
	start(22, 21, "/usr/bin/skep", "/data/a", "skep\nrun\n--task\nprep\nsort\n");
	assert_int_equal(track_task_named(f.track, 22, 1001, &prep, now), -ESRCH); /* another user's process */
	assert_int_equal(track_task_named(f.track, 99, uid, &prep, now), -ESRCH);
	assert_int_equal(track_task_named(f.track, 22, uid, &prep, now), 0);
	exec_as(22, "/usr/bin/sort", "/data/a", "sort\nx\n", "SKEP_TASK=prep\n");
	fork_of(23, 22);
	exec_as(23, "/usr/bin/uniq", "/data/a", "uniq\n", "SKEP_TASK=prep\n");
	end(23, 0);
	end(22, 0);
	start(24, 21, "/usr/bin/cat", "/data/a", "cat\n");
	end(24, 0);
	end(21, 0);
	start(25, 20, "/usr/bin/skep", "/data/a", "skep\n");
	assert_int_equal(track_task_named(f.track, 25, uid, &last, now), 0);
	exec_as(25, "/usr/bin/tail", "/data/a", "tail\n", "");
	end(25, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(task_of(21)->task, "script");
	assert_string_equal(fixture_image(&f, 22, 2)->task_id, task_of(21)->id);
	assert_string_equal(fixture_image(&f, 22, 2)->step, "skep: prep");
	assert_ptr_equal(task_of(23), task_of(21));
	assert_string_equal(fixture_image(&f, 23, 1)->step, "skep: prep");
	assert_string_equal(fixture_image(&f, 24, 1)->step, "");
	assert_int_equal(task_of(21)->r.processes, 4);
	assert_string_equal(f.tasks[1].task, "last");
	assert_string_equal(f.tasks[1].engine, "");
	assert_string_equal(fixture_image(&f, 25, 2)->task_id, f.tasks[1].id);
	assert_string_equal(f.tasks[1].run, run_of(20)->id);
}

/* `skep run` below make and xargs: the engines in its run begin tasks of its own, also after a restart. */
static void a_run_that_a_recipe_begins(void **state)
{
	struct run_spec spec = { .id = "mine", .name = "mine", .pipeline = "p", .cwd = "/data/a", .root = 22 };
	struct run *run = NULL;
	char outer[48], *saved;
	size_t size;

	(void)state;
	start(20, 10, "/usr/bin/make", "/data/a", "make\nall\n");
	fork_of(21, 20);
	exec_as(21, "/usr/bin/xargs", "/data/a", "xargs\nskep\nrun\n", "MAKELEVEL=1\n");
	start(22, 21, "/usr/bin/skep", "/data/a", "skep\nrun\nsh\n");
	assert_string_equal(f.track->tasks.first->engine->text, "make");
	snprintf(outer, sizeof(outer), "%s", f.runs[0].id);
	run_set(&f.track->runs.first->job, &(struct skep_str){ "41", 2, 2 });
	run_set(&f.track->runs.first->account, &(struct skep_str){ "lab", 3, 3 });
	assert_int_equal(run_new(&f.track->runs, &spec, now, &run), 0);
	assert_int_equal(track_run_root(f.track, run, now), 0);
	assert_string_equal(run->parent, outer);
	assert_string_equal(run->job, "41");
	assert_string_equal(run->account, "lab");
	exec_as(22, "/bin/sh", "/data/a", "sh\n-c\nls | xargs gzip\n", "");
	start(23, 22, "/usr/bin/xargs", "/data/a", "xargs\ngzip\n");
	start(24, 23, "/usr/bin/gzip", "/data/a", "gzip\nx\n");
	saved = fixture_save(f.track, &size);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	for (uint32_t pid = 20; pid < 25; pid++)
		tell_live(&f, now, pid, pid, pid == 20 ? 10 : pid - 1, pid == 20 ? T0 : pid - 1, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	start(25, 23, "/usr/bin/gzip", "/data/a", "gzip\ny\n");
	start(26, 22, "/usr/bin/cat", "/data/a", "cat\n");
	for (uint32_t pid = 26; pid > 21; pid--)
		end(pid, 0);
	track_run_close(f.track, run_find(&f.track->runs, "mine"), now);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	for (uint32_t pid = 24; pid < 26; pid++) {
		assert_string_equal(fixture_image(&f, pid, 1)->run, "mine");
		assert_string_equal(task_of(pid)->task, "gzip");
		assert_string_equal(task_of(pid)->engine, "xargs");
		assert_string_equal(fixture_image(&f, pid, 1)->step, "");
	}
	assert_string_not_equal(task_of(24)->id, task_of(25)->id);
	assert_null(task_of(26));
	assert_string_equal(fixture_image(&f, 26, 1)->step, "");
	assert_string_equal(fixture_image(&f, 20, 1)->run, outer);
	assert_int_equal(f.track->scopes.n, 0);
}

/* A user nests engines a hundred deep, and chooses names and arguments: few scopes, valid texts, little time. */
static void a_hostile_user(void **state)
{
	char argv[512] = "xargs\n", *text = argv + strlen(argv);
	struct timespec a, b;

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		text = stpcpy(text, "\xc3\xa4\x01\xff");
	strcpy(text, "\n");
	start(20, 10, "/usr/bin/xargs", "/d", "xargs\nx\n");
	for (uint32_t pid = 21; pid < 120; pid++)
		start(pid, pid - 1, "/usr/bin/xargs", "/d", argv);
	assert_true(f.track->scopes.n <= 16);
	start(120, 119, "/bin/x", "/d", "x\n");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (uint32_t pid = 200; pid < 300; pid++)
		start(pid, 120, "/bin/x", "/d", "x\n");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	assert_true((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < 10000);
	for (uint32_t pid = 299; pid >= 200; pid--)
		end(pid, 0);
	for (uint32_t pid = 120; pid >= 20; pid--)
		end(pid, 0);
	fixture_settle(&f);
	assert_true(skep_utf8_cut(fixture_image(&f, 120, 1)->step, strlen(fixture_image(&f, 120, 1)->step), 1000) ==
		    strlen(fixture_image(&f, 120, 1)->step));
	assert_int_equal(f.track->scopes.n, 0);
	assert_int_equal(f.track->tasks.n, 0);
}

static void slurm_job(uint32_t pid, const char *argv, const char *environ)
{
	start(pid, 10, "/usr/sbin/slurmstepd", "/", "slurmstepd\n");
	fork_of(pid + 1, pid);
	exec_as(pid + 1, "/bin/bash", "/data/a", argv, environ);
}

/* Elements of an array are tasks of one run, which ends with the last of them; a step of an element is a task, too. */
static void an_array_of_jobs(void **state)
{
	uint64_t last_ns;

	(void)state;
	slurm_job(20, "/bin/bash\n/var/spool/slurmd/job00041/slurm_script\n",
		  "SLURM_JOB_ID=41\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=1\nSLURM_JOB_NAME=align\nSLURM_CPUS_PER_TASK=2\n");
	slurm_job(30, "/bin/bash\n/var/spool/slurmd/job00042/slurm_script\n",
		  "SLURM_JOB_ID=42\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=2\nSLURM_JOB_NAME=align\n");
	slurm_job(40, "hostname\n",
		  "SLURM_JOB_ID=42\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=2\nSLURM_JOB_NAME=hostname\nSLURM_STEP_ID=0\nSLURM_PROCID=0\n");
	start(22, 21, "/usr/bin/bwa", "/data/a", "bwa\n");
	end(22, 0);
	end(21, 1 << 8);
	end(20, 0);
	assert_false(run_of(21) && run_of(21)->over);
	start(32, 31, "/usr/bin/bwa", "/data/a", "bwa\n");
	end(32, 0);
	end(41, 0);
	end(40, 0);
	end(31, 0);
	last_ns = now; /* of the final record; the exit came one before */
	end(30, 0);
	a_minute_passes();
	fixture_settle(&f);
	assert_int_equal(run_of(21)->end_ns, last_ns - 1);
	assert_string_equal(run_of(21)->engine, "slurm");
	assert_string_equal(run_of(21)->name, "align");
	assert_string_equal(run_of(21)->job, "41");
	assert_ptr_equal(run_of(32), run_of(21));
	assert_ptr_equal(run_of(41), run_of(21));
	assert_true(run_of(21)->over);
	assert_int_equal(run_of(21)->status, 1 << 8); /* of the element that failed */
	assert_int_equal(f.n_tasks, 3);
	assert_ptr_equal(task_of(22), task_of(21));
	assert_string_equal(task_of(21)->job, "41_1");
	assert_string_equal(task_of(32)->sample, "2");
	assert_string_equal(task_of(41)->task, "hostname");
	assert_true(task_of(21)->r.requested_cpus == 2);
	assert_int_equal(f.track->scopes.n, 0);
}

/*
 * Slurm 26.05: the cgroup has the job's SLUID.  Without the environment the SLUID joins the job's steps; an id of the
 * environment wins.
 */
static void a_job_by_its_cgroup(void **state)
{
	struct skep_process_live daemon = {
		.parent = { .pid = 10, .start_ns = T0 },
		.comm = str("slurmstepd"),
		.exe = str("/usr/sbin/slurmstepd"),
		.argv = { "slurmstepd", 11, 11 },
	};
	struct skep_process_live found = {
		.parent = { .pid = 20, .start_ns = 20 },
		.uid = uid,
		.payer = uid,
		.comm = str("bash"),
		.exe = str("/bin/bash"),
		.argv = { "bash\0./a", 9, 9 },
		.cgroup_id = 900,
		.cgroup = str("/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0"),
	};
	/* A second rank in a step's cgroup, whose path the kernel has sent; one record has its fork and its exec. */
	struct skep_process_exec rank = {
		.uid = uid,
		.payer = uid,
		.comm = str("sort"),
		.exe = str("/usr/bin/sort"),
		.argv = { "sort", 5, 5 },
		.cgroup_id = 901,
	};
	uint64_t begin;

	(void)state;
	f.track->env.fold_forks = true;
	now++;
	track_sweep_begin(f.track, now, now);
	tell(&f, SKEP_ROLE_PROC_LIVE, now, 20, 20, &daemon);
	tell(&f, SKEP_ROLE_PROC_LIVE, now, 21, 21, &found);
	track_sweep_end(f.track, true, now);
	start(30, 10, "/usr/sbin/slurmstepd", "/", "slurmstepd\n");
	cgroup.id = 901;
	cgroup.path = "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_1/user/task_special";
	start(31, 30, "/usr/bin/sort", "/data/a", "sort\n");
	cgroup.path = NULL;
	begin = ++now;
	tell_fork(&f, begin, 32, begin, 30, 30);
	tell(&f, SKEP_ROLE_PROC_EXEC, ++now, 32, begin, &rank);
	fork_of(33, 30);
	exec_as(33, "/usr/bin/uniq", "/data/a", "uniq\n", "SLURM_JOB_ID=41\nSLURM_STEP_ID=2\nSLURM_JOB_NAME=last\n");
	cgroup.id = 0;
	tell_exit(&f, ++now, 32, begin, 0);
	tell_final(&f, ++now, 32, begin, 0, 1000, 0);
	end(33, 0);
	end(31, 0);
	end(30, 0);
	end(21, 0);
	end(20, 0);
	a_minute_passes();
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(run_of_image(21, 0)->engine, "slurm");
	assert_string_equal(run_of_image(21, 0)->job, "s5K1KKYAYG5D00");
	assert_ptr_equal(run_of(31), run_of_image(21, 0));
	assert_ptr_equal(run_of(32), run_of(31));
	assert_true(run_of(31)->over);
	assert_string_equal(run_of(33)->job, "41");
	assert_int_equal(f.n_tasks, 4);
	assert_string_equal(task_of(32)->job, "s5K1KKYAYG5D00");
	assert_string_equal(task_of(33)->job, "41.2");
}

/* Another user's process with the same key belongs to a run of its own, and so does one after the run's end. */
static void a_key_of_another_user(void **state)
{
	static const char argv[] = "/bin/bash\n/var/spool/slurmd/job00041/slurm_script\n", job[] = "SLURM_JOB_ID=41\n";

	(void)state;
	slurm_job(20, argv, job);
	uid = 1001;
	slurm_job(30, argv, job);
	uid = 1000;
	end(21, 0);
	end(20, 0);
	a_minute_passes();
	slurm_job(40, argv, job);
	end(41, 0);
	end(40, 0);
	end(31, 0);
	end(30, 0);
	a_minute_passes();
	fixture_settle(&f);
	assert_ptr_not_equal(run_of(21), run_of(31));
	assert_ptr_not_equal(run_of(21), run_of(41));
	assert_true(run_of(21)->over && run_of(31)->over && run_of(41)->over);
}

/* A job id in the environment alone is no job: Slurm's daemon did not start the process. */
static void a_job_id_alone(void **state)
{
	(void)state;
	fork_of(20, 10);
	exec_as(20, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n", "SLURM_JOB_ID=41\n");
	end(20, 0);
	fixture_settle(&f);
	assert_string_equal(run_of(20)->engine, "snakemake");
	assert_string_equal(run_of(20)->job, "");
	assert_int_equal(f.n_tasks, 0);
}

/* The first program below Slurm's daemon is the engine itself: the run is Snakemake's, and the job its attribute. */
static void an_engine_that_is_the_job(void **state)
{
	static const char argv[] = "python3\n/usr/bin/snakemake\n";
	static const char job[] = "SLURM_JOB_ID=41\nSLURM_JOB_ACCOUNT=lab\nSLURM_STEP_ID=0\n";

	(void)state;
	start(20, 10, "/usr/sbin/slurmstepd", "/", "slurmstepd\n");
	for (uint32_t pid = 21; pid <= 22; pid++) { /* two ranks */
		fork_of(pid, 20);
		exec_as(pid, "/usr/bin/python3.11", "/data/a", argv, job);
	}
	rule(23, 21, "/data/a", "bwa mem x");
	assert_int_equal(f.track->scopes.n, 4);
	assert_string_equal(f.track->scopes.first->engine->text, "snakemake");
	assert_string_equal(f.track->scopes.first->outer->engine->text, "slurm");
	end(23, 0);
	end(22, 0);
	end(21, 3 << 8);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(run_of(21)->engine, "snakemake");
	assert_string_equal(run_of(21)->job, "41");
	assert_string_equal(run_of(21)->account, "lab");
	assert_string_equal(run_of(21)->parent, "");
	assert_int_equal(run_of(21)->status, 3 << 8);
	assert_ptr_not_equal(run_of(22), run_of(21));
	assert_true(run_of(21)->over && run_of(22)->over);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(task_of(23)->engine, "snakemake");
	assert_null(task_of(21));
	assert_int_equal(f.track->scopes.n, 0);
}

/* The same as a step of a job whose script runs: the job's run is the parent of Snakemake's, and ends by itself. */
static void an_engine_that_is_a_step(void **state)
{
	static const char remote[] = "python3\n-m\nsnakemake\n--target-jobs\nalign:s=1\n--wait-for-files\n"
				     "/data/a/.snakemake/tmp.x\n--mode\n2\n";

	(void)state;
	slurm_job(20, "/bin/bash\n/var/spool/slurmd/job00041/slurm_script\n",
		  "SLURM_JOB_ID=41\nSLURM_JOB_NAME=a\nSLURM_JOB_ACCOUNT=lab\n");
	slurm_job(50, "hostname\n", "SLURM_JOB_ID=41\nSLURM_JOB_NAME=hostname\nSLURM_STEP_ID=7\n");
	end(51, 0);
	end(50, 0);
	start(30, 10, "/usr/sbin/slurmstepd", "/", "slurmstepd\n");
	fork_of(31, 30);
	exec_as(31, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n",
		"SLURM_JOB_ID=41\nSLURM_STEP_ID=0\n");
	fork_of(32, 30);
	exec_as(32, "/usr/bin/python3.11", "/data/a", remote,
		"SLURM_JOB_ID=41\nSLURM_STEP_ID=1\nSLURM_CPUS_PER_TASK=3\n");
	end(21, 0);
	end(20, 0);
	end(32, 0);
	end(31, 0);
	end(30, 0);
	fixture_settle(&f);
	assert_false(run_of(21)->over);
	a_minute_passes();
	assert_true(run_of(21)->over);
	assert_int_equal(f.n_runs, 3);
	assert_string_equal(run_of(31)->engine, "snakemake");
	assert_string_equal(run_of(31)->parent, run_of(21)->id);
	assert_int_equal(task_of(21)->r.inner_runs, 2); /* the script waits for both steps */
	assert_int_equal(task_of(51)->r.inner_runs, 0); /* it ended before */
	assert_string_equal(run_of(31)->job, "41");
	assert_string_equal(run_of(31)->account, "lab");
	assert_true(run_of(31)->over);
	assert_string_equal(task_of(32)->task, "align");
	assert_string_equal(task_of(32)->job, "41.1");
	assert_true(task_of(32)->r.granted_cpus == 3);
	assert_string_equal(task_of(32)->granted_source, "job");
	assert_true(task_of(32)->r.requested_cpus == 0); /* Snakemake asked for none */
}

/* A script of an array's element that executes the engine: a run of its own if other elements run, else the job's. */
static void a_script_that_becomes_an_engine(void **state)
{
	static const char argv[] = "/bin/bash\n/var/spool/slurmd/job00041/slurm_script\n";

	(void)state;
	slurm_job(20, argv, "SLURM_JOB_ID=41\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=1\n");
	slurm_job(30, argv, "SLURM_JOB_ID=42\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=2\n");
	exec_as(31, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n", "");
	end(31, 0);
	end(30, 0);
	exec_as(21, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n", "");
	slurm_job(40, argv, "SLURM_JOB_ID=43\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=3\n");
	end(41, 0);
	end(40, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 3);
	assert_string_equal(run_of_image(31, 2)->engine, "snakemake");
	assert_string_equal(run_of_image(31, 2)->parent, run_of(21)->id);
	assert_string_equal(run_of(21)->engine, "snakemake");
	assert_string_equal(run_of(21)->job, "41");
	assert_int_equal(task_of(31)->r.inner_runs, 1);
	assert_int_equal(task_of(21)->r.inner_runs, 1);
	assert_string_equal(run_of(41)->engine, "slurm");
	a_minute_passes();
	for (size_t i = 0; i < f.n_runs; i++)
		assert_true(f.runs[i].over);
}

/* A launcher that is the job: the run is Slurm's, and what the launcher starts are steps of the job's task. */
static void a_launcher_that_is_the_job(void **state)
{
	(void)state;
	start(20, 10, "/usr/sbin/slurmstepd", "/", "slurmstepd\n");
	fork_of(21, 20);
	exec_as(21, "/usr/bin/xargs", "/data/a", "xargs\ngzip\n", "SLURM_JOB_ID=41\nSLURM_JOB_NAME=pack\n");
	start(22, 21, "/usr/bin/gzip", "/data/a", "gzip\nx\n");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 1);
	assert_string_equal(run_of(22)->engine, "slurm");
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(task_of(22)->task, "pack");
	assert_string_equal(fixture_image(&f, 22, 1)->step, "xargs: gzip");
}

#define TMP "/data/a/.snakemake/tmp.ab12cd34"

static void cluster_job(uint32_t pid)
{
	slurm_job(pid, "/bin/sh\n/var/spool/slurmd/job00050/slurm_script\n",
		  "SLURM_JOB_ID=50\nSLURM_JOB_NAME=snakejob\nSLURM_CPUS_PER_TASK=3\nSLURM_MEM_PER_NODE=64\n");
	start(pid + 2, pid + 1, "/usr/bin/python3.11", "/data/a",
	      "python3\n-m\nsnakemake\n--target-jobs\nalign:s=1\n--wait-for-files\n" TMP "\n--resources\nmem_mb=10\n--mode\n2\n");
	rule(pid + 3, pid + 2, "/data/a", "bwa mem x");
}

/* Jobs on the cluster are tasks of Snakemake's run, with what the scheduler granted; their shells are steps. */
static void jobs_that_an_engine_submits(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	start(21, 20, "/bin/sh", "/data/a", "/bin/sh\n-c\nsbatch -c 3 \"" TMP "/snakejob.align.1.sh\"\n");
	end(21, 0);
	cluster_job(30);
	end(33, 0);
	end(32, 0);
	end(31, 0);
	end(30, 0);
	assert_false(run_of(33)->over);
	end(20, 0);
	fixture_settle(&f);
	assert_string_equal(run_of(20)->engine, "snakemake");
	assert_ptr_equal(run_of(32), run_of(20));
	assert_ptr_equal(run_of(33), run_of(20));
	assert_true(run_of(20)->over);
	assert_string_equal(run_of(31)->engine, "slurm");
	assert_string_equal(task_of(31)->engine, "slurm");
	assert_string_equal(task_of(32)->task, "align");
	assert_ptr_equal(task_of(33), task_of(32));
	assert_string_equal(fixture_image(&f, 33, 1)->step, "snakemake: bwa");
	assert_string_equal(fixture_image(&f, 33, 1)->scopes, "slurm > snakemake");
	assert_string_equal(fixture_image(&f, 30, 1)->scopes, "");
	assert_string_equal(task_of(31)->scopes, "slurm");
	assert_string_equal(task_of(32)->scopes, "slurm > snakemake");
	assert_string_equal(task_of(32)->job, "50");
	assert_true(task_of(31)->r.requested_cpus == 3);
	assert_int_equal(task_of(31)->r.requested_memory_bytes, 64 << 20);
	assert_string_equal(task_of(31)->granted_source, "");
	assert_int_equal(task_of(31)->r.inner_runs, 1);
	assert_int_equal(task_of(32)->r.inner_runs, 0);
	assert_true(task_of(32)->r.requested_cpus == 0);
	assert_int_equal(task_of(32)->r.requested_memory_bytes, 10 << 20);
	assert_string_equal(task_of(32)->requested_source, "argv");
	assert_true(task_of(32)->r.granted_cpus == 3);
	assert_int_equal(task_of(32)->r.granted_memory_bytes, 64 << 20);
	assert_string_equal(task_of(32)->granted_source, "job");
	assert_null(task_of(21));
}

/* The same on a host where the leader does not run: a part of the run, in the job's run. */
static void jobs_of_a_leader_elsewhere(void **state)
{
	(void)state;
	cluster_job(30);
	cluster_job(40);
	end(33, 0);
	end(32, 0);
	end(31, 0);
	end(30, 0);
	end(43, 0);
	end(42, 0);
	end(41, 0);
	end(40, 0);
	a_minute_passes();
	fixture_settle(&f);
	assert_string_equal(run_of(32)->engine, "snakemake");
	assert_string_equal(run_of(32)->parent, run_of(31)->id);
	assert_string_equal(run_of(32)->job, "50");
	assert_ptr_equal(run_of(42), run_of(33));
	assert_true(run_of(42)->over);
}

/* A run keeps its key, its job and its roots across a restart of skepd. */
static void a_key_across_a_restart(void **state)
{
	static const char argv[] = "/bin/bash\n/var/spool/slurmd/job00041/slurm_script\n";
	static const char job[] = "SLURM_JOB_ID=41\nSLURM_JOB_ACCOUNT=lab\n";
	char run[48], *saved;
	size_t size;

	(void)state;
	slurm_job(20, argv, job);
	saved = fixture_save(f.track, &size);
	snprintf(run, sizeof(run), "%s", f.track->tasks.first->run->id);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	/* Before the first sweep: the parent, which is in no run, is known from the saved state. */
	slurm_job(40, argv, job);
	end(41, 0);
	end(40, 0);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	tell_live(&f, now, 21, 21, 20, 20, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	slurm_job(30, argv, job);
	end(21, 0);
	end(20, 0);
	start(32, 31, "/usr/bin/bwa", "/data/a", "bwa\n");
	end(32, 0);
	end(31, 0);
	end(30, 0);
	a_minute_passes();
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 41, 1)->run, run);
	assert_string_equal(fixture_image(&f, 32, 1)->run, run);
	assert_true(run_of(31)->over);
	assert_string_equal(run_of(31)->job, "41");
	assert_string_equal(run_of(31)->account, "lab");
	assert_string_equal(run_of(31)->engine, "slurm");
}

/*
 * An element that begins when the others have ended, and skepd has begun anew meanwhile, joins the array's run.
 */
static void a_gap_in_an_array(void **state)
{
	static const char argv[] = "/bin/bash\n/var/spool/slurmd/job00041/slurm_script\n";
	static const char element[] = "SLURM_JOB_ID=41\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=1\n";
	char run[48], *saved;
	size_t size;

	(void)state;
	slurm_job(20, argv, element);
	end(21, 1 << 8);
	end(20, 0);
	fixture_settle(&f);
	now += 50 * SECOND;
	track_tick(f.track, now);
	assert_false(run_of(21)->over);
	snprintf(run, sizeof(run), "%s", f.runs[0].id);
	saved = fixture_save(f.track, &size);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	slurm_job(30, argv, "SLURM_JOB_ID=42\nSLURM_ARRAY_JOB_ID=41\nSLURM_ARRAY_TASK_ID=2\n");
	now += 50 * SECOND;
	track_tick(f.track, now);
	end(31, 0);
	end(30, 0);
	a_minute_passes();
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 31, 1)->run, run);
	assert_int_equal(f.n_runs, 1);
	assert_true(run_of(31)->over);
	assert_int_equal(run_of(31)->status, 1 << 8);
}

/* What only the environment of a job's first step says becomes the run's name, pipeline and job. */
static void learned_from_below(void **state)
{
	(void)state;
	start(20, 10, "/home/r/bin/Runner.Worker", "/home/r", "Runner.Worker\nspawnclient\n1\n2\n");
	fork_of(21, 20);
	exec_as(21, "/bin/bash", "/home/r/_work/app", "bash\n-e\n/home/r/_work/_temp/0a1b.sh\n",
		"GITHUB_RUN_ID=99\nGITHUB_JOB=build\nGITHUB_WORKFLOW=CI\nRUNNER_TRACKING_ID=github_1f3d\n");
	/* The run's record leaves again at once: a reader need not wait for the run's end. */
	assert_int_equal(f.runs[0].records, 2);
	assert_false(f.runs[0].over);
	assert_string_equal(f.runs[0].name, "build");
	assert_string_equal(f.runs[0].pipeline, "CI");
	assert_string_equal(f.runs[0].job, "99");
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_string_equal(run_of(20)->name, "build");
	assert_string_equal(run_of(20)->pipeline, "CI");
	assert_string_equal(run_of(20)->job, "99");
	assert_ptr_equal(run_of(21), run_of(20));
	assert_int_equal(f.n_tasks, 1);
}

/* make names no tasks: a name that a recipe gives itself is a task. */
static void a_task_that_a_recipe_names(void **state)
{
	(void)state;
	start(20, 10, "/usr/bin/make", "/data/a", "make\nall\n");
	fork_of(21, 20);
	exec_as(21, "/bin/sh", "/data/a", "sh\n-c\nx\n", "MAKELEVEL=1\n");
	fork_of(22, 21);
	exec_as(22, "/usr/bin/bwa", "/data/a", "bwa\nmem\n", "MAKELEVEL=1\nSKEP_TASK=align\n");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(fixture_image(&f, 22, 1)->task, "align");
	assert_string_equal(fixture_image(&f, 22, 1)->step, "");
}

/* ---- names from files ------------------------------------------------------------- */

/* What skep asked its file reader last. */
static struct {
	unsigned n;
	void *token;
	uint32_t uid, pid, n_wanted;
	char path[128], where[32], log[128], value[32], text[ENGINE_FILE_WANTED][64];
} asked;

static int on_file(void *arg, const struct engine_file *file, void *token)
{
	(void)arg;
	asked.n++;
	asked.token = token;
	asked.uid = file->uid;
	asked.pid = file->pid;
	asked.n_wanted = file->n_wanted;
	snprintf(asked.path, sizeof(asked.path), "%s", file->path ? file->path : "");
	snprintf(asked.log, sizeof(asked.log), "%s", file->log ? file->log : "");
	snprintf(asked.where, sizeof(asked.where), "%s", file->where ? file->where : "");
	snprintf(asked.value, sizeof(asked.value), "%s", file->values[0] ? file->values[0] : "");
	for (uint32_t i = 0; i < file->n_wanted; i++)
		snprintf(asked.text[i], sizeof(asked.text[i]), "%.*s", (int)file->wanted[i].text.len,
			 file->wanted[i].text.ptr);
	return 0;
}

static int open_files(void **state)
{
	open_host(state);
	memset(&asked, 0, sizeof(asked));
	f.track->env.read_file = on_file;
	return 0;
}

static void wait_ms(uint64_t ms)
{
	now += ms * MS;
	track_tick(f.track, now);
}

/* The reader's answer: texts that end in '\n' each. */
static void answer(const char *texts)
{
	char room[256];
	struct skep_str str = { room, (uint32_t)strlen(texts), (uint32_t)strlen(texts) };

	assert_non_null(asked.token);
	for (size_t i = 0; i <= strlen(texts); i++)
		room[i] = texts[i] == '\n' ? '\0' : texts[i];
	now++;
	track_file_answer(asked.token, 0, &str, now);
	asked.token = NULL;
}

/* Of a running task the log is read, of an ended one the metadata, which has its command.  Of each wanted text: /rule,
 * rule, wildcards, threads, resources. */
#define NOTHING "\n\n\n\n\n"

/* The task's record waits for the rule's name, which Snakemake writes after the job. */
static void named_by_a_file(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x");
	rule(22, 20, "/data/a", "sort x");
	wait_ms(1000);
	assert_int_equal(asked.n, 1); /* the log alone: there is no such file yet */
	assert_string_equal(asked.path, "");
	assert_string_equal(asked.where, "");
	answer(NOTHING NOTHING);
	wait_ms(1000);
	assert_int_equal(asked.n, 1);
	end(21, 0);
	end(22, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 0);
	wait_ms(250);
	assert_int_equal(asked.n, 2); /* both in one request */
	assert_string_equal(asked.path, "/data/a/.snakemake/metadata");
	assert_string_equal(asked.where, "/shellcmd");
	assert_string_equal(asked.log, "/data/a/.snakemake/log");
	assert_string_equal(asked.value, "/rule");
	assert_int_equal(asked.n_wanted, 2);
	assert_string_equal(asked.text[0], "  bwa mem x");
	assert_string_equal(asked.text[1], "  sort x");
	assert_int_equal(asked.uid, 1000);
	assert_int_equal(asked.pid, 20);
	answer("align\n\n\n\n\n" NOTHING);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "align");
	assert_string_equal(f.tasks[0].source, "file");
	wait_ms(300); /* the second one is asked for again */
	assert_int_equal(asked.n, 3);
	assert_int_equal(asked.n_wanted, 1);
	answer("order\n");
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[1].task, "order");
	assert_int_equal(f.track->lates.n, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_string_equal(run_of(20)->id, f.tasks[1].run);
}

/* The log names the running task, and one that failed.  After one that succeeded the metadata has the last word. */
static void named_by_a_log(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x >out/1");
	rule(22, 20, "/data/a", "sort x >out/2");
	wait_ms(250);
	assert_int_equal(asked.n, 1);
	assert_string_equal(asked.log, "/data/a/.snakemake/log");
	assert_int_equal(asked.n_wanted, 2);
	assert_null(proctab_holder(track_table(f.track), 21)->task->files); /* skepd has read none yet */
	answer("\nalign\ns=1,lane=2\n2\ntmpdir=/tmp,mem_mb=100,mem_mib=96\n" "\nwrong\n\n\n\n");
	assert_string_equal(proctab_holder(track_table(f.track), 21)->task->files->text, "/data/a/.snakemake/log");
	start(23, 21, "/usr/bin/bwa", "/data/a", "bwa\n");
	end(23, 0);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 23, 1)->task, "align");
	end(21, 1 << 8);
	wait_ms(250);
	assert_int_equal(asked.n, 2);
	assert_int_equal(asked.n_wanted, 1);
	answer("\nalign\n");
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1); /* it will have no metadata */
	assert_string_equal(f.tasks[0].task, "align");
	assert_string_equal(f.tasks[0].sample, "s=1,lane=2");
	assert_string_equal(f.tasks[0].source, "file");
	assert_int_equal(f.tasks[0].r.requested_memory_bytes, 100 << 20);
	assert_true(f.tasks[0].r.requested_cpus > 1.9 && f.tasks[0].r.requested_cpus < 2.1);
	end(22, 0);
	for (unsigned i = 0; i < 9; i++) {
		wait_ms(250);
		if (asked.token)
			answer("\nwrong\ns=2\n");
	}
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[1].task, "wrong");
	assert_int_equal(f.track->lates.n, 1);
	assert_string_equal(f.track->tasks.first->files->text, "/data/a/.snakemake/metadata"); /* and, behind it, the log */
	wait_ms(3000);
	answer("\nwrong\ns=2\n"); /* the same again sends no record */
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	wait_ms(11000);
	answer("order\nother\ns=2\n");
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 3);
	assert_string_equal(f.tasks[2].task, "order");
	assert_string_equal(f.tasks[2].id, f.tasks[1].id);
	assert_int_equal(f.track->lates.n, 0);
}

/* A rule with `script:`: its metadata has no command, so the log alone names it, while it runs. */
static void named_by_its_script(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "/usr/bin/python3 /data/a/.snakemake/scripts/tmpab12cd34.plot.py");
	rule(22, 20, "/data/a", "/usr/bin/python3 /data/a/.snakemake/scripts/tmpab12cd35.plot.py");
	wait_ms(250);
	assert_int_equal(asked.n, 1);
	assert_string_equal(asked.path, "");
	assert_string_equal(asked.log, "/data/a/.snakemake/log");
	answer("figure\ns=1\n\n\n" "\n\n\n\n");
	assert_int_equal(f.track->lates.n, 0); /* a later look would find no more */
	end(21, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "figure");
	assert_string_equal(f.tasks[0].sample, "s=1");
	end(22, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[1].task, "plot.py");
	assert_string_equal(f.tasks[1].source, "argv");
}

/* A name that comes after the record sends the record again, with the same ids and figures. */
static void named_after_its_record(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x");
	end(21, 0);
	for (unsigned i = 0; i < 9; i++) {
		wait_ms(250);
		if (asked.token && i < 4)
			answer("\n");
	}
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "bwa");
	assert_string_equal(f.tasks[0].source, "argv");
	answer("align\n");
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[1].task, "align");
	assert_string_equal(f.tasks[1].id, f.tasks[0].id);
	assert_string_equal(f.tasks[1].run, f.tasks[0].run);
	assert_true(*f.tasks[1].run);
	assert_int_equal(f.tasks[1].r.end_ns, f.tasks[0].r.end_ns);
	assert_int_equal(f.tasks[1].r.cpu_ns, f.tasks[0].r.cpu_ns);
	assert_int_equal(f.tasks[1].r.processes, 1);
	assert_int_equal(f.track->tasks.n, 0);
}

/* A failed attempt has no file: it has the name of the attempt that succeeds, however much later. */
static void named_by_another_attempt(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x");
	end(21, 1 << 8);
	for (unsigned i = 0; i < 400; i++) {
		wait_ms(250);
		if (asked.token)
			answer("\n");
	}
	assert_in_range(asked.n, 5, 8);
	rule(22, 20, "/data/a", "bwa mem x");
	rule(23, 20, "/data/a", "bwa mem x"); /* runs on: it may be of another rule */
	end(22, 0);
	wait_ms(300);
	answer("align\n");
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 3);
	assert_string_equal(f.tasks[0].task, "bwa");
	assert_string_equal(f.tasks[1].task, "align");
	assert_string_equal(f.tasks[1].id, f.tasks[0].id);
	assert_string_equal(f.tasks[2].task, "align");
	assert_int_equal(f.track->lates.n, 1);
	/* The engine ends: what waits is asked for once more, and then no longer. */
	end(23, 1 << 8);
	end(20, 0);
	for (unsigned i = 0; i < 40; i++) {
		wait_ms(250);
		if (asked.token)
			answer("\n");
	}
	track_run_close(f.track, f.track->runs.first, now);
	f.track->runs.first->ended = true;
	wait_ms(250);
	if (asked.token)
		answer("\n");
	assert_int_equal(f.track->lates.n, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 4);
	assert_string_equal(f.tasks[3].task, "bwa");
}

/* Nextflow's script is there before its task, so the running task has its name. */
static void named_at_the_begin(void **state)
{
	static const char cwd[] = "/data/x/work/4e/0123456789abcdef0123456789abcd";

	(void)state;
	start(20, 10, "/usr/lib/jvm/java", "/data/x", "java\nnextflow.cli.Launcher\nrun\nmain.nf\n");
	start(21, 20, "/bin/bash", cwd, "/bin/bash\n-ue\n.command.run\n");
	wait_ms(250);
	assert_int_equal(asked.n, 1);
	assert_string_equal(asked.value, "");
	assert_int_equal(asked.n_wanted, 1);
	{
		static const char script[] = "#!/bin/bash\n#SBATCH -c 4\n### name: 'FASTQC (S1)'\n";
		struct skep_str head = { script, sizeof(script) - 1, sizeof(script) - 1 };

		track_file_answer(asked.token, 0, &head, ++now);
	}
	assert_int_equal(f.track->lates.n, 0);
	start(22, 21, "/usr/bin/fastqc", cwd, "fastqc\n");
	end(22, 0);
	end(21, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 22, 1)->task, "FASTQC");
	assert_string_equal(task_of(21)->task, "FASTQC");
	assert_string_equal(task_of(21)->sample, "S1");
	assert_true(task_of(21)->r.requested_cpus > 3.9 && task_of(21)->r.requested_cpus < 4.1);
}

/* A task of Nextflow in the work directory with this digit; its script has the name. */
static void task_in(uint32_t pid, char digit, const char *name)
{
	char cwd[] = "/data/x/work/4e/?123456789abcdef0123456789abcd", script[64];
	struct skep_str head = { script, 0, 0 };

	*strchr(cwd, '?') = digit;
	start(pid, 20, "/bin/bash", cwd, "/bin/bash\n-ue\n.command.run\n");
	wait_ms(250);
	head.len = head.total = (uint32_t)snprintf(script, sizeof(script), "#!/bin/bash\n### name: '%s'\n", name);
	assert_non_null(asked.token);
	track_file_answer(asked.token, 0, &head, ++now);
	asked.token = NULL;
}

/* The names of two tasks may be equal: the second is another attempt if the first one failed. */
static void an_attempt_by_failures(void **state)
{
	char *saved;
	size_t size;

	(void)state;
	start(20, 10, "/usr/lib/jvm/java", "/data/x", "java\nnextflow.cli.Launcher\nrun\nmain.nf\n");
	task_in(21, '0', "FASTQC (S1)");
	task_in(22, '1', "FASTQC (S1)"); /* a lane of the same sample */
	end(22, 0);
	end(21, 1 << 8);
	task_in(23, '2', "FASTQC (S2)");
	task_in(24, '3', "FASTQC (S1)");

	saved = fixture_save(f.track, &size);
	fixture_close(&f);
	fixture_open(&f, false, now);
	f.track->env.read_file = on_file;
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	tell_live(&f, now, 23, 23, 20, 20, 0, 0);
	tell_live(&f, now, 24, 24, 20, 20, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	end(24, 2 << 8); /* before the file is read again */
	f.track->env.read_file = NULL;
	track_late_over(f.track);
	f.track->env.read_file = on_file;
	task_in(25, '4', "FASTQC (S1)");
	end(25, 0);
	task_in(26, '5', "FASTQC (S1)");
	end(26, 0);
	end(23, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(task_of(23)->r.attempt, 1);
	assert_int_equal(task_of(24)->r.attempt, 2);
	assert_int_equal(task_of(25)->r.attempt, 3);
	assert_int_equal(task_of(26)->r.attempt, 1);
}

/* The engine tries again at once; the kernel frees the failed process, and reports its figures, up to seconds later. */
static void an_attempt_before_the_record(void **state)
{
	(void)state;
	start(20, 10, "/usr/lib/jvm/java", "/data/x", "java\nnextflow.cli.Launcher\nrun\nmain.nf\n");
	task_in(21, '0', "FASTQC (S1)");
	tell_exit(&f, ++now, 21, 21, 1 << 8);
	task_in(22, '1', "FASTQC (S1)");
	tell_exit(&f, ++now, 22, 22, 0);
	task_in(23, '2', "FASTQC (S1)");
	tell_final(&f, ++now, 21, 21, 1 << 8, 1000, 0);
	tell_final(&f, ++now, 22, 22, 0, 1000, 0);
	end(23, 0);
	end(20, 0);
	fixture_settle(&f);
	assert_int_equal(task_of(21)->r.attempt, 1);
	assert_int_equal(task_of(22)->r.attempt, 2);
	assert_int_equal(task_of(23)->r.attempt, 1);
}

/* What waits leaves with its first name when skepd stops, and when the next skepd takes it over. */
static void a_name_and_a_restart(void **state)
{
	char *saved;
	size_t size;

	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x");
	end(21, 0);
	saved = fixture_save(f.track, &size);
	track_late_over(f.track);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "bwa");
	assert_int_equal(f.track->tasks.n, 0);
	fixture_close(&f); /* as if it had been killed before that */
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	wait_ms(250);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "bwa");
}

/* cwltool writes the job of each directory to its standard error, before the job begins. */
static void named_by_standard_error(void **state)
{
	(void)state;
	start(20, 10, "/usr/bin/python3.11", "/data", "python3\n/usr/bin/cwltool\nwf.cwl\n");
	start(21, 20, "/usr/bin/sort", "/tmp/abc12", "sort\n-r\nx\n");
	start(22, 20, "/usr/bin/sort", "/tmp/abc13", "sort\n-r\nx\n");
	wait_ms(250);
	assert_int_equal(asked.n, 1);
	assert_string_equal(asked.path, "");
	assert_int_equal(asked.n_wanted, 2);
	assert_string_equal(asked.text[0], "] /tmp/abc12$");
	assert_string_equal(asked.text[1], "] /tmp/abc13$");
	assert_int_equal(asked.pid, 20);
	answer("INFO [job order_2] /tmp/abc12$ sort \\\n\n");
	assert_int_equal(f.track->lates.n, 0);
	end(21, 0);
	end(22, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[0].task, "order");
	assert_string_equal(f.tasks[0].sample, "2");
	assert_string_equal(f.tasks[0].source, "file");
	assert_string_equal(f.tasks[1].task, "sort");
	assert_string_equal(f.tasks[1].source, "program");
}

/* A task that lives across a restart waits for its name in the next skepd, too. */
static void named_across_a_restart(void **state)
{
	char *saved;
	size_t size;

	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x");
	rule(22, 20, "/data/a", "sort x");
	saved = fixture_save(f.track, &size);
	fixture_close(&f);
	fixture_open(&f, false, now);
	f.track->env.read_file = on_file;
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	tell_live(&f, now, 21, 21, 20, 20, 0, 0);
	tell_live(&f, now, 22, 22, 20, 20, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	wait_ms(250);
	assert_int_equal(asked.n, 1);
	assert_string_equal(asked.log, "/data/a/.snakemake/log");
	assert_int_equal(asked.n_wanted, 2);
	assert_int_equal(asked.uid, 1000);
	assert_int_equal(asked.pid, 20);
	answer(NOTHING NOTHING);
	end(21, 0);
	wait_ms(250);
	assert_int_equal(asked.n, 2);
	assert_string_equal(asked.path, "/data/a/.snakemake/metadata");
	assert_string_equal(asked.text[0], "  bwa mem x");
	answer("align\n");
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].task, "align");
}

/* skep reads as the user of engine and task: both must be the same one.  A user's waiting tasks are bounded. */
static void files_of_a_hostile_user(void **state)
{
	(void)state;
	snakemake(20, 10, "/data/a");
	fork_of(21, 20);
	uid = 0;
	exec_as(21, "/bin/su", "/data/a", "/bin/su\n-c\nset -euo pipefail; x\n", "");
	uid = 1000;
	assert_int_equal(f.track->lates.n, 0);
	for (unsigned i = 0; i < 1100; i++)
		rule(1000 + i, 20, "/data/a", "sleep 1");
	assert_int_equal(f.track->lates.n, 1024);
	for (unsigned i = 0; i < 1100; i++)
		end(1000 + i, 0);
	wait_ms(250);
	assert_int_equal(asked.n, 1); /* one request at a time */
	assert_int_equal(asked.n_wanted, ENGINE_FILE_WANTED);
	wait_ms(250);
	assert_int_equal(asked.n, 1);
	wait_ms(2000);
	assert_int_equal(f.n_tasks, 0); /* not delivered yet */
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1100);
	answer(""); /* after 2.25 s: a rest of ten times as long */
	wait_ms(20000);
	assert_int_equal(asked.n, 1);
	wait_ms(3000);
	assert_int_equal(asked.n, 2);
	answer("");
}

/* ---- jobs of an interactive shell ------------------------------------------------- */

#define SHELL 40

static int open_shell(void **state)
{
	open_host(state);
	group = session = SHELL;
	start(SHELL, 10, "/bin/bash", "/home/a", "-bash\n");
	return 0;
}

static int close_shell(void **state)
{
	group = session = 0;
	return close_it(state);
}

/* A process executes in that process group. */
static void exec_in(uint32_t of, uint32_t pid, const char *argv)
{
	char exe[32];

	snprintf(exe, sizeof(exe), "/bin/%.*s", (int)strcspn(argv, "\n"), argv);
	group = of;
	exec_as(pid, exe, "/home/a", argv, "");
}

static void start_in(uint32_t of, uint32_t pid, uint32_t parent, const char *argv)
{
	fork_of(pid, parent);
	exec_in(of, pid, argv);
}

static void jobs_of_a_shell(void **state)
{
	(void)state;
	start_in(50, 50, SHELL, "sh\n./a.sh\n");
	start_in(60, 60, SHELL, "sh\n./b.sh\n");
	start_in(50, 51, 50, "sort\nx\n");
	start_in(61, 61, 60, "timeout\n5\ny\n"); /* as ninja or `set -m` does: a group of its own */
	start_in(61, 62, 61, "y\n");
	start_in(SHELL, 41, SHELL, "git\nbranch\n"); /* the prompt */
	end(51, 0);
	end(50, 1 << 8);
	fixture_settle(&f);
	assert_true(run_of(50)->over);
	end(62, 0);
	end(61, 0);
	end(60, 0);
	end(41, 0);
	end(SHELL, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 3);
	assert_string_equal(run_of(50)->name, "a.sh");
	assert_int_equal(run_of(50)->status, 1 << 8);
	assert_string_equal(run_of(50)->parent, run_of(SHELL)->id);
	assert_ptr_equal(run_of(51), run_of(50));
	assert_string_equal(run_of(60)->name, "b.sh");
	assert_ptr_equal(run_of(61), run_of(60));
	assert_ptr_equal(run_of(62), run_of(60));
	assert_string_equal(run_of(41)->name, "bash");
}

/* On a busy machine a sweep reads the shell's child before it executes anything. */
static void a_job_found_before_its_exec(void **state)
{
	(void)state;
	track_sweep_begin(f.track, now, now);
	found(SHELL, 10, "/bin/bash", "-bash\n");
	group = 50;
	found(50, SHELL, "/bin/bash", "-bash\n");
	track_sweep_end(f.track, true, ++now);
	exec_in(50, 50, "sh\n./a.sh\n");
	end(50, 0);
	end(SHELL, 0);
	fixture_settle(&f);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(run_of(50)->name, "a.sh");
	assert_string_equal(run_of(50)->parent, run_of(SHELL)->id);
}

static void a_pipeline_of_a_shell(void **state)
{
	(void)state;
	fork_of(50, SHELL);
	fork_of(51, SHELL);
	exec_in(50, 51, "sort\n"); /* before the first of the pipeline */
	exec_in(50, 50, "zcat\nx\n");
	end(50, 13); /* SIGPIPE */
	fixture_settle(&f);
	assert_false(run_of(50)->over); /* its last process lives */
	end(51, 0);
	fixture_settle(&f);
	assert_int_equal(run_of(50)->status, 0); /* of the last command, as in the shell */
	fork_of(52, SHELL);
	fork_of(53, SHELL);
	exec_in(52, 52, "sort\nx\n");
	exec_in(52, 53, "grep\ny\n");
	end(53, 1 << 8);
	end(52, 0);
	fixture_settle(&f);
	assert_int_equal(run_of(52)->status, 1 << 8);
	assert_ptr_equal(run_of(51), run_of(50));
	assert_true(run_of(50)->over);
	assert_string_equal(run_of(50)->name, "zcat");
	/* an engine: its run is the whole pipeline's */
	fork_of(60, SHELL);
	fork_of(61, SHELL);
	group = 60;
	exec_as(60, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n-j4\n", "");
	exec_in(60, 61, "tee\nlog\n");
	rule(62, 60, "/data/a", "bwa mem x");
	end(62, 0);
	end(60, 0);
	end(61, 0);
	fixture_settle(&f);
	assert_ptr_equal(run_of(61), run_of(60));
	assert_ptr_equal(run_of(62), run_of(60));
	assert_string_equal(run_of(60)->engine, "snakemake");
	assert_int_equal(f.n_runs, 4);
}

/* for i in x y; do $i; done & (cd a; x | y) */
static void subshells(void **state)
{
	(void)state;
	fork_of(50, SHELL);
	start_in(50, 51, 50, "x\n");
	end(51, 0);
	start_in(50, 52, 50, "y\n");
	end(52, 0);
	end(50, 0);
	fork_of(60, SHELL);
	fork_of(61, 60);
	start_in(60, 62, 61, "x\n");
	start_in(60, 63, 60, "y\n");
	end(62, 0);
	end(61, 0);
	fixture_settle(&f);
	assert_false(run_of(62)->over);
	end(63, 0);
	end(60, 0);
	fixture_settle(&f);
	assert_ptr_equal(run_of(52), run_of(51));
	assert_string_equal(run_of(51)->name, "x");
	assert_ptr_equal(run_of(63), run_of(62));
	assert_ptr_not_equal(run_of(62), run_of(51));
	assert_true(run_of(51)->over && run_of(62)->over);
}

/* A script that a terminal's program executes without a shell's prompt, as `ssh -t host ./a.sh`: the session's run. */
static void no_interactive_shell(void **state)
{
	(void)state;
	session = group = 50;
	start(50, 10, "/bin/bash", "/home/a", "bash\n./a.sh\n");
	start_in(51, 51, 50, "x\n");
	end(51, 0);
	end(50, 0);
	fixture_settle(&f);
	assert_ptr_equal(run_of(51), run_of(50));
}

static void live_in(uint32_t of, uint32_t pid, uint32_t parent, const char *exe, const char *argv, uint32_t len)
{
	struct skep_process_live rec = { .parent = { .pid = parent, .start_ns = parent == 10 ? T0 : parent },
					 .uid = uid,
					 .session = SHELL,
					 .group_leader = of,
					 .flags = SKEP_LIVE_TTY,
					 .comm = str("x"),
					 .exe = str(exe),
					 .argv = { argv, len, len } };

	tell(&f, SKEP_ROLE_PROC_LIVE, now, pid, pid, &rec);
}

/* The first scan finds two jobs of a shell, one of them a subshell; then skepd restarts within a pipeline. */
static void jobs_across_a_restart(void **state)
{
	char *saved, run[48];
	size_t size;

	(void)state;
	now++;
	track_sweep_begin(f.track, now, now);
	live_in(70, 70, 71, "/bin/bash", "-bash", 6);
	live_in(71, 71, 10, "/bin/bash", "-bash", 6);
	live_in(72, 72, 71, "/bin/y", "y", 2);
	live_in(70, 73, 70, "/bin/y", "y", 2);
	track_sweep_end(f.track, true, now);
	fork_of(50, SHELL);
	fork_of(51, SHELL);
	exec_in(50, 50, "zcat\nx\n");
	saved = fixture_save(f.track, &size);
	snprintf(run, sizeof(run), "%s", run_of_job(track_runs(f.track), 50, SHELL)->id);
	assert_non_null(run_of_job(track_runs(f.track), 70, SHELL));
	assert_int_equal(run_of_job(track_runs(f.track), 70, SHELL)->members, 2);
	assert_int_equal(run_of_job(track_runs(f.track), 72, SHELL)->members, 1);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	exec_in(50, 51, "sort\n");
	end(51, 0);
	end(50, 0);
	fixture_settle(&f);
	assert_string_equal(fixture_image(&f, 51, 1)->run, run);
	assert_true(run_of(51)->over);
	assert_true(run_of(51)->parent[0]);
}

/* text: a part of it. */
static void expect_why(uint32_t pid, void (*why)(const struct proc *, struct why *), const char *rule, const char *text)
{
	const struct proc *p = proctab_holder(track_table(f.track), pid);
	struct why said;

	assert_non_null(p);
	why(p, &said);
	if (strcmp(said.rule, rule) != 0 || !strstr(said.text, text))
		fail_msg("process %u: %s: %s; expected %s: %s", pid, said.rule, said.text, rule, text);
}

/* Why a process is in its run and task, by the rules of the reference page. */
static void why_it_is_there(void **state)
{
	(void)state;
	start(15, 10, "/usr/bin/vi", "/data/a", "vi\n");
	expect_why(15, why_task, "R7", "no engine is around it");
	snakemake(20, 10, "/data/a");
	expect_why(20, why_run, "R2", "its exec begins snakemake, and no engine is around it");
	expect_why(20, why_task, "R3", "it is the process of snakemake itself");
	rule(21, 20, "/data/a", "bwa mem x");
	expect_why(21, why_run, "R1", "descends from process 20, whose exec begins this run");
	expect_why(21, why_task, "R3", "at its exec held task[4] of snakemake");
	start(22, 21, "/usr/bin/bwa", "/data/a", "bwa\nmem\nx\n");
	expect_why(22, why_run, "R1", "descends from process 20");
	expect_why(22, why_task, "R1", "descends from process 21, whose exec begins the task");
	start(23, 20, "/usr/bin/uname", "/data/a", "uname\n");
	expect_why(23, why_task, "R3", "no mark of a task of snakemake held");
	fork_of(24, 20);
	expect_why(24, why_task, "R3", "executed nothing since its fork");
	snakemake(25, 21, "/data/a");
	expect_why(25, why_run, "R3", "begins snakemake in a task of snakemake");
	start(30, 10, "/usr/bin/make", "/data/a", "make\n");
	snakemake(31, 30, "/data/a");
	expect_why(31, why_run, "R2", "class (workflow) is higher than the class of every engine around it");
	start(40, 10, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/luigi\nTop\n");
	start(41, 40, "/usr/bin/sort", "/data/a", "sort\n");
	expect_why(41, why_task, "R3", "the recognizer of luigi has no mark of a task");
}

static void why_it_is_in_a_job(void **state)
{
	(void)state;
	start(20, 10, "/usr/sbin/slurmstepd", "/", "slurmstepd\n");
	fork_of(21, 20);
	exec_as(21, "/usr/bin/python3.11", "/data/a", "python3\n/usr/bin/snakemake\n-j4\n", "SLURM_JOB_ID=41\nSLURM_JOB_NAME=x\n");
	expect_why(21, why_run, "R4", "its exec begins snakemake in a job of slurm");
	for (uint32_t pid = 31; pid <= 32; pid++) {
		fork_of(pid, 20);
		exec_as(pid, "/usr/bin/sort", "/data/a", "sort\n", "SLURM_JOB_ID=42\nSLURM_JOB_NAME=x\n");
	}
	expect_why(31, why_run, "R2", "its exec begins slurm");
	expect_why(32, why_run, "R5", "shows the key of this run of slurm");
}

/* The next skepd still knows which marks held. */
static void why_across_a_restart(void **state)
{
	char *saved;
	size_t size;

	(void)state;
	snakemake(20, 10, "/data/a");
	rule(21, 20, "/data/a", "bwa mem x");
	saved = fixture_save(f.track, &size);
	fixture_close(&f);
	fixture_open(&f, false, now);
	fixture_load(f.track, saved, size);
	saved_restore(f.track, now);
	now++;
	track_sweep_begin(f.track, now, now);
	tell_live(&f, now, 10, T0, 1, 5, 0, 0);
	tell_live(&f, now, 20, 20, 10, T0, 0, 0);
	tell_live(&f, now, 21, 21, 20, 20, 0, 0);
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	expect_why(20, why_run, "R2", "its exec begins snakemake");
	expect_why(21, why_task, "R3", "at its exec held task[4] of snakemake");
	assert_int_equal(proctab_holder(track_table(f.track), 21)->scope->mark, 1);
}

static void why_a_user_named_it(void **state)
{
	(void)state;
	start(20, 10, "/usr/bin/make", "/data/a", "make\n");
	fork_of(21, 20);
	exec_as(21, "/usr/bin/sort", "/data/a", "sort\n", "MAKELEVEL=1\nSKEP_TASK=mine\n");
	expect_why(21, why_task, "R3", "a user named the task");
	fork_of(22, 20);
	exec_as(22, "/usr/bin/sort", "/data/a", "sort\n", "MAKELEVEL=1\nSKEP_TASK=\n");
	expect_why(22, why_task, "R3", "SKEP_TASK in its environment is empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_runs_of_one_shell, open_host, close_it),
		cmocka_unit_test_setup_teardown(retries, open_host, close_it),
		cmocka_unit_test_setup_teardown(daemons, open_host, close_it),
		cmocka_unit_test_setup_teardown(steps, open_host, close_it),
		cmocka_unit_test_setup_teardown(higher_class, open_host, close_it),
		cmocka_unit_test_setup_teardown(make_in_make, open_host, close_it),
		cmocka_unit_test_setup_teardown(one_engine_in_several_images, open_host, close_it),
		cmocka_unit_test_setup_teardown(found_late, open_host, close_it),
		cmocka_unit_test_setup_teardown(found_after_its_children, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_leader_that_ends_in_a_sweep, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_sweep_without_end, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_workflow_in_a_rule, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_workflow_in_a_rule_and_a_restart, open_host, close_it),
		cmocka_unit_test_setup_teardown(counted_in_one_run, open_host, close_it),
		cmocka_unit_test_setup_teardown(across_a_restart, open_host, close_it),
		cmocka_unit_test_setup_teardown(across_a_reload, open_host, close_it),
		cmocka_unit_test_setup_teardown(named_by_the_user, open_host, close_it),
		cmocka_unit_test_setup_teardown(named_and_becomes_an_engine, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_step_that_the_user_names, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_run_that_a_recipe_begins, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_hostile_user, open_host, close_it),
		cmocka_unit_test_setup_teardown(an_array_of_jobs, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_job_by_its_cgroup, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_key_of_another_user, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_job_id_alone, open_host, close_it),
		cmocka_unit_test_setup_teardown(an_engine_that_is_the_job, open_host, close_it),
		cmocka_unit_test_setup_teardown(an_engine_that_is_a_step, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_script_that_becomes_an_engine, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_launcher_that_is_the_job, open_host, close_it),
		cmocka_unit_test_setup_teardown(jobs_that_an_engine_submits, open_host, close_it),
		cmocka_unit_test_setup_teardown(jobs_of_a_leader_elsewhere, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_key_across_a_restart, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_gap_in_an_array, open_host, close_it),
		cmocka_unit_test_setup_teardown(learned_from_below, open_host, close_it),
		cmocka_unit_test_setup_teardown(a_task_that_a_recipe_names, open_host, close_it),
		cmocka_unit_test_setup_teardown(named_by_a_file, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_by_a_log, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_by_its_script, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_by_standard_error, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_across_a_restart, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_after_its_record, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_by_another_attempt, open_files, close_it),
		cmocka_unit_test_setup_teardown(named_at_the_begin, open_files, close_it),
		cmocka_unit_test_setup_teardown(an_attempt_by_failures, open_files, close_it),
		cmocka_unit_test_setup_teardown(an_attempt_before_the_record, open_files, close_it),
		cmocka_unit_test_setup_teardown(a_name_and_a_restart, open_files, close_it),
		cmocka_unit_test_setup_teardown(files_of_a_hostile_user, open_files, close_it),
		cmocka_unit_test_setup_teardown(jobs_of_a_shell, open_shell, close_shell),
		cmocka_unit_test_setup_teardown(a_job_found_before_its_exec, open_shell, close_shell),
		cmocka_unit_test_setup_teardown(a_pipeline_of_a_shell, open_shell, close_shell),
		cmocka_unit_test_setup_teardown(subshells, open_shell, close_shell),
		cmocka_unit_test_setup_teardown(no_interactive_shell, open_shell, close_shell),
		cmocka_unit_test_setup_teardown(jobs_across_a_restart, open_shell, close_shell),
		cmocka_unit_test_setup_teardown(why_it_is_there, open_host, close_it),
		cmocka_unit_test_setup_teardown(why_it_is_in_a_job, open_host, close_it),
		cmocka_unit_test_setup_teardown(why_across_a_restart, open_host, close_it),
		cmocka_unit_test_setup_teardown(why_a_user_named_it, open_host, close_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
