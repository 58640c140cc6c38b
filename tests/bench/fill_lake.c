/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_lake RUNS PROCESSES DAYS LARGE OPTION=VALUE... - writes a lake of many runs through the sink: RUNS runs, evenly
 * spread over the DAYS days before 2026-11-10, with PROCESSES processes in all and a task for three of them, on 50
 * hosts, of 20 users, 40 pipelines and three engines; every 50th run failed, had
 * a process killed for memory and lost records.  The newest run, named "large", has LARGE tasks more.
 *
 *	tests/bench/fill_lake 100 10000 30 500 path=/tmp/lake
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/lake_records.h"

#define BATCH   500
#define TEXTS   4096 /* as many as lake_records.c keeps; more than a batch needs */
#define PER_TASK 3
#define DAY     (86400 * SECOND)

static struct {
	struct skep_mock mock;
	struct skep_mock_batch *batch;
	uint64_t n_batches, n_processes;
	int64_t offset;
} fill;

static struct skep_str text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct skep_str text(const char *fmt, ...)
{
	static char ring[TEXTS][48];
	static unsigned at;
	char *s = ring[at++ % TEXTS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(ring[0]), fmt, ap);
	va_end(ap);
	return skep_mock_text(s);
}

static void send(void)
{
	if (fill.batch && !records_send_take(&fill.mock, fill.batch)) {
		fprintf(stderr, "fill_lake: a batch was not acknowledged: %s\n", fill.mock.why);
		exit(1);
	}
	fill.batch = NULL;
}

static struct skep_mock_batch *batch(void)
{
	if (fill.batch && fill.batch->batch.n >= BATCH)
		send();
	if (!fill.batch)
		fill.batch = skep_mock_batch_new(++fill.n_batches, fill.offset);
	return fill.batch;
}

static const char *pipeline_of(uint64_t run)
{
	static char names[40][16];
	char *name = names[run % 40];

	snprintf(name, sizeof(names[0]), "pipeline-%02u", (unsigned)(run % 40));
	return name;
}

static void add_task(const char *run_id, uint64_t run, uint64_t n, uint64_t start, uint64_t processes)
{
	struct record_task t;

	records_task((unsigned)n, run_id, &t);
	t.task = text("step_%02" PRIu64, n % 12);
	t.task_id = text("%" PRIu64 "-e8d4a51000.1", 500 + n);
	t.pipeline = skep_mock_text(pipeline_of(run));
	t.root_upid = (struct skep_upid){ .start_ns = start + n + 1, .pid = 500 };
	t.start_ns = start + n * SECOND;
	t.end_ns = t.start_ns + 5 * SECOND + n % 7 * SECOND;
	t.processes = processes;
	t.cpu_ns = 4 * SECOND;
	t.rss_peak_bytes = (100 + n % 50) << 20;
	records_add_task(batch(), &t);
}

static void add_process(const char *run_id, uint64_t run, uint64_t i, uint64_t start)
{
	uint64_t n = fill.n_processes++, task = i / PER_TASK;
	struct record_process p;

	records_process(n, run_id, &p);
	p.pipeline = skep_mock_text(pipeline_of(run));
	p.task = text("step_%02" PRIu64, task % 12);
	p.task_id = text("%" PRIu64 "-e8d4a51000.1", 500 + task);
	p.uid = 1000 + run % 20;
	p.start_ns = start + task * SECOND + i % PER_TASK * SECOND;
	p.end_ns = p.start_ns + SECOND + n % 1000 * 1000000;
	p.upid.start_ns = p.start_ns + n % 1000;
	p.exit_code = run % 50 == 7 && i == 0;
	if (run % 50 == 7 && i == 1) {
		p.exit_code = -1;
		p.signal = 9;
		p.oom_killed = 1;
		p.oom_limit_bytes = p.oom_usage_bytes = UINT64_C(4) << 30;
		p.oom_cgroup = p.cgroup;
	}
	records_add_process(batch(), &p);
}

static void put_run(uint64_t run, const char *state, uint64_t start, uint64_t processes, bool large)
{
	struct record_run r;

	records_run(text("%08" PRIu64 "-%04" PRIu64, run, run * 7919 % 10000).ptr, state, start, &r);
	r.name = skep_mock_text(large ? "large" : "nightly");
	r.pipeline = skep_mock_text(pipeline_of(run));
	r.engine = skep_mock_text(run % 3 == 0 ? "snakemake" : run % 3 == 1 ? "nextflow" : "make");
	r.origin = skep_mock_text("workflow");
	r.host = text("node%02" PRIu64, run % 50);
	r.job = text("%" PRIu64, 4000 + run);
	r.uid = 1000 + run % 20;
	r.root_upid.start_ns = start;
	if (r.end_ns) {
		r.end_ns = start + processes / PER_TASK * SECOND + 12 * SECOND;
		r.exit_code = run % 50 == 7;
		r.processes_seen = processes;
	}
	records_add_run(batch(), &r);
}

static void add_loss(uint64_t start)
{
	struct record_loss l = { .instance = skep_mock_text("proc"),
				 .stream = skep_mock_text("process.exit"),
				 .where = skep_mock_text("kernel"),
				 .count = 3 };

	skep_mock_batch_add(batch(), &record_stream_loss, NULL, start + SECOND, &l, NULL);
}

static void add_run(uint64_t run, uint64_t start, uint64_t processes, bool large)
{
	put_run(run, "running", start, processes, large);
	for (uint64_t i = 0; i < processes; i++) {
		const char *id = text("%08" PRIu64 "-%04" PRIu64, run, run * 7919 % 10000).ptr;

		if (i % PER_TASK == 0)
			add_task(id, run, i / PER_TASK, start, processes - i < PER_TASK ? processes - i : PER_TASK);
		add_process(id, run, i, start);
	}
	if (run % 50 == 7)
		add_loss(start);
	put_run(run, "ended", start, processes, large);
}

int main(int argc, char **argv)
{
	uint64_t n[4]; /* runs, processes, days, tasks of the large run */

	skep_mock_init(&fill.mock, skep_plugin_entry(NULL));
	fill.mock.quiet = true;
	fill.mock.inline_work = strcmp(fill.mock.plugin->name, "lake") == 0;
	for (int i = 0; i < 4; i++)
		n[i] = argc > 5 ? strtoull(argv[i + 1], NULL, 10) : 0;
	if (!n[0] || n[1] < n[0] || !n[2]) {
		fprintf(stderr, "usage: %s RUNS PROCESSES DAYS LARGE OPTION=VALUE...\n", argv[0]);
		return 2;
	}
	fill.offset = RECORDS_OFFSET - (int64_t)(n[2] * DAY);
	for (int i = 5; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (!value || skep_mock_option(&fill.mock, argv[i], value) != 0) {
			fprintf(stderr, "fill_lake: %s: %s\n", argv[i], value ? fill.mock.why : "expected OPTION=VALUE");
			return 2;
		}
	}
	if (skep_mock_start(&fill.mock) != 0) {
		fprintf(stderr, "fill_lake: %s\n", fill.mock.why);
		return 1;
	}
	for (uint64_t run = 0; run < n[0]; run++) {
		bool large = run + 1 == n[0] && n[3];
		uint64_t processes = n[1] / n[0] + (large ? n[3] * PER_TASK : 0);

		add_run(run, 1000 * SECOND + run * (n[2] * DAY / n[0]), processes, large);
	}
	send();
	return skep_mock_end(&fill.mock) != 0;
}
