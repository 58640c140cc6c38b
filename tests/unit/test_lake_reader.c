/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/: reports from a lake that the sink wrote, beside a live writer, on read-only media, and from a folder that is
 * no lake.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/report/report.h"
#include "lake/claims.h"
#include "lake/copy.h"
#include "lake/lake.h"
#include "lake/status.h"
#include "lake/usage.h"
#include "tests/unit/folder.h"
#include "tests/unit/lake_records.h"
#include "tests/unit/usage_records.h"

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

static char folder[] = "/tmp/test_lake_reader.XXXXXX";
static char path[256]; /* of the present test's lake */
static unsigned lakes;
static char why[1024];

static int set_up_all(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/lake%u", folder, ++lakes);
	why[0] = '\0';
	return 0;
}

static void begin(struct skep_mock *m)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->inline_work = true;
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "path", path), 0);
	assert_int_equal(skep_mock_option(m, "min_free", "0"), 0); /* the disk of the test may be full */
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

static void send(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned acks = m->acks;

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	if (m->acks != acks + 1)
		fail_msg("not acknowledged: %s", m->why);
	skep_mock_batch_free(b);
}

static struct lake_report *report(const char *which)
{
	struct lake_report *r = NULL;
	struct lake *l = NULL;

	if (lake_open(path, &l, why, sizeof(why)) != 0 || lake_report(l, which, &r, why, sizeof(why)) != 0)
		fail_msg("report of %s: %s", which, why);
	lake_close(l);
	return r;
}

static int report_error(const char *which)
{
	struct lake_report *r = NULL;
	struct lake *l = NULL;
	int err;

	why[0] = '\0';
	err = lake_open(path, &l, why, sizeof(why));
	if (!err)
		err = lake_report(l, which, &r, why, sizeof(why));
	assert_null(r);
	lake_close(l);
	assert_true(!err || why[0]);
	return err;
}

/* One image: seconds relative to 1,000 s of boot time. */
static void add(struct skep_mock_batch *b, uint32_t pid, uint64_t image, const char *tool, double from, double to,
		uint64_t cpu_ms, void (*change)(struct record_process *))
{
	struct record_process p;

	records_process(pid, "run-a", &p);
	p.upid = (struct skep_upid){ .start_ns = 1000 * SECOND + pid, .pid = pid };
	p.pid = pid;
	p.image = image;
	p.tool = skep_mock_text(tool);
	p.start_ns = 1000 * SECOND + (uint64_t)(from * 1e9);
	p.end_ns = to < 0 ? 0 : 1000 * SECOND + (uint64_t)(to * 1e9);
	p.exit_code = 0;
	p.cpu_ns = cpu_ms * 1000000;
	p.rss_peak_bytes = pid << 20;
	p.threads_peak = pid % 10;
	if (change)
		change(&p);
	skep_mock_batch_add(b, &record_stream_process, &p.upid, p.end_ns ? p.end_ns : p.start_ns, &p, NULL);
}

static void is_wrapper(struct record_process *p)
{
	p->wrapper = 1;
	p->exit_code = 1;
}

static void is_replaced_fork(struct record_process *p)
{
	p->execed = 0;
	p->last = 0;
	p->exit_code = -1;
	p->state = skep_mock_text("replaced");
}

static void is_fork(struct record_process *p)
{
	p->execed = 0;
}

static void is_killed(struct record_process *p)
{
	p->exit_code = -1;
	p->signal = 9;
	p->oom_killed = 1;
	p->oom_limit_bytes = 123;
	p->oom_cgroup = skep_mock_text("/job");
	p->container_name = skep_mock_text("bwa");
	p->container_image = skep_mock_text("localhost/bwa:1");
	p->pod = skep_mock_text("align-7x2");
	p->argv.total = 70000;
}

static void is_running(struct record_process *p)
{
	p->exit_code = -1;
	p->state = skep_mock_text("running");
}

static void add_sample(struct skep_mock_batch *b, const char *tool, uint64_t at, uint64_t cpu_ms)
{
	struct record_tool_sample s = {
		.run = skep_mock_text("run-a"),
		.tool = skep_mock_text(tool),
		.start_ns = at * SECOND,
		.interval_ns = SECOND / 2,
		.cpu_ns = cpu_ms * 1000000,
		.rss_bytes = 99,
		.processes = 2,
		.started = 1,
	};

	skep_mock_batch_add(b, &record_stream_tool_sample, NULL, at * SECOND, &s, NULL);
}

static void add_loss(struct skep_mock_batch *b, uint64_t at, uint64_t n)
{
	struct record_loss l = { .instance = skep_mock_text("proc"),
			      .stream = skep_mock_text("process.exit"),
			      .where = skep_mock_text("kernel"),
			      .count = n };

	skep_mock_batch_add(b, &record_stream_loss, NULL, at, &l, NULL);
}

static const struct lake_tool *tool_of(const struct lake_report *r, const char *name)
{
	for (size_t i = 0; i < r->n_tools; i++)
		if (strcmp(r->tools[i].tool, name) == 0)
			return &r->tools[i];
	fail_msg("no tool %s", name);
	return NULL;
}

#define MS INT64_C(1000000)

static void test_report(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	const struct lake_process *p;
	const struct lake_tool *t;
	struct lake_report *r;
	struct record_run run;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("run-a", "running", 1000 * SECOND, &run);
	records_add_run(b, &run);
	add(b, 201, 1, "sort", 5, 7, 1000, NULL);
	add(b, 200, 1, "sort", 1, 3, 3000, NULL); /* 1..4 and 5..7: five seconds, in a sum of six */
	add(b, 202, 1, "sort", 2, 4, 1000, is_killed);
	add(b, 203, 1, "sort", 0.5, 7.5, 0, is_wrapper); /* time sort */
	add(b, 204, 0, "bash", 0, 0.001, 1, is_replaced_fork);
	add(b, 204, 1, "bash", 0.001, 10, 10, NULL);
	add(b, 205, 0, "worker", 1, 2, 500, is_fork);
	add(b, 206, 0, "worker", 1, 3, 500, is_fork);
	add(b, 207, 1, "tail", 2, -1, 1, is_running);
	add_sample(b, "sort", 1003, 1750); /* 3.5 cores */
	add_sample(b, "sort", 1002, 100);
	add_loss(b, 1001 * SECOND, 2);
	add_loss(b, 1002 * SECOND, 3);
	add_loss(b, 10 * SECOND, 100); /* before the run */
	records_run("run-a", "ended", 1000 * SECOND, &run);
	run.end_ns = 1010 * SECOND;
	records_add_run(b, &run);
	send(&m, b);
	r = report("run-a"); /* while the writer has the lake open */
	assert_int_equal(skep_mock_end(&m), 0);
	assert_string_equal(r->run.id, "run-a");
	assert_string_equal(r->run.state, "ended");
	assert_string_equal(r->run.host, "node7");
	assert_string_equal(r->run.root_upid, "01234567-999-e8d4a51000");
	assert_string_equal(r->run.argv[0], "snakemake");
	assert_string_equal(r->run.argv[2], "8");
	assert_null(r->run.argv[3]);
	assert_int_equal(r->run.start_ns, RECORDS_OFFSET + (int64_t)(1000 * SECOND));
	assert_int_equal(r->run.end_ns - r->run.start_ns, 10 * SECOND);
	assert_int_equal(r->run.cpus, 16);
	assert_int_equal(r->run.rusage_cpu_ns, 77 * SECOND);
	assert_int_equal(r->run.failures, 2);
	assert_int_equal(r->run.totals.processes, 8);
	assert_int_equal(r->run.totals.images, 8); /* nine rows; a fork that executed a program is not an image */
	assert_int_equal(r->run.totals.cpu_ns, 6012 * MS);
	assert_int_equal(r->run.memory_peak_bytes, UINT64_C(5) << 30);
	assert_string_equal(r->run.memory_source, "pss");
	assert_int_equal(r->n_processes, 9);
	for (size_t i = 1; i < r->n_processes; i++)
		assert_true(r->processes[i - 1].start_ns <= r->processes[i].start_ns);
	p = &r->processes[0];
	assert_int_equal(p->pid, 204);
	assert_false(p->kind->execed);
	assert_string_equal(p->kind->state, "replaced");
	assert_string_equal(p->upid, "01234567-204-e8d4a510cc");
	assert_string_equal(p->parent_upid, "01234567-999-e8990a4600");
	assert_string_equal(r->tools[0].tool, "sort"); /* most CPU */
	t = tool_of(r, "sort");
	assert_int_equal(t->calls, 3);
	assert_int_equal(t->failures, 1);
	assert_int_equal(t->wall_ns, 7000 * MS); /* the wrapper ran all the time */
	assert_int_equal(t->wall_sum_ns, 6000 * MS);
	assert_int_equal(t->longest_ns, 2000 * MS);
	assert_int_equal(t->totals.cpu_ns, 5000 * MS);
	assert_int_equal(t->totals.processes, 4);
	assert_int_equal(t->totals.rss_peak_bytes, 203 << 20);
	assert_int_equal(t->totals.threads, 3);
	assert_true(fabs(t->cores_avg - 5.0 / 7) < 1e-9);
	assert_true(fabs(t->cores_peak - 3.5) < 1e-9);
	assert_int_equal(t->last_end_ns - t->first_start_ns, 7000 * MS);
	t = tool_of(r, "worker");
	assert_int_equal(t->calls, 2);
	assert_int_equal(t->wall_ns, 2000 * MS);       /* 1..2 within 1..3 */
	assert_true(fabs(t->cores_peak - 0.5) < 1e-9); /* no sample: at least the average */
	t = tool_of(r, "bash");
	assert_int_equal(t->calls, 1);
	assert_int_equal(t->totals.processes, 1);
	t = tool_of(r, "tail"); /* ran when the run ended */
	assert_int_equal(t->wall_ns, 8000 * MS);
	for (size_t i = 0; i < r->n_processes; i++) {
		p = &r->processes[i];
		if (p->pid != 202)
			continue;
		assert_true(p->kind->oom_killed && p->argv_cut && p->kind->execed);
		assert_true(!p->kind->wrapper && p->kind->last);
		assert_int_equal(p->kind->signal, 9);
		assert_int_equal(p->kind->exit_code, -1);
		assert_int_equal(p->kind->oom_limit_bytes, 123);
		assert_string_equal(p->kind->oom_cgroup, "/job");
		assert_string_equal(p->argv[1], "--threads");
		assert_int_equal(p->kind->uid, 1000);
		assert_string_equal(p->kind->container, "");
		assert_string_equal(p->in->container_name, "bwa");
		assert_string_equal(p->in->container_image, "localhost/bwa:1");
		assert_string_equal(p->in->pod, "align-7x2");
		assert_null(p->in->name_space);
	}
	assert_int_equal(r->n_samples, 2);
	assert_true(r->samples[0].start_ns < r->samples[1].start_ns);
	assert_int_equal(r->samples[1].cpu_ns, 1750 * MS);
	assert_string_equal(r->samples[1].tool, "sort");
	assert_int_equal(r->n_losses, 1);
	assert_int_equal(r->losses[0].count, 5);
	assert_string_equal(r->losses[0].where, "kernel");
	lake_report_free(r);
}

