/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/idle.c, findings.c, track_finding.c, saved_finding.c: what skepd reports by itself, each kind once and
 * with its guards, and what of it outlives a restart.  The clock is a number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/log.h"
#include "core/identify/container.h"
#include "core/process/saved.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)
#define STEP (15 * SECOND)
#define ID "3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2d4a6c"

static const struct config_findings limits = { .stall_ns = 600 * SECOND, .leftover_process_ns = 300 * SECOND,
					       .orphan_container_ns = 3600 * SECOND, .gpu_held_idle_ns = 1800 * SECOND,
					       .oom_kill = true };

/* ---- the decision alone ------------------------------------------------------------ */

static void idle_by_rates(void **state)
{
	struct activity sum = { 1000, 1000, 7 };
	struct idle idle = { 0 };
	uint64_t now = T0;

	(void)state;
	assert_int_equal(idle_look(&idle, &sum, STEP, now), 0); /* skepd does not know the time before its first look */
	for (int i = 1; i <= 40; i++) {
		sum.cpu_ns += STEP / 100;     /* exactly 1 % of a core */
		sum.bytes += 1000 * STEP / SECOND;
		now += STEP;
		assert_int_equal(idle_look(&idle, &sum, STEP, now), i * STEP);
	}
	sum.cpu_ns += STEP / 100 + 1000;
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), 0);
	sum.bytes += 1000 * STEP / SECOND + 1;
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), 0);
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), STEP);
	sum.others++;
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), 0);
	/* an exact reading below an estimate is no work */
	sum.cpu_ns -= 500;
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), STEP);
}

/* A suspended host, or a skepd that was away: the time without looks is not idle time, what came before stays. */
static void a_gap_is_not_idle(void **state)
{
	struct activity sum = { 0 };
	struct idle idle = { 0 };
	uint64_t now = T0;

	(void)state;
	idle_look(&idle, &sum, STEP, now);
	assert_int_equal(idle_look(&idle, &sum, STEP, now += 10 * STEP), 0);
	assert_int_equal(idle_look(&idle, &sum, STEP, now += 4 * STEP), 4 * STEP);
	assert_int_equal(idle_look(&idle, &sum, STEP, now += 3600 * SECOND), 4 * STEP);
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), 5 * STEP);
	idle_resume(&idle, &sum, 300 * SECOND, now += 3600 * SECOND);
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), 300 * SECOND + STEP);
	sum.cpu_ns += SECOND;
	assert_int_equal(idle_look(&idle, &sum, STEP, now += STEP), 0);
}

static void gpu_by_kernels(void **state)
{
	struct gpu_use use = { 0, SECOND, SECOND };
	struct gpu_idle idle = { 0 };
	uint64_t now = T0;

	(void)state;
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now), 0);
	for (int i = 1; i <= 3; i++) {
		use.held_ns += 2 * STEP; /* two devices */
		use.known_ns += 2 * STEP;
		assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += STEP), i * STEP);
	}
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += STEP), 3 * STEP); /* the probe is late: wait for it */
	use.held_ns += 2 * STEP;
	use.known_ns += 2 * STEP;
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += STEP), 5 * STEP);
	use.held_ns += STEP; /* a device that does not report its use by process */
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += STEP), 0);
	use.held_ns += STEP;
	use.known_ns += STEP;
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += STEP), STEP);
	use.held_ns += STEP;
	use.known_ns += STEP;
	use.busy_ns += 1; /* one kernel */
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += STEP), 0);
	assert_int_equal(gpu_idle_look(&idle, &use, STEP, now += 5 * STEP), 0); /* the context has gone */
}

/* ---- a host ------------------------------------------------------------------------ */

static struct fixture f;
static struct containers *table;

#define MOST 8
static struct {
	uint32_t pid, ppid;
	uint64_t start_ns, parent_ns, cgroup_id;
	struct skep_counters c;
} live[MOST];
static size_t n_live;
static uint64_t now;

static int open_host(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	log_level(SKEP_LOG_ERROR);
	table = containers_new(NULL, &diag);
	assert_non_null(table);
	fixture_open(&f, false, T0);
	cgroups_identify(f.cgroups, table);
	assert_int_equal(track_findings(f.track, &limits), 0);
	n_live = 0;
	now = T0;
	return 0;
}

