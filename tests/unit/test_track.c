/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_track.c - the tracker: the ordinary life of a process, and records that are missing, late, repeated
 * or absurd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/collect/collector.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)
#define MIB (1ull << 20)

static struct fixture f;

static int open_host(void **state)
{
	(void)state;
	fixture_open(&f, false, T0);
	return 0;
}

static int open_runs(void **state)
{
	(void)state;
	fixture_open(&f, true, T0);
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	fixture_close(&f);
	return 0;
}

static struct run *begin_run(const char *id, pid_t root)
{
	const char *argv[] = { "make", "all", NULL };
	struct run_spec spec = { .id = id, .name = "n", .pipeline = "p", .argv = argv, .cwd = "/", .root = root };
	struct run *run = NULL;

	assert_int_equal(run_new(&f.track->runs, &spec, f.now_ns, &run), 0);
	assert_int_equal(track_run_root(f.track, run, f.now_ns), 0);
	return run;
}

static void exec_read(uint64_t t, const char *exe, uint64_t faults, uint64_t rchar)
{
	struct skep_process_exec rec = {
		.counters = { .cpu_ns = faults * 10, .minor_faults = faults, .rchar_bytes = rchar },
		.exe = { exe, (uint32_t)strlen(exe), (uint32_t)strlen(exe) },
		.argv = { exe, (uint32_t)strlen(exe) + 1, (uint32_t)strlen(exe) + 1 },
	};

	tell(&f, SKEP_ROLE_PROC_EXEC, t, 10, T0 + 1, &rec);
}

/* One life-cycle probe replaces another: an exec that both report counts once, even where one is far behind. */
static void a_fork_that_execs_at_once(void **state)
{
	const uint64_t busy_ns = 5000000, second_ns = 1000000000;
	const struct seen_process *p;

	(void)state;
	f.track->env.fold_forks = true;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/opt/first", 100, 4 * MIB);
	tell_exec(&f, T0 + 3, 10, T0 + 1, "/opt/second", 350, 9 * MIB);
	tell_exit(&f, T0 + 9, 10, T0 + 1, 0);
	tell_final(&f, T0 + 10, 10, T0 + 1, 0, 1000, 9 * MIB);
	p = fixture_image(&f, 10, 1);
	assert_int_equal(f.n_processes, 2);
	assert_string_equal(p->exe, "/opt/first");
	assert_int_equal(p->r.execed, 1);
	assert_int_equal(p->r.start_ns, T0 + 1);
	assert_int_equal(p->r.cpu_ns, 350);
	assert_int_equal(p->r.approx, APPROX_SPLIT);
	p = fixture_image(&f, 10, 2);
	assert_string_equal(p->exe, "/opt/second");
	assert_int_equal(p->r.cpu_ns, 650);
	assert_int_equal(p->r.last, 1);

	/* A fork that computed, and one that waited, have records of their own. */
	tell_fork(&f, T0 + 20, 11, T0 + 20, 5, 7);
	tell_exec(&f, T0 + 21, 11, T0 + 20, "/opt/first", busy_ns, 4 * MIB);
	tell_fork(&f, T0 + 30, 12, T0 + 30, 5, 7);
	tell_exec(&f, T0 + 30 + second_ns, 12, T0 + 30, "/opt/first", 100, 4 * MIB);
	assert_int_equal(fixture_image(&f, 11, 0)->r.cpu_ns, busy_ns);
	assert_int_equal(fixture_image(&f, 12, 0)->r.execed, 0);
}

static void two_probes_tell_all_twice(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	exec_read(T0 + 2, "/opt/first", 30, 400);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	exec_read(T0 + 2, "/opt/first", 30, 400);
	exec_read(T0 + 20, "/opt/second", 61, 800); /* another exec within the same millisecond */
	exec_read(T0 + 3, "/opt/first", 30, 400);
	exec_read(T0 + 21, "/opt/second", 61, 800);
	tell_exit(&f, T0 + 30, 10, T0 + 1, 0);
	tell_exit(&f, T0 + 30, 10, T0 + 1, 0);
	tell_final(&f, T0 + 31, 10, T0 + 1, 0, 1000, 9 * MIB);
	tell_final(&f, T0 + 31, 10, T0 + 1, 0, 1000, 9 * MIB);
	exec_read(T0 + 20, "/opt/second", 61, 800);
	assert_int_equal(proctab_count(f.track->table), 0);
	assert_string_equal(fixture_image(&f, 10, 0)->state, "replaced");
	assert_int_equal(f.n_processes, 3);
	assert_string_equal(fixture_image(&f, 10, 1)->exe, "/opt/first");
	assert_string_equal(fixture_image(&f, 10, 2)->exe, "/opt/second");
	assert_string_equal(fixture_image(&f, 10, 2)->state, "exited");
	assert_int_equal(f.track->stats.late, 6);
}