static void run_sql(const char *file, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static char *json_of(const struct lake_report *r)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_json_print(r, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void unusual(uint64_t i, struct record_process *p)
{
	switch (i % 20) {
	case 1:
		p->start_ns = 0;
		break;
	case 2:
		p->end_ns = 0;
		break;
	case 3:
		p->argv.total += 9;
		break;
	case 4:
		p->argv = (struct skep_str){ 0 };
		break;
	case 5:
		p->parent_upid = (struct skep_upid){ 0 };
		break;
	case 6:
		p->cpu_ns = p->maxrss_bytes = p->run_count = INT64_MAX;
		break;
	case 7:
		p->upid.start_ns += 5;
		p->user_ns = 1;
		p->end_ns = p->start_ns - 7;
		break;
	case 8:
		p->exit_code = -1;
		p->signal = 9;
		p->oom_killed = 1;
		p->oom_limit_bytes = 1 << 20;
		break;
	default:
		p->argv = SKEP_MOCK_STRV("the\0same");
	}
}

/* The sums of run-a in the list of runs. */
static void assert_listed(const struct lake_totals *want)
{
	const struct lake_totals *got = NULL;
	struct lake_runs *list = NULL;
	struct lake *l = NULL;
	char why[300];

	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	assert_int_equal(lake_runs(l, NULL, &list, why, sizeof(why)), 0);
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->runs[i].id, "run-a") == 0)
			got = &list->runs[i].totals;
	assert_non_null(got);
	assert_int_equal(got->processes, want->processes);
	assert_int_equal(got->images, want->images);
	assert_int_equal(got->run_delay_ns, want->run_delay_ns);
	assert_int_equal(got->rchar_bytes, want->rchar_bytes);
	assert_int_equal(got->write_bytes, want->write_bytes);
	assert_int_equal(got->rss_peak_bytes, want->rss_peak_bytes);
	lake_runs_free(list);
	lake_close(l);
}

/* Tasks with and without a record of their own. */
static void test_tasks(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	const struct lake_task *found;
	struct lake_report *r;
	struct record_run run;
	struct record_process p;
	struct record_task t;
	struct skep_mock m;
	size_t n_aligned = 0, n_outlived = 0;

	(void)state;
	begin(&m);
	records_run("run-a", "running", 1000 * SECOND, &run);
	run.engine = skep_mock_text("snakemake");
	run.origin = skep_mock_text("workflow");
	run.parent_run = skep_mock_text("outer");
	records_add_run(b, &run);
	for (uint64_t i = 0; i < 3 * 7; i++) { /* seven processes a task */
		records_process(i, "run-a", &p);
		p.cpu_ns = 4 * SECOND;
		p.exit_code = i == 8;
		p.end_ns = i == 3 ? 1011 * SECOND : i == 4 ? 0 : p.end_ns;
		records_add_process(b, &p);
	}
	records_task(1, "run-a", &t);
	t.attempt = 2;
	t.exit_code = 1;
	records_add_task(b, &t);
	records_task(0, "run-a", &t);
	t.task = skep_mock_text("align"); /* its name came late: its processes have another one */
	records_add_task(b, &t);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	r = report("run-a");
	assert_string_equal(r->run.engine, "snakemake");
	assert_string_equal(r->run.origin, "workflow");
	assert_string_equal(r->run.parent_run, "outer");
	assert_int_equal(r->n_tasks, 3);
	found = &r->tasks[0];
	assert_string_equal(found->task, "align");
	assert_string_equal(found->task_id, "500-e8d4a51000.1");
	assert_string_equal(found->engine, "snakemake");
	assert_string_equal(found->sample, "sample=a");
	assert_string_equal(found->job, "4711");
	assert_string_equal(found->name_source, "argv");
	assert_string_equal(found->scopes, "cron > snakemake");
	assert_string_equal(found->requested_source, "environ");
	assert_true(fabs(found->requested_cpus - 2.5) < 1e-9);
	assert_int_equal(found->requested_memory_bytes, UINT64_C(4) << 30);
	assert_int_equal(found->requested_walltime_ns, 3600 * SECOND);
	assert_int_equal(found->requested_gpus, 1);
	assert_string_equal(found->granted_source, "job");
	assert_true(fabs(found->granted_cpus - 3.5) < 1e-9);
	assert_int_equal(found->granted_memory_bytes, UINT64_C(5) << 30);
	assert_int_equal(found->granted_gpus, 2);
	assert_int_equal(found->inner_runs, 2);
	assert_int_equal(found->end_ns - found->start_ns, 10 * SECOND);
	assert_int_equal(found->totals.cpu_ns, 28 * SECOND); /* more than its record says: a process outlived it */
	assert_int_equal(found->totals.processes, 7);
	assert_int_equal(found->totals.rss_peak_bytes, UINT64_C(3) << 30);
	assert_int_equal(found->failures, 0);
	for (size_t i = 0; i < r->n_processes; i++)
		if (strcmp(r->processes[i].kind->task_id, found->task_id) == 0)
			n_aligned += strcmp(r->processes[i].task, "align") == 0; /* as its task's record has it */
	assert_int_equal(n_aligned, 7);
	for (size_t i = 0; i < r->n_processes; i++)
		n_outlived += r->processes[i].outlived;
	assert_int_equal(n_outlived, 2); /* one ended after its task, one still runs */
	found = &r->tasks[2]; /* begins a second after task 0 */
	assert_string_equal(found->task, "align_sample_01");
	assert_int_equal(found->attempt, 2);
	assert_int_equal(found->exit_code, 1);
	assert_int_equal(found->failures, 1);
	found = &r->tasks[1]; /* no record yet: what its processes say */
	assert_string_equal(found->task, "align_sample_02");
	assert_string_equal(found->state, "");
	assert_int_equal(found->exit_code, -1);
	assert_int_equal(found->totals.cpu_ns, 28 * SECOND);
	assert_int_equal(found->totals.images, 7);
	assert_memory_equal(found->scopes, "cron > snakemake", 16);
	lake_report_free(r);
}