static int close_host(void **state)
{
	(void)state;
	fixture_close(&f);
	containers_free(table);
	return 0;
}

static void exec_as(uint32_t pid, const char *exe, const char *environ, size_t environ_len, uint64_t cgroup_id,
		    const char *cgroup)
{
	struct skep_process_exec rec = {
		.comm = str("x"),
		.exe = str(exe),
		.filename = str(exe),
		.argv = { exe, (uint32_t)strlen(exe) + 1, (uint32_t)strlen(exe) + 1 },
		.environ = { environ, (uint32_t)environ_len, (uint32_t)environ_len },
		.cgroup_id = cgroup_id,
		.cgroup = str(cgroup),
	};

	for (size_t i = 0; i < n_live; i++)
		if (live[i].pid == pid) {
			rec.counters = live[i].c;
			rec.counters.minor_faults = ++live[i].c.minor_faults; /* differs at each exec */
			live[i].cgroup_id = cgroup_id ? cgroup_id : live[i].cgroup_id;
			rec.cgroup_id = live[i].cgroup_id;
			tell(&f, SKEP_ROLE_PROC_EXEC, now += MS, pid, live[i].start_ns, &rec);
		}
}

/* A process that executes a program; task: NULL: without SKEP_TASK. */
static void begin(uint32_t pid, uint32_t ppid, const char *exe, const char *task)
{
	uint64_t parent_ns = 0;
	char environ[64] = "";

	for (size_t i = 0; i < n_live; i++)
		if (live[i].pid == ppid)
			parent_ns = live[i].start_ns;
	assert_true(n_live < MOST);
	now += MS;
	live[n_live].pid = pid;
	live[n_live].ppid = ppid;
	live[n_live].start_ns = now;
	live[n_live].parent_ns = parent_ns;
	live[n_live].cgroup_id = 0;
	memset(&live[n_live].c, 0, sizeof(live[n_live].c));
	n_live++;
	tell_fork(&f, now, pid, now, ppid, parent_ns);
	snprintf(environ, sizeof(environ), "SKEP_TASK=%s", task ? task : "");
	exec_as(pid, exe, environ, task ? strlen(environ) + 1 : 0, 0, "");
}

static uint64_t start_of(uint32_t pid)
{
	for (size_t i = 0; i < n_live; i++)
		if (live[i].pid == pid)
			return live[i].start_ns;
	return 0;
}

static struct skep_counters *counters(uint32_t pid)
{
	for (size_t i = 0; i < n_live; i++)
		if (live[i].pid == pid)
			return &live[i].c;
	fail();
	return NULL;
}

static void end(uint32_t pid)
{
	for (size_t i = 0; i < n_live; i++)
		if (live[i].pid == pid) {
			struct skep_process_exit gone = { .counters = live[i].c };
			struct skep_process_final final = { .counters = live[i].c };

			now += MS;
			tell(&f, SKEP_ROLE_PROC_EXIT, now, pid, live[i].start_ns, &gone);
			tell(&f, SKEP_ROLE_PROC_FINAL, now, pid, live[i].start_ns, &final);
			live[i] = live[--n_live];
			break;
		}
}

static struct run *begin_run(const char *id, uint32_t root)
{
	struct run_spec spec = { .id = id, .name = "n", .pipeline = "p", .root = (pid_t)root };
	struct run *run = NULL;

	assert_int_equal(run_new(track_runs(f.track), &spec, now, &run), 0);
	assert_int_equal(track_run_root(f.track, run, now), 0);
	run->alone = true; /* it ends with its root */
	return run;
}

/* A sample: a sweep, then a look. */
static void look(void)
{
	now += STEP;
	track_sweep_begin(f.track, now, now);
	for (size_t i = 0; i < n_live; i++) {
		struct skep_process_live rec = {
			.parent = { .pid = live[i].ppid, .start_ns = live[i].parent_ns },
			.counters = live[i].c,
			.rss_bytes = 5u << 20,
			.threads = 1,
			.comm = str("x"),
			.cgroup_id = live[i].cgroup_id,
		};

		tell(&f, SKEP_ROLE_PROC_LIVE, now, live[i].pid, live[i].start_ns, &rec);
	}
	track_sweep_end(f.track, true, now);
	track_findings_look(f.track, 5 * SECOND, now);
	fixture_settle(&f);
}

