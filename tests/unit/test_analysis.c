/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_analysis.c - each kind of finding: a run in which it is planted, where it is the only one, and the
 * run with its guard, in which nothing is found.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "tests/unit/reports.h"

#define MIB      (UINT64_C(1) << 20)
#define CPUS     UINT64_C(64)
#define RUN_MS   UINT64_C(1000000)

struct plan {
	struct reports *reports;
	bool guard;
	struct analysis_history *history; /* what the judged run is compared with; NULL: nothing */
};

/*
 * A task with one process, which it consists of: cores busy on average, the peak in MiB. Its name is "step" unless
 * the caller changes it. Valid until the next task.
 */
static struct lake_task *task(struct plan *p, uint64_t start_ms, uint64_t end_ms, double cores, uint64_t peak_mib)
{
	const uint64_t cpu_ms = (uint64_t)((double)(end_ms - start_ms) * cores);
	struct lake_process *process = reports_add(p->reports, 0, "tool", "tool --work", start_ms, end_ms, cpu_ms);
	struct lake_task *t = reports_task(p->reports, "step", start_ms, end_ms, cpu_ms);

	process->totals.rss_peak_bytes = peak_mib * MIB;
	process->totals.run_delay_ns = 0;
	process->task = t->task;
	t->task_id = reports_string(p->reports, "%zu-1.0", p->reports->report.n_tasks);
	reports_kind(process)->task_id = t->task_id;
	t->totals.rss_peak_bytes = peak_mib * MIB;
	t->totals.run_delay_ns = 0;
	t->cores_peak = cores;
	t->engine = "snakemake";
	return t;
}

static struct lake_process *process_of(struct plan *p)
{
	return &p->reports->report.processes[p->reports->report.n_processes - 1];
}

/* One execution of a task: what a history consists of. */
struct execution {
	uint64_t wall_ms, peak_mib, input, asked_mib;
	unsigned killed; /* 1; 2: a process of it was, and the task went on and ended well; AROUND: a run began in it */
};
#define AROUND 3

/* Adds the executions one after another. */
static void executions(struct plan *p, const struct execution *e, size_t n)
{
	for (uint64_t i = 0, at = 0; i < n; at += e[i++].wall_ms + 10) {
		struct lake_task *t = task(p, at, at + e[i].wall_ms, 1, e[i].peak_mib);

		t->totals.rchar_bytes = e[i].input;
		t->totals.read_bytes = 0;
		process_of(p)->totals.rchar_bytes = e[i].input;
		t->requested_memory_bytes = e[i].asked_mib * MIB;
		t->signal = e[i].killed == 1 ? 9 : 0;
		reports_kind(process_of(p))->oom_killed = e[i].killed == 1 || e[i].killed == 2;
		t->inner_runs = e[i].killed == AROUND;
	}
}

/* Adds a run of some days ago to the history. Runs are added newest first. */
static void earlier(struct plan *p, uint64_t days, const struct execution *e, size_t n)
{
	struct plan past = { reports_new("demo", "sh pipeline.sh", CPUS), false, NULL };
	struct lake_report *r = &past.reports->report;

	executions(&past, e, n);
	reports_finish(past.reports, RUN_MS, 0, 0);
	r->run.id = reports_string(past.reports, "run-%u-days-ago", (unsigned)days);
	r->run.host = p->guard ? "another" : r->run.host;
	for (size_t i = 0; i < r->n_tasks; i++)
		r->tasks[i].start_ns -= days * 86400 * REPORTS_S;
	for (size_t i = 0; i < r->n_tasks; i++)
		r->tasks[i].end_ns -= days * 86400 * REPORTS_S;
	if (!p->history)
		p->history = analysis_history_new();
	assert_non_null(p->history);
	assert_int_equal(analysis_history_add(p->history, r), 0);
	reports_free(past.reports);
}

/* ---- planted runs -------------------------------------------------------------- */

/* 8 cores asked, 3 used. Guard: it waited for CPUs, so that its use says nothing. */
static void cpu_over_request(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, 3, 100);

		t->requested_cpus = 8;
		t->totals.run_delay_ns = p->guard ? t->totals.cpu_ns : 0;
	}
}

/* 4 cores asked, 1 used. Guard: for a quarter of the time 4 are used, and none otherwise. */
static void serial(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, 0.98, 100);

		t->requested_cpus = 4;
		if (p->guard)
			process_of(p)->end_ns = process_of(p)->start_ns + 22000 * REPORTS_MS;
	}
}

/* More is ready to run than the machine has CPUs. Guard: only a neighbour's load makes it wait. */
static void oversubscribed(struct plan *p)
{
	for (uint64_t i = 0; i < 100; i++) {
		const uint64_t cpu_ms = p->guard ? 10000 : CPUS * 10000;

		reports_sample(p->reports, "tool", i * 10000, 10000, cpu_ms);
		p->reports->report.samples[i].run_delay_ns = cpu_ms * REPORTS_MS / 2;
	}
	reports_add(p->reports, 0, "tool", "tool", 0, RUN_MS, p->guard ? RUN_MS : CPUS * RUN_MS);
	process_of(p)->totals.run_delay_ns = process_of(p)->totals.cpu_ns / 2;
}

/* 16 GiB asked, 2 needed. Guard: Java, whose heap grows up to its limit. */
static void memory_over_request(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		task(p, i * 100000, i * 100000 + 90000, 1, 2000)->requested_memory_bytes = 16384 * MIB;
		if (p->guard)
			reports_kind(process_of(p))->tool = "java";
	}
}

/* One of six was killed for its memory. Guard: it failed for another reason. */
static void memory_at_risk(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + (i ? 90000 : 9000), 1, 900);

		t->requested_memory_bytes = 1200 * MIB;
		if (i == 0) {
			t->signal = 9;
			t->exit_code = -1;
			reports_kind(process_of(p))->signal = 9;
			reports_kind(process_of(p))->exit_code = -1;
			reports_kind(process_of(p))->oom_killed = !p->guard;
			process_of(p)->task = "hog.sh"; /* it left before skep knew the task's name */
			reports_kind(process_of(p))->oom_limit_bytes = 1200 * MIB;
		}
	}
}

/* Half of the time is waits for the disk. Guard: it uses its cores all the same. */
static void io_bound(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, p->guard ? 2 : 0.1, 100);

		process_of(p)->totals.block_delay_ns = 50000 * REPORTS_MS;
		t->requested_cpus = 1;
	}
}

/* A million calls of 10 bytes. Guard: they are of a socket. */
static void tiny_io(struct plan *p)
{
	struct lake_process *q = reports_add(p->reports, 0, "tool", "tool", 0, RUN_MS, RUN_MS);

	q->read_calls = q->write_calls = 500000;
	q->totals.rchar_bytes = q->totals.wchar_bytes = 5000000;
	q->totals.system_ns = q->totals.cpu_ns / 2;
	q->totals.net_rx_bytes = p->guard ? 10000000 : 0;
}

/* Programs of 10 ms take half of the time. Guard: make starts them. */
static void exec_storm(struct plan *p)
{
	const char *starter = p->guard ? "make" : "sh";

	reports_add(p->reports, 0, starter, starter, 0, RUN_MS, 10000);
	for (uint64_t i = 0; i < 2000; i++)
		reports_add(p->reports, 1, "sed", "sed s/a/b/", i * 20, i * 20 + 10, 10);
}

/* Forty jobs of a scheduler of 5 s. Guard: no scheduler starts them. */
static void short_tasks(struct plan *p)
{
	for (uint64_t i = 0; i < 40; i++)
		task(p, i * 6000, i * 6000 + 5000, 1, 100)->job = p->guard ? "" : "4711";
}