/* The ids that a query finds, newest first. */
static const char *found(const struct lake_runs_query *q)
{
	static char ids[256];
	struct lake_runs *runs = NULL;
	struct lake *l = NULL;

	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	if (lake_runs(l, q, &runs, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	ids[0] = '\0';
	for (size_t i = 0; i < runs->n; i++)
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s ", runs->runs[i].id);
	lake_runs_free(runs);
	lake_close(l);
	return ids;
}

#define FOUND(...) found(&(struct lake_runs_query){ __VA_ARGS__ })

static void test_filters(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	const uint64_t root = 0, ann = 1000;
	struct record_run run;
	struct record_task t;
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (unsigned i = 0; i < 6; i++) {
		static const char *const ids[] = { "r0", "r1", "r2", "r3", "r4", "r5" };

		records_run(ids[i], i == 5 ? "running" : "ended", (1000 + i) * SECOND, &run);
		run.origin = skep_mock_text(i < 2 ? "session" : "workflow");
		run.engine = skep_mock_text(i < 2 ? "" : i % 2 ? "make" : "snakemake");
		run.parent_run = skep_mock_text(i == 2 ? "r1" : "");
		run.pipeline = skep_mock_text(i == 4 ? "other" : "variants");
		run.uid = i == 3 ? 0 : 1000;
		run.host = skep_mock_text(i == 2 ? "node2" : "node7");
		run.job = skep_mock_text(i == 4 ? "4712" : "");
		run.exit_code = i == 4 ? 1 : i == 5 ? -1 : 0;
		records_add_run(b, &run);
	}
	records_task(1, "r3", &t);
	records_add_task(b, &t);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_string_equal(FOUND(0), "r5 r4 r3 r2 r0 "); /* without r1: a session in which r2 began */
	assert_string_equal(FOUND(.sessions = true), "r5 r4 r3 r2 r1 r0 ");
	assert_string_equal(FOUND(.engine = "snakemake"), "r4 r2 ");
	assert_string_equal(FOUND(.engine = "snakemake", .limit = 1), "r4 ");
	assert_string_equal(FOUND(.pipeline = "other"), "r4 ");
	assert_string_equal(FOUND(.pipeline = "variants", .limit = 2, .engine = "make"), "r5 r3 ");
	assert_string_equal(FOUND(.uid = &root), "r3 ");
	assert_string_equal(FOUND(.uid = &ann, .outcome = LAKE_OK), "r2 r0 ");
	assert_string_equal(FOUND(.outcome = LAKE_RUNS), "r5 ");
	assert_string_equal(FOUND(.outcome = LAKE_FAILED), "r4 ");
	assert_string_equal(FOUND(.job = "4711"), "r3 ");
	assert_string_equal(FOUND(.job = "4712"), "r4 ");
	assert_string_equal(FOUND(.host = "node2"), "r2 ");
	assert_string_equal(FOUND(.host = "node7", .limit = 1, .outcome = LAKE_OK), "r3 ");
	assert_string_equal(FOUND(.since_ns = RECORDS_OFFSET + 1003 * SECOND), "r5 r4 r3 ");
	assert_string_equal(FOUND(.since_ns = RECORDS_OFFSET + 1003 * SECOND,
				  .until_ns = RECORDS_OFFSET + 1005 * SECOND),
			    "r4 r3 ");
	assert_string_equal(FOUND(.engine = "none"), "");
}

/* Of a shell's jobs the list has those that used a second of CPU time and began no other job, and "last" is no other. */
static void test_jobs_of_a_shell(void **state)
{
	static const struct {
		const char *id, *parent, *state;
		uint64_t cpu_ns, start_ns;
	} all[] = {
		{ "script", "", "ended", SECOND, 1000 * SECOND },
		{ "sudo", "", "ended", SECOND, 1001 * SECOND },
		{ "below", "sudo", "ended", SECOND, 1002 * SECOND },
		{ "ls", "", "ended", SECOND - 1, 1003 * SECOND },
		{ "waits", "", "running", 0, 1004 * SECOND },
		{ "show", "", "running", 0, 0 }, /* just now */
	};
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct lake_report *r;
	struct record_process p;
	struct record_run run;
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (unsigned i = 0; i < 6; i++) {
		uint64_t start_ns = all[i].start_ns;

		if (!start_ns)
			start_ns = (uint64_t)time(NULL) * SECOND - RECORDS_OFFSET;
		records_run(all[i].id, all[i].state, start_ns, &run);
		run.origin = skep_mock_text("shell");
		run.engine = skep_mock_text("");
		run.parent_run = skep_mock_text(all[i].parent);
		records_add_run(b, &run);
		records_process(i, all[i].id, &p);
		p.cpu_ns = all[i].cpu_ns;
		records_add_process(b, &p);
	}
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_string_equal(FOUND(0), "waits below script ");
	assert_string_equal(FOUND(.sessions = true), "show waits ls below sudo script ");
	r = report("last");
	assert_string_equal(r->run.id, "below");
	lake_report_free(r);
}

#define DAY (86400 * SECOND)

static void test_runs_and_names(void **state)
{
	static const struct {
		const char *id, *name;
		uint64_t start;
	} all[] = {
		{ "20261110T01-aaa", "nightly", 1 * DAY },
		{ "20261110T01-abb", "weekly", 2 * DAY },
		{ "20261212T00-ccc", "nightly", 33 * DAY },
		{ "20270101T00-ddd", "20261110T01", 53 * DAY }, /* named like the beginning of ids */
	};
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct lake_runs *runs = NULL;
	struct lake_report *r;
	struct lake *l = NULL;
	struct record_process p;
	struct record_run run;
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (size_t i = 0; i < 4; i++) {
		records_run(all[i].id, "ended", all[i].start, &run);
		run.name = skep_mock_text(all[i].name);
		records_add_run(b, &run);
	}
	for (uint64_t i = 0; i < 100; i++) {
		records_process(i, all[2].id, &p);
		records_add_process(b, &p);
	}
	/* a loss in the month after the run began, during the run */
	records_run("over", "ended", 10 * DAY, &run);
	run.end_ns = 30 * DAY;
	records_add_run(b, &run);
	add_loss(b, 11 * DAY, 1);
	add_loss(b, 25 * DAY, 10); /* December */
	add_loss(b, 31 * DAY, 100);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	assert_int_equal(lake_runs(l, NULL, &runs, why, sizeof(why)), 0);
	assert_int_equal(runs->n, 5);
	assert_string_equal(runs->runs[0].id, all[3].id);
	assert_string_equal(runs->runs[1].id, all[2].id);
	assert_string_equal(runs->runs[2].id, "over");
	assert_string_equal(runs->runs[4].id, all[0].id);
	assert_int_equal(runs->runs[1].totals.processes, 100);
	assert_int_equal(runs->runs[1].totals.images, 100);
	assert_int_equal(runs->runs[1].failures, 2); /* numbers 0 and 97 */
	r = report(all[2].id);
	assert_int_equal(runs->runs[1].totals.cpu_ns, r->run.totals.cpu_ns);
	assert_int_equal(runs->runs[1].totals.read_bytes, r->run.totals.read_bytes);
	assert_int_equal(runs->runs[1].totals.write_bytes, r->run.totals.write_bytes);
	assert_int_equal(runs->runs[1].failures, r->run.failures);
	lake_report_free(r);
	runs = lake_runs_free(runs);
	assert_int_equal(lake_runs(l, &(struct lake_runs_query){ .limit = 2 }, &runs, why, sizeof(why)), 0);
	assert_int_equal(runs->n, 2);
	lake_runs_free(runs);
	lake_close(l);
	static const char *const means[][2] = {
		{ "last", "20270101T00-ddd" },     { "nightly", "20261212T00-ccc" },
		{ "20261212", "20261212T00-ccc" }, { "20261110T01-aaa", "20261110T01-aaa" },
		{ "20261110T01-a", NULL },         { "20261110T01", "20270101T00-ddd" },
		{ "weekly", "20261110T01-abb" },
	};
	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		if (!means[i][1]) {
			assert_int_equal(report_error(means[i][0]), -EEXIST);
			assert_non_null(strstr(why, "20261110T01-aaa"));
			assert_non_null(strstr(why, "20261110T01-abb"));
			continue;
		}
		r = report(means[i][0]);
		assert_string_equal(r->run.id, means[i][1]);
		lake_report_free(r);
	}
	assert_int_equal(report_error("nothing%"), -ENOENT);
	assert_int_equal(report_error(""), -ENOENT);
	r = report("over");
	assert_int_equal(r->n_losses, 1);
	assert_int_equal(r->losses[0].count, 11);
	assert_int_equal(r->n_processes, 0);
	assert_int_equal(r->n_tools, 0);
	lake_report_free(r);
}

/* A session and a shell's job of November in which a run of December began are not listed, nor counted by a limit. */
static void test_parents_of_months(void **state)
{
	static const struct {
		const char *id, *origin, *parent;
		uint64_t start;
	} all[] = {
		{ "old", "command", "", 1 * DAY },
		{ "session", "session", "", 20 * DAY },
		{ "sudo", "shell", "", 20 * DAY + SECOND },
		{ "make", "shell", "", 20 * DAY + 2 * SECOND }, /* a workflow in it hides no job */
		{ "alone", "session", "", 20 * DAY + 3 * SECOND },
		{ "below", "command", "session", 22 * DAY },
		{ "in-sudo", "command", "sudo", 23 * DAY },
		{ "flow", "workflow", "make", 24 * DAY },
		{ "new", "command", "", 60 * DAY },
	};
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct record_run run;
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		records_run(all[i].id, "ended", all[i].start, &run);
		run.origin = skep_mock_text(all[i].origin);
		run.parent_run = skep_mock_text(all[i].parent);
		records_add_run(b, &run);
		records_process(i, all[i].id, &p);
		p.cpu_ns = SECOND;
		records_add_process(b, &p);
	}
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_string_equal(FOUND(0), "new flow in-sudo below alone make old ");
	assert_string_equal(FOUND(.limit = 6), "new flow in-sudo below alone make ");
	assert_string_equal(FOUND(.limit = 7), "new flow in-sudo below alone make old ");
	assert_string_equal(FOUND(.sessions = true), "new flow in-sudo below alone make sudo session old ");
}

struct with_facets {
	struct record_process p;
	uint64_t net_rx;
	double gpu;
	uint64_t rx_bytes, runnable;
};