static void pass(uint64_t seconds)
{
	for (uint64_t until = now + seconds * SECOND; now < until;)
		look();
}

static const struct seen_finding *the(size_t n)
{
	assert_int_equal(f.n_findings, n);
	return &f.findings[n - 1];
}

/* ---- stalls ------------------------------------------------------------------------ */

static void a_stalled_task(void **state)
{
	const struct seen_finding *found;
	uint64_t idle_from, went_on;
	char id[24];

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/align", "align");
	begin(21, 20, "/bin/sleep", NULL);
	pass(120);
	counters(20)->cpu_ns += SECOND;
	look();
	idle_from = now;
	pass(585);
	assert_int_equal(f.n_findings, 0);
	look();
	found = the(1);
	assert_string_equal(found->kind, "stall");
	assert_string_equal(found->state, "open");
	assert_string_equal(found->severity, "warn");
	assert_string_equal(found->run, "r1");
	assert_string_equal(found->task, "align");
	assert_string_equal(found->tool, "sleep"); /* the youngest: the others wait for it */
	assert_int_equal(found->r.pid, 21);
	assert_int_equal(found->r.started_ns, idle_from);
	assert_int_equal(found->r.window_ns, now - idle_from);
	assert_true(found->r.value >= 600 && found->r.threshold == 600);
	assert_string_equal(found->unit, "s");
	assert_non_null(strstr(found->evidence, "no process of task align"));
	assert_non_null(strstr(found->advice, "/proc/21/stack"));
	assert_int_equal(f.open[FINDING_STALL], 1);
	snprintf(id, sizeof(id), "%s", found->id);
	assert_int_equal(strlen(id), 16);
	pass(1200); /* it is still the same one */
	the(1);
	counters(21)->rchar_bytes += 10 << 20;
	look();
	went_on = now;
	found = the(2);
	assert_string_equal(found->state, "closed");
	assert_string_equal(found->id, id);
	assert_int_equal(found->r.started_ns, idle_from);
	assert_int_equal(found->r.window_ns, went_on - idle_from);
	assert_int_equal(f.open[FINDING_STALL], 0);
	/* once more: another finding, which the task's end closes */
	pass(630);
	assert_string_not_equal(the(3)->id, id);
	end(21);
	end(20);
	assert_string_equal((fixture_settle(&f), the(4))->state, "closed");
	assert_int_equal(the(4)->time_ns, now);
	assert_string_equal(the(4)->id, the(4)[-1].id);
}

/* A run without tasks is looked at as a whole. */
static void a_stalled_run(void **state)
{
	(void)state;
	begin(10, 0, "/bin/train.py", NULL);
	begin_run("r1", 10);
	pass(630);
	assert_string_equal(the(1)->kind, "stall");
	assert_string_equal(the(1)->task, "");
	assert_non_null(strstr(the(1)->evidence, "no process of the run used"));
	end(10);
	look();
	assert_string_equal(the(2)->state, "closed");
}

/*
 * No finding where work may go on unseen: in a child in another task, a notebook, on another machine, on a GPU without
 * figures.
 */