/* One of ten takes ten times as long. Guard: it reads ten times as much. */
static void straggler(struct plan *p)
{
	for (uint64_t i = 0; i < 10; i++) {
		const uint64_t took = i == 9 ? 400000 : 40000 + i * 100;
		struct lake_task *t = task(p, 0, took, 1, 100);

		t->totals.rchar_bytes = p->guard ? took * 1000 : 1000000;
	}
}

/* One core of eight for half of the run. Guard: all of the run is serial. */
static void serial_path(struct plan *p)
{
	for (uint64_t i = 0; i < 100; i++)
		reports_sample(p->reports, "tool", i * 10000, 10000, i < 50 || p->guard ? 10000 : 80000);
}

/* A third of the cores' time went into executions that failed. Guard: the scheduler ended them. */
static void retries(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, 1, 100);

		t->attempt = 1 + i % 2;
		if (i % 2 == 0)
			t->exit_code = p->guard ? 143 : 1;
	}
}

/* A day asked, 90 s taken. Guard: a quarter of an hour asked. */
static void walltime_over_request(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, 1, 100);

		t->requested_walltime_ns = (p->guard ? 900 : 86400) * REPORTS_S;
	}
}

/* The newest six of ten runs take 30 % more, beside noise. Guard: the earlier runs were on another machine. */
static void regression(struct plan *p)
{
	static const uint64_t wall_ms[] = { 20300, 19800, 20900, 19200, 26400, 25500, 26900, 25100, 26200, 25900 };

	for (uint64_t days = 1; days < 10; days++)
		earlier(p, days, &(struct execution){ .wall_ms = wall_ms[9 - days], .peak_mib = 100 }, 1);
	executions(p, &(struct execution){ .wall_ms = wall_ms[9], .peak_mib = 100 }, 1);
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static struct lake_pressure *pressure(struct plan *p, uint64_t end_ms, uint64_t full_ms)
{
	struct lake_report *r = &p->reports->report;

	r->pressure = must(reallocarray(r->pressure, r->n_pressure + 1, sizeof(*r->pressure)));
	r->pressure[r->n_pressure] = (struct lake_pressure){
		.cgroup = "/user.slice",
		.end_ns = REPORTS_START + end_ms * REPORTS_MS,
		.interval_ns = 5000 * REPORTS_MS,
		.memory_full_ns = full_ms * REPORTS_MS,
		.memory_limit_bytes = 100 * MIB,
	};
	return &r->pressure[r->n_pressure++];
}

/* Four threads with a quota of two CPUs. Guard: most of the CPU time is a neighbour's in the same container. */
static void cpu_quota(struct plan *p)
{
	reports_add(p->reports, 0, "tool", "tool", 10, RUN_MS, 2 * RUN_MS);
	for (uint64_t ms = 5000; ms <= RUN_MS; ms += 5000) {
		struct lake_pressure *q = pressure(p, ms, 0);

		q->cpu_limit = 2;
		q->cpu_ns = (p->guard ? 30000 : 10000) * REPORTS_MS;
		q->periods = 50;
		q->throttled_periods = 49;
		q->throttled_ns = 10000 * REPORTS_MS;
	}
}

/* Half of the time it is stalled for memory. Guard: the cgroup is, and the process had no fault: a neighbour's. */
static void thrashing(struct plan *p)
{
	for (uint64_t ms = 5000; ms <= RUN_MS; ms += 5000)
		pressure(p, ms, 2500);
	reports_add(p->reports, 0, "tool", "tool", 10, RUN_MS, 10000)->totals.major_faults = p->guard ? 0 : 100000;
}

/* It sleeps while 1 MB a second comes. Guard: it is a server. */
static void network_bound(struct plan *p)
{
	static const struct lake_facet accepts = { "net.accepts", 1 };
	struct lake_process *q = reports_add(p->reports, 0, "curl", "curl", 10, RUN_MS, 10000);

	q->totals.net_known = true;
	q->totals.net_rx_bytes = RUN_MS * 1000;
	q->facets = &accepts;
	q->n_facets = p->guard;
	for (uint64_t ms = 0; ms < RUN_MS; ms += 5000)
		reports_progress(p->reports, q, ms, 5000)->net_bytes = 5000000;
}

/* Four programs read the same GiB. Guard: they open it and read a part. */
static void re_read(struct plan *p)
{
	struct lake_report *r = &p->reports->report;

	r->opens = must(calloc(4, sizeof(*r->opens)));
	for (uint64_t i = 0; i < 4; i++) {
		reports_add(p->reports, 0, "md5sum", "md5sum big", 10 + i, 100000, 5000)->totals.rchar_bytes =
			(p->guard ? 16 : 1024) * MIB;
		r->opens[r->n_opens++] = (struct lake_open){ .process = r->n_processes - 1, .path = "/data/big", .opens = 1,
							     .size_bytes = 1024 * MIB };
	}
}

/* It lives and does nothing. Guard: another one works, and it may wait for that one. */
static void stall(struct plan *p)
{
	struct lake_process *q = reports_add(p->reports, 0, "tool", "tool", 10, RUN_MS, 10);

	reports_progress(p->reports, q, RUN_MS - 5000, 5000)->quiet_ns = (RUN_MS - 5000) * REPORTS_MS;
	if (p->guard)
		reports_add(p->reports, 1, "other", "other", 20, RUN_MS, RUN_MS);
}

static void with_gpu(struct plan *p, uint64_t end_ms, uint64_t busy_ms, uint64_t cpu_ms)
{
	struct lake_process *q = reports_add(p->reports, 0, "train", "train", 10, RUN_MS, RUN_MS / 5000 * cpu_ms);

	for (uint64_t ms = 0; ms < end_ms; ms += 5000) {
		struct lake_progress *g = reports_progress(p->reports, q, ms, 5000);

		g->gpu_known_ns = 5000 * REPORTS_MS;
		g->gpu_busy_ns = busy_ms * REPORTS_MS;
		g->gpu_devices = 1;
		g->cpu_ns = cpu_ms * REPORTS_MS;
	}
}

/* The GPU waits for one busy CPU. Guard: for four minutes only. */
static void gpu_starved(struct plan *p)
{
	with_gpu(p, p->guard ? 300000 : RUN_MS, 100, 4900);
}

/* A kernel runs on it for 40 % of the time. Guard: for 95 %, of 5 s after a quiet minute each. */
static void gpu_low(struct plan *p)
{
	struct lake_report *r = &p->reports->report;

	with_gpu(p, RUN_MS, p->guard ? 4750 : 2000, 500);
	for (size_t i = 0; i < r->n_progress && p->guard; i++)
		r->progress[i].interval_ns += 60 * REPORTS_S;
}

static const struct {
	const char *id;
	void (*plant)(struct plan *);
} plans[] = {
	{ "cpu-over-request", cpu_over_request },
	{ "serial", serial },
	{ "oversubscribed", oversubscribed },
	{ "cpu-quota", cpu_quota },
	{ "memory-over-request", memory_over_request },
	{ "memory-at-risk", memory_at_risk },
	{ "io-bound", io_bound },
	{ "tiny-io", tiny_io },
	{ "exec-storm", exec_storm },
	{ "short-tasks", short_tasks },
	{ "straggler", straggler },
	{ "serial-path", serial_path },
	{ "retries", retries },
	{ "walltime-over-request", walltime_over_request },
	{ "regression", regression },
	{ "thrashing", thrashing },
	{ "network-bound", network_bound },
	{ "re-read", re_read },
	{ "stall", stall },
	{ "gpu-starved", gpu_starved },
	{ "gpu-low", gpu_low },
};

/* ---- tests -------------------------------------------------------------------------- */

static struct analysis *analyse(struct plan *p, void (*plant)(struct plan *), bool guard,
				const struct analysis_setting *set, size_t n)
{
	struct analysis *a = NULL;

	*p = (struct plan){ reports_new("demo", "sh pipeline.sh", CPUS), guard, NULL };
	reports_add(p->reports, 0, "sh", "sh pipeline.sh", 0, RUN_MS, 10);
	plant(p);
	reports_finish(p->reports, RUN_MS, 0, 0);
	assert_int_equal(analysis_new_with(&p->reports->report, NULL, p->history, set, n, &a), 0);
	return a;
}

static void plan_free(struct plan *p)
{
	analysis_history_free(p->history);
	reports_free(p->reports);
}

static void test_planted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const struct finding *f;
		struct plan p;
		struct analysis *a = analyse(&p, plans[i].plant, false, NULL, 0);
		size_t n = analysis_findings(a, &f);

		if (n != 1 || strcmp(f->kind->id, plans[i].id) != 0)
			fail_msg("%s: %zu findings, the first %s: %s", plans[i].id, n, n ? f->kind->id : "-", n ? f->evidence : "");
		assert_true(*f->evidence && *f->advice && strstr(f->evidence, "nan") == NULL && strstr(f->evidence, "inf") == NULL);
		analysis_free(a);
		plan_free(&p);
	}
}

