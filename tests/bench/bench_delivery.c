/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_delivery RECORDS CONFIG - the cost of delivery: process records go through core/delivery as in skepd (batches,
 * the spool where CONFIG has one, the sink's queue, the sink as a plugin), as fast as the sink accepts them, from emit
 * until the sink has answered for the last one.
 *
 * CONFIG is text as in skepd.conf, with one sink. Without a sink the program has one that accepts each batch at once,
 * which measures everything before the sink.
 * RECORDS 0: emits nothing and delivers the batches in the spool (the backlog that a restart finds).
 * Prints one line of JSON.  tests/bench/delivery.py makes tables of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uv.h>

#include "core/delivery/batch.h"
#include "core/base/clock.h"
#include "core/delivery/delivery.h"
#include "core/plugin/plugin.h"
#include "core/delivery/spooler.h"
#include "tests/unit/lake_records.h"

#define PREPARED 4096u       /* so many records have strings at a time */
#define PER_TASK 25u         /* processes, of 7 programs */
#define A_TURN 100u          /* records emitted in a turn of the loop, about as many as a probe's callback emits */
#define ON_THE_WAY (7u << 20) /* bytes: below the bound in memory of a sink that is behind */
#define AGE_NS 1000000000u   /* the collector's value */
#define SAMPLES 64           /* of memory, while a backlog is delivered */

static uv_loop_t loop;
static uv_timer_t pump, watch;
static uv_idle_t source;
static struct delivery *out;
static struct delivery_sink *sink;
static struct skep_instance *inst;
static struct record_process prepared[PREPARED];
static int stream;
static uint64_t wanted, emitted, rss_kb[SAMPLES];
static unsigned n_rss;
static bool over;
static double began, ended, cpu_began, cpu_ended;

static double now(void)
{
	return (double)clock_boot_ns() / 1e9;
}

static double cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* A line "NAME: value" or "NAME value" of a file in /proc. */
static uint64_t proc_value(const char *path, const char *name)
{
	unsigned long long n = 0;
	char line[256];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%*[: \t]%llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_delivery: %s: %s\n", what, why);
	exit(1);
}

/* ---- the loop, as in core/collect/collector.c -------------------------------------------- */

static void look(void);

static void on_pump(uv_timer_t *timer)
{
	uint64_t now_ns = clock_boot_ns(), next_ns;

	delivery_tick(out, now_ns);
	next_ns = delivery_next_ns(out);
	if (next_ns != UINT64_MAX && !over)
		uv_timer_start(timer, on_pump, next_ns > now_ns ? (next_ns - now_ns) / 1000000 + 1 : 1, 0);
	look();
}

static void emit_some(uv_idle_t *idle)
{
	struct skep_context context = { .size = sizeof(context) };
	uint64_t now_ns = clock_boot_ns();

	for (unsigned i = 0; i < A_TURN && emitted < wanted && delivery_bytes(out) < ON_THE_WAY; i++, emitted++) {
		struct record_process *p = &prepared[emitted % PREPARED];

		/* Each is another process that ends now. */
		p->end_ns = now_ns + i;
		p->upid.start_ns = p->start_ns = p->end_ns - 50000000 - emitted % 1000 * 1000000;
		context.run = p->run;
		context.pipeline = p->pipeline;
		context.task = p->task;
		context.tool = p->tool;
		context.container = p->container;
		delivery_emit(out, stream, &p->upid, p->end_ns, p, &context);
	}
	if (emitted < wanted && delivery_bytes(out) < ON_THE_WAY)
		return;
	if (emitted == wanted)
		delivery_flush(out);
	uv_idle_stop(idle);
}

static void on_wake(void *arg)
{
	uint64_t now_ns = clock_boot_ns(), next_ns = delivery_next_ns(out);

	(void)arg;
	if (next_ns != UINT64_MAX && !over)
		uv_timer_start(&pump, on_pump, next_ns > now_ns ? (next_ns - now_ns) / 1000000 + 1 : 0, 0);
	if (emitted < wanted && delivery_bytes(out) < ON_THE_WAY)
		uv_idle_start(&source, emit_some);
}

static struct delivery_count books(void)
{
	struct delivery_count counts[32], sum = { 0 };
	size_t n = delivery_counts(out, counts, 32);

	for (size_t i = 0; i < n && i < 32; i++) {
		sum.seen += counts[i].seen;
		sum.delivered += counts[i].delivered;
		sum.pending += counts[i].pending;
		for (int where = 0; where < DELIVERY_LOSSES; where++)
			sum.lost[0] += counts[i].lost[where];
	}
	return sum;
}

/* Whether the sink has answered for all records. */
static void look(void)
{
	if (over || emitted < wanted || !delivery_sink_settled(sink, delivery_last_id(out)))
		return;
	ended = now();
	cpu_ended = cpu();
	over = true;
	uv_timer_stop(&pump);
	uv_timer_stop(&watch);
	uv_stop(&loop);
}

static void on_watch(uv_timer_t *timer)
{
	(void)timer;
	if (n_rss < SAMPLES)
		rss_kb[n_rss++] = proc_value("/proc/self/status", "VmRSS");
	look();
}

/* ---- the sink ----------------------------------------------------------------------- */

static void batch_answer(struct skep_instance *i, const struct skep_batch *batch,
			 const struct skep_batch_answer *answer)
{
	(void)i;
	if (answer->result != SKEP_BATCH_ACK || answer->rejected)
		die("the sink did not take a batch", answer->why ? answer->why : "it gave no reason");
	if (delivery_done(out, sink, batch, answer, clock_boot_ns()) < 0)
		die("the sink", "answered for a batch that it does not have");
	look();
}

static const struct instance_ops ops = { .batch_answer = batch_answer };

static int submit(void *arg, const struct skep_batch *batch)
{
	return instance_submit(arg, batch);
}

/* A sink that acknowledges a batch at once. */
static int take(void *arg, const struct skep_batch *batch)
{
	const struct skep_batch_answer answer = { .size = sizeof(answer), .result = SKEP_BATCH_ACK };

	(void)arg;
	return delivery_done(out, sink, batch, &answer, clock_boot_ns());
}

static void sink_begin(const struct config *config, struct diag *diag)
{
	const struct config_plugin *entry = &config->sinks[0];
	char boot_id[37];
	struct skep_host host = { .size = sizeof(host),
				  .abi_minor = SKEP_ABI_MINOR,
				  .boot_id = boot_id,
				  .interval_ns = 5 * SECOND,
				  .verdict_fd = -1,
				  .rules_fd = -1,
				  .rules_programs_fd = -1,
				  .rules_values_fd = -1 };
	static char kept[37];
	struct plugin *plugin;

	if (config->n_sinks == 0) {
		if (delivery_sink_add(out, "sink", 4, take, NULL, &sink) < 0)
			die("sink", "no memory");
		return;
	}
	if (clock_boot_id(boot_id) < 0)
		die("boot id", "cannot be read");
	memcpy(kept, boot_id, sizeof(kept));
	host.boot_id = kept;
	if (plugin_load(config->plugin_dirs, entry->plugin, SKEP_KIND_SINK, diag, &plugin) < 0 ||
	    instance_new(&loop, plugin, config, entry, &host, &ops, NULL, diag, &inst) < 0) {
		diag_print(diag, stderr);
		exit(2);
	}
	if (instance_open(inst) < 0 || instance_start(inst) < 0)
		die(entry->plugin, inst->reason ? inst->reason : "does not start");
	if (delivery_sink_add(out, "sink", plugin->desc->sink->max_in_flight, submit, inst, &sink) < 0)
		die("sink", "no memory");
}

static void spool_begin_if(const struct config *config)
{
	const struct spool_limits limits = { .max_bytes = config->spool.max_bytes,
					     .reserve_bytes = config->spool.reserve_bytes,
					     .sync_ns = config->spool.sync_ns };
	const struct delivery_spool_env env = { .max_age_ns = 0 };
	struct spooler *spooler;
	char why[256];

	if (!config->spool.path)
		return;
	if (spooler_new(&loop, config->spool.path, &limits, &spooler, why, sizeof(why)) < 0)
		die(config->spool.path, why);
	if (delivery_spool(out, spooler, &env) < 0)
		die(config->spool.path, "no memory");
}

static void on_ended(void *arg)
{
	*(bool *)arg = true;
}

static void end_all(void)
{
	bool closed = false;

	if (inst) {
		instance_stop(inst);
		while (!instance_stopped(inst))
			uv_run(&loop, UV_RUN_ONCE);
	}
	delivery_spool_end(out, on_ended, &closed);
	while (!closed)
		uv_run(&loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&pump, NULL);
	uv_close((uv_handle_t *)&watch, NULL);
	uv_close((uv_handle_t *)&source, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	out = delivery_free(out);
	inst = instance_free(inst);
	uv_loop_close(&loop);
}

int main(int argc, char **argv)
{
	struct diag diag = { 0 };
	struct config *config;
	struct delivery_count sum;
	struct delivery_queue queue;
	uint64_t disk;
	double opened;

	if (argc != 3) {
		fprintf(stderr,
			"usage: bench_delivery RECORDS CONFIG   (text as in skepd.conf, with one sink or none)\n");
		return 2;
	}
	wanted = strtoull(argv[1], NULL, 10);
	config = config_parse(argv[2], strlen(argv[2]), "CONFIG", &diag);
	if (!config || config->n_sinks > 1) {
		diag_print(&diag, stderr);
		return 2;
	}
	/*
	 * Like a pipeline's: a task is some processes of a few programs (records_process: 7 processes a task, a cycle
	 * of 840).
	 */
	for (unsigned i = 0; i < PREPARED; i++)
		records_process(i / PER_TASK * 7 + i % 7 + UINT64_C(840) * i, "20261110T0000-000001", &prepared[i]);
	uv_loop_init(&loop);
	uv_timer_init(&loop, &pump);
	uv_timer_init(&loop, &watch);
	uv_idle_init(&loop, &source);
	opened = now();
	out = delivery_new(&(struct batch_origin) { "boot", "node1", "6.1.0" }, AGE_NS, DELIVERY_MAX_BYTES, on_wake,
			   NULL);
	if (!out)
		die("out", "no memory");
	spool_begin_if(config);
	opened = now() - opened;
	sink_begin(config, &diag);
	stream = delivery_stream_add(out, &record_stream_process);
	disk = proc_value("/proc/self/io", "write_bytes");
	began = now();
	cpu_began = cpu();
	if (wanted)
		uv_idle_start(&source, emit_some);
	uv_timer_start(&watch, on_watch, wanted ? 200 : 1, wanted ? 200 : 1000);
	uv_run(&loop, UV_RUN_DEFAULT);
	sum = books();
	queue = delivery_sink_queue(sink);
	disk = proc_value("/proc/self/io", "write_bytes") - disk;
	if (sum.lost[0] || sum.delivered == 0 || (wanted && sum.delivered != wanted)) {
		fprintf(stderr, "bench_delivery: %" PRIu64 " emitted, %" PRIu64 " delivered, %" PRIu64 " lost\n",
			emitted, sum.delivered, sum.lost[0]);
		return 1;
	}
	printf("{\"records\": %" PRIu64
	       ", \"seconds\": %.4f, \"records_s\": %.0f, \"cpu_us\": %.3f, \"wire_bytes\": %.1f, \"disk_bytes\": %.1f, "
	       "\"peak_rss_mb\": %.1f, \"opened_ms\": %.2f",
	       sum.delivered, ended - began, (double)sum.delivered / (ended - began),
	       (cpu_ended - cpu_began) * 1e6 / (double)sum.delivered, (double)queue.sent_bytes / (double)sum.delivered,
	       (double)disk / (double)sum.delivered, (double)proc_value("/proc/self/status", "VmHWM") / 1024,
	       opened * 1e3);
	if (wanted == 0) {
		printf(", \"rss_mb\": [");
		for (unsigned i = 0; i < n_rss; i++)
			printf("%s%.1f", i ? ", " : "", (double)rss_kb[i] / 1024);
		printf("]");
	}
	printf("}\n");
	end_all();
	config_free(config);
	return 0;
}