static void no_stalls(void **state)
{
	struct gpu {
		struct fixture_gpu rec;
	} unknown = { { 0, STEP, 0 } };
	struct skep_upid who;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/sh", "outer");
	begin(21, 20, "/bin/inner", "inner"); /* its child is in another task: it waits for that one */
	begin(30, 10, "/usr/bin/jupyter", "notebook");
	begin(40, 10, "/usr/bin/ssh", "elsewhere");
	begin(50, 10, "/bin/cuda", "unknown"); /* its device does not report whether kernels run */
	who = (struct skep_upid){ .pid = 50, .start_ns = start_of(50) };
	for (int i = 0; i < 60; i++) {
		counters(21)->cpu_ns += SECOND;
		track_facet(f.track, &fixture_gpu, &who, &unknown.rec, now);
		look();
	}
	assert_int_equal(f.n_findings, 0);
	/* a loop of short processes uses CPU, though no process that lives does */
	end(21);
	for (int i = 0; i < 60; i++) {
		begin(60, 20, "/bin/gzip", NULL);
		counters(60)->cpu_ns += SECOND;
		end(60);
		track_facet(f.track, &fixture_gpu, &who, &unknown.rec, now);
		look();
	}
	assert_int_equal(f.n_findings, 0);
	/* sleeps that only read themselves are nothing to wait for */
	for (int i = 0; i < 60; i++) {
		begin(60, 20, "/bin/sleep", NULL);
		counters(60)->rchar_bytes += 100000;
		end(60);
		track_facet(f.track, &fixture_gpu, &who, &unknown.rec, now);
		look();
	}
	assert_string_equal(the(1)->task, "outer");
}

/* A user's session, and an engine that waits for jobs elsewhere. */
static void no_stalls_of_sessions(void **state)
{
	struct skep_process_live leader = { .session = 20, .threads = 1, .comm = str("x") };

	(void)state;
	begin(10, 0, "/sbin/init", NULL);
	begin(20, 10, "/bin/x", "typed"); /* SKEP_TASK in a shell */
	for (int i = 0; i < 60; i++) {
		look();
		leader.parent = (struct skep_upid){ .pid = 10, .start_ns = start_of(10) };
		tell(&f, SKEP_ROLE_PROC_LIVE, now + 1, 20, start_of(20), &leader);
	}
	assert_non_null(track_runs(f.track)->first);
	assert_int_equal(f.n_findings, 0);
}

/* A rule excludes a process of the task: skepd does not see its work. */
static void no_stall_where_a_process_is_hidden(void **state)
{
	struct proc *p;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/sh", "a");
	begin(21, 20, "/bin/excluded", NULL);
	p = proctab_holder(f.track->table, 21);
	track_exclude(f.track, p, &p->last, now);
	n_live--;
	pass(900);
	assert_int_equal(f.n_findings, 0);
}

/* ---- leftovers --------------------------------------------------------------------- */

static void left_over(void **state)
{
	const struct seen_finding *found;
	uint64_t ended;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/step", "align");
	begin(30, 20, "/usr/bin/ssh-agent", NULL);
	begin(31, 20, "/opt/server", NULL);
	begin(32, 31, "/opt/worker", NULL); /* a child of the reported process */
	begin(40, 10, "/bin/busy", "other");
	end(20);
	ended = now;
	for (int i = 0; i < 30; i++) { /* it works: still a leftover */
		counters(31)->cpu_ns += SECOND;
		counters(40)->cpu_ns += SECOND;
		look();
		if (i < 19)
			assert_int_equal(f.n_findings, 0);
	}
	found = the(1);
	assert_string_equal(found->kind, "leftover-process");
	assert_string_equal(found->task, "align");
	assert_string_equal(found->tool, "server");
	assert_int_equal(found->r.upid.pid, 31);
	assert_int_equal(found->r.started_ns, ended);
	assert_true(found->r.value >= 300 && found->r.threshold == 300);
	end(31);
	assert_string_equal((fixture_settle(&f), the(2))->state, "closed");
	assert_int_equal(the(2)->r.window_ns, now - ended); /* at its own end, not at the next look */
	look();
	assert_int_equal(the(3)->r.upid.pid, 32); /* now it is the uppermost */
}

/* After a run; not after a user's session. */
static void left_over_from_a_run(void **state)
{
	struct run *run;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	run = begin_run("r1", 10);
	begin(20, 10, "/opt/server", NULL);
	end(10);
	pass(330);
	assert_true(run->ended);
	assert_string_equal(the(1)->kind, "leftover-process");
	assert_string_equal(the(1)->run, "r1");
	run->found = true; /* as if a session's */
	look();
	assert_string_equal(the(2)->state, "closed");
	pass(600);
	the(2);
}

