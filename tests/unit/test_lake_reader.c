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
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lake/lake.h"
#include "tests/unit/folder.h"
#include "tests/unit/lake_records.h"

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
	assert_int_equal(r->run.totals.rss_peak_bytes, UINT64_C(5) << 30);
	assert_int_equal(r->n_processes, 9);
	for (size_t i = 1; i < r->n_processes; i++)
		assert_true(r->processes[i - 1].start_ns <= r->processes[i].start_ns);
	p = &r->processes[0];
	assert_int_equal(p->pid, 204);
	assert_false(p->execed);
	assert_string_equal(p->state, "replaced");
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
		assert_true(p->oom_killed && p->argv_cut && p->execed && !p->wrapper && p->last);
		assert_int_equal(p->signal, 9);
		assert_int_equal(p->exit_code, -1);
		assert_int_equal(p->oom_limit_bytes, 123);
		assert_string_equal(p->oom_cgroup, "/job");
		assert_string_equal(p->argv[1], "--threads");
		assert_int_equal(p->uid, 1000);
		assert_string_equal(p->container, "");
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
	assert_int_equal(lake_runs(l, 0, &runs, why, sizeof(why)), 0);
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
	assert_int_equal(lake_runs(l, 2, &runs, why, sizeof(why)), 0);
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

struct with_facets {
	struct record_process p;
	uint64_t net_rx;
	double gpu;
	uint64_t rx_bytes, runnable;
};

static void test_facets(void **state)
{
	static const struct skep_field fields[] = {
		SKEP_FIELD(struct with_facets, p.run, "run", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct with_facets, p.tool, "tool", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct with_facets, net_rx, "net.bytes.rx", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
		SKEP_FIELD(struct with_facets, gpu, "gpu.use.busy", SKEP_T_F64, SKEP_S_GAUGE, "1", ""),
		SKEP_FIELD(struct with_facets, rx_bytes, "net.rx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
		SKEP_FIELD(struct with_facets, runnable, "sched.runnable", SKEP_T_U64, SKEP_S_DELTA, "{sample}", ""),
		SKEP_FIELD(struct with_facets, p.comm, "site.label", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
	};
	static const struct skep_stream stream = {
		.size = sizeof(stream),
		.field_size = sizeof(fields[0]),
		.name = "process.exit",
		.record_size = sizeof(struct with_facets),
		.n_fields = sizeof(fields) / sizeof(fields[0]),
		.fields = fields,
	};
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
	skep_mock_batch_add(b, &stream, &upid, SECOND, &w, NULL);
	w.net_rx = 0;
	w.gpu = 0;
	skep_mock_batch_add(b, &stream, &upid, SECOND, &w, NULL);
	w.p.run = skep_mock_text("counted");
	w.rx_bytes = 77;
	w.runnable = 3;
	skep_mock_batch_add(b, &stream, &upid, SECOND, &w, NULL);
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
	assert_int_equal(p->exit_code, -1); /* missing fields */
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

/* A report is of one moment whatever a writer does meanwhile, and the writer never waits for a reader. */
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

static void run_sql(const char *file, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
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
	assert_non_null(strstr(why, "schema version 9"));
	assert_null(lake_close(NULL));
	assert_null(lake_report_free(NULL));
	assert_null(lake_runs_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_report, set_up),      cmocka_unit_test_setup(test_runs_and_names, set_up),
		cmocka_unit_test_setup(test_facets, set_up),      cmocka_unit_test_setup(test_read_only, set_up),
		cmocka_unit_test_setup(test_live_writer, set_up), cmocka_unit_test_setup(test_no_lake, set_up),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
