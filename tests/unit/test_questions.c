/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/: every question on both back ends over the same records, a folder of SQLite files and a ClickHouse server: the
 * answers must be equal, byte by byte.  Then servers that are away, refuse, break off or lie.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "cli/audit/audit_print.h"
#include "cli/base/json_out.h"
#include "cli/cost/cost_print.h"
#include "cli/lake/export.h"
#include "cli/report/report.h"
#include "cli/runs.h"
#include "cli/tune/tune.h"
#include "lake/lake.h"
#include "lake/usage.h"
#include "tests/unit/clickhouse_server.h"
#include "tests/unit/folder.h"
#include "tests/unit/lake_records.h"
#include "tests/unit/usage_records.h"

typedef const struct skep_plugin *entry_fn(const struct skep_host *);
const struct skep_plugin *skep_plugin_entry(const struct skep_host *); /* of the sink clickhouse */

static char folder[] = "/tmp/test_questions.XXXXXX";
static char address[128];
static char why[1024];

/* ---- records ------------------------------------------------------------------------ */

#define BATCHES 3

struct with_facets {
	struct record_process p;
	uint64_t zeta, net_rx, net_tx, runnable, large, gpu_busy;
	double gpu, alpha;
	uint8_t yes;
	struct skep_str label;
};

/* The stream of processes with what other probes add, in no order. */
static const struct skep_stream *stream_with_facets(void)
{
	static const struct skep_field more[] = {
		SKEP_FIELD(struct with_facets, zeta, "zeta.count", SKEP_T_U64, SKEP_S_DELTA, "1", ""),
		SKEP_FIELD(struct with_facets, net_rx, "net.rx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
		SKEP_FIELD(struct with_facets, gpu, "gpu.busy_ratio", SKEP_T_F64, SKEP_S_GAUGE, "1", ""),
		SKEP_FIELD(struct with_facets, gpu_busy, "gpu.busy_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
		SKEP_FIELD(struct with_facets, runnable, "sched.runnable", SKEP_T_U64, SKEP_S_DELTA, "{sample}", ""),
		SKEP_FIELD(struct with_facets, alpha, "alpha.ratio", SKEP_T_F64, SKEP_S_GAUGE, "1", ""),
		SKEP_FIELD(struct with_facets, net_tx, "net.tx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
		SKEP_FIELD(struct with_facets, large, "large.count", SKEP_T_U64, SKEP_S_DELTA, "1", ""),
		SKEP_FIELD(struct with_facets, yes, "site.yes", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct with_facets, label, "site.label", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
	};
	static struct skep_field fields[128];
	static struct skep_stream stream;
	uint32_t n = record_stream_process.n_fields;

	assert_true(n + sizeof(more) / sizeof(more[0]) <= sizeof(fields) / sizeof(fields[0]));
	memcpy(fields, record_stream_process.fields, n * sizeof(fields[0]));
	memcpy(fields + n, more, sizeof(more));
	stream = record_stream_process;
	stream.record_size = sizeof(struct with_facets);
	stream.fields = fields;
	stream.n_fields = n + sizeof(more) / sizeof(more[0]);
	return &stream;
}

struct streamed {
	struct skep_str path, state;
	uint64_t image, interval_ns, cpu_ns, opens, uplink, bytes, start_ns;
};

/* Records of the streams that have no table of their own. */
static void add_streams(struct skep_mock_batch *b, const char *run_id)
{
	static const struct skep_field sample[] = {
		SKEP_FIELD(struct streamed, image, "image", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, interval_ns, "interval_ns", SKEP_T_U64, SKEP_S_GAUGE, "ns", ""),
		SKEP_FIELD(struct streamed, cpu_ns, "cpu_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", ""),
	};
	static const struct skep_field opened[] = {
		SKEP_FIELD(struct streamed, path, "file.path", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, opens, "opens", SKEP_T_U64, SKEP_S_DELTA, "", ""),
		SKEP_FIELD(struct streamed, uplink, "writes", SKEP_T_U64, SKEP_S_DELTA, "", ""),
		SKEP_FIELD(struct streamed, start_ns, "first_seen", SKEP_T_TIME, SKEP_S_ATTRIBUTE, "", ""),
	};
	static const struct skep_field connection[] = {
		SKEP_FIELD(struct streamed, path, "network.peer.address", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, image, "network.peer.port", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, state, "state", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, start_ns, "start", SKEP_T_TIME, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, bytes, "rx_bytes", SKEP_T_U64, SKEP_S_DELTA, "By", ""),
	};
	static const struct skep_field link[] = {
		SKEP_FIELD(struct streamed, path, "network.interface.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, uplink, "uplink", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, bytes, "hw.network.bandwidth.limit", SKEP_T_U64, SKEP_S_GAUGE, "By/s", ""),
	};
	static const struct skep_field pressure[] = {
		SKEP_FIELD(struct streamed, path, "cgroup", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct streamed, bytes, "memory_bytes", SKEP_T_U64, SKEP_S_GAUGE, "By", ""),
	};
#define STREAM(name_, fields_)                                                                                         \
	{ .size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = (name_),                \
	  .record_size = sizeof(struct streamed),                                                              \
	  .n_fields = sizeof(fields_) / sizeof((fields_)[0]), .fields = (fields_) }
	static const struct skep_stream streams[] = { STREAM("process.sample", sample), STREAM("proc.opens", opened),
						      STREAM("host.network", link), STREAM("cgroup", pressure),
						      STREAM("net.connection", connection) };
	struct skep_context in_run = { .size = sizeof(in_run), .run = skep_mock_text(run_id) };
	struct streamed w = { .interval_ns = SECOND, .opens = 2, .uplink = 1, .bytes = 1000000 };
	struct record_process p;

	for (unsigned i = 0; i < 20; i++) {
		const uint64_t at_ns = (1001 + i) * SECOND;

		records_process(400 + i, run_id, &p); /* of the first batch */
		w.image = (400 + i) % 3;
		w.cpu_ns = i * 1000000;
		skep_mock_batch_add(b, &streams[0], &p.upid, at_ns, &w, &in_run);
		w.path = skep_mock_text(i % 2 ? "/data/a \"b\"\t\xc3\xa9" : "/data/c\\d");
		skep_mock_batch_add(b, &streams[1], &p.upid, at_ns, &w, &in_run);
		w.path = skep_mock_text(i % 2 ? "eth0" : "eth1");
		skep_mock_batch_add(b, &streams[2], NULL, at_ns, &w, NULL);
		w.path = p.cgroup;
		skep_mock_batch_add(b, &streams[3], NULL, at_ns, &w, NULL);
		w.path = skep_mock_text("192.0.2.7");
		w.start_ns = (1001 + i / 2) * SECOND + 7; /* two records of each connection */
		records_process(400 + i / 2 * 2, run_id, &p);
		w.image = 80 + i / 2;
		w.state = skep_mock_text(i % 2 ? "closed" : "open");
		skep_mock_batch_add(b, &streams[4], &p.upid, at_ns, &w, &in_run);
	}
}

static void add_process(struct skep_mock_batch *b, const struct skep_stream *stream, const char *run, unsigned i)
{
	struct with_facets w = { .label = skep_mock_text("blue") };
	struct record_process *p = &w.p;

	records_process(i, run, p);
	p->image = i % 3;
	if (i % 2) {
		w.zeta = i;
		w.net_rx = 4096 + i;
		w.gpu = i / 7.0;
		w.large = UINT64_C(9007199254740995);
		w.yes = 1;
	}
	if (i % 100 == 0)
		w.gpu_busy = 700;
	if (i % 7 == 0)
		p->labels = i % 2 ? SKEP_MOCK_STRV("team=red\0tier=\"1\"") : SKEP_MOCK_STRV("team=blue");
	if (i % 5 == 0) {
		w.runnable = 3;
		w.alpha = 1e-9 * i;
		w.net_tx = 1;
	}
	if (i % 11 == 0) { /* not bytes that are not UTF-8, which the sink clickhouse replaces */
		p->argv = SKEP_MOCK_STRV("sh\0-c\0a\tb\nc\\d 'e' \"f\" \\N \xc3\xa9\0\0last");
		p->argv.total = i % 2 ? 7000 : p->argv.len;
		p->comm = skep_mock_text("it's\t\\ \b");
		p->cwd = skep_mock_text("/data/a b\nc");
		p->container_name = skep_mock_text("bwa");
		p->container_image = skep_mock_text("localhost/bwa:1");
		p->pod = skep_mock_text("align-7x2");
		p->exe.total = p->exe.len + i; /* the probe cut it */
		p->unit = skep_mock_text("cron.service");
		p->container = skep_mock_text("0123456789abcdef");
	}
	if (i % 13 == 0) {
		p->exit_code = -1;
		p->signal = 9;
		p->oom_killed = 1;
		p->oom_limit_bytes = 123;
		p->oom_cgroup = skep_mock_text("/job");
	}
	if (i % 17 == 0) {
		p->execed = 0;
		p->last = 0;
		p->exit_code = -1;
		p->state = skep_mock_text("replaced");
	}
	if (i % 19 == 0) {
		p->end_ns = 0;
		p->exit_code = -1;
		p->state = skep_mock_text("running");
	}
	p->wrapper = i % 23 == 0;
	p->core_dumped = i % 29 == 0;
	p->argv.len = i % 31 == 0 ? 0 : p->argv.len;
	skep_mock_batch_add(b, stream, &p->upid, p->end_ns ? p->end_ns : p->start_ns, &w, NULL);
}

static void add_samples(struct skep_mock_batch *b, const char *run)
{
	static const char *const tools[] = { "samtools sort", "bwa mem", "only in samples", "awk" };

	for (unsigned i = 0; i < 40; i++) {
		const struct record_tool_sample s = {
			.run = skep_mock_text(run),
			.tool = skep_mock_text(tools[i % 4]),
			.start_ns = (1000 + i / 4) * SECOND,
			.interval_ns = SECOND,
			.cpu_ns = i * 100000000,
			.run_delay_ns = i * 7,
			.read_bytes = i,
			.write_bytes = i + 1,
			.rss_bytes = i << 20,
			.processes = i % 5,
			.started = i % 3,
		};

		skep_mock_batch_add(b, &record_stream_tool_sample, NULL, s.start_ns + SECOND, &s, NULL);
	}
}

static void add_ledger(struct skep_mock_batch *b, const char *run)
{
	static const struct {
		const char *account, *item, *kind;
		int64_t amount;
	} posts[] = {
		{ "cpu", "capacity", "reference", 16000000000 }, { "cpu", "idle", "part", 9000000000 },
		{ "cpu", "attributed", "part", 6900000000 },     { "cpu", "unattributed", "unattributed", -5 },
		{ "net.rx", "tcp", "part", 77 },
	};

	for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]); i++) {
		const struct record_ledger l = {
			.run = skep_mock_text(run),
			.account = skep_mock_text(posts[i].account),
			.item = skep_mock_text(posts[i].item),
			.kind = skep_mock_text(posts[i].kind),
			.amount = posts[i].amount,
			.interval_ns = 600 * SECOND,
		};

		skep_mock_batch_add(b, &record_stream_ledger, NULL, 1600 * SECOND, &l, NULL);
	}
}

struct of_host {
	struct skep_str name, type;
	int64_t instance;
	double energy;
	uint64_t cpus, memory;
};

#define HOST_STREAM(name_, fields_) \
	{ \
		.size = sizeof(struct skep_stream), .field_size = sizeof(struct skep_field), .name = (name_), \
		.record_size = sizeof(struct of_host), .n_fields = sizeof(fields_) / sizeof((fields_)[0]), \
		.fields = (fields_) \
	}

static void add_identity(struct skep_mock_batch *b, uint64_t at_ns, const char *type, uint64_t cpus)
{
	static const struct skep_field fields[] = {
		SKEP_FIELD(struct of_host, type, "host.type", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct of_host, cpus, "system.cpu.logical.count", SKEP_T_U64, SKEP_S_GAUGE, "", ""),
		SKEP_FIELD(struct of_host, memory, "system.memory.limit", SKEP_T_U64, SKEP_S_GAUGE, "By", ""),
	};
	static const struct skep_stream stream = HOST_STREAM("host.identity", fields);
	const struct of_host h = { .type = skep_mock_text(type), .cpus = cpus, .memory = cpus << 31 };

	skep_mock_batch_add(b, &stream, NULL, at_ns, &h, NULL);
}

/* What hosts report for a bill: the ledger's intervals, energy, the machine. */
static void add_host(struct skep_mock_batch *b)
{
	static const struct skep_field sensor[] = {
		SKEP_FIELD(struct of_host, name, "hw.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct of_host, energy, "hw.energy", SKEP_T_F64, SKEP_S_DELTA, "J", ""),
	};
	static const struct skep_field device[] = {
		SKEP_FIELD(struct of_host, instance, "gpu_instance", SKEP_T_I64, SKEP_S_ATTRIBUTE, "", ""),
		SKEP_FIELD(struct of_host, energy, "hw.energy", SKEP_T_F64, SKEP_S_DELTA, "J", ""),
		SKEP_FIELD(struct of_host, cpus, "after", SKEP_T_U64, SKEP_S_DELTA, "J", ""),
	};
	static const struct skep_stream streams[] = { HOST_STREAM("host.sensor", sensor), HOST_STREAM("gpu.device", device) };
	static const char *const names[] = { "package-0", "core", "dram", "psys" };
	struct of_host h = { 0 };

	for (unsigned i = 0; i < 12; i++) {
		const uint64_t at_ns = (1200 + 100 * (i / 4) + 1) * SECOND;

		h.name = skep_mock_text(names[i % 4]);
		h.energy = 20.25;
		skep_mock_batch_add(b, &streams[0], NULL, at_ns, &h, NULL);
		h.instance = i % 4 ? 3 : -1; /* of a part of a device */
		skep_mock_batch_add(b, &streams[1], NULL, at_ns, &h, NULL);
	}
	for (unsigned i = 0; i < 8; i++) {
		const struct record_ledger l = {
			.run = skep_mock_text(""),
			.account = skep_mock_text(i < 6 ? "cpu" : "net.rx"),
			.item = skep_mock_text(i % 2 ? "idle" : "capacity"),
			.kind = skep_mock_text("part"),
			.amount = (int64_t)((i % 2 ? 500 : 9600) * SECOND),
			.start_ns = (1000 + 600 * (i / 2)) * SECOND,
			.interval_ns = 600 * SECOND,
		};

		skep_mock_batch_add(b, &record_stream_ledger, NULL, l.start_ns + l.interval_ns, &l, NULL);
	}
	add_identity(b, 900 * SECOND, "t3.nano", 2);
	add_identity(b, 950 * SECOND, "m5.large", 16);
}

static void add_losses(struct skep_mock_batch *b)
{
	static const char *const places[] = { "spool", "kernel", "queue", "kernel" };

	for (unsigned i = 0; i < 8; i++) {
		const struct record_loss l = {
			.instance = skep_mock_text(i % 2 ? "proc" : "net"),
			.stream = skep_mock_text(i < 4 ? "process.exit" : "net.peer"),
			.where = skep_mock_text(places[i % 4]),
			.count = i + 1,
		};

		skep_mock_batch_add(b, &record_stream_loss, NULL, (995 + 2 * i) * SECOND, &l, NULL);
	}
}

/* Other runs, for the list and for names. */
static const struct other {
	const char *id, *name, *engine, *pipeline, *parent, *origin, *job, *state;
	uint64_t start_s, uid, cpu_ns;
	int exit_code;
	unsigned signal;
} others[] = {
	{ "20261110T01-abb", "nightly", "make", "other", "", "command", "", "ended", 2000, 1000, SECOND, 1, 0 },
	{ "20261110T02-acc", "it's \\ \"\t", "", "", "", "command", "4711", "ended", 3000, 1001, SECOND, -1, 9 },
	{ "20261110T03-add", "live", "slurm", "", "", "scheduler", "", "running", 4000, 1001, SECOND, -1, 0 },
	{ "login", "", "", "", "", "session", "", "ended", 5000, 1000, 5, 0, 0 },
	{ "below", "", "", "", "login", "shell", "", "ended", 5001, 1000, 2 * SECOND, 0, 0 },
	{ "alone", "", "", "", "", "session", "", "ended", 5002, 1000, 5, 0, 0 },
	{ "sudo", "", "", "", "", "shell", "", "ended", 6000, 1000, SECOND, 0, 0 },
	{ "in-sudo", "", "", "", "sudo", "command", "", "ended", 6001, 0, SECOND, 0, 0 },
	{ "ls", "", "", "", "", "shell", "", "ended", 7000, 1000, SECOND - 1, 0, 0 },
	{ "waits", "", "", "", "", "shell", "", "running", 7001, 1000, 1, -1, 0 },
	{ "empty", "", "", "", "", "shell", "", "ended", 8000, 1000, 0, 0, 0 }, /* has no process */
	{ "still", "", "", "", "", "command", "", "running", 500, 1000, 0, -1, 0 },
};

static void add_other(struct skep_mock_batch *b, const struct other *o, unsigned i)
{
	struct record_process p;
	struct record_run run;

	records_run(o->id, o->state, o->start_s * SECOND, &run);
	run.name = skep_mock_text(o->name);
	run.engine = skep_mock_text(o->engine);
	run.pipeline = skep_mock_text(o->pipeline);
	run.parent_run = skep_mock_text(o->parent);
	run.origin = skep_mock_text(o->origin);
	run.job = skep_mock_text(o->job);
	run.host = skep_mock_text(b->batch.host_name);
	run.uid = o->uid;
	run.exit_code = o->exit_code;
	run.signal = o->signal;
	run.lost_queue = i;
	records_add_run(b, &run);
	records_process(50000 + i, o->id, &p);
	p.pipeline = run.pipeline;
	p.start_ns = o->start_s * SECOND;
	p.end_ns = p.start_ns + SECOND;
	p.cpu_ns = o->cpu_ns;
	if (o->signal) /* more than a process can read: the sums stop at 2^63 - 1 */
		p.rchar_bytes = p.wchar_bytes = INT64_MAX;
	for (unsigned images = o->signal ? 3 : o->cpu_ns != 0; images; images--) {
		p.image = images;
		records_add_process(b, &p);
	}
}

#define RUN "20261110T00-aaa"

static struct skep_mock_batch *batch(uint64_t id)
{
	const struct skep_stream *stream = stream_with_facets();
	struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
	struct record_run run;
	struct record_task task;

	records_run(RUN, id == BATCHES ? "ended" : "running", 1000 * SECOND, &run);
	run.engine = skep_mock_text("snakemake");
	run.origin = skep_mock_text("command");
	run.host = skep_mock_text(b->batch.host_name);
	run.lost_kernel = 3;
	if (id != 2)
		records_add_run(b, &run);
	for (unsigned i = 0; i < 400; i++)
		add_process(b, stream, RUN, (unsigned)id * 400 + i);
	for (unsigned i = 0; i < 12; i++) { /* the third batch completes the tasks of the first */
		records_task(i, RUN, &task);
		task.sample = skep_mock_text(id == 1 ? "early" : "late\t1");
		task.exit_code = i == 3;
		task.container_name = skep_mock_text(i == 4 ? "bwa" : "");
		task.requested_cpus = 0.1 * i;
		task.granted_cpus = i % 2 ? 0 : 0.2 * i;
		if (id != 2)
			skep_mock_batch_add(b, &record_stream_task, &task.root_upid, task.end_ns + id, &task, NULL);
	}
	if (id == 2)
		for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			add_other(b, &others[i], i);
	if (id == BATCHES) {
		add_samples(b, RUN);
		add_streams(b, RUN);
		add_ledger(b, RUN);
		add_host(b);
		add_losses(b);
	}
	return b;
}

/* ---- both lakes ---------------------------------------------------------------------- */

#define USAGE 18000 /* s; later than what the claims ask for: files do not say which host a record is of */

/* Two hosts, one of which has booted twice, with GPUs and containers; a run that left a process, one that waits. */
static void add_usage(struct skep_mock_batch *b, bool of_runs)
{
	for (uint64_t i = 1; i <= 200; i++) {
		const uint64_t at = (USAGE + i * 60) * SECOND;

		usage_add_host(b, &(struct usage_of_host){ .end_ns = at,
							   .interval_ns = 60 * SECOND,
							   .cpus = 4,
							   .cores = 0.125,
							   .rx_bytes = i,
							   .tx_bytes = 2 * i,
							   .memory_bytes = i << 20,
							   .memory_limit_bytes = UINT64_C(8) << 30 });
		usage_add_sample(b, at, 60 * SECOND, "", "skepd", 0.01, 1, 1 << 20);
		usage_add_sample(b, at, 60 * SECOND, "", "postgres", 0.1, 1, 1 << 20);
		if (of_runs) {
			usage_add_sample(b, at, 60 * SECOND, "still", "curl", 0, 2, i << 10);
			usage_add_sample(b, at, 60 * SECOND, "still", "bash", 0.001, 1, 7);
			usage_add_sample(b, at, 60 * SECOND, "20261110T01-abb", "redis-server", 0.001, 1, 1 << 20);
		}
		usage_add_gpu(b, at, 60 * SECOND, "GPU-1", i % 7 ? 0.25 : 0, i % 3);
		usage_add_gpu(b, at, 60 * SECOND, "GPU-\xc3\xa9", 0, true);
		usage_add_container(b, at, 60 * SECOND, "0123456789abcdef", 0.5, i << 20);
		usage_add_container(b, at, 60 * SECOND, "", 0.5, i << 20); /* of no container */
		for (unsigned k = 0; k < 3; k++) {
			usage_add_container(b, at, (60 - k) * SECOND, "three", 0.125, i << 20);
			if (k < 2)
				usage_add_container(b, at, 60 * SECOND, "two", 0.25, i << k);
		}
		usage_add_holder(b, at, 900 + i % 3, RUN, i % 2 ? "train.py" : "it's", i % 5 ? 7 : 0, i % 3);
	}
}

static void write_batch(struct skep_mock *m, struct skep_mock_batch *b, unsigned acks)
{
	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	for (int i = 0; i < 40000 && m->acks < acks; i++) {
		skep_mock_settle(m);
		skep_mock_poll(m, 5);
		skep_mock_advance(m, 5000000);
	}
	if (m->acks != acks)
		fail_msg("not acknowledged: %s", m->why);
	skep_mock_batch_free(b);
}

#define PASSES (USAGE + 8 * 3600)

static struct skep_mock_batch *batch_of_passes(uint64_t id, int64_t offset)
{
	struct skep_mock_batch *b = skep_mock_batch_new(BATCHES + 10 + id, RECORDS_OFFSET + offset);

	b->batch.host_name = "testhost";
	return b;
}

static void add_cgroup(struct skep_mock_batch *b, uint64_t at_s, uint64_t interval_s, uint64_t memory)
{
	usage_add_container(b, at_s * SECOND, interval_s * SECOND, "passes", 0.5, memory);
}

/*
 * Passes over a container of three cgroups: in one batch, in two, and in a batch that comes late and twice.  One cgroup
 * becomes empty between two passes, and the container's own one is removed.
 */
static void write_passes(struct skep_mock *m, unsigned *acks)
{
	struct skep_mock_batch *b = batch_of_passes(0, 0);

	add_cgroup(b, PASSES + 120, 60, 1000);
	add_cgroup(b, PASSES + 120, 60, 200);
	add_cgroup(b, PASSES + 120, 20, 30);
	add_cgroup(b, PASSES + 180, 60, 1000);
	write_batch(m, b, ++*acks);
	b = batch_of_passes(1, 3000); /* the two clocks are read anew */
	add_cgroup(b, PASSES + 180, 60, 300);
	add_cgroup(b, PASSES + 180, 60, 40);
	add_cgroup(b, PASSES + 185, 5, 10);
	add_cgroup(b, PASSES + 240, 60, 1);
	usage_add_gone(b, (PASSES + 245) * SECOND, 7000 * SECOND, "passes", 5000);
	write_batch(m, b, ++*acks);
	for (unsigned i = 0; i < 2; i++) {
		b = batch_of_passes(2, 0);
		add_cgroup(b, PASSES + 60, 60, 500);
		add_cgroup(b, PASSES + 60, 60, 490);
		add_cgroup(b, PASSES + 60, 60, 360);
		write_batch(m, b, ++*acks);
	}
	b = batch_of_passes(3, 0);
	add_cgroup(b, PASSES + 240, 60, 2);
	write_batch(m, b, ++*acks);
}

static void write_all(struct skep_mock *m)
{
	static const char *const boots[] = { SKEP_MOCK_BOOT_ID, "99999999-1111-4222-8333-444444444444" };
	struct skep_mock_batch *b;
	unsigned acks = 0;

	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
	for (uint64_t id = 1; id <= BATCHES; id++)
		write_batch(m, batch(id), ++acks);
	for (unsigned i = 0; i < 4; i++) { /* the last one comes again */
		b = skep_mock_batch_new(BATCHES + 1 + (i < 3 ? i : 2), RECORDS_OFFSET);
		b->batch.host_name = i == 0 ? "other \xc3\xa9" : "testhost";
		b->batch.boot_id = boots[i == 1];
		if (i == 1) /* in an earlier boot the machine was smaller; this boot's id is the larger one */
			add_identity(b, 100 * SECOND, "t3.micro", 1);
		add_usage(b, i != 1);
		write_batch(m, b, ++acks);
	}
	write_passes(m, &acks);
	assert_int_equal(skep_mock_end(m), 0);
}

static int fill(void **state)
{
	const char *plugins = getenv("SKEP_PLUGIN_DIRS");
	char path[4096];
	struct skep_mock m;
	entry_fn *entry = NULL;
	void *library, *symbol;

	if (clickhouse_begin(state) != 0 || !mkdtemp(folder))
		return -1;
	if (!*clickhouse_url)
		return 0;
	snprintf(path, sizeof(path), "%s/lake.so", plugins ? plugins : "plugins-run");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	symbol = library ? dlsym(library, "skep_plugin_entry") : NULL;
	if (!symbol) {
		print_error("%s: %s\n", path, dlerror());
		return -1;
	}
	memcpy(&entry, &symbol, sizeof(entry));
	skep_mock_init(&m, entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	skep_mock_option(&m, "path", folder);
	write_all(&m);
	clickhouse_fresh("questions");
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	skep_mock_option(&m, "url", clickhouse_url);
	skep_mock_option(&m, "database", "questions");
	write_all(&m);
	snprintf(address, sizeof(address), "clickhouse://%s/questions", strstr(clickhouse_url, "://") + 3);
	return 0;
}

static int clean(void **state)
{
	folder_remove(folder);
	return clickhouse_end(state);
}

/* ---- the questions ------------------------------------------------------------------- */

/* What both answer; the caller frees it.  A message names its lake as LAKE. */
typedef void ask_fn(struct lake *, const void *arg, FILE *);

static void put_error(FILE *out, int err, const char *path)
{
	const char *at = strstr(why, path);

	fprintf(out, "error %d: %.*s%s%s\n", err, at ? (int)(at - why) : (int)strlen(why), why, at ? "LAKE" : "",
		at ? at + strlen(path) : "");
}

static const char *lake_now; /* the path of the lake that is asked */

static char *answer(const char *path, ask_fn *ask, const void *arg)
{
	struct lake *l = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	lake_now = path;
	if (lake_open(path, &l, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	ask(l, arg, out);
	lake_close(l);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Asks both; returns the answer of SQLite, which the caller frees. */
static char *equal(const char *what, ask_fn *ask, const void *arg)
{
	char *sqlite = answer(folder, ask, arg), *clickhouse = answer(address, ask, arg);

	if (strcmp(sqlite, clickhouse) != 0) {
		size_t at = 0;

		while (sqlite[at] == clickhouse[at])
			at++;
		at = at > 300 ? at - 300 : 0;
		fail_msg("%s: SQLite answers\n...%.600s\nand ClickHouse\n...%.600s", what, sqlite + at, clickhouse + at);
	}
	free(clickhouse);
	return sqlite;
}

static void ask_runs(struct lake *l, const void *arg, FILE *out)
{
	struct lake_runs *runs = NULL;
	int err = lake_runs(l, arg, &runs, why, sizeof(why));

	if (err) {
		put_error(out, err, lake_now);
		return;
	}
	for (size_t i = 0; i < runs->n; i++)
		fprintf(out, "%s ", runs->runs[i].id);
	fputc('\n', out);
	assert_int_equal(runs_print(runs, out, NULL), 0);
	assert_int_equal(runs_json(runs, out), 0);
	lake_runs_free(runs);
}

static void expect_runs(const char *want, const struct lake_runs_query *q)
{
	char *text = equal(want, ask_runs, q);

	if (strncmp(text, want, strlen(want)) != 0 || text[strlen(want)] != '\n')
		fail_msg("runs: %.*s, expected %s", (int)strcspn(text, "\n"), text, want);
	free(text);
}

#define RUNS(want_, ...) expect_runs(want_, &(struct lake_runs_query){ __VA_ARGS__ })

static void test_runs(void **state)
{
	const uint64_t uid = 1001, since = (uint64_t)RECORDS_OFFSET + 3000 * SECOND;

	(void)state;
	clickhouse_need();
	RUNS("waits in-sudo alone below 20261110T03-add 20261110T02-acc 20261110T01-abb " RUN " still ", 0);
	RUNS("empty waits ls in-sudo sudo alone below login 20261110T03-add 20261110T02-acc 20261110T01-abb " RUN " still ",
	     .sessions = true);
	RUNS("waits in-sudo ", .limit = 2);
	RUNS("empty ", .limit = 1, .sessions = true);
	RUNS(RUN " ", .engine = "snakemake");
	RUNS("in-sudo ", .within = "sudo", .sessions = true);
	RUNS("20261110T01-abb ", .pipeline = "other");
	RUNS("20261110T03-add 20261110T02-acc ", .uid = &uid);
	RUNS("20261110T02-acc " RUN " ", .job = "4711"); /* its own, and one of its tasks */
	RUNS("", .job = "none");
	RUNS("waits 20261110T03-add still ", .outcome = LAKE_RUNS);
	RUNS("20261110T02-acc 20261110T01-abb ", .outcome = LAKE_FAILED);
	RUNS("in-sudo alone below " RUN " ", .outcome = LAKE_OK);
	RUNS("20261110T03-add 20261110T02-acc ", .since_ns = since, .until_ns = since + 1001 * SECOND);
	RUNS("20261110T02-acc ", .since_ns = since, .until_ns = since + 1000 * SECOND);
	RUNS("waits in-sudo alone below ", .host = "testhost", .since_ns = since + 1001 * SECOND);
	RUNS("", .host = "it's \\ other");
	RUNS("20261110T01-abb ", .engine = "make", .pipeline = "other", .limit = 5, .outcome = LAKE_FAILED);
}

static void ask_report(struct lake *l, const void *arg, FILE *out)
{
	const struct paint_style style = { .width = 200, .processes = true, .tasks = true };
	struct tune_history history = { 0 };
	struct lake_report *r = NULL;
	struct analysis *a = NULL;
	int err = lake_report(l, arg, &r, why, sizeof(why));

	if (err) {
		put_error(out, err, lake_now);
		return;
	}
	assert_int_equal(report_json_print(r, out), 0);
	assert_int_equal(report_print(r, out, &style), 0);
	assert_int_equal(tune_history_read(l, r, NULL, &history, why, sizeof(why)), 0);
	assert_int_equal(analysis_new_with(r, NULL, history.runs, NULL, 0, &a), 0);
	assert_int_equal(tune_json(r, a, &history, &(struct tune_price){ 0 }, out), 0);
	assert_int_equal(tune_text(r, a, &history, &(struct tune_price){ 0 }, out, &style), 0);
	fprintf(out, "%zu processes, %zu tasks, %zu tools, %zu samples, %zu posts, %zu losses\n", r->n_processes,
		r->n_tasks, r->n_tools, r->n_samples, r->n_ledger, r->n_losses);
	fprintf(out, "%zu progress, %zu pressure, %zu links, %zu opens\n", r->n_progress, r->n_pressure, r->n_links,
		r->n_opens);
	for (size_t i = 0; i < r->n_progress; i++)
		fprintf(out, "%zu %llu %llu\n", r->progress[i].process, (unsigned long long)r->progress[i].end_ns,
			(unsigned long long)r->progress[i].cpu_ns);
	for (size_t i = 0; i < r->n_pressure; i++)
		fprintf(out, "%s %llu\n", r->pressure[i].cgroup, (unsigned long long)r->pressure[i].memory_bytes);
	for (size_t i = 0; i < r->n_links; i++)
		fprintf(out, "%s %llu\n", r->links[i].name, (unsigned long long)r->links[i].interval_ns);
	for (size_t i = 0; i < r->n_opens; i++)
		fprintf(out, "%s %zu %llu\n", r->opens[i].path, r->opens[i].process, (unsigned long long)r->opens[i].opens);
	for (size_t i = 0; i < r->n_samples; i++)
		fprintf(out, "%s %llu\n", r->samples[i].tool, (unsigned long long)r->samples[i].cpu_ns);
	analysis_free(a);
	analysis_history_free(history.runs);
	lake_report_free(r);
}

static void expect_report(const char *which, const char *want)
{
	char *text = equal(which, ask_report, which);

	if (!strstr(text, want))
		fail_msg("report of %s: no '%s' in: ...%s", which, want,
			 text + (strlen(text) > 1500 ? strlen(text) - 1500 : 0));
	free(text);
}

static void test_reports(void **state)
{
	(void)state;
	clickhouse_need();
	expect_report(RUN, "1200 processes, 40 tasks, 31 tools, 40 samples, 5 posts, 4 losses");
	expect_report(RUN, "20 progress, 20 pressure, 20 links, 20 opens");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_report(others[i].id, others[i].id);
}

/* A text of a run without its processes is the same, with arguments of few of them alone. */
static void print_parts(const struct lake_report *r, FILE *out)
{
	fprintf(out, "%s %s %s %" PRIu64 " %" PRIu64 "\n", r->run.id, r->run.boot_id, r->run.pipeline,
		r->run.totals.processes, r->run.totals.cpu_ns);
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		fprintf(out, "%s %" PRIu64 " %s %s %s %s %s %s %d %d %d %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
			p->upid, p->image, p->kind->tool, p->task, p->kind->task_id, p->kind->exe, p->kind->state,
			p->argv[0] ? p->argv[0] : "", p->kind->wrapper, p->kind->execed, p->kind->last, p->kind->exit_code,
			p->kind->signal, p->start_ns, p->end_ns, p->kind->oom_limit_bytes);
		fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
			p->totals.threads, p->totals.cpu_ns, p->totals.run_delay_ns, p->totals.rss_peak_bytes,
			p->totals.rchar_bytes, p->totals.read_bytes, p->totals.write_bytes,
			p->totals.states[LAKE_IOWAIT]);
		for (size_t k = 0; k < p->n_facets; k++)
			fprintf(out, " %s %g", p->facets[k].name, p->facets[k].value);
		fputs("\n", out);
	}
	for (size_t i = 0; i < r->n_tasks; i++)
		fprintf(out, "%s %s %zu %" PRIu64 " %" PRIu64 "\n", r->tasks[i].task_id, r->tasks[i].task, r->tasks[i].n_images,
			r->tasks[i].totals.cpu_ns, r->tasks[i].requested_memory_bytes);
	for (size_t i = 0; i < r->n_tools; i++)
		fprintf(out, "%s %" PRIu64 " %g\n", r->tools[i].tool, r->tools[i].wall_ns, r->tools[i].cores_peak);
	for (size_t i = 0; i < r->n_samples; i++)
		fprintf(out, "%s %" PRIu64 "\n", r->samples[i].tool, r->samples[i].start_ns);
}

struct taking {
	FILE *out;
	size_t n, most; /* take() refuses more */
};

static int take(void *arg, const struct lake_run *run, struct lake_report *r, const char *text)
{
	struct taking *in = arg;

	if (in->n++ == in->most)
		return -E2BIG;
	if (r)
		print_parts(r, in->out);
	else
		fprintf(in->out, "without %s: %s\n", run->id, text);
	return 0;
}

/* Several runs at once, then each by itself. */
static void ask_several(struct lake *l, const void *arg, FILE *out)
{
	const struct lake_runs_query all = { .sessions = true };
	struct lake_run gone = { .id = "gone", .boot_id = "boot" };
	const struct lake_run **list;
	struct lake_runs *runs = NULL;
	char *text[2];
	size_t size;
	FILE *to;

	(void)arg;
	assert_int_equal(lake_runs(l, &all, &runs, why, sizeof(why)), 0);
	assert_true(runs->n > 5);
	list = calloc(runs->n + 1, sizeof(*list));
	assert_non_null(list);
	for (size_t i = 0; i < runs->n; i++) /* the oldest first */
		list[i] = &runs->runs[runs->n - 1 - i];
	to = open_memstream(&text[0], &size);
	assert_int_equal(lake_reports(l, list, runs->n, take, &(struct taking){ to, 0, SIZE_MAX }), 0);
	assert_int_equal(fclose(to), 0);
	to = open_memstream(&text[1], &size);
	for (size_t i = 0; i < runs->n; i++) {
		struct lake_report *r = NULL;

		assert_int_equal(lake_report(l, list[i]->id, &r, why, sizeof(why)), 0);
		print_parts(r, to);
		lake_report_free(r);
	}
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text[0], text[1]);
	fputs(text[0], out);
	free(text[0]);
	free(text[1]);
	list[runs->n] = &gone;
	to = open_memstream(&text[0], &size);
	assert_int_equal(lake_reports(l, list + runs->n - 2, 3, take, &(struct taking){ to, 0, SIZE_MAX }), 0);
	assert_int_equal(lake_reports(l, list, runs->n, take, &(struct taking){ to, 0, 2 }), -E2BIG);
	assert_int_equal(fclose(to), 0);
	assert_non_null(strstr(text[0], "without gone: "));
	free(text[0]);
	free(list);
	lake_runs_free(runs);
}

static void test_several(void **state)
{
	(void)state;
	clickhouse_need();
	free(equal("several runs", ask_several, NULL));
}

static void ask_few(struct lake *l, const void *arg, FILE *out)
{
	const struct paint_style style = { .width = 200, .tasks = true };
	struct lake_report *r[2] = { NULL };
	char *text[2] = { NULL };
	size_t size, kept = 0;

	for (size_t i = 0; i < 2; i++) {
		FILE *to = open_memstream(&text[i], &size);

		assert_non_null(to);
		if (lake_report(l, arg, &r[i], why, sizeof(why)) != 0)
			fail_msg("%s", why);
		assert_int_equal(report_print(r[i], to, &style), 0);
		fclose(to);
		lake_few_arguments(l);
	}
	assert_string_equal(text[0], text[1]);
	assert_int_equal(r[0]->n_processes, r[1]->n_processes);
	for (size_t i = 0; i < r[0]->n_processes; i++) {
		const struct lake_process *all = &r[0]->processes[i], *few = &r[1]->processes[i];
		const bool keeps = all->kind->exit_code > 0 || all->kind->signal || lake_begins_task(all);

		assert_string_equal(all->upid, few->upid);
		assert_int_equal(few->argv_cut, keeps && all->argv_cut);
		kept += keeps;
		for (size_t k = 0; keeps && all->argv[k]; k++)
			assert_string_equal(all->argv[k], few->argv[k]);
		assert_true(keeps || !few->argv[0]);
	}
	fprintf(out, "%zu of %zu\n", kept, r[0]->n_processes);
	for (size_t i = 0; i < 2; i++) {
		free(text[i]);
		lake_report_free(r[i]);
	}
}

static void test_few_arguments(void **state)
{
	char *text;

	(void)state;
	clickhouse_need();
	text = equal(RUN, ask_few, RUN);
	assert_true(strncmp(text, "0 of", 4) != 0 && strstr(text, " of 1200\n") && strncmp(text, "1200", 4) != 0);
	free(text);
}

static void test_begins_task(void **state)
{
	static const struct {
		const char *id;
		bool begins;
	} ids[] = {
		{ "4711-2f00.2", true }, { "4711-2f00.1", false }, { "471-2f00.2", false }, { "4711-2f00.2x", false },
		{ "4711.2", false }, { "4711-", false }, { "", false }, { ".2", false }, { "-4711-1.2", false }, { "4711-1.", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct lake_kind kind = { .task_id = ids[i].id };
		const struct lake_process p = { .kind = &kind, .pid = 4711, .image = 2 };

		if (lake_begins_task(&p) != ids[i].begins)
			fail_msg("%s", ids[i].id);
	}
}

/* ---- claims, and a bill -------------------------------------------------------------- */

static void ask_claims(struct lake *l, const void *arg, FILE *out)
{
	const struct lake_claims_query *q = arg;
	const struct lake_runs_query alive = { .until_ns = q->until_ns, .alive_ns = q->since_ns, .sessions = true };
	const struct price price = { .name = "all", .until_ns = PRICE_ALWAYS, .by_machine = true, .hour = { PRICE_NANO },
				     .split = { 60, 40 }, .has_energy = true, .kwh = PRICE_NANO };
	struct price_table *table = price_table_new("EUR");
	struct lake_claims *c = NULL;
	struct lake_runs *runs = NULL;

	assert_non_null(table);
	assert_int_equal(price_table_add(table, &price), 0);
	if (lake_claims(l, q, &c, why, sizeof(why)) != 0 || lake_runs(l, &alive, &runs, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	fprintf(out, "%zu runs, %zu parts, %zu tasks, %zu rows, %zu machines\n", runs->n, c->n_parts, c->n_tasks, c->n_rows,
		c->n_machines);
	for (size_t i = 0; i < c->n_parts; i++)
		fprintf(out, "part %d %s '%s' %llu\n", c->parts[i].part, c->parts[i].run, c->parts[i].name,
			(unsigned long long)c->parts[i].amount);
	for (size_t i = 0; i < c->n_tasks; i++)
		fprintf(out, "task %s %s %llu %llu %llu %llu %llu %g\n", c->tasks[i].run, c->tasks[i].task,
			(unsigned long long)c->tasks[i].start_ns, (unsigned long long)c->tasks[i].end_ns,
			(unsigned long long)c->tasks[i].cpu_ns, (unsigned long long)c->tasks[i].rss_peak_bytes,
			(unsigned long long)c->tasks[i].reserved_gpus, c->tasks[i].reserved_cpus);
	for (size_t i = 0; i < c->n_rows; i++)
		fprintf(out, "row %s %d %llu %llu %llu %llu %lld\n", c->rows[i].host, c->rows[i].sum,
			(unsigned long long)c->rows[i].start_ns, (unsigned long long)c->rows[i].end_ns,
			(unsigned long long)c->rows[i].interval_ns, (unsigned long long)c->rows[i].records,
			(long long)c->rows[i].amount);
	for (size_t i = 0; i < c->n_machines; i++)
		fprintf(out, "machine %s %s %llu %llu\n", c->machines[i].host, c->machines[i].instance_type,
			(unsigned long long)c->machines[i].cores, (unsigned long long)c->machines[i].memory_bytes);
	for (int by = COST_PIPELINE; by <= COST_LABEL; by++) {
		const struct cost_query query = {
			.by = (enum cost_by)by, .since_ns = q->since_ns, .until_ns = q->until_ns, .now_ns = q->until_ns
		};
		struct cost *cost = NULL;

		assert_int_equal(cost_new(table, runs, c, &query, &cost), 0);
		assert_int_equal(cost_json(cost, &query, out), 0);
		assert_int_equal(cost_text(cost, &query, 0, out, NULL), 0);
		cost_free(cost);
	}
	lake_claims_free(c);
	lake_runs_free(runs);
	price_table_free(table);
}

static void expect_claims(uint64_t bucket_ns, const char *want, const char *also)
{
	const struct lake_claims_query q = { (uint64_t)RECORDS_OFFSET + 999 * SECOND,
					     (uint64_t)RECORDS_OFFSET + 9000 * SECOND, bucket_ns, true };
	char *text = equal(want, ask_claims, &q);

	if (!strstr(text, want) || !strstr(text, also))
		fail_msg("claims: no '%s' or '%s' in %.700s", want, also, strstr(text, "row "));
	free(text);
}

static void test_claims(void **state)
{
	(void)state;
	clickhouse_need();
	expect_claims(0, "13 runs, ", "machine testhost m5.large 16 34359738368\n");
	expect_claims(0, "row testhost 2 1794270001000000000 1794270001000000000 0 2 40500\n", "\"mj\": 121500");
	expect_claims(3600 * SECOND,
		      "row testhost 0 1794269800000000000 1794271600000000000 1800000000000 3 28800000000000\n",
		      "part 0 " RUN " '' 798720\n");
	expect_claims(0, "part 3 " RUN " 'team=red tier=\"1\"' ", "part 1 " RUN " '' 8400\n");
}

static void ask_audit(struct lake *l, const void *arg, FILE *out)
{
	struct lake_audit *audit = NULL;
	char head[CANON_HASH + 1];
	struct entries e;
	int err = lake_audit(l, arg, &audit, why, sizeof(why));

	if (err) {
		put_error(out, err, lake_now);
		return;
	}
	assert_int_equal(entries_new(audit, &e), 0);
	assert_int_equal(audit_json(&e, out, head), 0);
	assert_int_equal(audit_text(&e, out, NULL, head), 0);
	entries_free(&e);
	lake_audit_free(audit);
}

static void expect_audit(const char *which, const char *const *want)
{
	char *text = equal(which, ask_audit, which);

	for (; *want; want++)
		if (!strstr(text, *want))
			fail_msg("audit of %s: no '%s' in: ...%s", which, *want,
				 text + (strlen(text) > 1500 ? strlen(text) - 1500 : 0));
	free(text);
}

/* The same records give the same chain; a session's has the runs that began in it. */
static void test_audits(void **state)
{
	static const char *const of_run[] = { "\"kind\":\"open-for-write\",\"path\":\"/data/a \\\"b\\\"\\t\xc3\xa9\"",
					      "\"peer_address\":\"192.0.2.7\"", "\"rx_bytes\":2000000,\"seq\":", "\"kind\":\"loss\"",
					      "\"kind\":\"fork\"", "\"lost_kernel\":3", "entries; head of the chain", NULL };
	static const char *const of_session[] = { "\"kind\":\"audit\"", "\"kind\":\"run\"", "\"parent_run\":\"login\"",
						  "\"run\":\"below\",", NULL };
	static const char *const none[] = { "error -2: no run \"none-such\" in the lake LAKE", NULL };

	(void)state;
	clickhouse_need();
	expect_audit(RUN, of_run);
	expect_audit("login", of_session);
	expect_audit("none-such", none);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_audit(others[i].id, &of_run[6]);
}

static void say_nothing(const char *run, const char *text)
{
	fail_msg("run %s is left out: %s", run, text);
}

static void ask_export(struct lake *l, const void *arg, FILE *out)
{
	static const struct export_question all = { .run = NULL };
	struct export_writer e = *(const struct export_writer *)arg;
	size_t skipped = 0;

	e.out = out;
	if (export_runs(l, &all, &e, say_nothing, &skipped, why, sizeof(why)) != 0)
		fail_msg("export: %s", why);
	export_free(&e);
}

/* Rows of every kind, of every run; Parquet has the same values, from the same columns. */
static void test_export(void **state)
{
	char *text;

	(void)state;
	clickhouse_need();
	text = equal("export --what all", ask_export, &(struct export_writer){ .format = EXPORT_NDJSON });
	assert_non_null(strstr(text, "{\"row\":\"runs\",\"following\":1285,\"run\":\"" RUN "\""));
	assert_non_null(strstr(text, "\"facets\":{\"alpha.ratio\":"));
	free(text);
	for (size_t i = 0; i < EXPORT_KINDS; i++)
		free(equal(export_kinds[i].name, ask_export,
			   &(struct export_writer){ .format = EXPORT_CSV, .kind = &export_kinds[i] }));
}

static void ask_usage(struct lake *l, const void *arg, FILE *out)
{
	struct lake_usage *u = NULL;
	struct lake_pulses *pulses = NULL;
	struct lake_seen_list *seen = NULL;
	int err = lake_usage(l, arg, &u, why, sizeof(why));

	if (err) {
		put_error(out, err, lake_now);
		return;
	}
	for (size_t i = 0; i < u->n_hosts; i++) {
		const struct lake_host *h = &u->hosts[i];

		fprintf(out, "%s: %zu boots, last %s, %.3f cpus, %" PRIu64 " B, %" PRIu64 " to %" PRIu64 ", %zu+%zu hours, %zu+%zu runs, "
			     "%zu live, last %s\n", h->name, h->boots, h->boot_id, h->cpus, h->memory_bytes, h->first_ns, h->last_ns,
			h->hours, h->n_hours, h->runs, h->n_runs, h->live_runs,
			h->last_run == SIZE_MAX ? "none" : u->runs[h->last_run].id);
	}
	for (size_t i = 0; i < u->n_hours; i++) {
		const struct lake_hour *h = &u->hours[i];
		const uint64_t n[] = {
			h->host,       h->start_ns,   h->first_ns,     h->last_ns,            h->known_ns,
			h->capacity_ns,
			h->busy_ns,    h->idle_ns,    h->runs_ns,      h->daemons_ns,         h->memory_bytes,
			h->rx_bytes,   h->tx_bytes,   h->read_bytes,   h->memory_limit_bytes, h->write_bytes,
			h->idle_minutes, h->other_minutes,
		};

		fprintf(out, "hour '%s'", h->item);
		for (size_t k = 0; k < sizeof(n) / sizeof(n[0]); k++)
			fprintf(out, " %" PRIu64, n[k]);
		fputc('\n', out);
	}
	for (size_t i = 0; i < u->n_runs; i++)
		fprintf(out, "run %s %s %s %s %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", u->runs[i].id, u->runs[i].name, u->runs[i].engine,
			u->runs[i].origin, u->runs[i].container, u->runs[i].unit, u->runs[i].uid, u->runs[i].start_ns,
			u->runs[i].end_ns);
	for (size_t i = 0; i < u->n_left; i++)
		fprintf(out, "left %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", u->runs[u->left[i].run].id,
			u->left[i].tool, u->left[i].from_ns, u->left[i].to_ns, u->left[i].processes,
			u->left[i].rss_bytes, u->left[i].cpu_ns);
	for (size_t i = 0; i < u->n_contained; i++)
		fprintf(out, "in %s %s %s\n", u->contained[i].container, u->contained[i].name, u->runs[u->contained[i].run].id);
	assert_int_equal(lake_pulses(l, NULL, (uint64_t)RECORDS_OFFSET, INT64_MAX, &pulses, why, sizeof(why)), 0);
	for (size_t i = 0; i < pulses->n; i++)
		fprintf(out, "pulse %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", pulses->one[i].run, pulses->one[i].start_ns,
			pulses->one[i].interval_ns, pulses->one[i].cpu_ns, pulses->one[i].processes,
			pulses->one[i].rss_bytes, pulses->one[i].tool);
	assert_int_equal(lake_gpu_processes(l, "99999999", (uint64_t)RECORDS_OFFSET, INT64_MAX, &seen, why, sizeof(why)), 0);
	for (size_t i = 0; i < seen->n; i++)
		fprintf(out, "holds %s %s %s %" PRIu64 " %d %d\n", seen->one[i].upid, seen->one[i].tool, seen->one[i].run, seen->one[i].time_ns,
			seen->one[i].held, seen->one[i].busy);
	lake_seen_list_free(seen);
	assert_int_equal(lake_last_process(l, RUN, SKEP_MOCK_BOOT_ID, INT64_MAX, &seen, why, sizeof(why)), 0);
	for (size_t i = 0; i < seen->n; i++)
		fprintf(out, "last %s %" PRIu64 "\n", seen->one[i].tool, seen->one[i].time_ns);
	lake_seen_list_free(seen);
	lake_pulses_free(pulses);
	lake_usage_free(u);
}

static void expect_usage(const char *want, const struct lake_usage_query *q)
{
	char *text = equal("usage", ask_usage, q);

	if (!strstr(text, want))
		fail_msg("usage: no '%s' in: %.3000s", want, text);
	free(text);
}

static void test_usage(void **state)
{
	const uint64_t hour = (uint64_t)RECORDS_OFFSET + (USAGE + 3600) * SECOND;

	(void)state;
	clickhouse_need();
	/* two boots of a host: twice the first hour; the batch that came twice counts once */
	expect_usage("hour '' 1 1794286800000000000 1794286800000000000 1794290400000000000 7200000000000 28800000000000 900000000000 ", NULL);
	expect_usage("testhost: 2 boots", NULL);
	expect_usage("hour 'container/0123456789abcdef'", NULL);
	/* 4 passes of 60 s and 5 s of one cgroup; 625 s of half a core; the memory of the late pass */
	expect_usage("hour 'container/passes' 1 1794315600000000000 1794315600000000000 1794315840000003000 245000000000 0 "
		     "312500000000 0 0 0 1350 ", NULL);
	expect_usage("left 20261110T01-abb redis-server", NULL);
	expect_usage("pulse still", NULL);
	expect_usage("holds 99999999", NULL);
	expect_usage("last ", NULL);
	expect_usage("other \xc3\xa9: 1 boots", &(struct lake_usage_query){ .host = "other \xc3\xa9", .hosts_only = true });
	expect_usage("hour '' 0 1794290400000000000", &(struct lake_usage_query){ .since_ns = hour, .until_ns = hour + 1, .host = "testhost" });
	expect_usage("", &(struct lake_usage_query){ .host = "none' OR 1" });
}

/* What SQLite answers to a question for one number; the caller frees it. */
static char *of_file(const char *sql)
{
	char path[128], *text;
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/lake-2026-11.db", folder);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	text = strdup((const char *)sqlite3_column_text(s, 0));
	assert_non_null(text);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return text;
}

/* The roll-ups, which only a user's own SQL reads: forks that an exec replaced are no images; days are those of UTC. */
static void test_rollups(void **state)
{
	static const char *const sums[] = { "processes", "images", "calls", "failures", "cpu_ns", "wall_ns", "run_delay_ns" };
	char sql[256];

	(void)state;
	clickhouse_need();
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		/* a number for each sum that differs when two groups exchange a part */
		static const char *const of[][2] = {
			{ "FROM rollup_day r JOIN dict p ON p.id = r.pipeline JOIN dict t ON t.id = r.tool",
			  "FROM questions.rollup_day" },
			{ "FROM rollup_run_tool r JOIN dict t ON t.id = r.tool", "FROM questions.rollup_run_tool" },
		};

		for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
			const char *const day = k ? "0" : "day";
			char *want;

			snprintf(sql, sizeof(sql), "SELECT count(*) || ' ' || min(%s) || ' ' || max(%s) || ' ' || sum(%s) || ' ' || "
						   "sum(%s %% 1000003 * length(t.s)) %s", day, day, sums[i], sums[i], of[k][0]);
			want = of_file(sql);
			snprintf(sql, sizeof(sql), "SELECT concat(toString(count()), ' ', toString(min(toInt64(%s))), ' ', "
						   "toString(max(toInt64(%s))), ' ', toString(sum(%s)), ' ', toString(sum(%s %% 1000003 * "
						   "length(tool)))) %s", day, day, sums[i], sums[i], of[k][1]);
			assert_string_equal(clickhouse_ask(sql), want);
			free(want);
		}
	}
	assert_string_equal(clickhouse_ask("SELECT min(month), max(month) FROM questions.rollup_run_tool"), "202611\t202611");
}

static void test_names(void **state)
{
	(void)state;
	clickhouse_need();
	expect_report("last", "\"in-sudo\"");
	expect_report("nightly", "20261110T01-abb"); /* the newer one */
	expect_report("live", "20261110T03-add");
	expect_report("20261110T02", "20261110T02-acc");
	expect_report("it's \\ \"\t", "20261110T02-acc");
	expect_report("20261110T", "error -17: 4 runs begin with");
	expect_report("none-such", "error -2: no run \"none-such\" in the lake LAKE");
	expect_report("' OR 1 --", "error -2: no run");
	expect_report("", "error -2: no run given");
}

/* ---- the commands ---------------------------------------------------------------------- */

/* What a command prints; the caller frees it. */
static char *printed(const char *environment, const char *command, const char *lake)
{
	const char *skep = getenv("SKEP");
	char line[1024], *text = NULL;
	size_t size, n;
	FILE *in, *out = open_memstream(&text, &size);

	snprintf(line, sizeof(line), "env -u SKEP_LAKE %s %s %s %s 2>&1; echo status $?", environment,
		 skep ? skep : "./skep", command, lake);
	in = popen(line, "r"); /* NOLINT(cert-env33-c,bugprone-command-processor): no input from outside */
	assert_non_null(in);
	assert_non_null(out);
	while ((n = fread(line, 1, sizeof(line), in)) > 0)
		fwrite(line, 1, n, out);
	assert_int_equal(pclose(in), 0);
	fclose(out);
	return text;
}

static void expect_printed(const char *environment, const char *command, const char *lake, const char *want)
{
	char *text = printed(environment, command, lake);

	if (strcmp(text, want) != 0)
		fail_msg("%s %s %s prints '%.1500s', not '%.1500s'", environment, command, lake, text, want);
	free(text);
}

/* The address by the option, the variable and the file of the configuration. */
static void test_commands(void **state)
{
	static const char *const commands[] = { "show", "show --json --processes " RUN, "runs --all", "runs --json",
						"tune " RUN, "tune --json " RUN, "recognize " RUN,
						"audit " RUN, "audit --json login",
						"sweep --until 2026-11-10T09:00:00Z", "sweep --json --until 2026-11-10T09:00:00Z",
						"hosts --until 2026-11-10T09:00:00Z", "hosts --json --until 2026-11-10T09:00:00Z" };
	char option[256], variable[256], file[256], path[256], lake[256], *want;
	FILE *conf;

	(void)state;
	clickhouse_need();
	snprintf(lake, sizeof(lake), "--lake %s", folder);
	snprintf(option, sizeof(option), "--lake %s", address);
	snprintf(variable, sizeof(variable), "SKEP_LAKE=%s", address);
	snprintf(file, sizeof(file), "XDG_CONFIG_HOME=%s", folder);
	snprintf(path, sizeof(path), "%s/skep", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/skep/skep.conf", folder);
	conf = fopen(path, "we");
	assert_non_null(conf);
	fprintf(conf, "// where the fleet's runs are\n{ \"lake\": \"%s\" }\n", address);
	fclose(conf);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		want = printed("", commands[i], lake);
		assert_non_null(strstr(want, "status 0"));
		expect_printed("", commands[i], option, want);
		if (i == 0) {
			expect_printed(variable, commands[i], "", want);
			expect_printed(file, commands[i], "", want);
		}
		free(want);
	}
	want = printed("", "run --no-report --lake clickhouse://127.0.0.1/x -- true", "");
	assert_non_null(strstr(want, "skep run writes to a folder"));
	free(want);
}

/* ---- addresses, and servers that cannot answer ----------------------------------------- */

static void expect_why(int err, int want_err, const char *want)
{
	if (err != want_err || !strstr(why, want))
		fail_msg("%d '%s', expected %d and '%s'", err, why, want_err, want);
}

static void expect_no_lake(const char *path, int want_err, const char *want)
{
	struct lake *l = NULL;
	int err = lake_open(path, &l, why, sizeof(why));

	assert_null(l);
	expect_why(err, want_err, want);
}

static void test_addresses(void **state)
{
	static const struct {
		const char *address, *want;
	} bad[] = {
		{ "clickhouse://", "no host" },
		{ "clickhouse:///db", "no host" },
		{ "clickhouse://h:0/db", "no port: 0" },
		{ "clickhouse://h:70000/db", "no port" },
		{ "clickhouse://h:81x/db", "no port" },
		{ "clickhouse://@h/db", "no user" },
		{ "clickhouse://ann:secret@h/db", "password_file=FILE" },
		{ "clickhouse://h/a/b", "no database" },
		{ "clickhouse://h/%4", "no database" },
		{ "clickhouse://h/db?secure=maybe", "secure is neither" },
		{ "clickhouse://h/db?timeout=0", "timeout" },
		{ "clickhouse://h/db?secret=1", "no such parameter: secret" },
		{ "clickhouse://h/db?password_file=/none-such", "/none-such: No such file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct lake *l = NULL;

		assert_true(lake_open(bad[i].address, &l, why, sizeof(why)) < 0);
		assert_null(l);
		if (!strstr(why, bad[i].want))
			fail_msg("%s: '%s', expected '%s'", bad[i].address, why, bad[i].want);
		assert_null(strstr(why, "secret@")); /* no password in a message */
	}
}

static void test_refused(void **state)
{
	char text[160];
	struct lake *l = NULL;

	(void)state;
	clickhouse_need();
	snprintf(text, sizeof(text), "clickhouse://%s/none_such", strstr(clickhouse_url, "://") + 3);
	expect_no_lake(text, -EPROTO, "make it with `skep lake init`");
	if (!clickhouse_is_own())
		return;
	snprintf(text, sizeof(text), "clickhouse://ann@%s/questions", strstr(clickhouse_url, "://") + 3);
	setenv("SKEP_CLICKHOUSE_PASSWORD", "wrong", 1);
	expect_no_lake(text, -EPROTO, "mend the user and the password");
	setenv("SKEP_CLICKHOUSE_PASSWORD", "right", 1);
	if (lake_open(text, &l, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	lake_close(l);
	unsetenv("SKEP_CLICKHOUSE_PASSWORD");
}

/*
 * A server that gives one answer for each connection, then hangs.  The first answers the question for the version of
 * the tables.
 */
static char fake_address[64];
static pid_t fake;

#define LONG_ANSWER "100000" /* the server drips the rest */

static void serve(int fd, const char *const *answers)
{
	char request[8192];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; *answers; answers++) {
		int c = accept(fd, NULL, NULL);

		if (c < 0 || read(c, request, sizeof(request)) < 0 || write(c, *answers, strlen(*answers)) < 0)
			_exit(1);
		while (strstr(*answers, LONG_ANSWER) && write(c, "0", 1) == 1)
			usleep(20000);
		shutdown(c, SHUT_WR); /* a close with unread bytes would reset the connection */
		while (read(c, request, sizeof(request)) > 0)
			;
		close(c);
	}
	pause();
}

static void begin_fake(const char *const *answers)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	fake = fork();
	assert_true(fake >= 0);
	if (fake == 0)
		serve(fd, answers);
	close(fd);
	snprintf(fake_address, sizeof(fake_address), "clickhouse://127.0.0.1:%d/x?timeout=1", ntohs(a.sin_port));
}

static void end_fake(void)
{
	kill(fake, SIGKILL);
	waitpid(fake, NULL, 0);
}

#define ANSWER(length_, text_) \
	"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " length_ "\r\n\r\n" text_
#define OUR_TABLES ANSWER("2", "1\n")
/* to its end, as a proxy may send it */
#define REST(headers_, text_) "HTTP/1.1 200 OK\r\nConnection: close\r\n" headers_ "\r\n" text_
#define MEMORY "DB::Exception: Memory limit (for query) exceeded"

static void test_strange_servers(void **state)
{
	static const struct {
		const char *answers[3];
		int err;
		const char *want;
		bool opens;
	} cases[] = {
		{ { ANSWER("2", "0\n") }, -ENOTSUP, "skep lake init", false },
		{ { ANSWER("3", "99\n") }, -ENOTSUP, "upgrade skep", false },
		{ { ANSWER("0", "") }, -EPROTO, "without rows", false },
		{ { "HTTP/1.1 200 OK\r\nContent-Type: text/tab-separated-values\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" },
		  -ENOTSUP, "schema version 0", false },
		/* 200, and no answer */
		{ { REST("Content-Type: text/html\r\n", "<html>Log in</html>\n") }, -EPROTO, "content type text/html: <html>Log in", false },
		{ { OUR_TABLES, REST("Content-Type: text/html\r\n", "1\n") }, -EPROTO, "is that ClickHouse's HTTP interface?", true },
		{ { OUR_TABLES, REST("Content-Type: application/json\r\nContent-Length: 2\r\n", "{}") }, -EPROTO, "application/json: {}",
		  true },
		{ { OUR_TABLES, ANSWER("0", "") }, -EPROTO, "without rows", true },
		{ { OUR_TABLES, REST("X-ClickHouse-Exception-Code: 209\r\nContent-Length: 0\r\n", "") }, -EPROTO, "Exception-Code: 209",
		  true },
		{ { OUR_TABLES, REST("x-clickhouse-exception-code: 241\r\n", "0\trun-a\t1\t0\t0\tb\n") }, -EPROTO, "max_memory_usage", true },
		{ { OUR_TABLES, REST("Content-Type: text/tab-separated-values\r\n", "0\trun-a\t1\t0\t0\tb\nCode: 241. " MEMORY "\n") },
		  -EPROTO, "Memory limit (for query) exceeded; the server's max_memory_usage", true },
		{ { OUR_TABLES, REST("", "0\trun-a\t1\t0\t0\tb\nCode: 241, e.displayText() = " MEMORY ", e.what() = DB::Exception\n") },
		  -EPROTO, "max_memory_usage", true },
		{ { OUR_TABLES, REST("", "0\trun-a\t1\t0\t0\tnightCode: 241. " MEMORY "\n") }, -EPROTO, "max_memory_usage", true },
		{ { OUR_TABLES, REST("", "Code: 241. " MEMORY "\n") }, -EPROTO, "max_memory_usage", true },
		{ { OUR_TABLES, REST("Transfer-Encoding: chunked\r\n", "3b\r\nCode: 241. " MEMORY "\r\n") }, -EPROTO, "max_memory_usage",
		  true },
		{ { OUR_TABLES, REST("", "0\trun-a\t1\t0\t0\tb\n\r\n__exception__\r\nPU1FNUFH98\r\nCode: 241. " MEMORY
				     "\n51 PU1FNUFH98\r\n__exception__\r\n") }, -EPROTO, "max_memory_usage", true },
		{ { ANSWER("6", "hello\n") }, -EPROTO, "a text where a number belongs", false },
		{ { ANSWER("1", "5") }, -EPIPE, "in the middle of a row", false },
		{ { "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n5\n" }, -EPIPE, "may have broken off", false },
		{ { "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n" }, -EPROTO,
		  "is that ClickHouse's HTTP interface?", false },
		{ { "220 mail.example ESMTP\r\n" }, -EIO, "", false },
		{ { "" }, -EPIPE, "try again", false },
		{ { OUR_TABLES, ANSWER("100", "0\trun-a\t1\t0\t0\tb\n") }, -EPIPE, "try again", true },
		{ { OUR_TABLES, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n0\trun\r\n" }, -EPIPE, "try again",
		  true },
		{ { OUR_TABLES, ANSWER("14", "0\tr\t1\t0\t0\tb\n0\t") }, -EPIPE, "in the middle of a row", true },
		{ { OUR_TABLES, ANSWER("16", "0\tr\t0\t0\t0\tb\n0\tr\n") }, -EPROTO, "other columns", true },
		{ { OUR_TABLES, ANSWER("4", "0\tr\n") }, -EPROTO, "a text where a number belongs", true },
		{ { OUR_TABLES, "HTTP/1.1 500 x\r\nContent-Length: 45\r\nConnection: close\r\n\r\n"
			     "Code: 241, e.displayText() = DB::Exception: x" },
		  -EPROTO, "max_memory_usage", true },
		{ { OUR_TABLES }, -ETIMEDOUT, "the server has sent nothing for 1 s", true },
		{ { OUR_TABLES, ANSWER(LONG_ANSWER, "0\trun-a\t1\t0\t0\tb\n0\t") }, -ETIMEDOUT, "less than 1 KiB in 1 s", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lake_report *r = NULL;
		struct lake *l = NULL;
		int err;

		begin_fake(cases[i].answers);
		err = lake_open(fake_address, &l, why, sizeof(why));
		assert_int_equal(!err, cases[i].opens);
		if (!err)
			err = lake_report(l, "run-a", &r, why, sizeof(why));
		assert_null(r);
		end_fake();
		lake_close(l);
		if (err != cases[i].err || !strstr(why, cases[i].want))
			fail_msg("case %zu: %d '%s', expected %d and '%s'", i, err, why, cases[i].err, cases[i].want);
	}
	expect_no_lake(fake_address, -ECONNREFUSED, "is the server running");
}

/* A server that fails is not asked about the runs that are left. */
static void test_reports_of_strange_servers(void **state)
{
	static const struct {
		const char *answers[3], *want;
	} cases[] = {
		{ { OUR_TABLES, "HTTP/1.1 500 x\r\nContent-Length: 45\r\nConnection: close\r\n\r\n"
				"Code: 241, e.displayText() = DB::Exception: x" }, "max_memory_usage" },
		{ { OUR_TABLES, ANSWER("6", "0\tb\t3\n") }, "a run that was not asked for" },
		{ { OUR_TABLES, ANSWER("6", "0\tb\tx\n") }, "a run that was not asked for" },
		{ { OUR_TABLES, ANSWER("2", "1\n") }, "a run that was not asked for" },
		{ { OUR_TABLES, ANSWER("5", "0\tb\t1") }, "in the middle of a row" },
		{ { OUR_TABLES, ANSWER("6", "0\tb\t1\n") }, "a text where a number belongs" },
		{ { OUR_TABLES }, "the server has sent nothing for 1 s" },
	};
	const struct lake_run one = { .id = "a", .boot_id = "b" }, two = { .id = "c\t'", .boot_id = "" };
	const struct lake_run *const list[] = { &one, &two };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lake *l = NULL;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		begin_fake(cases[i].answers);
		assert_int_equal(lake_open(fake_address, &l, why, sizeof(why)), 0);
		assert_int_equal(lake_reports(l, list, 2, take, &(struct taking){ out, 0, SIZE_MAX }), 0);
		end_fake();
		lake_close(l);
		assert_int_equal(fclose(out), 0);
		if (!strstr(text, "without a: ") || !strstr(text, "without c\t': ") || !strstr(text, cases[i].want))
			fail_msg("case %zu: expected '%s', got %s", i, cases[i].want, text);
		free(text);
	}
}

/* The words of an exception in a row are a process's arguments; at the end of an answer they are an exception. */
static void test_exceptions(void **state)
{
	static const char *const rows[] = {
		"",
		"run-a\t5\n",
		"grep Code: 60. DB::Exception: x\t5\n",
		"5\tgrep Code: 60. DB::Exception: x\nrun-b\t6\n",
		"echo Code: 60\n",
		"echo Code: 60. Table\n",
	};
	static const char *const exceptions[] = {
		"Code: 60. DB::Exception: Table",
		"run-a\t5\nCode: 60. DB::Exception: Syntax error:\n\nSELECT\n",
		"run-a\t5\nrun-b\tniCode: 60, e.displayText() = DB::Exception: x, e.what() = DB::Exception\n",
		"run-a\t5\n\r\n__exception__\r\nTAG\r\nx\ty\n3 TAG\r\n__exception__\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (lake_http_exception(rows[i]))
			fail_msg("an exception: %s", rows[i]);
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (!lake_http_exception(exceptions[i]))
			fail_msg("no exception: %s", exceptions[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),      cmocka_unit_test(test_reports), cmocka_unit_test(test_several),
		cmocka_unit_test(test_few_arguments),
		cmocka_unit_test(test_begins_task), cmocka_unit_test(test_claims),
		cmocka_unit_test(test_audits),    cmocka_unit_test(test_names),
		cmocka_unit_test(test_export),    cmocka_unit_test(test_usage), cmocka_unit_test(test_rollups),
		cmocka_unit_test(test_commands),  cmocka_unit_test(test_addresses), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_strange_servers), cmocka_unit_test(test_reports_of_strange_servers),
		cmocka_unit_test(test_exceptions),
	};

	return cmocka_run_group_tests(tests, fill, clean);
}