static void fork_exec_exit_final(void **state)
{
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/opt/first", 100, 4 * MIB);
	tell_exec(&f, T0 + 3, 10, T0 + 1, "/opt/second", 350, 9 * MIB);
	tell_exit(&f, T0 + 9, 10, T0 + 1, 3 << 8);
	tell_final(&f, T0 + 10, 10, T0 + 1, 3 << 8, 1000, 9 * MIB);
	assert_int_equal(proctab_count(f.track->table), 0);

	p = fixture_image(&f, 10, 0);
	assert_string_equal(p->state, "replaced");
	assert_int_equal(p->r.execed, 0);
	assert_int_equal(p->r.last, 0);
	assert_int_equal(p->r.cpu_ns, 100);
	assert_int_equal(p->r.start_ns, T0 + 1);
	assert_int_equal(p->r.end_ns, T0 + 2);
	assert_int_equal(p->r.exit_code, -1);
	assert_int_equal(p->r.rss_peak_bytes, 4 * MIB);
	assert_int_equal(p->r.approx, APPROX_SPLIT | APPROX_EXEC); /* its parent is unknown */
	assert_int_equal(p->r.ppid, 5);
	assert_int_equal(p->r.parent_upid.start_ns, 7);

	p = fixture_image(&f, 10, 1);
	assert_string_equal(p->state, "replaced");
	assert_string_equal(p->exe, "/opt/first");
	assert_string_equal(p->tool, "first");
	assert_string_equal(p->cwd, "/work dir");
	assert_string_equal(p->argv0, "/opt/first");
	assert_int_equal(p->r.execed, 1);
	assert_int_equal(p->r.cpu_ns, 250);
	assert_int_equal(p->r.rss_peak_bytes, 9 * MIB); /* maxrss grew while it ran */
	assert_int_equal(p->r.approx, APPROX_SPLIT);
	assert_int_equal(p->r.maxrss_bytes, 0);

	p = fixture_image(&f, 10, 2);
	assert_string_equal(p->state, "exited");
	assert_int_equal(p->r.last, 1);
	assert_int_equal(p->r.cpu_ns, 650);
	assert_int_equal(p->r.user_ns + p->r.system_ns, 650);
	assert_int_equal(p->r.exit_code, 3);
	assert_int_equal(p->r.signal, 0);
	assert_int_equal(p->r.end_ns, T0 + 9);
	assert_int_equal(p->r.uid, 1000);
	/* maxrss stayed at the earlier image's value: only a bound. */
	assert_int_equal(p->r.rss_peak_bytes, 9 * MIB);
	assert_int_equal(p->r.approx, APPROX_SPLIT | APPROX_RSS_PEAK);
	assert_int_equal(p->r.maxrss_bytes, 9 * MIB);
}

static void fork_shares_its_parents_program(void **state)
{
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/opt/server", 0, MIB);
	for (uint32_t pid = 20; pid < 24; pid++) {
		tell_fork(&f, T0 + pid, pid, T0 + pid, 10, T0 + 1);
		tell_exit(&f, T0 + 50, pid, T0 + pid, 9); /* killed */
		tell_final(&f, T0 + 60, pid, T0 + pid, 9, pid, MIB);
	}
	assert_int_equal(proctab_count(f.track->table), 1);
	p = fixture_image(&f, 21, 0);
	assert_string_equal(p->exe, "/opt/server");
	assert_string_equal(p->tool, "server");
	assert_string_equal(p->argv0, "/opt/server");
	assert_string_equal(p->cwd, "/work dir");
	assert_string_equal(p->comm, "forked");
	assert_int_equal(p->r.execed, 0);
	assert_int_equal(p->r.approx, 0);
	assert_int_equal(p->r.cpu_ns, 21);
	assert_int_equal(p->r.exit_code, -1);
	assert_int_equal(p->r.signal, 9);
	assert_int_equal(p->r.core_dumped, 0);
}

static void core_and_threads(void **state)
{
	struct skep_process_exit exit = {
		.status = 11 | 0x80, .threads_peak = 8, .rss_peak_bytes = 5 * MIB, .maxrss_bytes = 7 * MIB
	};
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell(&f, SKEP_ROLE_PROC_EXIT, T0 + 5, 10, T0 + 1, &exit);
	/* Two threads that exit together: each sees itself as the last. */
	exit.status = 0;
	tell(&f, SKEP_ROLE_PROC_EXIT, T0 + 6, 10, T0 + 1, &exit);
	tell_final(&f, T0 + 9, 10, T0 + 1, 0, 5, 8 * MIB);
	p = fixture_image(&f, 10, 0);
	assert_int_equal(p->r.signal, 11);
	assert_int_equal(p->r.core_dumped, 1);
	assert_int_equal(p->r.end_ns, T0 + 5);
	assert_int_equal(p->r.threads_peak, 8);
	assert_int_equal(p->r.rss_peak_bytes, 5 * MIB); /* the value of its mm, not maxrss */
	assert_int_equal(p->r.maxrss_bytes, 8 * MIB);
	assert_int_equal(f.track->stats.late, 1);
}

static void lost_records(void **state)
{
	const struct seen_process *p;

	(void)state;
	/* a final record alone */
	tell_final(&f, T0 + 10, 10, T0 + 1, 7 << 8, 123, MIB);
	p = fixture_image(&f, 10, 0);
	assert_string_equal(p->state, "exited");
	assert_int_equal(p->r.approx, APPROX_EXEC | APPROX_END);
	assert_int_equal(p->r.exit_code, 7);
	assert_int_equal(p->r.cpu_ns, 123);
	assert_int_equal(p->r.last, 1);
	/* exit, then final record */
	tell_exit(&f, T0 + 10, 11, T0 + 1, 0);
	tell_final(&f, T0 + 11, 11, T0 + 1, 0, 5, MIB);
	assert_int_equal(fixture_image(&f, 11, 0)->r.approx, APPROX_EXEC);
	/* an exec of an unknown process: everything before is its image 0 */
	tell_exec(&f, T0 + 12, 12, T0 + 1, "/bin/x", 40, MIB);
	tell_final(&f, T0 + 13, 12, T0 + 1, 0, 100, MIB);
	assert_int_equal(fixture_image(&f, 12, 0)->r.cpu_ns, 40);
	assert_int_equal(fixture_image(&f, 12, 1)->r.cpu_ns, 60);
	assert_int_equal(fixture_image(&f, 12, 1)->r.approx & APPROX_END, APPROX_END);
	/* every record again, and more: a closed process stays closed */
	tell_final(&f, T0 + 20, 12, T0 + 1, 0, 100, MIB);
	tell_fork(&f, T0 + 20, 12, T0 + 1, 1, 1);
	tell_exec(&f, T0 + 20, 12, T0 + 1, "/bin/x", 40, MIB);
	tell_live(&f, T0 + 20, 12, T0 + 1, 1, 1, 100, 0);
	assert_int_equal(f.track->stats.late, 4);
	assert_int_equal(proctab_count(f.track->table), 0);
	fixture_settle(&f);
	assert_int_equal(fixture_images(&f, 12), 2);
}

static void exit_before_fork(void **state)
{
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 1, 10, T0 + 1, "/opt/server", 0, MIB);
	tell_exit(&f, T0 + 5, 20, T0 + 3, 0);
	tell_fork(&f, T0 + 3, 20, T0 + 3, 10, T0 + 1);
	tell_final(&f, T0 + 6, 20, T0 + 3, 0, 9, MIB);
	p = fixture_image(&f, 20, 0);
	assert_string_equal(p->tool, "server");
	assert_int_equal(p->r.approx, 0);
	assert_int_equal(p->r.ppid, 10);
	assert_int_equal(p->r.end_ns, T0 + 5);
}