static void an_orphaned_container(void **state)
{
	const struct seen_finding *found;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/app", NULL);
	exec_as(20, "/bin/app", "", 0, 7, "/docker/" ID);
	end(10);
	pass(1800);
	assert_string_equal(the(1)->kind, "leftover-process");
	assert_string_equal(the(1)->container, ID);
	counters(20)->cpu_ns += SECOND; /* it works on: no orphan for another hour */
	pass(3570);
	the(1);
	pass(60);
	assert_int_equal(f.n_findings, 3); /* one finding instead of the other */
	found = &f.findings[1];
	assert_string_equal(found->kind, "orphan-container");
	assert_string_equal(found->container, ID);
	assert_true(found->r.value >= 3600 && found->r.threshold == 3600);
	assert_string_equal(f.findings[2].kind, "leftover-process");
	assert_string_equal(f.findings[2].state, "closed");
	end(20);
	look();
	assert_string_equal(the(4)->kind, "orphan-container");
	assert_string_equal(the(4)->state, "closed");
	assert_null(f.track->findings->containers);
}

/* The container in which the run itself was is not the run's to remove. */
static void no_orphan_around_the_run(void **state)
{
	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	exec_as(10, "/bin/sh", "", 0, 7, "/docker/" ID);
	begin_run("r1", 10);
	begin(20, 10, "/bin/app", NULL);
	exec_as(20, "/bin/app", "", 0, 7, "/docker/" ID);
	end(10);
	pass(4000);
	assert_string_equal(the(1)->kind, "leftover-process");
}

/* ---- GPUs, memory ------------------------------------------------------------------ */

static void a_gpu_held_idle(void **state)
{
	struct fixture_gpu idle = { 0, STEP, STEP }, busy = { SECOND, STEP, STEP };
	struct skep_upid who;

	(void)state;
	begin(10, 0, "/bin/train.py", NULL); /* in no run */
	begin(20, 10, "/usr/lib/xorg/Xorg", NULL);
	for (int i = 0; i < 260; i++) {
		who = (struct skep_upid){ .pid = 10, .start_ns = start_of(10) };
		track_facet(f.track, &fixture_gpu, &who, i < 10 || i == 100 ? &busy : &idle, now);
		who = (struct skep_upid){ .pid = 20, .start_ns = start_of(20) };
		track_facet(f.track, &fixture_gpu, &who, &idle, now);
		look();
		if (i < 220) /* the kernel at 100 begins the half hour anew */
			assert_int_equal(f.n_findings, 0);
	}
	assert_string_equal(the(1)->kind, "gpu-held-idle");
	assert_string_equal(the(1)->tool, "train.py");
	assert_true(the(1)->r.value >= 1800 && the(1)->r.threshold == 1800);
	pass(3 * 15); /* the probe says nothing: not idle, not busy */
	the(1);
	end(10);
	assert_string_equal((fixture_settle(&f), the(2))->state, "closed");
}

static void killed_for_memory(void **state)
{
	struct skep_process_oom rec = { .limit_bytes = 64u << 20, .usage_bytes = 65u << 20, .peak_bytes = 65u << 20,
					.cgroup = str("/job/1") };
	const struct seen_finding *found;
	uint64_t killed;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/hungry", "align");
	killed = now;
	tell(&f, SKEP_ROLE_PROC_OOM, now, 20, start_of(20), &rec);
	tell(&f, SKEP_ROLE_PROC_OOM, now, 20, start_of(20), &rec); /* the kernel may name it again */
	fixture_settle(&f);
	found = the(1);
	assert_string_equal(found->kind, "oom-kill");
	assert_string_equal(found->severity, "error");
	assert_string_equal(found->state, "open");
	assert_string_equal(found->task, "align");
	assert_string_equal(found->cgroup, "/job/1");
	assert_string_equal(found->unit, "By");
	assert_true(found->r.value == 65u << 20 && found->r.threshold == 64u << 20);
	assert_non_null(strstr(found->evidence, "cgroup /job/1 has reached its limit of 64 MiB"));
	pass(60); /* it does not die */
	the(1);
	end(20);
	fixture_settle(&f);
	assert_string_equal(the(2)->state, "closed");
	assert_int_equal(the(2)->r.window_ns, now - killed);
	look();
	the(2);
}