static void test_guards(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const struct finding *f;
		struct plan p;
		struct analysis *a = analyse(&p, plans[i].plant, true, NULL, 0);

		if (analysis_findings(a, &f) != 0)
			fail_msg("guard of %s: %s: %s", plans[i].id, f->kind->id, f->evidence);
		analysis_free(a);
		plan_free(&p);
	}
}

/* Lost records might have changed a finding: the finding is less sure. */
static void test_lost(void **state)
{
	const struct finding *f, *g;
	struct analysis *all, *some = NULL;
	struct plan p;

	(void)state;
	all = analyse(&p, memory_over_request, false, NULL, 0);
	p.reports->report.run.lost_queue = 1;
	assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &some), 0);
	assert_int_equal(analysis_findings(all, &f), 1);
	assert_int_equal(analysis_findings(some, &g), 1);
	assert_int_equal(f->confidence, FINDING_MEDIUM);
	assert_int_equal(g->confidence, FINDING_LOW);
	analysis_free(some);
	analysis_free(all);
	plan_free(&p);
}

/* Every kind is planted, and its descriptor is whole. */
static void test_kinds(void **state)
{
	size_t n = 0;

	(void)state;
	for (; analysis_kinds[n]; n++) {
		const struct finding_kind *k = analysis_kinds[n];
		size_t planted = 0;

		for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
			planted += strcmp(plans[i].id, k->id) == 0;
		assert_int_equal(planted, 1);
		assert_true(*k->title && *k->measures && *k->unit && *k->guards && *k->advice && k->find);
	}
	assert_int_equal(n, sizeof(plans) / sizeof(plans[0]));
}

/* ---- other ways to the same findings --------------------------------------------- */

/* Without a cgroup's pressure: major faults, while it frees memory. */
static void many_faults(struct plan *p)
{
	struct lake_process *q = reports_add(p->reports, 0, "tool", "tool", 10, RUN_MS, 10000);

	for (uint64_t ms = 0; ms < RUN_MS; ms += 5000) {
		struct lake_progress *g = reports_progress(p->reports, q, ms, 5000);

		g->major_faults = 5000;
		g->reclaims = p->guard ? 0 : 1;
	}
}

/* The run's own traffic fills the link. Guard: it is a neighbour's. */
static void full_link(struct plan *p)
{
	struct lake_report *r = &p->reports->report;
	struct lake_process *q = reports_add(p->reports, 0, "copy", "copy", 10, RUN_MS, RUN_MS - 10);

	q->totals.net_known = true;
	q->totals.net_tx_bytes = p->guard ? 1 : RUN_MS * 100;
	r->links = must(calloc(RUN_MS / 5000, sizeof(*r->links)));
	for (uint64_t ms = 5000; ms <= RUN_MS; ms += 5000)
		r->links[r->n_links++] = (struct lake_link){ "eth0", REPORTS_START + ms * REPORTS_MS, 5000 * REPORTS_MS, 125000, 0,
							     500000 };
}

/* A shell looks for a file every ten seconds. Guard: every ten seconds it starts a program that works. */
static void polls(struct plan *p)
{
	struct lake_process *q = reports_add(p->reports, 0, "bash", "bash", 10, RUN_MS, 10);

	for (uint64_t ms = 0; ms < RUN_MS; ms += 5000)
		reports_progress(p->reports, q, ms, 5000);
	for (uint64_t ms = 20; ms < RUN_MS - 10000; ms += 10000)
		reports_add(p->reports, 1, "sleep", "sleep 10", ms, ms + 9990, p->guard ? 9000 : 1);
}

/* A container's limit of 16 GiB, which nobody asked for, and 2 needed. Guard: they asked for what they need. */
static void memory_over_limit(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, 1, 2000);

		t->granted_memory_bytes = 16384 * MIB;
		t->requested_memory_bytes = p->guard ? 2048 * MIB : 0;
	}
}

/* 900 MiB used; 1,000 asked for, of which 950 were granted. Guard: more than asked for was granted. */
static void memory_near_limit(struct plan *p)
{
	for (uint64_t i = 0; i < 2; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 9000, 1, 900);

		t->requested_memory_bytes = 1000 * MIB;
		t->granted_memory_bytes = (p->guard ? 1100 : 950) * MIB;
	}
}

/* 16 GiB asked of a scheduler, and 2 needed. Guard: nobody asked, the site gives so much. */
static void memory_by_default(struct plan *p)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, 1, 2000);

		t->job = "4711";
		t->granted_memory_bytes = 16384 * MIB;
		t->requested_memory_bytes = p->guard ? 0 : t->granted_memory_bytes;
	}
}

/* 8 cores asked, `cores` used, each of which comes with 2 GiB. Guard: the task needs the memory of all of them. */
static void cores_with_memory(struct plan *p, double cores)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, cores, p->guard ? 14000 : 1000);

		t->job = "4711";
		t->requested_cpus = 8;
		t->granted_memory_bytes = 16384 * MIB;
	}
}

static void three_cores_with_memory(struct plan *p)
{
	cores_with_memory(p, 3);
}

static void one_core_with_memory(struct plan *p)
{
	cores_with_memory(p, 0.98);
}

/* A day asked, 90 s taken. Guard: a user works in it. */
static void interactive(struct plan *p)
{
	struct lake_task *t = task(p, 0, 90000, 1, 100);

	t->requested_walltime_ns = 86400 * REPORTS_S;
	t->job = "4711";
	t->step = p->guard ? "interactive" : "0";
}

/* One core of eight for the second half, beside others that have yet to end. Guard: they have ended, and it merges. */
static void merge(struct plan *p)
{
	for (uint64_t i = 0; i < 100; i++)
		reports_sample(p->reports, "tool", i * 10000, 10000, i < 50 ? 80000 : 10000);
	task(p, 0, 500000, 4, 100)->task = "map";
	task(p, 10, p->guard ? 500000 : RUN_MS - 20, 4, 100)->task = "other";
	task(p, 500000, RUN_MS - 10, 1, 100)->task = "merge";
}

/* Two that share a GPU keep it busy together. Guard of gpu-low. */
static void shared_gpu(struct plan *p)
{
	with_gpu(p, RUN_MS, 2500, 500);
	with_gpu(p, RUN_MS, 2500, 500);
}