static void counters_never_go_backwards(void **state)
{
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_live(&f, T0 + 2, 10, T0 + 1, 5, 7, 500, 0);
	tell_live(&f, T0 + 3, 10, T0 + 1, 5, 7, 400, 0);
	assert_int_equal(f.track->stats.clamped, 1); /* counts records, not fields */
	tell_exec(&f, T0 + 4, 10, T0 + 1, "/bin/a", 600, MIB);
	tell_exec(&f, T0 + 5, 10, T0 + 1, "/bin/b", 100, MIB);
	tell_final(&f, T0 + 6, 10, T0 + 1, 0, 300, MIB);
	assert_int_equal(fixture_image(&f, 10, 0)->r.cpu_ns, 600);
	p = fixture_image(&f, 10, 1);
	assert_int_equal(p->r.cpu_ns, 0);
	assert_int_equal(fixture_image(&f, 10, 2)->r.cpu_ns, 0);
	assert_true(f.track->stats.clamped > 1);
}

static void a_sample_ahead_of_the_ring(void **state)
{
	(void)state;
	/* The iterator has read counters of a time after an exec that is still in the ring. */
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_live(&f, T0 + 9, 10, T0 + 1, 5, 7, 900, 0);
	tell_exec(&f, T0 + 5, 10, T0 + 1, "/bin/a", 200, MIB);
	tell_final(&f, T0 + 20, 10, T0 + 1, 0, 1000, MIB);
	assert_int_equal(fixture_image(&f, 10, 0)->r.cpu_ns, 200);
	assert_int_equal(fixture_image(&f, 10, 1)->r.cpu_ns, 800);
}

/* A sweep that takes no time reports the process, and skepd looks for samples after it. */
static void look_at(uint64_t at_ns, uint64_t cpu_ns)
{
	track_sweep_begin(f.track, at_ns - 1, at_ns - 1);
	tell_live(&f, at_ns - 1, 10, T0, 9, 4, cpu_ns, 0);
	track_sweep_end(f.track, true, at_ns - 1);
	track_samples_out(f.track, 0, at_ns);
}

/*
 * It uses a CPU, sleeps for two intervals, and uses it again: the second sample covers the last interval alone.  Then a
 * sweep takes longer than an interval: no figures came in the first half, which may have been busy.
 */
static void a_quiet_time(void **state)
{
	const struct skep_upid who = { .pid = 10, .start_ns = T0 };
	const struct seen_part *part;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0, 9, 4);
	look_at(T0 + 5 * SECOND, 400);
	look_at(T0 + 10 * SECOND, 400);
	look_at(T0 + 15 * SECOND, 400);
	look_at(T0 + 20 * SECOND, 700);
	fixture_settle(&f);
	part = fixture_part(&f, &who, 0);
	assert_non_null(part);
	assert_int_equal(part->n, 2);
	assert_int_equal(part->sum.cpu_ns, 700);
	assert_int_equal(part->interval_ns, 5 * SECOND);
	assert_int_equal(part->quiet_ns, 10 * SECOND);

	track_samples_out(f.track, 0, T0 + 25 * SECOND);
	look_at(T0 + 30 * SECOND, 900);
	fixture_settle(&f);
	part = fixture_part(&f, &who, 0);
	assert_int_equal(part->n, 3);
	assert_int_equal(part->interval_ns, 10 * SECOND);
	assert_int_equal(part->quiet_ns, 0);
}

static void hostile(void **state)
{
	size_t n = 64u << 10;
	char *huge = malloc(n);
	struct skep_process_exec exec = { .comm = { huge, 60000, 70000 } };
	struct skep_upid nobody = { 0 }, self = { .pid = 50, .start_ns = T0 };
	struct skep_process_oom oom = { 0 };
	const struct seen_process *p;

	(void)state;
	assert_non_null(huge);
	memset(huge, 'x', n);
	exec.exe = exec.filename = exec.cwd = exec.cgroup = exec.argv =
		(struct skep_str) { huge, (uint32_t)n, (uint32_t)n };
	exec.parent = self; /* its own parent */
	exec.counters.cpu_ns = exec.counters.utime_ns = exec.counters.stime_ns = UINT64_MAX;
	exec.cgroup_id = 77;
	track_record(f.track, SKEP_ROLE_PROC_FORK, NULL, 0, &exec, T0);
	track_record(f.track, SKEP_ROLE_PROC_EXEC, &nobody, 0, &exec, T0);
	assert_int_equal(f.track->stats.invalid, 2);
	tell(&f, SKEP_ROLE_PROC_EXEC, UINT64_MAX, 50, T0, &exec);
	tell(&f, SKEP_ROLE_PROC_EXEC, 1, 50, T0, &exec);
	tell(&f, SKEP_ROLE_PROC_OOM, 1, 50, T0, &oom);
	f.now_ns = T0;
	track_sweep_begin(f.track, T0, T0);
	track_sweep_end(f.track, true, T0);
	tell_final(&f, 0, 50, T0, 0xffffffff, 1, 0);
	p = fixture_image(&f, 50, 2);
	assert_int_equal(p->r.signal, 0x7f);
	assert_int_equal(p->r.oom_killed, 0);
	assert_int_equal(p->r.user_ns + p->r.system_ns, p->r.cpu_ns);
	assert_true(p->r.end_ns >= p->r.start_ns);
	/* two processes, each the other's parent */
	tell_live(&f, T0, 60, T0, 61, T0, 1, 0);
	tell_live(&f, T0, 61, T0, 60, T0, 1, 0);
	track_sweep_begin(f.track, T0, T0);
	track_sweep_end(f.track, true, T0);
	free(huge);
}