static const struct skep_field fields_with_facets[] = {
	SKEP_FIELD(struct with_facets, p.run, "run", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct with_facets, p.tool, "tool", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
	SKEP_FIELD(struct with_facets, net_rx, "net.bytes.rx", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
	SKEP_FIELD(struct with_facets, gpu, "gpu.use.busy", SKEP_T_F64, SKEP_S_GAUGE, "1", ""),
	SKEP_FIELD(struct with_facets, rx_bytes, "net.rx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
	SKEP_FIELD(struct with_facets, runnable, "sched.runnable", SKEP_T_U64, SKEP_S_DELTA, "{sample}", ""),
	SKEP_FIELD(struct with_facets, p.comm, "site.label", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
};
static const struct skep_stream stream_with_facets = {
	.size = sizeof(stream_with_facets),
	.field_size = sizeof(fields_with_facets[0]),
	.name = "process.exit",
	.record_size = sizeof(struct with_facets),
	.n_fields = sizeof(fields_with_facets) / sizeof(fields_with_facets[0]),
	.fields = fields_with_facets,
};

static void test_facets(void **state)
{
	struct with_facets w = { .net_rx = 4096, .gpu = 0.75 };
	struct record_ledger line = { .account = skep_mock_text("net.rx"),
				      .item = skep_mock_text("tcp"),
				      .kind = skep_mock_text("part"),
				      .amount = -5,
				      .interval_ns = 7 };
	struct skep_context in_run = { .size = sizeof(in_run) };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct skep_upid upid = { .start_ns = 9, .pid = 8 };
	const struct lake_process *p;
	struct lake_report *r;
	struct skep_mock m;

	(void)state;
	begin(&m);
	w.p.run = skep_mock_text("f");
	w.p.tool = skep_mock_text("train.py");
	w.p.comm = skep_mock_text("blue");
	skep_mock_batch_add(b, &stream_with_facets, &upid, SECOND, &w, NULL);
	w.net_rx = 0;
	w.gpu = 0;
	skep_mock_batch_add(b, &stream_with_facets, &upid, SECOND, &w, NULL);
	w.p.run = skep_mock_text("counted");
	w.rx_bytes = 77;
	w.runnable = 3;
	skep_mock_batch_add(b, &stream_with_facets, &upid, SECOND, &w, NULL);
	in_run.run = line.run = skep_mock_text("counted");
	skep_mock_batch_add(b, &record_stream_ledger, NULL, SECOND, &line, &in_run);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	r = report("f");
	assert_string_equal(r->run.state, ""); /* the lake has no record of the run itself */
	assert_int_equal(r->n_processes, 2);
	assert_int_equal(r->run.totals.processes, 1);
	p = &r->processes[0];
	assert_int_equal(p->n_facets, 2); /* numbers */
	for (size_t i = 0; i < 2; i++)
		assert_true(p->facets[i].value == (strcmp(p->facets[i].name, "net.bytes.rx") == 0 ? 4096 : 0.75));
	assert_int_equal(r->processes[1].n_facets, 0);
	assert_int_equal(p->kind->exit_code, -1); /* missing fields */
	assert_int_equal(p->start_ns, 0);
	assert_int_equal(p->argv_cut, false);
	assert_null(p->argv[0]);
	assert_int_equal(r->tools[0].wall_ns, 0);
	assert_true(r->run.totals.net_known); /* "net.bytes.rx" */
	assert_int_equal(r->run.totals.net_rx_bytes, 0);
	assert_int_equal(r->n_ledger, 0);
	lake_report_free(r);
	r = report("counted");
	assert_int_equal(r->run.totals.net_rx_bytes, 77);
	assert_int_equal(r->tools[0].totals.net_rx_bytes, 77);
	assert_int_equal(r->run.totals.states[LAKE_RUNNABLE], 3);
	assert_int_equal(r->n_ledger, 1);
	assert_string_equal(r->ledger[0].account, "net.rx");
	assert_string_equal(r->ledger[0].item, "tcp");
	assert_string_equal(r->ledger[0].kind, "part");
	assert_int_equal(r->ledger[0].amount, -5);
	assert_int_equal(r->ledger[0].interval_ns, 7);
	lake_report_free(r);
}

/* Rows of runs that ran at one time lie between each other, and those of one that lasted around all others. */
static void test_rows_between(void **state)
{
	static const char *const runs[] = { "around", "one", "other" };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (unsigned i = 0; i < 102; i++) {
		const char *run = runs[i == 0 || i == 101 ? 0 : 1 + i % 2];
		struct with_facets w = { .rx_bytes = i + 1 };
		struct skep_upid upid = { .start_ns = i + 1, .pid = i + 1 };

		w.p.run = skep_mock_text(run);
		w.p.tool = skep_mock_text(run);
		skep_mock_batch_add(b, &stream_with_facets, &upid, 2000 * SECOND, &w, NULL);
	}
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	for (size_t run = 0; run < 3; run++) {
		struct lake_report *r = report(runs[run]);
		uint64_t sum = 0;

		assert_int_equal(r->n_processes, run ? 50 : 2);
		for (size_t i = 0; i < r->n_processes; i++) {
			const struct lake_process *p = &r->processes[i];

			assert_string_equal(p->kind->tool, runs[run]);
			assert_int_equal(p->n_facets, 1);
			assert_int_equal(p->totals.net_rx_bytes, p->pid); /* its own */
			sum += p->pid;
		}
		assert_int_equal(sum, run == 0 ? 1 + 102 : run == 1 ? 51 * 51 - 1 : 50 * 51);
		lake_report_free(r);
	}
}

#define CGROUP "/machine.slice/a"

static void is_in_cgroup(struct record_process *p)
{
	p->cgroup = skep_mock_text(CGROUP);
}

/* Streams without a table: the numbers are found in any order, and not in a text. */
static void test_streams(void **state)
{
	struct row {
		struct skep_str tool, path;
		uint64_t image, interval_ns, cpu_ns, uplink, bytes, more;
		double limit;
	};
	static const struct skep_field sample_fields[] = {
		SKEP_FIELD(struct row, bytes, "net.rx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
		SKEP_FIELD(struct row, more, "net.loopback_rx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
		SKEP_FIELD(struct row, tool, "tool", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, cpu_ns, "cpu_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
		SKEP_FIELD(struct row, interval_ns, "interval_ns", SKEP_T_U64, SKEP_S_GAUGE, "ns", ""),
		SKEP_FIELD(struct row, image, "image", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
	};
	static const struct skep_field cgroup_fields[] = {
		SKEP_FIELD(struct row, path, "cgroup", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, interval_ns, "interval_ns", SKEP_T_U64, SKEP_S_GAUGE, "ns", ""),
		SKEP_FIELD(struct row, cpu_ns, "cpu_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
		SKEP_FIELD(struct row, limit, "cpu_limit", SKEP_T_F64, SKEP_S_GAUGE, "{cpu}", ""),
		SKEP_FIELD(struct row, bytes, "cpu_periods", SKEP_T_U64, SKEP_S_DELTA, "{period}", ""),
		SKEP_FIELD(struct row, more, "cpu_throttled_periods", SKEP_T_U64, SKEP_S_DELTA, "{period}", ""),
		SKEP_FIELD(struct row, interval_ns, "cpu_throttled_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
		SKEP_FIELD(struct row, more, "memory_full_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
	};
	static const struct skep_field link_fields[] = {
		SKEP_FIELD(struct row, path, "network.interface.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, uplink, "uplink", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, more, "hw.network.bandwidth.limit", SKEP_T_U64, SKEP_S_GAUGE, "By/s", ""),
		SKEP_FIELD(struct row, bytes, "system.network.io.transmit", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
	};
	static const struct skep_field open_fields[] = {
		SKEP_FIELD(struct row, path, "file.path", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, more, "opens", SKEP_T_U64, SKEP_S_DELTA, "", ""),
		SKEP_FIELD(struct row, bytes, "size_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", ""),
	};
#define STREAM(name_, fields_)                                                                                         \
	{ .size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = (name_),                \
	  .record_size = sizeof(struct row), .n_fields = sizeof(fields_) / sizeof((fields_)[0]), .fields = (fields_) }
	static const struct skep_stream streams[] = { STREAM("process.sample", sample_fields), STREAM("cgroup", cgroup_fields),
						      STREAM("host.network", link_fields), STREAM("proc.opens", open_fields) };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct skep_context in_run = { .size = sizeof(in_run), .run = skep_mock_text("run-a") };
	struct skep_upid second = { .start_ns = 1000 * SECOND + 42, .pid = 42 }, unknown = { .start_ns = 1, .pid = 1 };
	struct row w = { .interval_ns = 5, .bytes = 100, .more = 30, .cpu_ns = 9, .limit = 0.5 };
	struct record_run run;
	struct lake_report *r;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("run-a", "ended", 1000 * SECOND, &run);
	run.end_ns = 1100 * SECOND;
	skep_mock_batch_add(b, &record_stream_run, NULL, run.end_ns, &run, NULL);
	add(b, 41, 0, "one", 0, 50, 1, is_in_cgroup);
	add(b, 42, 0, "two", 1, 20, 1, NULL);
	add(b, 42, 1, "two", 20, 50, 1, NULL);
	w.tool = skep_mock_text("\"cpu_ns\":7,");
	for (w.image = 2; w.image-- > 0;) /* the later image first: the report sorts them */
		skep_mock_batch_add(b, &streams[0], &second, (1030 + w.image) * SECOND, &w, &in_run);
	skep_mock_batch_add(b, &streams[0], &unknown, 1030 * SECOND, &w, &in_run);
	w.path = skep_mock_text("/elsewhere");
	skep_mock_batch_add(b, &streams[1], NULL, 1010 * SECOND, &w, NULL);
	w.path = skep_mock_text(CGROUP);
	for (uint64_t at = 990; at < 1120; at += 60) /* before, during and after the run */
		skep_mock_batch_add(b, &streams[1], NULL, at * SECOND, &w, NULL);
	w.path = skep_mock_text("eth0");
	skep_mock_batch_add(b, &streams[2], NULL, 1010 * SECOND, &w, NULL); /* no uplink */
	for (w.uplink = 1; w.uplink < 3; w.uplink++)
		skep_mock_batch_add(b, &streams[2], NULL, (1010 + 5 * w.uplink) * SECOND, &w, NULL);
	w.path = skep_mock_text("/data/\"x\"");
	skep_mock_batch_add(b, &streams[3], &second, 1040 * SECOND, &w, &in_run);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	r = report("run-a");
	assert_int_equal(r->n_progress, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct lake_process *p = &r->processes[r->progress[i].process];

		assert_true(p->pid == 42 && p->image == i);
		assert_int_equal(r->progress[i].end_ns, RECORDS_OFFSET + (int64_t)((1030 + i) * SECOND));
		assert_int_equal(r->progress[i].cpu_ns, 9);
		assert_int_equal(r->progress[i].net_bytes, 70);
		assert_int_equal(r->progress[i].gpu_known_ns, 0);
	}
	assert_int_equal(r->n_pressure, 1);
	assert_string_equal(r->pressure[0].cgroup, CGROUP);
	assert_int_equal(r->pressure[0].memory_full_ns, 30);
	assert_int_equal(r->pressure[0].cpu_ns, 9);
	assert_true(r->pressure[0].cpu_limit > 0.49 && r->pressure[0].cpu_limit < 0.51);
	assert_int_equal(r->pressure[0].periods, 100);
	assert_int_equal(r->pressure[0].throttled_periods, 30);
	assert_int_equal(r->pressure[0].throttled_ns, 5);
	assert_int_equal(r->n_links, 2);
	assert_int_equal(r->links[0].interval_ns, 0);
	assert_int_equal(r->links[1].interval_ns, 5 * SECOND);
	assert_int_equal(r->links[1].tx_bytes, 100);
	assert_int_equal(r->n_opens, 1);
	assert_string_equal(r->opens[0].path, "/data/\"x\"");
	assert_true(r->processes[r->opens[0].process].pid == 42 && r->processes[r->opens[0].process].image == 1);
	assert_int_equal(r->opens[0].size_bytes, 100);
	lake_report_free(r);
}

/* Links and pressure have no run: those of a run that goes on in December are in December's file. */
static void test_streams_of_months(void **state)
{
	struct row {
		struct skep_str path;
		uint64_t uplink, bytes;
	};
	static const struct skep_field cgroup_fields[] = {
		SKEP_FIELD(struct row, path, "cgroup", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, bytes, "memory_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", ""),
	};
	static const struct skep_field link_fields[] = {
		SKEP_FIELD(struct row, path, "network.interface.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, uplink, "uplink", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct row, bytes, "hw.network.bandwidth.limit", SKEP_T_U64, SKEP_S_GAUGE, "By/s", ""),
	};
	static const struct skep_stream streams[] = { STREAM("cgroup", cgroup_fields), STREAM("host.network", link_fields) };
	const uint64_t december = 21 * DAY, real = (uint64_t)RECORDS_OFFSET + december;
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct row w = { .uplink = 1, .bytes = 100 };
	const char *const *texts = NULL;
	struct lake_report *r = NULL;
	struct lake *l = NULL;
	struct record_run run;
	struct skep_mock m;
	char file[300];

	(void)state;
	begin(&m);
	records_run("run-a", "ended", december - 100 * SECOND, &run);
	run.end_ns = december + 100 * SECOND;
	records_add_run(b, &run);
	add(b, 41, 0, "one", 0, 50, 1, is_in_cgroup);
	for (uint64_t at = december - 150 * SECOND; at < december + 200 * SECOND; at += 60 * SECOND) {
		w.path = skep_mock_text(CGROUP);
		skep_mock_batch_add(b, &streams[0], NULL, at, &w, NULL);
		w.path = skep_mock_text("eth0");
		skep_mock_batch_add(b, &streams[1], NULL, at, &w, NULL);
	}
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	r = report("run-a"); /* -90, -30, 30, 90 */
	assert_int_equal(r->n_pressure, 4);
	assert_int_equal(r->n_links, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(r->pressure[i].end_ns, real - 90 * SECOND + i * 60 * SECOND);
		assert_int_equal(r->links[i].interval_ns, i ? 60 * SECOND : 0);
	}
	lake_report_free(r);
	r = NULL;
	/* without December the report is whole but for these, and says so */
	snprintf(file, sizeof(file), "%s/lake-2026-12.db", path);
	assert_int_equal(truncate(file, 5000), 0);
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	if (lake_report(l, "run-a", &r, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(r->n_pressure, 2);
	assert_int_equal(r->n_links, 2);
	assert_int_equal(lake_unread(l, &texts), 1);
	assert_non_null(strstr(texts[0], file));
	lake_report_free(r);
	lake_close(l);
}

static void fill(uint64_t rows)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct skep_mock m;

	begin(&m);
	for (uint64_t i = 0; i < rows; i++) {
		records_process(i, "r", &p);
		records_add_process(b, &p);
	}
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_read_only(void **state)
{
	struct lake_report *r;
	struct stat st;
	char odd[300], shm[400];

	(void)state;
	/* characters that mean something in a SQLite URI */
	snprintf(odd, sizeof(odd), "%s?a#b%%20c", path);
	strcpy(path, odd);
	assert_int_equal(mkdir(path, 0750), 0);
	if (mount("tmpfs", path, "tmpfs", 0, "size=16m") != 0) {
		print_message("test_read_only: skipped: cannot mount a tmpfs (%s)\n", strerror(errno));
		skip();
	}
	fill(500);
	assert_int_equal(mount("tmpfs", path, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=16m"), 0);
	r = report("last");
	assert_int_equal(r->n_processes, 500);
	lake_report_free(r);
	snprintf(shm, sizeof(shm), "%s/lake-2026-11.db-shm", path);
	assert_int_equal(stat(shm, &st), -1);
	assert_int_equal(umount(path), 0);
}

/* A report shows one moment, even if a writer writes meanwhile, and the writer never waits for a reader. */
static void test_live_writer(void **state)
{
	struct lake_report *r;
	struct record_process p;
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (uint64_t id = 1; id <= 20; id++) {
		struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);

		for (uint64_t i = 0; i < 100; i++) {
			records_process(id * 100 + i, "live", &p);
			records_add_process(b, &p);
		}
		send(&m, b);
		r = report("live");
		assert_int_equal(r->n_processes, id * 100);
		lake_report_free(r);
	}
	assert_int_equal(m.retries, 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void test_no_lake(void **state)
{
	char file[400];
	FILE *f;

	(void)state;
	assert_int_equal(report_error("last"), -ENOENT); /* no folder */
	assert_int_equal(mkdir(path, 0750), 0);
	assert_int_equal(report_error("last"), -ENOENT); /* empty */
	assert_non_null(strstr(why, path));
	snprintf(file, sizeof(file), "%s/lake-2026-11.db", path);
	f = fopen(file, "w");
	assert_non_null(f);
	for (int i = 0; i < 5000; i++)
		fputs("not a database. ", f);
	fclose(f);
	assert_int_equal(report_error("last"), -EUCLEAN);
	assert_non_null(strstr(why, "damaged"));
	unlink(file);
	run_sql(file, "CREATE TABLE t (x)");
	assert_int_equal(report_error("last"), -ENOTSUP);
	assert_non_null(strstr(why, "not a lake"));
	unlink(file);
	fill(1);
	run_sql(file, "PRAGMA user_version = 9");
	assert_int_equal(report_error("last"), -ENOTSUP);
	assert_non_null(strstr(why, "schema version 9, this skep reads version 1; upgrade skep"));
	run_sql(file, "PRAGMA user_version = 0");
	assert_int_equal(report_error("last"), -ENOTSUP);
	assert_non_null(strstr(why, "move it away"));
	run_sql(file, "PRAGMA user_version = 1; ALTER TABLE run RENAME COLUMN engine TO motor");
	assert_int_equal(report_error("last"), -ENOTSUP);
	assert_non_null(strstr(why, "lake-2026-11.db: its tables are those of an older skep (no such column: "));
	assert_non_null(strstr(why, "move it away"));
	assert_null(lake_close(NULL));
	assert_null(lake_report_free(NULL));
	assert_null(lake_runs_free(NULL));
}

/* ---- lakes that are not whole ------------------------------------------------------------- */

static struct {
	char file[300]; /* December's */
	char *bytes;
	size_t size;
} december;

static void read_december(void)
{
	FILE *f = fopen(december.file, "r");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	december.size = (size_t)st.st_size;
	december.bytes = malloc(december.size);
	assert_non_null(december.bytes);
	assert_int_equal(fread(december.bytes, 1, december.size, f), december.size);
	fclose(f);
}

static void write_december(size_t size)
{
	FILE *f = fopen(december.file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(december.bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void truncated(void)
{
	write_december(december.size / 2);
}

/* The first pages of the table of runs and of its indexes, wherever they are. */
static void overwritten_page(void)
{
	int64_t page[8], size = 0;
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	size_t n = 0;
	FILE *f;

	assert_int_equal(sqlite3_open(december.file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE tbl_name = 'run'",
					    -1, &s, NULL), SQLITE_OK);
	while (sqlite3_step(s) == SQLITE_ROW) {
		assert_true(n < sizeof(page) / sizeof(page[0]));
		page[n++] = sqlite3_column_int64(s, 0);
		size = sqlite3_column_int64(s, 1);
	}
	assert_true(n > 1);
	sqlite3_finalize(s);
	sqlite3_close(db);
	f = fopen(december.file, "r+");
	assert_non_null(f);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(fseek(f, (long)((page[i] - 1) * size), SEEK_SET), 0);
		for (int64_t k = 0; k < size; k++)
			fputc(0xa5, f);
	}
	assert_int_equal(fclose(f), 0);
}

static void not_a_database(void)
{
	FILE *f = fopen(december.file, "w");

	assert_non_null(f);
	for (int i = 0; i < 5000; i++)
		fputs("not a database. ", f);
	assert_int_equal(fclose(f), 0);
}

static void newer_schema(void)
{
	run_sql(december.file, "PRAGMA user_version = 9");
}

static void other_program(void)
{
	unlink(december.file);
	run_sql(december.file, "CREATE TABLE t (x)");
}

static void a_folder(void)
{
	unlink(december.file);
	assert_int_equal(mkdir(december.file, 0750), 0);
}

static void forbidden(void)
{
	assert_int_equal(chmod(december.file, 0), 0);
}

/* Opens the lake as another user where this one may read everything. */
static struct lake *open_as(uid_t uid)
{
	struct lake *l = NULL;

	if (uid)
		assert_int_equal(seteuid(uid), 0);
	if (lake_open(path, &l, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	return l;
}

/* losses: only the table of runs is damaged. */
static void check_unread(const char *says, uid_t uid, bool losses)
{
	static const char *const whole[] = { "run-nov", "run-jan", "run-over" };
	const char *const *texts = NULL;
	struct lake_runs *runs = NULL;
	struct lake_report *r = NULL;
	struct lake *l = open_as(uid);

	assert_int_equal(lake_runs(l, NULL, &runs, why, sizeof(why)), 0);
	assert_int_equal(runs->n, 3);
	assert_string_equal(runs->runs[0].id, "run-jan");
	lake_runs_free(runs);
	assert_int_equal(lake_unread(l, &texts), 1);
	assert_non_null(strstr(texts[0], december.file));
	if (!strstr(texts[0], says))
		fail_msg("'%s' is not in: %s", says, texts[0]);
	lake_close(l);
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		l = lake_open(path, &l, why, sizeof(why)) == 0 ? l : NULL;
		assert_non_null(l);
		if (lake_report(l, whole[i], &r, why, sizeof(why)) != 0)
			fail_msg("%s: %s", whole[i], why);
		assert_string_equal(r->run.id, whole[i]);
		/* losses during a run that went on in December are not known */
		assert_int_equal(lake_unread(l, &texts), strcmp(whole[i], "run-over") == 0 && !losses);
		assert_int_equal(r->n_losses, strcmp(whole[i], "run-over") == 0 && losses);
		lake_report_free(r);
		lake_close(l);
	}
	r = report("last"); /* the newest file can be read */
	assert_string_equal(r->run.id, "run-jan");
	lake_report_free(r);
	r = report("new-year");
	assert_string_equal(r->run.id, "run-jan");
	lake_report_free(r);
	/* the newest run of this name, the only id with this beginning, and this id may be in December's file */
	assert_true(report_error("nightly") < 0);
	assert_non_null(strstr(why, december.file));
	assert_true(report_error("run-n") < 0);
	assert_true(report_error("run-dec") < 0);
	assert_non_null(strstr(why, "may be in this file"));
	if (uid)
		assert_int_equal(seteuid(0), 0);
}

static void test_unread(void **state)
{
	static const struct {
		void (*spoil)(void);
		const char *says;
	} cases[] = {
		{ truncated, "damaged" },           { overwritten_page, "damaged" }, { not_a_database, "damaged" },
		{ newer_schema, "upgrade skep" },   { other_program, "not a lake" }, { a_folder, "Is a directory" },
		{ forbidden, "cannot be read" },
	};
	static const struct {
		const char *id, *name;
		uint64_t start, end;
	} all[] = {
		{ "run-nov", "nightly", 1 * DAY, 0 },
		{ "run-over", "", 2 * DAY, 60 * DAY },
		{ "run-dec", "nightly", 33 * DAY, 0 },
		{ "run-jan", "new-year", 53 * DAY, 0 },
	};
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_run run;
	struct skep_mock m;
	FILE *f;

	(void)state;
	assert_int_equal(chmod(folder, 0755), 0);
	begin(&m);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		records_run(all[i].id, "ended", all[i].start, &run);
		run.name = skep_mock_text(all[i].name);
		run.end_ns = all[i].end ? all[i].end : run.end_ns;
		records_add_run(b, &run);
	}
	add_loss(b, 40 * DAY, 7); /* in December */
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(chmod(path, 0777), 0); /* a reader of a WAL file makes its -shm */
	snprintf(december.file, sizeof(december.file), "%s/lake-2026-12.db", path);
	read_december();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool other = cases[i].spoil == forbidden;

		if (other && geteuid() != 0)
			continue;
		cases[i].spoil();
		if (other) {
			char name[300];

			for (unsigned k = 11; k <= 13; k++) {
				snprintf(name, sizeof(name), "%s/lake-%u-%02u.db", path, k > 12 ? 2027 : 2026, k > 12 ? 1 : k);
				assert_int_equal(chmod(name, k == 12 ? 0 : 0666), 0);
			}
		}
		check_unread(cases[i].says, other ? 65534 : 0, cases[i].spoil == overwritten_page);
		if (unlink(december.file) != 0)
			assert_int_equal(rmdir(december.file), 0);
		write_december(december.size);
		assert_string_equal(FOUND(0), "run-jan run-dec run-over run-nov ");
	}
	/* a file that the sink has just begun has no row yet */
	f = fopen(december.file, "w");
	assert_non_null(f);
	fclose(f);
	assert_string_equal(FOUND(0), "run-jan run-over run-nov ");
	/* months that are missing are no error */
	unlink(december.file);
	assert_string_equal(FOUND(0), "run-jan run-over run-nov ");
	/* the newest run may be in a file that cannot be read */
	snprintf(december.file, sizeof(december.file), "%s/lake-2027-01.db", path);
	truncated();
	assert_true(report_error("last") < 0);
	assert_non_null(strstr(why, "may be in this file"));
	free(december.bytes);
	assert_int_equal(chmod(folder, 0700), 0);
}

/* A crash of the writer leaves a -wal: a reader sees all that was committed. */
static void test_wal_left(void **state)
{
	char from[256], command[1100];
	struct lake_report *r;
	struct skep_mock_batch *b;
	struct record_process p;
	struct skep_mock m;

	(void)state;
	begin(&m);
	for (uint64_t id = 1; id <= 3; id++) {
		b = skep_mock_batch_new(id, RECORDS_OFFSET);
		for (uint64_t i = 0; i < 100; i++) {
			records_process(id * 100 + i, "r", &p);
			records_add_process(b, &p);
		}
		send(&m, b);
	}
	strcpy(from, path);
	set_up(NULL);
	snprintf(command, sizeof(command), "mkdir %s && cp %s/*.db %s/*-wal %s", path, from, from, path);
	assert_int_equal(system(command), 0);
	assert_int_equal(skep_mock_end(&m), 0);
	r = report("r");
	assert_int_equal(r->n_processes, 300);
	lake_report_free(r);
}

/* ---- what the files hold ------------------------------------------------------------- */

static uint64_t rows_of(const struct lake_file_status *f, const char *table)
{
	for (size_t i = 0; i < LAKE_STATUS_TABLES; i++)
		if (strcmp(lake_status_tables[i], table) == 0)
			return f->rows[i];
	fail_msg("no table %s", table);
	return 0;
}

static struct lake_status *status_of(void)
{
	struct lake_status *s = NULL;
	struct lake *l = NULL;

	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	assert_int_equal(lake_status(l, true, &s, why, sizeof(why)), 0);
	lake_close(l);
	return s;
}

static void check_status(void)
{
	struct lake_status *s = status_of();
	const struct lake_file_status *f = &s->files[0];

	assert_int_equal(s->n_files, 1);
	assert_string_equal(f->name, "lake-2026-11.db");
	assert_null(f->problem);
	assert_int_equal(f->version, 1);
	assert_int_equal(rows_of(f, "run"), 1);
	assert_int_equal(f->runs, 1);
	assert_int_equal(f->names, rows_of(f, "dict") - 1);
	assert_true(f->processes_known);
	assert_int_equal(rows_of(f, "proc"), 200);
	assert_int_equal(f->processes, 200);
	assert_int_equal(f->first_ns, RECORDS_OFFSET + (int64_t)(1000 * SECOND));
	assert_true(f->bytes > 20000);
	assert_int_equal(s->growth_days, 0); /* one day says nothing */
	lake_status_free(s);
}

static void test_status(void **state)
{
	struct lake_vacuum v = { 0 };
	struct lake_status *s;
	struct lake *l = NULL;
	struct skep_mock_batch *b;
	struct record_process p;
	struct skep_mock m;
	char file[300], name[400];
	uint64_t before, step = 0;
	FILE *f;

	(void)state;
	fill(200);
	check_status();

	/* six days of the same number of processes: the first and the last may not be whole */
	set_up(NULL);
	begin(&m);
	for (uint64_t day = 0; day < 6; day++) {
		b = skep_mock_batch_new(day + 1, RECORDS_OFFSET);
		for (uint64_t i = 0; i < 500; i++) {
			records_process(day * 500 + i, "", &p);
			p.start_ns = day * DAY + (i + 1) * SECOND;
			p.end_ns = p.start_ns + SECOND;
			p.upid.start_ns = p.start_ns;
			records_add_process(b, &p);
		}
		send(&m, b);
	}
	assert_int_equal(skep_mock_end(&m), 0);
	s = status_of();
	assert_int_equal(s->growth_days, 4);
	assert_true(fabs(s->growth_bytes_a_day / ((double)s->files[0].bytes / 6) - 1) < 0.01);
	lake_status_free(s);

	/* space of removed rows goes back in steps, beside a writer; the rows that stay are the same */
	snprintf(file, sizeof(file), "%s/lake-2026-11.db", path);
	run_sql(file, "DELETE FROM proc_argv WHERE id % 3 > 0; DELETE FROM proc_row WHERE id % 3 > 0");
	begin(&m);
	s = status_of();
	before = s->files[0].free_bytes;
	assert_true(before > 0);
	lake_status_free(s);
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	assert_int_equal(lake_vacuum(l, step++, &v, why, sizeof(why)), 0);
	assert_null(v.problem);
	assert_string_equal(v.name, "lake-2026-11.db");
	assert_int_equal(v.free_bytes, before);
	assert_false(v.whole);
	assert_true(v.given_back > 0);
	free(v.name);
	assert_int_equal(lake_vacuum(l, step, &v, why, sizeof(why)), -ENODATA);
	lake_close(l);
	b = skep_mock_batch_new(99, RECORDS_OFFSET);
	records_process(1, "after", &p);
	records_add_process(b, &p);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	s = status_of();
	assert_int_equal(s->files[0].free_bytes, 0);
	assert_int_equal(rows_of(&s->files[0], "proc"), 1001);
	lake_status_free(s);

	/* damaged files, those that skepd has renamed among them */
	snprintf(name, sizeof(name), "%s.corrupt-20261111T000000Z", file);
	f = fopen(name, "w");
	assert_non_null(f);
	fputs("?", f);
	fclose(f);
	assert_int_equal(truncate(file, 30000), 0);
	s = status_of();
	assert_int_equal(s->n_files, 2);
	assert_int_equal(s->growth_days, 0);
	assert_non_null(strstr(s->files[0].problem, "damaged"));
	assert_non_null(strstr(s->files[1].problem, "renamed by skepd"));
	lake_status_free(s);
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	assert_int_equal(lake_vacuum(l, 0, &v, why, sizeof(why)), 0);
	assert_non_null(strstr(v.problem, "damaged"));
	free(v.name);
	free(v.problem);
	lake_close(l);
	assert_null(lake_status_free(NULL));
}

/* ---- copies of one user's runs ------------------------------------------------------------- */

static int copy(const struct lake_copy *given, int *ret_fd, uint64_t *ret_left_out)
{
	struct lake_copy what = *given;
	struct lake *l = NULL;
	int err;

	if (!what.max_bytes)
		what.max_bytes = LAKE_COPY_BYTES;
	why[0] = '\0';
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	err = lake_copy(l, &what, ret_fd, ret_left_out, why, sizeof(why));
	lake_close(l);
	assert_true(!err || why[0]);
	return err;
}

#define COPY(...) copy(&(struct lake_copy){ __VA_ARGS__ }, &fd, &left_out)

static bool has_bytes(int fd, const char *text)
{
	static char bytes[1 << 20];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

	assert_true(n > 0 && n < (ssize_t)sizeof(bytes));
	return memmem(bytes, (size_t)n, text, strlen(text)) != NULL;
}

static void of_root(struct record_process *p)
{
	p->uid = 0;
	p->argv = (struct skep_str){ .ptr = "visudo\0secret-word", .len = 19, .total = 19 };
	p->exe = skep_mock_text("/root/secret-exe");
	p->filename = skep_mock_text("/root/secret-file");
	p->cwd = skep_mock_text("/root/secret-folder");
}

static int never(void *arg)
{
	(void)arg;
	return 1;
}

/* Two runs of user 1000, of which one has a process of root, and one run of user 1001. */
static void fill_two_users(void)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct record_process p;
	struct record_run run;
	struct skep_mock m;

	begin(&m);
	records_run("run-a", "ended", 1000 * SECOND, &run);
	records_add_run(b, &run);
	records_run("run-early", "ended", 500 * SECOND, &run);
	records_add_run(b, &run);
	records_run("run-other", "ended", 2000 * SECOND, &run);
	run.uid = 1001;
	run.name = skep_mock_text("private-name");
	records_add_run(b, &run);
	add(b, 201, 1, "sort", 1, 3, 1000, NULL);
	add(b, 202, 1, "visudo", 2, 4, 500, of_root);
	records_process(7, "run-other", &p);
	p.uid = 1001;
	p.tool = skep_mock_text("private-tool");
	records_add_process(b, &p);
	add_sample(b, "sort", 1002, 100);
	add_loss(b, 1002 * SECOND, 3);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void check_copies(void)
{
	const struct lake_process *root;
	struct lake_report *r = NULL;
	struct lake_runs *runs = NULL;
	struct lake *l = NULL;
	uint64_t left_out = 0;
	struct stat st;
	int fd = -1;

	/* one run: the lake's own report, without root's arguments and paths */
	assert_int_equal(COPY(.uid = 1000, .run = "run-a"), 0);
	assert_true(has_bytes(fd, "sort"));
	assert_false(has_bytes(fd, "secret"));
	assert_false(has_bytes(fd, "private"));
	assert_false(has_bytes(fd, "run-early"));
	assert_int_equal(lake_open_copy(fd, &l), 0);
	if (lake_report(l, "run-a", &r, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(r->n_processes, 2);
	assert_int_equal(r->run.totals.cpu_ns, 1500 * MS);
	assert_int_equal(r->n_samples, 1);
	assert_int_equal(r->n_losses, 1);
	assert_int_equal(r->losses[0].count, 3);
	assert_string_equal(r->losses[0].where, "kernel");
	assert_string_equal(r->processes[0].argv[1], "--threads");
	root = &r->processes[1];
	assert_string_equal(root->kind->tool, "visudo");
	assert_int_equal(root->kind->uid, 0);
	assert_int_equal(root->totals.cpu_ns, 500 * MS);
	assert_null(root->argv[0]);
	assert_string_equal(root->kind->exe, "");
	assert_string_equal(root->kind->filename, "");
	assert_string_equal(root->kind->cwd, "");
	lake_report_free(r);
	lake_close(l);

	/* all runs, newest first, without processes */
	assert_int_equal(COPY(.uid = 1000), 0);
	assert_int_equal(left_out, 0);
	assert_false(has_bytes(fd, "private"));
	assert_false(has_bytes(fd, "--threads"));
	assert_int_equal(lake_open_copy(fd, &l), 0);
	assert_int_equal(lake_runs(l, NULL, &runs, why, sizeof(why)), 0);
	assert_int_equal(runs->n, 2);
	assert_string_equal(runs->runs[0].id, "run-a");
	assert_int_equal(runs->runs[0].totals.cpu_ns, 1500 * MS);
	assert_string_equal(runs->runs[1].id, "run-early");
	lake_runs_free(runs);
	lake_close(l);
	assert_int_equal(COPY(.uid = 1000, .keep_free = INT64_MAX), 0); /* no space: in memory */
	assert_true(has_bytes(fd, "run-a"));
	close(fd);
	assert_int_equal(COPY(.uid = 1000, .since_ns = (uint64_t)RECORDS_OFFSET + 800 * SECOND), 0);
	assert_false(has_bytes(fd, "run-early"));
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	assert_int_equal(COPY(.uid = 1000, .max_bytes = (uint64_t)st.st_size), 0); /* full after the first run */
	assert_true(has_bytes(fd, "run-a"));
	assert_int_equal(left_out, 1);
	close(fd);

	/* a name and a beginning find this user's runs only */
	assert_int_equal(COPY(.uid = 1001, .run = "last"), 0);
	assert_true(has_bytes(fd, "private-name"));
	close(fd);
	assert_int_equal(COPY(.uid = 1000, .run = "run-other"), -ENOENT);
	assert_int_equal(COPY(.uid = 1000, .run = "private-name"), -ENOENT);
	assert_int_equal(COPY(.uid = 1000, .run = "run-o"), -ENOENT);
	assert_int_equal(COPY(.uid = 4711, .run = "last"), -ENOENT);
	assert_int_equal(COPY(.uid = 1000, .run = "run-"), -EEXIST);
	assert_null(strstr(why, "run-other"));
	assert_int_equal(COPY(.uid = 1000, .run = "run-a", .max_bytes = (uint64_t)st.st_size / 2), -EFBIG);
}

static void test_copy(void **state)
{
	uint64_t left_out = 0;
	char file[300];
	int fd = -1;

	(void)state;
	fill_two_users();
	check_copies();
	set_up(NULL);
	fill(3000); /* enough rows for SQLite to ask whether the copy is still wanted */
	snprintf(file, sizeof(file), "%s/lake-2026-11.db", path);
	run_sql(file, "UPDATE run SET uid = 1000 WHERE run = 'r'");
	assert_int_equal(COPY(.uid = 1000, .run = "r", .cancelled = never), -ECANCELED);
}

/* A copy has a row of its own for each image, from the view proc: its report equals the lake's. */
static void test_flat_rows(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct lake *l = NULL;
	char file[300], *shared, *flat;
	struct lake_report *whole, *copied = NULL;
	struct record_process p;
	struct skep_mock m;
	uint64_t left_out = 0;
	int fd = -1;

	(void)state;
	begin(&m);
	for (uint64_t i = 0; i < 200; i++) {
		records_process(i, "run-a", &p);
		if (i % 2)
			unusual(i / 2, &p);
		p.exe_size_bytes = p.exe_modified_ns = 0; /* the view has no such columns */
		records_add_process(b, &p);
	}
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	snprintf(file, sizeof(file), "%s/lake-2026-11.db", path);
	run_sql(file, "UPDATE run SET uid = 1000");
	whole = report("run-a");
	shared = json_of(whole);
	assert_int_equal(whole->n_processes, 200);
	assert_listed(&whole->run.totals);
	assert_int_equal(COPY(.uid = 1000, .run = "run-a"), 0);
	assert_int_equal(lake_open_copy(fd, &l), 0);
	if (lake_report(l, "run-a", &copied, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	flat = json_of(copied);
	assert_string_equal(flat, shared);
	lake_report_free(copied);
	lake_report_free(whole);
	lake_close(l);
	free(shared);
	free(flat);
}

/* SQLite's sum() ends a query above 2^63. One run with such values ends no listing and no other answer. */
static void test_sums_too_large(void **state)
{
	const struct lake_claims_query all = { .until_ns = INT64_MAX };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct lake_claims *claims = NULL;
	struct lake_runs *runs = NULL;
	struct lake_report *r = NULL;
	struct record_process p;
	struct lake *l = NULL;
	struct record_run run;
	struct skep_mock m;
	char task[16];

	(void)state;
	begin(&m);
	records_run("small", "ended", 900 * SECOND, &run);
	records_add_run(b, &run);
	records_run("large", "ended", 1000 * SECOND, &run);
	run.origin = skep_mock_text("shell"); /* listed by the sum of its tools */
	records_add_run(b, &run);
	for (int i = 0; i < 3; i++) {
		records_process(1, "large", &p);
		p.image = (uint64_t)i;
		p.last = i == 2;
		snprintf(task, sizeof(task), "t%d", i); /* a sum by tool has a row of each task */
		p.task = skep_mock_text(task);
		p.cpu_ns = p.rchar_bytes = INT64_MAX;
		records_add_process(b, &p);
	}
	records_process(2, "small", &p);
	records_add_process(b, &p);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);

	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	assert_int_equal(lake_report(l, "small", &r, why, sizeof(why)), 0);
	assert_int_equal(r->run.totals.cpu_ns, p.cpu_ns);
	assert_false(lake_is_saturated(l, r));
	lake_report_free(r);
	if (lake_runs(l, NULL, &runs, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(runs->n, 2);
	assert_string_equal(runs->runs[0].id, "large");
	assert_int_equal(runs->runs[0].totals.cpu_ns, INT64_MAX);
	assert_int_equal(runs->runs[0].totals.rchar_bytes, INT64_MAX);
	assert_int_equal(runs->runs[1].totals.cpu_ns, p.cpu_ns);
	assert_true(lake_is_saturated(l, NULL));
	lake_runs_free(runs);
	if (lake_claims(l, &all, &claims, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	lake_claims_free(claims);
	lake_close(l);
	r = report("large");
	assert_int_equal(r->run.totals.cpu_ns, INT64_MAX);
	assert_int_equal(r->run.totals.rchar_bytes, INT64_MAX);
	lake_report_free(r);
}

/* A run of which the lake has only a process yet has no host; the file is of the other runs' host nevertheless. */
static void test_host_of_claims(void **state)
{
	const struct lake_claims_query all = { .until_ns = INT64_MAX };
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	const struct record_ledger capacity = {
		.run = skep_mock_text(""),
		.account = skep_mock_text("cpu"),
		.item = skep_mock_text("capacity"),
		.kind = skep_mock_text("reference"),
		.amount = 8 * 60 * SECOND,
		.interval_ns = 60 * SECOND,
	};
	struct lake_claims *claims = NULL;
	struct record_process p;
	struct lake *l = NULL;
	struct record_run run;
	struct skep_mock m;

	(void)state;
	begin(&m);
	records_run("run-a", "ended", 1000 * SECOND, &run);
	records_add_run(b, &run);
	records_process(1, "run-b", &p);
	records_add_process(b, &p);
	skep_mock_batch_add(b, &record_stream_ledger, NULL, 1060 * SECOND, &capacity, NULL);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	if (lake_claims(l, &all, &claims, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(claims->n_rows, 1);
	assert_string_equal(claims->rows[0].host, "node7");
	lake_claims_free(claims);
	lake_close(l);
}

/* Samples of one process in two files: the later samples name its tool, whichever file skep reads first. */
static void test_gpu_holder_of_months(void **state)
{
	const uint64_t december = 21 * DAY;
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	struct lake_seen_list *seen = NULL;
	struct lake *l = NULL;
	struct skep_mock m;

	(void)state;
	begin(&m);
	usage_add_holder(b, december - 60 * SECOND, 7, "", "before", 5, 5);
	usage_add_holder(b, december - 50 * SECOND, 7, "", "before", 5, 0);
	usage_add_holder(b, december + 30 * SECOND, 7, "", "after", 5, 0);
	usage_add_holder(b, december - 40 * SECOND, 8, "", "idle", 5, 0);
	usage_add_holder(b, december + 40 * SECOND, 8, "", "idle still", 5, 0);
	send(&m, b);
	assert_int_equal(skep_mock_end(&m), 0);
	assert_int_equal(lake_open(path, &l, why, sizeof(why)), 0);
	if (lake_gpu_processes(l, SKEP_MOCK_BOOT_ID, RECORDS_OFFSET, INT64_MAX, &seen, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	lake_close(l);
	assert_int_equal(seen->n, 2);
	assert_string_equal(seen->one[0].tool, "after");
	assert_true(seen->one[0].busy && seen->one[0].held);
	assert_int_equal(seen->one[0].time_ns, (uint64_t)RECORDS_OFFSET + december - 60 * SECOND);
	assert_string_equal(seen->one[1].tool, "idle still");
	assert_false(seen->one[1].busy);
	assert_int_equal(seen->one[1].time_ns, (uint64_t)RECORDS_OFFSET + december + 40 * SECOND);
	lake_seen_list_free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sums_too_large, set_up),
		cmocka_unit_test_setup(test_report, set_up),      cmocka_unit_test_setup(test_runs_and_names, set_up),
		cmocka_unit_test_setup(test_facets, set_up),      cmocka_unit_test_setup(test_rows_between, set_up),
		cmocka_unit_test_setup(test_read_only, set_up),
		cmocka_unit_test_setup(test_live_writer, set_up), cmocka_unit_test_setup(test_no_lake, set_up),
		cmocka_unit_test_setup(test_flat_rows, set_up),    cmocka_unit_test_setup(test_streams, set_up),
		cmocka_unit_test_setup(test_streams_of_months, set_up),
		cmocka_unit_test_setup(test_gpu_holder_of_months, set_up),
		cmocka_unit_test_setup(test_parents_of_months, set_up),
		cmocka_unit_test_setup(test_host_of_claims, set_up),
		cmocka_unit_test_setup(test_unread, set_up),       cmocka_unit_test_setup(test_wal_left, set_up),
		cmocka_unit_test_setup(test_status, set_up),
		cmocka_unit_test_setup(test_tasks, set_up),       cmocka_unit_test_setup(test_filters, set_up),
		cmocka_unit_test_setup(test_jobs_of_a_shell, set_up), cmocka_unit_test_setup(test_copy, set_up),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