/* As cpu_over_request, serial and memory_over_request. Guard: another run in the task may have used the rest. */
static void own(struct plan *p, double cores, double asked, uint64_t asked_mib)
{
	for (uint64_t i = 0; i < 6; i++) {
		struct lake_task *t = task(p, i * 100000, i * 100000 + 90000, cores, 2000);

		t->requested_cpus = asked;
		t->requested_memory_bytes = asked_mib * MIB;
		t->inner_runs = p->guard && i == 5;
	}
}

/* Two tasks of 16 GiB that need 2, one after the other. Guard: they are ranks of a job at once, with 16 GiB in all. */
static void ranks(struct plan *p)
{
	for (uint64_t i = 0; i < 2; i++) {
		const uint64_t start_ms = p->guard ? i * 1000 : i * 300000;
		struct lake_task *t = task(p, start_ms, start_ms + 300000, 1, 2000);

		t->job = i ? "41.0" : "41";
		t->requested_cpus = 1;
		t->requested_memory_bytes = 16384 * MIB;
	}
	task(p, 0, 600000, 1, 2000)->job = "410"; /* another job */
	p->reports->report.tasks[2].task = "other";
}

/*
 * A retry of twenty-one asked for four times as much and used no more than the others. Guard: it alone did; each of the
 * others needed nearly all that it asked for itself.
 */
static void attempts(struct plan *p, uint64_t cpus, uint64_t mib, uint64_t seconds)
{
	for (uint64_t i = 0; i <= 20; i++) {
		const uint64_t times = p->guard && i < 20 ? 1 : 4;
		struct lake_task *t = task(p, i * 40000, i * 40000 + 36000, 1.9, 950);

		t->attempt = i < 20 ? 1 : 4;
		t->requested_cpus = (double)(times * cpus);
		t->requested_memory_bytes = times * mib * MIB;
		t->requested_walltime_ns = times * seconds * REPORTS_S;
	}
}

static void attempts_of_cores(struct plan *p)
{
	attempts(p, 2, 0, 0);
}

static void attempts_of_memory(struct plan *p)
{
	attempts(p, 0, 1200, 0);
}

static void attempts_of_time(struct plan *p)
{
	attempts(p, 0, 0, 50);
	for (size_t i = 0; i < p->reports->report.n_tasks; i++)
		p->reports->report.tasks[i].requested_walltime_ns *= 20; /* above 15 minutes */
	for (size_t i = 0; i < p->reports->report.n_tasks; i++)
		p->reports->report.tasks[i].end_ns = p->reports->report.tasks[i].start_ns + 720 * REPORTS_S;
}

/* An execution came within a twentieth of its request. Guard: the execution asked for as much as the retry. */
static void attempt_near_limit(struct plan *p)
{
	for (uint64_t i = 0; i < 2; i++)
		task(p, i * 100000, i * 100000 + 9000, 1, 950)->requested_memory_bytes =
			(i || p->guard ? 1300 : 1000) * MIB;
}

static void own_cores(struct plan *p)
{
	own(p, 3, 8, 0);
}

static void own_core(struct plan *p)
{
	own(p, 0.98, 4, 0);
}

static void own_memory(struct plan *p)
{
	own(p, 1, 1, 16384);
}