static void oom_is_the_victims(void **state)
{
	struct skep_process_oom oom = { .cgroup_id = 9,
					.limit_bytes = 64 * MIB,
					.usage_bytes = 63 * MIB,
					.peak_bytes = 64 * MIB,
					.cgroup = str("/box") };
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 2, 10, T0 + 1, "/bin/eats", 1, MIB);
	tell(&f, SKEP_ROLE_PROC_OOM, T0 + 3, 10, T0 + 1, &oom);
	tell_exit(&f, T0 + 4, 10, T0 + 1, 9);
	tell_final(&f, T0 + 5, 10, T0 + 1, 9, 5, 64 * MIB);
	p = fixture_image(&f, 10, 1);
	assert_int_equal(p->r.oom_killed, 1);
	assert_int_equal(p->r.oom_limit_bytes, 64 * MIB);
	assert_int_equal(p->r.oom_usage_bytes, 63 * MIB);
	assert_string_equal(p->oom_cgroup, "/box");
	assert_int_equal(fixture_image(&f, 10, 0)->r.oom_killed, 0);
}

/* It was on its way out when the kernel chose it: no SIGKILL. */
static void oom_of_one_that_exits(void **state)
{
	struct skep_process_oom oom = { .limit_bytes = 64 * MIB };
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell(&f, SKEP_ROLE_PROC_OOM, T0 + 2, 10, T0 + 1, &oom);
	tell_exit(&f, T0 + 3, 10, T0 + 1, 3 << 8);
	tell_final(&f, T0 + 4, 10, T0 + 1, 3 << 8, 5, 64 * MIB);
	p = fixture_image(&f, 10, 0);
	assert_int_equal(p->r.exit_code, 3);
	assert_int_equal(p->r.oom_killed, 0);
	assert_int_equal(p->r.oom_limit_bytes, 0);
}

static void oom_of_a_pid_is_its_holders(void **state)
{
	struct skep_process_oom oom = { .limit_bytes = 64 * MIB };

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell(&f, SKEP_ROLE_PROC_OOM, T0 + 2, 11, 0, &oom); /* no such process */
	tell(&f, SKEP_ROLE_PROC_OOM, T0 + 3, 10, 0, &oom);
	tell_exit(&f, T0 + 4, 10, T0 + 1, 9);
	tell_final(&f, T0 + 5, 10, T0 + 1, 9, 5, 64 * MIB);
	assert_int_equal(fixture_image(&f, 10, 0)->r.oom_killed, 1);
	assert_int_equal(f.track->stats.invalid, 1);
}

static void facets_are_waited_for(void **state)
{
	struct fixture_facet facet = { .widgets = 3, .heat = 20.5 };
	struct skep_upid who = { .pid = 10, .start_ns = T0 + 1 };
	const struct seen_process *p;

	(void)state;
	track_drained(f.track, T0, T0); /* a facet probe exists */
	/* A facet may arrive before the record of the fork. */
	track_facet(f.track, &fixture_facet, &who, &facet, T0 + 1);
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exec(&f, T0 + 3, 10, T0 + 1, "/bin/a", 1, MIB);
	tell_exit(&f, T0 + 6, 10, T0 + 1, 0);
	tell_final(&f, T0 + 9, 10, T0 + 1, 0, 5, MIB);
	assert_int_equal(proctab_count(f.track->table), 1);
	facet.widgets = 4;
	facet.heat = 10;
	track_facet(f.track, &fixture_facet, &who, &facet, T0 + 9);
	facet.heat = 30;
	track_facet(f.track, &fixture_facet, &who, &facet, T0 + 9);
	track_drained(f.track, T0 + 8, T0 + 10);
	assert_int_equal(proctab_count(f.track->table), 1);
	track_drained(f.track, T0 + 9, T0 + 10);
	assert_int_equal(proctab_count(f.track->table), 0);
	p = fixture_image(&f, 10, 0);
	assert_int_equal(p->widgets, 3);
	p = fixture_image(&f, 10, 1);
	assert_int_equal(p->widgets, 8);
	assert_true(p->heat > 29 && p->heat < 31);
	assert_int_equal(p->r.approx, APPROX_SPLIT | APPROX_RSS_PEAK);

	/* A probe that stops reporting holds a process no longer than the limit of patience. */
	tell_final(&f, T0 + 20, 11, T0 + 1, 0, 5, MIB);
	track_tick(f.track, T0 + SECOND);
	assert_int_equal(proctab_count(f.track->table), 1);
	/* skepd stood still for longer than that, and the probe's first report is of a time before the process's end */
	track_drained(f.track, T0 + 10, T0 + 20 + 2 * TRACK_PATIENCE_NS);
	assert_int_equal(proctab_count(f.track->table), 1);
	track_tick(f.track, T0 + 20 + TRACK_PATIENCE_NS);
	assert_int_equal(proctab_count(f.track->table), 0);
	assert_int_equal(f.track->stats.facet_late, 1);
	assert_true(fixture_image(&f, 11, 0)->r.approx & APPROX_FACETS);
	/* A facet of an unknown process leaves nothing behind. */
	who.pid = 12;
	track_facet(f.track, &fixture_facet, &who, &facet, T0 + 21);
	f.now_ns = T0 + 10 * SECOND;
	track_sweep_begin(f.track, f.now_ns, f.now_ns);
	track_sweep_end(f.track, true, f.now_ns);
	track_tick(f.track, f.now_ns + TRACK_FINAL_NS);
	assert_int_equal(proctab_count(f.track->table), 0);
	fixture_settle(&f);
	assert_int_equal(fixture_images(&f, 12), 0);
}