/* ---- restart, reload, bounds ------------------------------------------------------- */

static void restart(uint64_t away_s, bool with_findings)
{
	struct findings *findings = f.track->findings;
	size_t size;
	char *text;

	fixture_settle(&f);
	f.track->findings = with_findings ? findings : NULL;
	text = fixture_save(f.track, &size);
	f.track->findings = findings;
	fixture_close(&f);
	now += away_s * SECOND;
	fixture_open(&f, false, now);
	cgroups_identify(f.cgroups, table);
	assert_int_equal(track_findings(f.track, &limits), 0);
	fixture_load(f.track, text, size);
	saved_restore(f.track, now);
	track_findings_look(f.track, 5 * SECOND, now); /* no sweep yet: nothing is known */
	assert_int_equal(f.n_findings, 0);
}

/* What the collector does at its first sample. */
static void first_look(void)
{
	now += STEP;
	track_sweep_begin(f.track, now, now);
	for (size_t i = 0; i < n_live; i++) {
		struct skep_process_live rec = { .parent = { .pid = live[i].ppid, .start_ns = live[i].parent_ns },
						 .counters = live[i].c, .threads = 1, .comm = str("x"),
						 .cgroup_id = live[i].cgroup_id };

		tell(&f, SKEP_ROLE_PROC_LIVE, now, live[i].pid, live[i].start_ns, &rec);
	}
	track_sweep_end(f.track, true, now);
	saved_settle(f.track, now);
	track_findings_look(f.track, 5 * SECOND, now);
	fixture_settle(&f);
}

static void a_restart_repeats_nothing(void **state)
{
	struct fixture_gpu idle = { 0, STEP, STEP };
	struct skep_upid who;
	char ids[3][24];
	struct skep_process_oom rec = { .limit_bytes = 1 };

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/a", "a");
	begin(30, 10, "/bin/b", "b");
	begin(31, 30, "/opt/server", NULL);
	end(30);
	begin(40, 10, "/bin/c", "c");
	tell(&f, SKEP_ROLE_PROC_OOM, now, 40, start_of(40), &rec);
	who = (struct skep_upid){ .pid = 31, .start_ns = start_of(31) };
	for (int i = 0; i < 45; i++) {
		track_facet(f.track, &fixture_gpu, &who, &idle, now);
		counters(40)->cpu_ns += SECOND;
		look();
	}
	assert_int_equal(f.n_findings, 3);
	for (int i = 0; i < 3; i++)
		snprintf(ids[i], sizeof(ids[i]), "%s", f.findings[i].id);
	assert_string_equal(f.findings[0].kind, "oom-kill");
	assert_string_equal(f.findings[1].kind, "leftover-process");
	assert_string_equal(f.findings[2].kind, "stall");
	/* away for longer than any threshold: skepd does not know this time, and finds nothing in it */
	restart(7200, true);
	first_look();
	assert_int_equal(f.n_findings, 0);
	assert_int_equal(f.open[FINDING_STALL], 1);
	/* 45 looks before and 70 after it: not yet the half hour of the GPU */
	for (int i = 0; i < 70; i++) {
		track_facet(f.track, &fixture_gpu, &who, &idle, now);
		counters(40)->cpu_ns += SECOND;
		look();
	}
	assert_int_equal(f.n_findings, 0);
	for (int i = 0; i < 10; i++) {
		track_facet(f.track, &fixture_gpu, &who, &idle, now);
		counters(40)->cpu_ns += SECOND;
		look();
	}
	assert_string_equal(the(1)->kind, "gpu-held-idle");
	end(40);
	fixture_settle(&f);
	assert_string_equal(the(2)->id, ids[0]);
	counters(20)->cpu_ns += SECOND;
	look();
	assert_string_equal(the(3)->id, ids[2]);
	assert_string_equal(the(3)->task, "a");
	assert_string_equal(the(3)->state, "closed");
	end(31);
	fixture_settle(&f);
	assert_int_equal(f.n_findings, 5);
	assert_true(strcmp(f.findings[3].id, ids[1]) == 0 || strcmp(f.findings[4].id, ids[1]) == 0);
}