static void test_other_ways(void **state)
{
	static const struct {
		const char *id;
		void (*plant)(struct plan *);
		bool guard;
	} ways[] = {
		{ "thrashing", many_faults, false }, { NULL, many_faults, true },	{ "network-bound", full_link, false },
		{ NULL, full_link, true },	     { "stall", polls, false },		{ NULL, polls, true },
		{ NULL, shared_gpu, false },	     { "memory-over-request", memory_over_limit, false },
		{ NULL, memory_over_limit, true },   { "memory-at-risk", memory_near_limit, false },
		{ NULL, memory_near_limit, true },   { "memory-over-request", memory_by_default, false },
		{ NULL, memory_by_default, true },   { "cpu-over-request", three_cores_with_memory, false },
		{ NULL, three_cores_with_memory, true }, { "serial", one_core_with_memory, false },
		{ NULL, one_core_with_memory, true }, { "walltime-over-request", interactive, false },
		{ NULL, interactive, true },	     { "serial-path", merge, false },
		{ NULL, merge, true },		     { "cpu-over-request", own_cores, false },
		{ NULL, own_cores, true },	     { "serial", own_core, false },
		{ NULL, own_core, true },	     { "memory-over-request", own_memory, false },
		{ NULL, own_memory, true },	     { "memory-over-request", ranks, false },
		{ NULL, ranks, true },		     { "cpu-over-request", attempts_of_cores, false },
		{ NULL, attempts_of_cores, true },   { "memory-over-request", attempts_of_memory, false },
		{ NULL, attempts_of_memory, true },
		{ "walltime-over-request", attempts_of_time, false }, { NULL, attempts_of_time, true },
		{ "memory-at-risk", attempt_near_limit, false }, { NULL, attempt_near_limit, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct finding *f;
		struct plan p;
		struct analysis *a = analyse(&p, ways[i].plant, ways[i].guard, NULL, 0);
		const size_t n = analysis_findings(a, &f);

		if (n != (ways[i].id ? 1 : 0) || (n && strcmp(f->kind->id, ways[i].id) != 0))
			fail_msg("way %zu: %zu findings, the first %s: %s", i, n, n ? f->kind->id : "-", n ? f->evidence : "");
		analysis_free(a);
		reports_free(p.reports);
	}
}

/* ---- the observed path ------------------------------------------------------------- */

/*
 * Two at a time: a (0 to 400 s) beside b (0 to 100 s) and c (100 to 300 s), which waits for b's place; then d, which
 * opens a file of a, from 410 s to the end.
 */
static void test_path_of_tasks(void **state)
{
	static const enum analysis_link links[] = { ANALYSIS_LINK_START, ANALYSIS_LINK_DATA };
	struct plan p = { reports_new("demo", "sh", 8), false, NULL };
	struct lake_report *r = &p.reports->report;
	struct analysis_path *path = NULL;
	struct analysis *a = NULL;

	(void)state;
	task(&p, 0, 400000, 1, 100)->task = "a";
	task(&p, 0, 100000, 1, 100)->task = "b";
	task(&p, 100000, 300000, 1, 100)->task = "c";
	task(&p, 410000, 500000, 1, 100)->task = "d";
	r->opens = must(calloc(2, sizeof(*r->opens)));
	r->opens[r->n_opens++] = (struct lake_open){ .process = 0, .path = "/data/x", .opens = 1, .writes = 1 };
	r->opens[r->n_opens++] = (struct lake_open){ .process = 3, .path = "/data/x", .opens = 1 };
	reports_finish(p.reports, 520000, 0, 0);
	assert_int_equal(analysis_new(r, NULL, 0, &a), 0);
	assert_int_equal(analysis_path_new(a, &path), 0);
	assert_int_equal(path->n_steps, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(path->steps[i].link, links[i]);
	assert_string_equal(path->steps[0].task->task, "a");
	assert_string_equal(path->steps[1].task->task, "d");
	assert_true(fabs(path->gaps_s - 10) < 0.001);
	assert_int_equal(path->n_parts, 2);
	assert_string_equal(path->parts[0].name, "a");
	/* without a, d begins 10 s after the start, and c ends last */
	assert_true(fabs(path->parts[0].saving_s - 200) < 0.001);
	assert_true(fabs(path->parts[1].saving_s - 90) < 0.001);
	analysis_path_free(path);
	analysis_free(a);
	reports_free(p.reports);
}

/* c takes the place of b, since two are the most at once; then two tasks that took no time. */
static void test_path_of_slots(void **state)
{
	struct plan p = { reports_new("demo", "sh", 8), false, NULL };
	struct analysis_path *path = NULL;
	struct analysis *a = NULL;

	(void)state;
	task(&p, 0, 200000, 1, 100)->task = "a";
	task(&p, 0, 100000, 1, 100)->task = "b";
	task(&p, 100000, 300000, 1, 100)->task = "c";
	task(&p, 300000, 300000, 1, 100)->task = "empty";
	task(&p, 300000, 300000, 1, 100)->task = "empty";
	reports_finish(p.reports, 300000, 0, 0);
	assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
	assert_int_equal(analysis_path_new(a, &path), 0);
	assert_int_equal(path->n_steps, 4); /* b, c and the two that took no time */
	assert_string_equal(path->steps[1].task->task, "c");
	assert_int_equal(path->steps[1].link, ANALYSIS_LINK_SLOT);
	assert_int_equal(path->steps[2].link, ANALYSIS_LINK_ORDER);
	analysis_path_free(path);
	analysis_free(a);
	reports_free(p.reports);
}

/*
 * sh runs "first | tee" (10 to 40 s), then make (50 to 90 s), in which cc (60 to 80 s) runs; beside them is a short one.
 * tee ends last, but waits for the first.
 */
static void test_path_of_processes(void **state)
{
	static const struct {
		const char *name;
		double seconds;
	} parts[] = { { "first", 30 }, { "sh", 30 }, { "cc", 20 }, { "make", 20 } };
	struct plan p = { reports_new("demo", "sh", 8), false, NULL };
	struct analysis_path *path = NULL;
	struct analysis *a = NULL;

	(void)state;
	reports_add(p.reports, 0, "sh", "sh", 0, 100000, 10);
	reports_add(p.reports, 0, "first", "first", 10000, 40000, 10);
	reports_add(p.reports, 0, "make", "make", 50000, 90000, 10);
	reports_add(p.reports, 2, "cc", "cc", 60000, 80000, 10);
	reports_add(p.reports, 0, "tee", "tee", 10000, 40001, 5);
	reports_add(p.reports, 0, "beside", "beside", 55000, 56000, 10);
	reports_finish(p.reports, 100000, 0, 0);
	assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
	assert_int_equal(analysis_path_new(a, &path), 0);
	assert_int_equal(path->n_steps, 0);
	assert_int_equal(path->n_parts, sizeof(parts) / sizeof(parts[0]));
	for (size_t i = 0; i < path->n_parts; i++) {
		assert_string_equal(path->parts[i].name, parts[i].name);
		assert_true(fabs(path->parts[i].seconds - parts[i].seconds) < 0.001);
	}
	analysis_path_free(path);
	analysis_free(a);
	reports_free(p.reports);
}

static void test_settings(void **state)
{
	static const struct analysis_setting high[] = { { "memory-over-request.note", 0.01 }, { "gate.wall", 2000 } };
	char near[ANALYSIS_SETTING_NAME];
	const struct finding *f;
	double shortest;
	struct plan p;
	struct analysis *a = analyse(&p, memory_over_request, false, high, 1);

	(void)state;
	assert_int_equal(analysis_findings(a, &f), 0);
	assert_false(analysis_too_short(a, &shortest));
	analysis_free(a);
	reports_free(p.reports);
	a = analyse(&p, memory_over_request, false, high + 1, 1);
	assert_int_equal(analysis_findings(a, &f), 0);
	assert_true(analysis_too_short(a, &shortest));
	assert_true(shortest > 1999);
	analysis_free(a);
	reports_free(p.reports);
	assert_true(analysis_setting_known("serial-path.cores", near));
	assert_true(analysis_setting_known("gate.share", near));
	assert_false(analysis_setting_known("gate.shore", near));
	assert_string_equal(near, "gate.share");
	assert_false(analysis_setting_known("", near));
}

/* What to ask for, by the number of executions: the margins shrink as they become more. */
static void test_sizes(void **state)
{
	static const struct {
		uint64_t n;
		double mib;
		enum finding_confidence confidence;
	} sizes[] = {
		{ 1, 960, FINDING_LOW },      /* 700 MiB and 30 %, rounded up */
		{ 6, 896, FINDING_MEDIUM },   /* and 20 % */
		{ 40, 832, FINDING_MEDIUM },  /* and 15 % */
		{ 80, 832, FINDING_HIGH },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct plan p = { reports_new("demo", "sh", 8), false, NULL };
		const struct analysis_group *const *groups;
		struct analysis *a = NULL;
		struct analysis_size size;

		for (uint64_t i = 0; i < sizes[k].n; i++)
			task(&p, i * 1000, i * 1000 + 900, 1.4, 700);
		reports_finish(p.reports, RUN_MS, 0, 0);
		assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
		assert_int_equal(analysis_groups(a, &groups), 1);
		size = analysis_size_memory(groups[0]);
		assert_int_equal(size.confidence, sizes[k].confidence);
		if (fabs(size.value / (double)MIB - sizes[k].mib) > 0.1)
			fail_msg("%u executions: %.0f MiB", (unsigned)sizes[k].n, size.value / (double)MIB);
		assert_true(fabs(analysis_size_cpus(groups[0]).value - 2) < 0.1);
		analysis_free(a);
		reports_free(p.reports);
	}
}

/*
 * Two threads work for a third of the time: the task needs both requested cores, although it uses one on average.
 * Without samples analysis cannot distinguish this from one thread that works all the time.
 */
static void test_threads(void **state)
{
	static const uint64_t cpu_ms[] = { 100, 9500, 19000 };

	(void)state;
	for (int sampled = 0; sampled < 2; sampled++) {
		struct plan p = { reports_new("demo", "sh", 8), false, NULL };
		const struct analysis_group *const *groups;
		const struct finding *f;
		struct analysis *a = NULL;

		task(&p, 0, 90000, 28600.0 * 3 / 90000, 700)->requested_cpus = 2;
		process_of(&p)->totals.threads = 2;
		for (uint64_t i = 0; i < (sampled ? 9 : 0); i++)
			reports_sample(p.reports, "tool", i * 10000, 10000, cpu_ms[i / 3]);
		reports_finish(p.reports, 90000, 0, 0);
		assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
		assert_int_equal(analysis_groups(a, &groups), 1);
		assert_true(fabs(groups[0]->busy_cores[0] - (sampled ? 1.9 : 0.953)) < 0.01);
		assert_int_equal(analysis_findings(a, &f), !sampled);
		analysis_free(a);
		reports_free(p.reports);
	}
}

/* For a third of the run one core is busy, and then eight: serial only if a task ran on the one. */
static void test_engine_start(void **state)
{
	(void)state;
	for (uint64_t start_s = 0; start_s <= 300; start_s += 300) {
		struct plan p = { reports_new("demo", "snakemake", 8), false, NULL };
		const struct finding *f;
		struct analysis *a = NULL;
		size_t n;

		for (uint64_t i = 0; i < 100; i++)
			reports_sample(p.reports, "tool", i * 10000, 10000, i < 30 ? 10000 : 80000);
		task(&p, start_s * 1000, RUN_MS, 7, 700)->requested_cpus = 8;
		reports_finish(p.reports, RUN_MS, 0, 0);
		assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
		n = analysis_findings(a, &f);
		if (n != (start_s == 0) || (n && strcmp(f->kind->id, "serial-path") != 0))
			fail_msg("a task from %u s on: %zu findings, %s", (unsigned)start_s, n, n ? f->evidence : "");
		analysis_free(a);
		reports_free(p.reports);
	}
}

/* A shell that its large parent forked held the parent's pages: that bound is not the shell's need. */
static void test_inherited(void **state)
{
	struct plan p = { reports_new("demo", "sh", 8), false, NULL };
	const struct analysis_group *const *groups;
	struct analysis *a = NULL;
	struct lake_process *q;

	(void)state;
	task(&p, 0, 100000, 1, 700);
	q = reports_add(p.reports, 0, "sh", "sh -c tool", 0, 100000, 1);
	q->task = p.reports->report.tasks[0].task;
	reports_kind(q)->task_id = p.reports->report.tasks[0].task_id;
	q->totals.rss_peak_bytes = 50000 * MIB;
	reports_kind(q)->approx = LAKE_APPROX_RSS_PEAK;
	p.reports->report.tasks[0].totals.rss_peak_bytes = 50000 * MIB;
	reports_finish(p.reports, 100000, 0, 0);
	assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
	assert_int_equal(analysis_groups(a, &groups), 1);
	assert_true(fabs(groups[0]->memory[0] / (double)MIB - 700) < 0.1);
	analysis_free(a);
	reports_free(p.reports);
}

/* Killed at 1,200 MiB: the next one gets a fifth more, though none of the others needed so much. */
static void test_censored(void **state)
{
	const struct analysis_group *const *groups;
	struct plan p;
	struct analysis *a = analyse(&p, memory_at_risk, false, NULL, 0);

	(void)state;
	assert_int_equal(analysis_groups(a, &groups), 1);
	assert_int_equal(groups[0]->n_oom, 1);
	assert_true(fabs(analysis_size_memory(groups[0]).value / (double)MIB - 1536) < 0.1); /* 1,440 rounded up */
	analysis_free(a);
	reports_free(p.reports);
}

/* A job's script that began a run: only the time to ask for is known. A later run sizes without it. */
static void test_no_size_around_a_run(void **state)
{
	static const struct execution before[] = {
		{ .wall_ms = 90000, .peak_mib = 3000, .input = MIB << 10 },
		{ .wall_ms = 90000, .peak_mib = 4, .input = MIB << 10, .killed = AROUND },
	};
	struct plan p = { reports_new("demo", "sh pipeline.sh", CPUS), false, NULL };
	const struct analysis_group *const *groups;
	struct lake_task *t;
	struct analysis *a = NULL;

	(void)state;
	earlier(&p, 1, before, 2);
	t = task(&p, 0, 900000, 0.01, 4);
	t->requested_cpus = 16;
	t->requested_memory_bytes = 16384 * MIB;
	t->inner_runs = 1;
	reports_finish(p.reports, RUN_MS, 0, 0);
	assert_int_equal(analysis_new_with(&p.reports->report, NULL, p.history, NULL, 0, &a), 0);
	assert_int_equal(analysis_groups(a, &groups), 1);
	assert_int_equal(groups[0]->n_shares, 1);
	assert_true(analysis_size_cpus(groups[0]).value <= 0 && analysis_size_memory(groups[0]).value <= 0);
	assert_true(fabs(analysis_size_walltime(groups[0]).value - 1080) < 0.1);
	analysis_free(a);
	t->inner_runs = 0;
	t->requested_memory_bytes = 0;
	assert_int_equal(analysis_new_with(&p.reports->report, NULL, p.history, NULL, 0, &a), 0);
	assert_int_equal(analysis_groups(a, &groups), 1);
	assert_int_equal(analysis_size_memory(groups[0]).n, 2);
	analysis_free(a);
	analysis_history_free(p.history);
	reports_free(p.reports);
}

/* The only execution failed with nearly as much as it asked for: no size is known, and none is advised. */
static void test_no_size(void **state)
{
	struct plan p = { reports_new("demo", "sh pipeline.sh", CPUS), false, NULL };
	struct lake_task *t = task(&p, 0, 90000, 1, 1150);
	struct analysis *a = NULL;
	const struct finding *f;
	size_t n, i = 0;

	(void)state;
	t->requested_memory_bytes = 1200 * MIB;
	t->exit_code = reports_kind(process_of(&p))->exit_code = 1;
	reports_finish(p.reports, RUN_MS, 0, 0);
	assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
	n = analysis_findings(a, &f);
	while (i < n && strcmp(f[i].kind->id, "memory-at-risk") != 0)
		i++;
	assert_true(i < n);
	assert_string_equal(f[i].advice, "ask for more memory; no execution ended well, so how much it needs is not known");
	analysis_free(a);
	reports_free(p.reports);
}

/*
 * A tenth of the executions needs eight times as much: where the engine tries again a small first attempt is cheaper.
 * Not where it does not, where all need about the same, or where few executions are known.
 */
static void test_first_attempt(void **state)
{
	static const struct {
		uint64_t n, large_mib;
		bool retried, cheaper;
	} plans_of[] = {
		{ 40, 4000, true, true }, { 40, 4000, false, false },
		{ 40, 520, true, false }, { 20, 4000, true, false },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(plans_of) / sizeof(plans_of[0]); k++) {
		struct plan p = { reports_new("demo", "sh", CPUS), false, NULL };
		const struct analysis_group *const *groups;
		const struct finding *f;
		struct analysis *a = NULL;

		for (uint64_t i = 0; i < plans_of[k].n; i++) {
			const uint64_t mib = i % 10 == 9 ? plans_of[k].large_mib : 500;
			struct lake_task *t = task(&p, i * 10000, i * 10000 + 9000, 1, mib);

			t->requested_memory_bytes = 16384 * MIB;
			t->attempt = 1 + (plans_of[k].retried && i == 9);
		}
		reports_finish(p.reports, RUN_MS, 0, 0);
		assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
		assert_int_equal(analysis_groups(a, &groups), 1);
		assert_true(groups[0]->ask_memory.value >= (double)(plans_of[k].large_mib * MIB));
		assert_int_equal(groups[0]->first_memory / (double)MIB, plans_of[k].cheaper ? 512 : 0);
		/* 4,000 and 15 %, rounded up to 4,608: 512 of all and 4,608 of a tenth is 21 % of it */
		assert_true(!plans_of[k].cheaper || fabs(groups[0]->first_saves - 0.789) < 0.001);
		assert_int_equal(analysis_findings(a, &f), 1);
		assert_int_equal(strstr(f->advice, "at the first attempt") != NULL, plans_of[k].cheaper);
		analysis_free(a);
		reports_free(p.reports);
	}
}

/* What a task is bound by, and that the shell that waits for its child does not count. */
static void test_bounds(void **state)
{
	static const struct {
		double cpu, queue, block;
		uint64_t net_mib;
		double memory, quota, gpu; /* of its cgroup, and of its GPU's time */
		enum analysis_bound bound;
	} causes[] = {
		{ 0.9, 0, 0, 0, 0, 0, 0, BOUND_CPU },
		{ 0.3, 0.6, 0, 0, 0, 0.1, 0, BOUND_QUEUE },
		{ 0.3, 0.6, 0, 0, 0, 0.5, 0, BOUND_QUOTA },
		{ 0.1, 0, 0.7, 0, 0.1, 0, 0, BOUND_DISK },
		{ 0.1, 0, 0.7, 0, 0.6, 0, 0, BOUND_MEMORY },
		{ 0.1, 0, 0, 0, 0, 0, 0, BOUND_WAITING },
		{ 0.1, 0, 0, 500, 0, 0, 0, BOUND_NETWORK },
		{ 0.9, 0, 0, 0, 0, 0, 0.7, BOUND_GPU },
		{ 0.9, 0, 0, 0, 0, 0, 0.2, BOUND_CPU },
		{ 0.4, 0.3, 0.3, 0, 0, 0, 0, BOUND_UNKNOWN },
		{ 0.9, 0, 700, 0, 0, 0, 0, BOUND_CPU }, /* waited for longer than it lived: counted from the boot on */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct plan p = { reports_new("demo", "sh", 8), false, NULL };
		const struct analysis_group *const *groups;
		struct analysis *a = NULL;
		struct lake_task *t = task(&p, 0, 100000, causes[i].cpu, 100);
		struct lake_process *leaf = process_of(&p), *shell;
		const char *id = t->task_id, *name = t->task;

		leaf->totals.run_delay_ns = (uint64_t)(causes[i].queue * 1e11);
		leaf->totals.block_delay_ns = (uint64_t)(causes[i].block * 1e11);
		t->totals.net_rx_bytes = causes[i].net_mib * MIB;
		for (uint64_t ms = 5000; ms <= 100000; ms += 5000) {
			struct lake_pressure *q = pressure(&p, ms, (uint64_t)(5000 * causes[i].memory));
			struct lake_progress *g = reports_progress(p.reports, leaf, ms - 5000, 5000);

			q->cgroup = leaf->kind->cgroup;
			q->throttled_ns = (uint64_t)(5e9 * causes[i].quota);
			g->gpu_known_ns = causes[i].gpu > 0 ? g->interval_ns : 0;
			g->gpu_busy_ns = (uint64_t)(5e9 * causes[i].gpu);
			g->gpu_devices = causes[i].gpu > 0;
		}
		shell = reports_add(p.reports, 0, "sh", "sh -c tool", 0, 100000, 1);
		reports_kind(shell)->task_id = id;
		shell->task = name;
		shell->start_ns--; /* a parent begins before its child */
		shell->parent_upid = "0123abcd-1-1";
		p.reports->report.processes[0].parent_upid = shell->upid;
		reports_finish(p.reports, 100000, 0, 0);
		assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
		assert_int_equal(analysis_groups(a, &groups), 1);
		if (groups[0]->bound != causes[i].bound)
			fail_msg("cause %zu: %s", i, analysis_bound_text(groups[0]->bound));
		analysis_free(a);
		reports_free(p.reports);
	}
}

/* 100 s alive, 95 s of them counted as waits for storage, and 12 s beyond: what its samples say decides. */
static void test_stale_waits(void **state)
{
	static const struct {
		double counted_s;
		uint64_t asleep, waiting; /* samples */
		double block_s;
	} waits[] = {
		{ 95, 20, 0, 0 }, { 95, 0, 20, 95 }, { 112, 0, 20, 99 }, { 112, 10, 10, 50 }, { 95, 0, 0, 95 },
		{ 112, 0, 0, 0 },
		{ 112, 2, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct plan p = { reports_new("demo", "sh", 8), false, NULL };
		const struct analysis_group *const *groups;
		struct analysis *a = NULL;

		task(&p, 0, 100000, 0.01, 100);
		process_of(&p)->totals.block_delay_ns = (uint64_t)(waits[i].counted_s * 1e9);
		process_of(&p)->totals.states[LAKE_SLEEPING] = waits[i].asleep;
		process_of(&p)->totals.states[LAKE_IOWAIT] = waits[i].waiting;
		reports_finish(p.reports, 100000, 0, 0);
		assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
		assert_int_equal(analysis_groups(a, &groups), 1);
		if (fabs(groups[0]->waits.block_s - waits[i].block_s) > 0.01)
			fail_msg("case %zu: %.2f s", i, groups[0]->waits.block_s);
		analysis_free(a);
		reports_free(p.reports);
	}
}

/* A wrapper runs a helper and then executes the program, which has no children: the program's time counts. */
static void test_leaves(void **state)
{
	struct plan p = { reports_new("demo", "sh", 8), false, NULL };
	const struct analysis_group *const *groups;
	struct analysis *a = NULL;
	struct lake_task *t = task(&p, 0, 100000, 0.01, 100);
	const char *id = t->task_id, *name = t->task;
	struct lake_process *q = reports_add(p.reports, 0, "helper", "helper", 1000, 2000, 10);

	(void)state;
	reports_kind(q)->task_id = id;
	q->task = name;
	q = reports_exec(p.reports, 0, "python3", "python3", 5000);
	reports_kind(q)->task_id = id;
	q->task = name;
	q->totals.cpu_ns = 90 * REPORTS_S;
	reports_finish(p.reports, 100000, 0, 0);
	assert_int_equal(analysis_new(&p.reports->report, NULL, 0, &a), 0);
	assert_int_equal(analysis_groups(a, &groups), 1);
	assert_int_equal(groups[0]->bound, BOUND_CPU);
	assert_true(fabs(groups[0]->waits.lifetime_s - 96) < 0.1); /* of the helper and the program */
	analysis_free(a);
	reports_free(p.reports);
}

/* A number from -1 to 1. */
static double noise(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (double)(*state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* Judges run n of a pipeline with n_tasks executions in each run, of which the fifth and later ones take `factor`. */
static size_t judge(uint64_t seed, size_t n, size_t n_tasks, double factor, bool reads_more, char *ret_evidence,
		    size_t size)
{
	struct plan p = { reports_new("demo", "sh pipeline.sh", CPUS), false, NULL };
	struct execution e[10][8] = { 0 };
	const struct finding *f;
	struct analysis *a = NULL;
	size_t found;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n_tasks; k++) {
			const double times = i >= 4 ? factor : 1;

			e[i][k].wall_ms = (uint64_t)(20000 * times * (1 + 0.05 * noise(&seed)));
			e[i][k].peak_mib = 100;
			e[i][k].input = (uint64_t)(1000000 * (reads_more ? times : 1));
		}
	for (size_t days = 1; days < n; days++)
		earlier(&p, days, e[n - 1 - days], n_tasks);
	executions(&p, e[n - 1], n_tasks);
	reports_finish(p.reports, RUN_MS, 0, 0);
	assert_int_equal(analysis_new_with(&p.reports->report, NULL, p.history, NULL, 0, &a), 0);
	found = analysis_findings(a, &f);
	snprintf(ret_evidence, size, "%s: %s", found ? f->kind->id : "", found ? f->evidence : "");
	analysis_free(a);
	plan_free(&p);
	return found;
}

/* A change of 30 % in the fifth of ten runs is found then and later, each time; noise of 5 % never is. */
static void test_regressions(void **state)
{
	static const struct {
		size_t run, tasks;
		double factor;
		bool reads_more;
		const char *says; /* NULL: nothing is found */
	} cases[] = {
		{ 5, 1, 1.3, false, "observed, not tested" },
		{ 5, 6, 1.3, false, "p < 0.0001" },
		{ 10, 1, 1.3, false, "since run run-5-days-ago" },
		{ 10, 6, 1.3, false, "since run run-5-days-ago" },
		{ 10, 6, 0.7, false, NULL },
		{ 10, 6, 1.3, true, NULL },
		{ 5, 6, 1.3, true, NULL },
		{ 10, 1, 1, false, NULL },
		{ 10, 6, 1, false, NULL },
		{ 5, 1, 1, false, NULL },
		{ 5, 6, 1, false, NULL },
		{ 2, 6, 1, false, NULL },
	};
	char evidence[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			const size_t n = judge(seed, cases[i].run, cases[i].tasks, cases[i].factor, cases[i].reads_more,
					       evidence, sizeof(evidence));

			if (n != (cases[i].says != NULL) || (cases[i].says && !strstr(evidence, cases[i].says)))
				fail_msg("case %zu, seed %u: %zu findings: %s", i, (unsigned)seed, n, evidence);
		}
}

/* What to ask for, from this run and earlier ones. */
static void test_sizes_of_runs(void **state)
{
	static const struct {
		const char *what;
		struct execution earlier[3], now;
		size_t n, runs;
		double mib;
	} cases[] = {
		/* the largest, 700 MiB, is of an earlier run; 4 executions: 30 % more, rounded up */
		{ "peaks", { { 1000, 700, 0, 0, false }, { 1000, 500, 0, 0, false }, { 1000, 500, 0, 0, false } },
		  { 1000, 600, 0, 0, false }, 4, 4, 960 },
		/* tests with a hundredth of the input do not count, a larger input does */
		{ "inputs", { { 1000, 20, 1 * MIB, 0, false }, { 1000, 700, 300 * MIB, 0, false },
			      { 1000, 20, 1 * MIB, 0, false } },
		  { 1000, 600, 100 * MIB, 0, false }, 2, 2, 960 },
		/* of files that hardly differ from none, the smaller ones count as well */
		{ "tiny inputs", { { 1000, 20, 1000, 0, false }, { 1000, 700, 2000, 0, false }, { 1000, 20, 1000, 0, false } },
		  { 1000, 600, 100000, 0, false }, 4, 4, 960 },
		/* killed at 800 MiB: it counts as these, and 30 % more, rounded up */
		{ "killed", { { 1000, 500, 0, 800, false }, { 1000, 790, 0, 800, true }, { 1000, 500, 0, 800, false } },
		  { 1000, 500, 0, 800, false }, 4, 4, 1280 },
		/* the same where the tasks went on without the killed process: each execution counts once */
		{ "killed, and went on", { { 1000, 790, 0, 800, 2 }, { 1000, 790, 0, 800, 2 },
					   { 1000, 790, 0, 800, 2 } },
		  { 1000, 790, 0, 800, 2 }, 4, 4, 1280 },
		/* the kernel killed an execution that had read little: the execution counts all the same */
		{ "killed early", { { 1000, 500, 300 * MIB, 800, false }, { 1000, 500, 300 * MIB, 800, false },
				    { 1000, 790, 1 * MIB, 800, true } },
		  { 1000, 500, 300 * MIB, 800, false }, 4, 4, 1280 },
		/* killed at 500 MiB, then enough: like others, 700 MiB and 30 % */
		{ "overcome", { { 1000, 700, 0, 800, false }, { 1000, 490, 0, 500, true }, { 1000, 400, 0, 500, false } },
		  { 1000, 650, 0, 800, false }, 4, 4, 960 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan p = { reports_new("demo", "sh pipeline.sh", CPUS), false, NULL };
		const struct analysis_group *const *groups;
		struct analysis *a = NULL;
		struct analysis_size size;

		for (uint64_t k = 0; k < 3; k++)
			earlier(&p, k + 1, &cases[i].earlier[k], 1);
		executions(&p, &cases[i].now, 1);
		reports_finish(p.reports, RUN_MS, 0, 0);
		assert_int_equal(analysis_new_with(&p.reports->report, NULL, p.history, NULL, 0, &a), 0);
		assert_int_equal(analysis_groups(a, &groups), 1);
		size = analysis_size_memory(groups[0]);
		if (fabs(size.value / (double)MIB - cases[i].mib) > 1 || size.n != cases[i].n ||
		    size.runs != cases[i].runs)
			fail_msg("%s: %.0f MiB from %zu executions in %zu runs", cases[i].what, size.value / (double)MIB, size.n,
				 size.runs);
		analysis_free(a);
		plan_free(&p);
	}
}

/* 100 MiB and 10 times the input: the size fits the largest input, with a small margin. */
static void test_size_by_input(void **state)
{
	struct plan p = { reports_new("demo", "sh pipeline.sh", CPUS), false, NULL };
	const struct analysis_group *const *groups;
	struct execution e[8] = { 0 };
	struct analysis *a = NULL;
	struct analysis_size size;
	uint64_t seed = 1;

	(void)state;
	for (uint64_t days = 0; days < 2; days++) {
		for (uint64_t i = 0; i < 8; i++) {
			const uint64_t mib = 10 + i * 10;

			e[i].wall_ms = 1000;
			e[i].peak_mib = 100 + 10 * mib + (uint64_t)(5 + 5 * noise(&seed));
			e[i].input = mib * MIB;
		}
		if (days == 0)
			executions(&p, e, 8);
		else
			earlier(&p, days, e, 8);
	}
	reports_finish(p.reports, RUN_MS, 0, 0);
	assert_int_equal(analysis_new_with(&p.reports->report, NULL, p.history, NULL, 0, &a), 0);
	assert_int_equal(analysis_groups(a, &groups), 1);
	size = analysis_size_memory(groups[0]);
	assert_int_equal(size.n, 16);
	assert_non_null(strstr(size.rule, "read as much"));
	assert_true(size.value >= 900 * (double)MIB && size.value <= 960 * (double)MIB); /* 1,080 with 20 % more */
	analysis_free(a);
	plan_free(&p);
}

/* An empty report, and the situations that the tests of reports use: no crash, no number that is none. */
/* Every threshold of every kind, and the gates, at that value. */
static size_t set_all(double value, struct analysis_setting *to, char (*names)[ANALYSIS_SETTING_NAME], size_t room)
{
	static const char *const gates[] = { "gate.wall", "gate.core_hours", "gate.share" };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++)
		to[n++] = (struct analysis_setting){ gates[i], 0 };
	for (const struct finding_kind *const *k = analysis_kinds; *k; k++)
		for (size_t i = 0; i < FINDING_THRESHOLDS && (*k)->thresholds[i].name; i++) {
			assert_true(n < room);
			snprintf(names[n], sizeof(names[n]), "%s.%s", (*k)->id, (*k)->thresholds[i].name);
			to[n] = (struct analysis_setting){ names[n], value };
			n++;
		}
	return n;
}

static void is_sound(const struct finding *f)
{
	const struct finding_saving *s = &f->saving;
	const double figures[] = { s->core_s, s->byte_s, s->cpu_s, s->wall_s, s->gpu_s };

	assert_true(isfinite(f->value));
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		assert_true(isfinite(figures[i]) && figures[i] >= 0);
	assert_null(strstr(f->evidence, "nan"));
	assert_null(strstr(f->evidence, "inf "));
}

/* Any report: first with thresholds that let everything through, then with others that let nothing through. */
static void any_report(double threshold)
{
	static struct analysis_setting settings[256];
	static char names[256][ANALYSIS_SETTING_NAME];
	size_t n_settings = set_all(threshold, settings, names, 256);

	if (threshold < 0)
		n_settings = 3; /* the gates alone */
	for (const char *const *s = reports_situations; *s; s++) {
		struct reports *r = reports_situation(*s);
		struct analysis_path *path = NULL;
		const struct finding *f;
		struct analysis *a = NULL;

		assert_int_equal(analysis_new(&r->report, settings, n_settings, &a), 0);
		for (size_t i = 0, n = analysis_findings(a, &f); i < n; i++)
			is_sound(&f[i]);
		assert_int_equal(analysis_path_new(a, &path), 0);
		for (size_t i = 0; i < path->n_parts; i++)
			assert_true(path->parts[i].seconds >= 0 && path->parts[i].saving_s >= 0);
		analysis_path_free(path);
		analysis_free(a);
		reports_free(r);
	}
}

static void test_any_report(void **state)
{
	(void)state;
	any_report(-1); /* the defaults */
	any_report(0);
	any_report(1e-9);
	any_report(1e18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted),  cmocka_unit_test(test_guards), cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_lost),     cmocka_unit_test(test_first_attempt),
		cmocka_unit_test(test_settings), cmocka_unit_test(test_sizes),  cmocka_unit_test(test_censored),
		cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_other_ways),
		cmocka_unit_test(test_path_of_tasks),
		cmocka_unit_test(test_path_of_slots),
		cmocka_unit_test(test_path_of_processes),
		cmocka_unit_test(test_engine_start),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_stale_waits),
		cmocka_unit_test(test_bounds),   cmocka_unit_test(test_any_report),
		cmocka_unit_test(test_regressions), cmocka_unit_test(test_sizes_of_runs),
		cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_no_size_around_a_run),
		cmocka_unit_test(test_size_by_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