static void sweeps_find_the_lost(void **state)
{
	const struct seen_process *p;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_fork(&f, T0 + 1, 11, T0 + 1, 5, 7);
	tell_fork(&f, T0 + 1, 12, T0 + 1, 5, 7);
	tell_exit(&f, T0 + 2, 12, T0 + 1, 0);
	tell_live(&f, T0 + 5, 10, T0 + 1, 5, 7, 777, 0);
	/* the scan sees 11, not 10, and 12 has ended; a process forked meanwhile is younger than the scan */
	f.now_ns = T0 + SECOND;
	track_sweep_begin(f.track, T0 + SECOND, f.now_ns);
	tell_live(&f, T0 + SECOND + 1, 11, T0 + 1, 5, 7, 5, 0);
	tell_fork(&f, T0 + SECOND + 2, 13, T0 + SECOND + 2, 5, 7);
	track_sweep_end(f.track, true, f.now_ns);
	track_tick(f.track, f.now_ns + TRACK_FINAL_NS - 1);
	assert_int_equal(proctab_count(f.track->table), 4);
	track_tick(f.track, f.now_ns + TRACK_FINAL_NS);
	assert_int_equal(proctab_count(f.track->table), 2);
	p = fixture_image(&f, 10, 0);
	assert_string_equal(p->state, "lost");
	assert_int_equal(p->r.cpu_ns, 777);
	assert_true(p->r.approx & APPROX_COUNTERS);
	assert_true(p->r.approx & APPROX_END);
	assert_int_equal(p->r.end_ns, T0 + 5);
	assert_int_equal(p->r.exit_code, -1);
	p = fixture_image(&f, 12, 0);
	assert_string_equal(p->state, "exited");
	assert_int_equal(p->r.approx & (APPROX_COUNTERS | APPROX_END), APPROX_COUNTERS);
	assert_int_equal(f.track->stats.lost, 2);
	/* An incomplete scan proves nothing. */
	f.now_ns = T0 + 20 * SECOND;
	track_sweep_begin(f.track, f.now_ns, f.now_ns);
	track_sweep_end(f.track, false, f.now_ns);
	track_tick(f.track, f.now_ns + 10 * SECOND);
	assert_int_equal(proctab_count(f.track->table), 2);
}

/* skep stops, and the free of 10 and the exit of 11 were missed: both get their record. 12 lives. */
static void the_end_of_finals(void **state)
{
	const struct seen_process *p;

	(void)state;
	for (uint32_t pid = 10; pid <= 12; pid++) {
		tell_fork(&f, T0 + 1, pid, T0 + 1, 5, 7);
		tell_exec(&f, T0 + 2, pid, T0 + 1, "/bin/a", 1, MIB);
	}
	tell_exit(&f, T0 + 3, 10, T0 + 1, 0);
	f.now_ns = T0 + SECOND;
	track_sweep_begin(f.track, f.now_ns, f.now_ns);
	tell_live(&f, T0 + SECOND + 1, 12, T0 + 1, 5, 7, 5, 0);
	track_sweep_end(f.track, true, f.now_ns);
	fixture_settle(&f);
	assert_int_equal(fixture_images(&f, 10) + fixture_images(&f, 11) + fixture_images(&f, 12), 3);
	track_finals_over(f.track, f.now_ns);
	p = fixture_image(&f, 10, 1);
	assert_string_equal(p->state, "exited");
	assert_true(p->r.approx & APPROX_COUNTERS);
	assert_string_equal(fixture_image(&f, 11, 1)->state, "lost");
	assert_int_equal(fixture_images(&f, 12), 1);
	assert_int_equal(f.track->stats.lost, 2);
	assert_int_equal(proctab_count(f.track->table), 1);
}

static void a_late_free_is_waited_for(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exit(&f, T0 + 2, 10, T0 + 1, 0);
	f.now_ns = T0 + SECOND;
	track_sweep_begin(f.track, f.now_ns, f.now_ns);
	track_sweep_end(f.track, true, f.now_ns);
	track_tick(f.track, f.now_ns + TRACK_FINAL_NS - 1);
	assert_int_equal(proctab_count(f.track->table), 1);
	tell_final(&f, T0 + 3, 10, T0 + 1, 0, 42, MIB);
	assert_int_equal(fixture_image(&f, 10, 0)->r.cpu_ns, 42);
	assert_int_equal(fixture_image(&f, 10, 0)->r.approx & APPROX_COUNTERS, 0);
	/* but not for ever */
	tell_fork(&f, T0 + 1, 11, T0 + 1, 5, 7);
	track_sweep_begin(f.track, f.now_ns, f.now_ns);
	track_sweep_end(f.track, true, f.now_ns);
	track_tick(f.track, f.now_ns + TRACK_FINAL_NS);
	assert_int_equal(proctab_count(f.track->table), 0);
	assert_string_equal(fixture_image(&f, 11, 0)->state, "lost");
}

static void there_before_us(void **state)
{
	struct skep_process_live rec = {
		.parent = { .pid = 1, .start_ns = 1 },
		.counters = { .cpu_ns = 5000 },
		.exe = str("/usr/sbin/sshd"),
		.comm = str("sshd"),
		.argv = { "sshd\0-D", 8, 8 },
	};
	const struct seen_process *p;

	(void)state;
	track_sweep_begin(f.track, T0 + 1, T0 + 1);
	tell(&f, SKEP_ROLE_PROC_LIVE, T0 + 2, 10, 55, &rec);
	track_sweep_end(f.track, true, T0 + 3);
	assert_true(track_known(f.track, &(struct skep_upid){ .pid = 10, .start_ns = 55 }));
	assert_false(track_known(f.track, &(struct skep_upid){ .pid = 10, .start_ns = 56 }));
	fixture_sample(&f);
	assert_int_equal(f.n_samples, 1);
	assert_int_equal(f.samples[0].r.cpu_ns, 0); /* used before skep, so not in our interval */
	assert_int_equal(f.samples[0].r.processes, 1);
	tell_final(&f, T0 + 9, 10, 55, 0, 6000, MIB);
	fixture_sample(&f);
	assert_int_equal(f.samples[1].r.cpu_ns, 1000);
	p = fixture_image(&f, 10, 0);
	assert_int_equal(p->r.cpu_ns, 6000);
	assert_string_equal(p->exe, "/usr/sbin/sshd");
	assert_true(p->r.approx & APPROX_START);
	assert_false(p->r.approx & APPROX_EXEC);
}

static void pid_reuse(void **state)
{
	(void)state;
	tell_fork(&f, T0 + 1, 10, T0 + 1, 5, 7);
	tell_exit(&f, T0 + 2, 10, T0 + 1, 0);
	/* Another process has the pid before the final record of the old one. */
	tell_fork(&f, T0 + 3, 10, T0 + 3, 5, 7);
	tell_exit(&f, T0 + 4, 10, T0 + 3, 1 << 8);
	tell_final(&f, T0 + 5, 10, T0 + 1, 0, 11, MIB);
	tell_final(&f, T0 + 6, 10, T0 + 3, 1 << 8, 22, MIB);
	fixture_settle(&f);
	assert_int_equal(fixture_images(&f, 10), 2);
	assert_int_equal(f.processes[0].r.cpu_ns, 11);
	assert_int_equal(f.processes[0].r.exit_code, 0);
	assert_int_equal(f.processes[1].r.cpu_ns, 22);
	assert_int_equal(f.processes[1].r.exit_code, 1);
}