/* Findings close of tasks that worked or ended while skepd was away. */
static void a_restart_closes_what_is_over(void **state)
{
	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(20, 10, "/bin/a", "a");
	begin(30, 10, "/bin/b", "b");
	begin(31, 30, "/opt/server", NULL);
	end(30);
	pass(660);
	assert_int_equal(f.n_findings, 2);
	restart(5, true);
	counters(20)->cpu_ns += SECOND;
	n_live--; /* the server has ended unseen */
	assert_int_equal(start_of(31), 0);
	first_look();
	pass(30);
	assert_int_equal(f.n_findings, 2);
	assert_string_equal(f.findings[0].state, "closed");
	assert_string_equal(f.findings[1].state, "closed");
}

/* Without saved findings the same id: a receiver knows that it has it. */
static void ids_without_saved_findings(void **state)
{
	char id[24];

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	begin(30, 10, "/bin/b", "b");
	begin(31, 30, "/opt/server", NULL);
	end(30);
	counters(10)->cpu_ns += SECOND;
	pass(330);
	snprintf(id, sizeof(id), "%s", the(1)->id);
	restart(5, false);
	first_look();
	assert_string_equal(the(1)->id, id);
}

static void a_reload_closes_or_keeps(void **state)
{
	struct config_findings other = limits;

	(void)state;
	begin(10, 0, "/bin/sh", NULL);
	begin_run("r1", 10);
	pass(630);
	the(1);
	assert_int_equal(track_findings(f.track, &limits), 0); /* nothing has changed */
	pass(60);
	the(1);
	other.stall_ns = 3600 * SECOND;
	assert_int_equal(track_findings(f.track, &other), 0);
	look();
	assert_string_equal(the(2)->state, "closed");
	other.stall_ns = 0;
	assert_int_equal(track_findings(f.track, &other), 0);
	pass(7200);
	the(2);
}

static void bounded(void **state)
{
	struct skep_process_oom rec = { .limit_bytes = 1 };

	(void)state;
	for (uint32_t pid = 100; pid < 100 + FINDINGS_MOST + 5; pid++) {
		now += MS;
		tell_fork(&f, now, pid, now, 1, 5);
		tell(&f, SKEP_ROLE_PROC_OOM, now, pid, now, &rec);
	}
	fixture_settle(&f);
	assert_int_equal(f.n_findings, FINDINGS_MOST);
	assert_int_equal(f.track->findings->dropped, 5);
	assert_int_equal(f.open[FINDING_OOM], FINDINGS_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_by_rates),
		cmocka_unit_test(a_gap_is_not_idle),
		cmocka_unit_test(gpu_by_kernels),
		cmocka_unit_test_setup_teardown(a_stalled_task, open_host, close_host),
		cmocka_unit_test_setup_teardown(a_stalled_run, open_host, close_host),
		cmocka_unit_test_setup_teardown(no_stalls, open_host, close_host),
		cmocka_unit_test_setup_teardown(no_stalls_of_sessions, open_host, close_host),
		cmocka_unit_test_setup_teardown(no_stall_where_a_process_is_hidden, open_host, close_host),
		cmocka_unit_test_setup_teardown(left_over, open_host, close_host),
		cmocka_unit_test_setup_teardown(left_over_from_a_run, open_host, close_host),
		cmocka_unit_test_setup_teardown(an_orphaned_container, open_host, close_host),
		cmocka_unit_test_setup_teardown(no_orphan_around_the_run, open_host, close_host),
		cmocka_unit_test_setup_teardown(a_gpu_held_idle, open_host, close_host),
		cmocka_unit_test_setup_teardown(killed_for_memory, open_host, close_host),
		cmocka_unit_test_setup_teardown(a_restart_repeats_nothing, open_host, close_host),
		cmocka_unit_test_setup_teardown(a_restart_closes_what_is_over, open_host, close_host),
		cmocka_unit_test_setup_teardown(ids_without_saved_findings, open_host, close_host),
		cmocka_unit_test_setup_teardown(a_reload_closes_or_keeps, open_host, close_host),
		cmocka_unit_test_setup_teardown(bounded, open_host, close_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