/* ---- runs ------------------------------------------------------------------------ */

static void a_run_with_its_subtree(void **state)
{
	struct run *run = begin_run("r1", 10);
	const struct seen_process *p;
	uint64_t cpu = 0, sampled = 0;

	(void)state;
	assert_int_equal(run->alive, 1);
	/* The root's fork was not recorded: its first record gives its start time. */
	tell_exec(&f, T0 + 5, 10, T0 - 3, "/bin/sh", 70, MIB);
	assert_int_equal(run->root.start_ns, T0 - 3);
	tell_fork(&f, T0 + 6, 11, T0 + 6, 10, T0 - 3);
	tell_fork(&f, T0 + 7, 12, T0 + 7, 11, T0 + 6);
	tell_exec(&f, T0 + 8, 12, T0 + 7, "/opt/daemon", 5, MIB);
	tell_exit(&f, T0 + 9, 11, T0 + 6, 0);
	fixture_sample(&f);
	tell_final(&f, T0 + 10, 11, T0 + 6, 0, 50, MIB);
	/* init has become the parent of 12, which forks: still of the run */
	tell_live(&f, T0 + 11, 12, T0 + 7, 1, 1, 300, 0);
	tell_fork(&f, T0 + 12, 13, T0 + 12, 12, T0 + 7);
	tell_exit(&f, T0 + 13, 13, T0 + 12, 0);
	tell_final(&f, T0 + 13, 13, T0 + 12, 0, 8, 3 * MIB);
	tell_exit(&f, T0 + 20, 10, T0 - 3, 2 << 8);
	assert_int_equal(run->seen, 4);
	assert_int_equal(run->alive, 1);
	/* its fork was lost: no other process can enter the run's tree, so it belongs to the run */
	tell_final(&f, T0 + 21, 14, T0 + 12, 0, 1000, MIB);

	run->status = 2 << 8;
	f.now_ns = T0 + 30;
	/* the root's final record; 12 not seen since */
	assert_int_equal(track_run_pending(f.track, run, false, T0 + 29), 2);
	tell_final(&f, T0 + 31, 10, T0 - 3, 2 << 8, 90, MIB);
	track_sweep_begin(f.track, T0 + 32, T0 + 32);
	tell_live(&f, T0 + 33, 12, T0 + 7, 1, 1, 400, 0);
	track_sweep_end(f.track, true, T0 + 34);
	assert_int_equal(track_run_pending(f.track, run, false, T0 + 29), 0);
	track_run_close(f.track, run, T0 + 35);
	fixture_sample(&f);
	assert_int_equal(run->members, 0);
	assert_int_equal(run->alive, 0);
	assert_int_equal(run->rss_bytes, 0);
	assert_int_equal(run->end_ns, T0 + 20);

	p = fixture_image(&f, 12, 1);
	assert_string_equal(p->state, "running");
	assert_int_equal(p->r.cpu_ns, 395);
	assert_int_equal(p->r.last, 1);
	assert_true(p->r.approx & APPROX_COUNTERS);
	assert_int_equal(p->r.ppid, 11); /* the process that started it, not its later parent */
	p = fixture_image(&f, 10, 1);
	assert_int_equal(p->r.exit_code, 2);
	assert_string_equal(p->run, "r1");
	assert_int_equal(fixture_image(&f, 10, 0)->r.approx & APPROX_START, 0);
	for (size_t i = 0; i < f.n_processes; i++) {
		assert_string_equal(f.processes[i].run, "r1");
		cpu += f.processes[i].r.cpu_ns;
	}
	for (size_t i = 0; i < f.n_samples; i++)
		sampled += strcmp(f.samples[i].run, "r1") == 0 ? f.samples[i].r.cpu_ns : 0;
	assert_int_equal(cpu, 90 + 50 + 400 + 8 + 1000);
	assert_int_equal(sampled, cpu);

	/* The remaining processes continue without records of the run, and so do their children. */
	tell_fork(&f, T0 + 40, 15, T0 + 40, 12, T0 + 7);
	tell_exit(&f, T0 + 41, 12, T0 + 7, 0);
	tell_final(&f, T0 + 42, 12, T0 + 7, 0, 500, MIB);
	tell_final(&f, T0 + 43, 15, T0 + 40, 0, 500, MIB);
	fixture_settle(&f);
	assert_int_equal(fixture_images(&f, 12), 2);
	assert_int_equal(fixture_images(&f, 15), 0);
	assert_int_equal(proctab_count(f.track->table), 0);
	run->ended = true;
	fixture_sample(&f);
	runs_reap(&f.track->runs);
	assert_null(f.track->runs.first);
}

static void zombies_at_the_end(void **state)
{
	struct run *run = begin_run("r1", 10);
	const struct seen_process *p;

	(void)state;
	tell_exec(&f, T0 + 5, 10, T0 - 3, "/bin/sh", 70, MIB);
	tell_fork(&f, T0 + 6, 11, T0 + 6, 10, T0 - 3);
	tell_exit(&f, T0 + 7, 11, T0 + 6, 0);
	tell_final(&f, T0 + 8, 10, T0 - 3, 0, 90, MIB);
	run->status = 0;
	assert_int_equal(track_run_pending(f.track, run, true, T0 + 9), 1);
	track_sweep_begin(f.track, T0 + 10, T0 + 10);
	tell_live(&f, T0 + 11, 11, T0 + 6, 1, 1, 33, SKEP_LIVE_ZOMBIE);
	track_sweep_end(f.track, true, T0 + 12);
	assert_int_equal(track_run_pending(f.track, run, false, T0 + 9), 1); /* it may be reaped at any moment */
	assert_int_equal(track_run_pending(f.track, run, true, T0 + 9), 0);
	track_run_close(f.track, run, T0 + 13);
	p = fixture_image(&f, 11, 0);
	assert_string_equal(p->state, "zombie");
	assert_int_equal(p->r.cpu_ns, 33);
	assert_int_equal(p->r.exit_code, 0);
	assert_int_equal(p->r.approx & APPROX_COUNTERS, 0);
	assert_int_equal(p->r.end_ns, T0 + 7);
}

static void a_root_that_nothing_tells_of(void **state)
{
	struct run *run = begin_run("r1", 10);
	const struct seen_process *p;

	(void)state;
	run->status = 9;
	run->end_ns = T0 + 7;
	f.now_ns = T0 + 8;
	track_run_close(f.track, run, T0 + 8);
	p = fixture_image(&f, 10, 0);
	assert_string_equal(p->state, "exited");
	assert_int_equal(p->r.signal, 9);
	assert_true(p->r.approx & APPROX_COUNTERS);
	assert_int_equal(p->r.end_ns, T0 + 7);
}

static void concurrent_runs_never_merge(void **state)
{
	struct run *a = begin_run("a", 10), *b = begin_run("b", 20);
	struct run_spec again = { .id = "a", .root = 30 };
	struct run *c;

	(void)state;
	assert_int_equal(run_new(&f.track->runs, &again, 0, &c), -EEXIST);
	tell_exec(&f, T0 + 5, 10, T0 - 3, "/bin/sh", 0, MIB);
	tell_exec(&f, T0 + 5, 20, T0 - 2, "/bin/sh", 0, MIB);
	tell_fork(&f, T0 + 6, 11, T0 + 6, 10, T0 - 3);
	tell_fork(&f, T0 + 6, 21, T0 + 6, 20, T0 - 2);
	assert_int_equal(a->seen, 2);
	assert_int_equal(b->seen, 2);
	/* nothing says which run it belongs to */
	tell_final(&f, T0 + 7, 99, T0 + 6, 0, 1, MIB);
	assert_string_equal(fixture_image(&f, 99, 0)->run, "");
}

static void live_session(uint64_t t, uint32_t pid, uint64_t start, uint32_t ppid, uint64_t pstart, uint32_t session)
{
	struct skep_process_live rec = { .parent = { .pid = ppid, .start_ns = pstart },
					 .session = session,
					 .exe = str("/bin/bash"),
					 .comm = str("bash") };

	tell(&f, SKEP_ROLE_PROC_LIVE, t, pid, start, &rec);
}

static void runs_by_session(void **state)
{
	struct skep_process_exec exec = { .session = 40,
					  .exe = str("/usr/bin/nextflow"),
					  .filename = str("/usr/bin/nextflow"),
					  .comm = str("nextflow") };
	const char *id;

	(void)state;
	/* A scan in order of pids, where a child may come before its parent. */
	track_sweep_begin(f.track, T0 + 1, T0 + 1);
	live_session(T0 + 2, 1, 1, 0, 0, 1);         /* init leads a session: no run */
	live_session(T0 + 2, 2, 90, 30, 20, 30);     /* child of the shell below */
	live_session(T0 + 2, 20, 10, 1, 1, 20);      /* a service of init's: no run */
	live_session(T0 + 2, 30, 20, 20, 10, 30);    /* its login session: a run */
	live_session(T0 + 2, 31, 25, 30, 20, 31);    /* leads a session inside of the run */
	track_sweep_end(f.track, true, T0 + 3);
	assert_int_equal(f.n_runs, 1);
	assert_string_equal(f.runs[0].name, "bash");
	assert_int_equal(f.track->runs.first->seen, 3);

	/* The service starts another session: setsid(), then exec. */
	tell_fork(&f, T0 + 10, 40, T0 + 10, 20, 10);
	assert_int_equal(f.n_runs, 1);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 11, 40, T0 + 10, &exec);
	assert_int_equal(f.n_runs, 2);
	assert_string_equal(f.runs[1].name, "nextflow");
	assert_string_not_equal(f.runs[0].id, f.runs[1].id);
	id = f.runs[1].id;
	tell_fork(&f, T0 + 12, 41, T0 + 12, 40, T0 + 10);
	/* The run ends with its root, however long other processes live. */
	tell_exit(&f, T0 + 13, 40, T0 + 10, 1 << 8);
	assert_false(f.runs[1].over);
	tell_final(&f, T0 + 14, 40, T0 + 10, 1 << 8, 5, MIB);
	assert_true(f.runs[1].over);
	assert_int_equal(f.runs[1].status, 1 << 8);
	assert_int_equal(f.runs[1].seen, 2);
	fixture_sample(&f);
	assert_non_null(run_find(&f.track->runs, id)); /* 41 is still there */
	tell_final(&f, T0 + 15, 41, T0 + 12, 0, 7, MIB);
	assert_string_equal(fixture_image(&f, 41, 0)->run, id);
	fixture_sample(&f);
	fixture_sample(&f);
	assert_null(run_find(&f.track->runs, id));
	assert_false(f.runs[0].over);
	/* The end of its image 0, before it joined a run, belongs to no run. */
	assert_string_equal(fixture_image(&f, 40, 0)->run, "");
	assert_string_equal(fixture_image(&f, 40, 1)->run, id);
}

/* A run of a session takes over a fork with all that the fork has used before its first exec. */
static void by_name_within_a_session(void **state)
{
	struct run *session, *run;
	uint64_t cpu = 0;

	(void)state;
	track_sweep_begin(f.track, T0 + 1, T0 + 1);
	live_session(T0 + 2, 20, 10, 1, 1, 20);
	live_session(T0 + 2, 30, 20, 20, 10, 30);
	track_sweep_end(f.track, true, T0 + 3);
	session = f.track->runs.first;
	tell_fork(&f, T0 + 10, 40, T0 + 10, 30, 20);
	tell_live(&f, T0 + 11, 40, T0 + 10, 30, 20, 200, 0);
	assert_int_equal(session->seen, 2);
	run = begin_run("named", 40);
	assert_int_equal(session->seen, 1);
	assert_int_equal(session->alive, 1);
	assert_int_equal(run->seen, 1);
	assert_true(track_run_rooted(run));
	tell_exec(&f, T0 + 12, 40, T0 + 10, "/bin/make", 300, MIB);
	tell_fork(&f, T0 + 13, 41, T0 + 13, 40, T0 + 10);
	tell_final(&f, T0 + 14, 41, T0 + 13, 0, 7, MIB);
	tell_final(&f, T0 + 15, 40, T0 + 10, 0, 500, MIB);
	assert_false(track_run_rooted(run));
	fixture_sample(&f);
	assert_string_equal(fixture_image(&f, 40, 0)->run, "named");
	assert_string_equal(fixture_image(&f, 40, 1)->run, "named");
	assert_string_equal(fixture_image(&f, 41, 0)->run, "named");
	for (size_t i = 0; i < f.n_samples; i++)
		if (strcmp(f.samples[i].run, "named") == 0)
			cpu += f.samples[i].r.cpu_ns;
		else
			assert_int_equal(f.samples[i].r.cpu_ns, 0);
	assert_int_equal(cpu, 507);
}

/*
 * A process is the root of one run only, and an earlier process with that pid, whose end was lost, is not the new
 * process.
 */
static void roots_that_cannot_be(void **state)
{
	struct run_spec spec = { .id = "late", .root = 40, .root_ticks = 5 };
	struct run *run = NULL;

	(void)state;
	track_sweep_begin(f.track, T0 + 1, T0 + 1);
	live_session(T0 + 2, 20, 10, 1, 1, 20);
	live_session(T0 + 2, 30, 20, 20, 10, 30);
	track_sweep_end(f.track, true, T0 + 3);
	assert_int_equal(run_new(&f.track->runs, &(struct run_spec){ .id = "x", .root = 30 }, 0, &run), 0);
	assert_int_equal(track_run_root(f.track, run, f.now_ns), -EINVAL); /* it leads its session */
	run_free(&f.track->runs, run);
	tell_fork(&f, T0 + 10, 40, T0 + 10, 30, 20);
	begin_run("first", 40);
	assert_int_equal(run_new(&f.track->runs, &spec, 0, &run), 0);
	run->root_ticks = 0;
	assert_int_equal(track_run_root(f.track, run, f.now_ns), -EBUSY);
	run->root_ticks = 5;
	assert_int_equal(track_run_root(f.track, run, f.now_ns), 0);
	assert_int_equal(run->root.start_ns, 0);
}

/* A run whose client has gone ends with its root. */
static void by_name_and_alone(void **state)
{
	struct run *run = begin_run("alone", 40);

	(void)state;
	run->alone = true;
	tell_exec(&f, T0 + 12, 40, T0 + 10, "/bin/make", 300, MIB);
	tell_exit(&f, T0 + 14, 40, T0 + 10, 3 << 8);
	tell_final(&f, T0 + 15, 40, T0 + 10, 3 << 8, 500, MIB);
	assert_int_equal(f.n_runs, 1);
	assert_true(f.runs[0].over);
	assert_int_equal(f.runs[0].status, 3 << 8);
}

static void what_came_before_it_was_placed(void **state)
{
	struct skep_process_live rec = {
		.parent = { .pid = 20, .start_ns = 10 },
		.session = 40,
		.comm = str("bash"),
		.counters = { .cpu_ns = 300, .run_delay_ns = 30, .read_bytes = 3, .write_bytes = 2 }
	};
	uint64_t cpu = 0, delay = 0, read = 0, written = 0;

	(void)state;
	track_sweep_begin(f.track, T0 + 1, T0 + 1);
	live_session(T0 + 2, 20, 10, 1, 1, 20);
	track_sweep_end(f.track, true, T0 + 3);
	/* It begins a session after running for a while: what its image used before belongs to the run too. */
	tell_fork(&f, T0 + 10, 40, T0 + 10, 20, 10);
	tell_live(&f, T0 + 11, 40, T0 + 10, 20, 10, 200, 0);
	assert_int_equal(f.n_runs, 0);
	tell(&f, SKEP_ROLE_PROC_LIVE, T0 + 12, 40, T0 + 10, &rec);
	assert_int_equal(f.n_runs, 1);
	tell_final(&f, T0 + 14, 40, T0 + 10, 0, 500, MIB);
	fixture_sample(&f);
	assert_string_equal(fixture_image(&f, 40, 0)->run, f.runs[0].id);
	for (size_t i = 0; i < f.n_samples; i++) {
		if (strcmp(f.samples[i].run, f.runs[0].id) != 0)
			continue;
		cpu += f.samples[i].r.cpu_ns;
		delay += f.samples[i].r.run_delay_ns;
		read += f.samples[i].r.read_bytes;
		written += f.samples[i].r.write_bytes;
	}
	assert_int_equal(cpu, 500);
	assert_int_equal(delay, 30);
	assert_int_equal(read, 3);
	assert_int_equal(written, 2);
}

int main(void)
{
#define HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_it)
#define RUNS(test) cmocka_unit_test_setup_teardown(test, open_runs, close_it)
	const struct CMUnitTest tests[] = {
		HOST(fork_exec_exit_final),
		HOST(a_fork_that_execs_at_once),
		HOST(two_probes_tell_all_twice),
		HOST(fork_shares_its_parents_program),
		HOST(core_and_threads),
		HOST(lost_records),
		HOST(exit_before_fork),
		HOST(counters_never_go_backwards),
		HOST(a_sample_ahead_of_the_ring),
		HOST(a_quiet_time),
		HOST(hostile),
		HOST(oom_of_one_that_exits),
		HOST(oom_is_the_victims),
		HOST(oom_of_a_pid_is_its_holders),
		HOST(facets_are_waited_for),
		HOST(sweeps_find_the_lost),
		HOST(the_end_of_finals),
		HOST(a_late_free_is_waited_for),
		HOST(there_before_us),
		HOST(pid_reuse),
		RUNS(a_run_with_its_subtree),
		RUNS(zombies_at_the_end),
		RUNS(a_root_that_nothing_tells_of),
		RUNS(concurrent_runs_never_merge),
		HOST(runs_by_session),
		HOST(by_name_within_a_session),
		HOST(roots_that_cannot_be),
		HOST(by_name_and_alone),
		HOST(what_came_before_it_was_placed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
