/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_out.c - emits the collector's own records (runs, samples per tool, losses), and computes the
 * figures of `skep status` and the live line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/magic.h"
#include "core/collect/collector_priv.h"
#include "core/process/saved.h"

static struct skep_context cell_context(const struct run *run, const struct interned *tool)
{
	struct skep_context ret = { .size = sizeof(ret), .payer = SKEP_NOBODY };

	if (run)
		run_context(run, &ret);
	ret.tool = intern_str(tool);
	return ret;
}

/*
 * The number of final records that are missing although no probe reported a loss: the kernel did not run the probe's
 * program.  A record that a probe has counted as lost does not count again.
 */
static uint64_t finals_missing(const struct collector *c)
{
	uint64_t reported = c->gone_finals, missing = c->track ? track_stats(c->track)->lost : 0;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
			if (inst->plugin->desc->streams[s]->role == SKEP_ROLE_PROC_FINAL)
				reported += data->lost[s][SKEP_LOSS_KERNEL];
	}
	return missing > reported ? missing - reported : 0;
}

void collector_lost(const struct collector *c, uint64_t ret[DELIVERY_LOSSES])
{
	memset(ret, 0, DELIVERY_LOSSES * sizeof(ret[0]));
	for (int where = SKEP_LOSS_KERNEL; where < DELIVERY_LOSSES; where++)
		ret[where] = delivery_lost_total(c->delivery, (enum skep_loss)where) + c->gone_lost[where];
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++) {
			if (data->streams[s] >= 0)
				continue; /* delivery has counted it */
			for (int where = SKEP_LOSS_KERNEL; where < DELIVERY_LOSSES; where++)
				ret[where] += data->lost[s][where];
		}
	}
	ret[SKEP_LOSS_KERNEL] += finals_missing(c);
}

void collector_run_out(struct collector *c, struct run *run)
{
	struct skep_context context = cell_context(run, NULL);
	uint64_t lost[DELIVERY_LOSSES];
	struct record_run rec;
	long cpus;

	run_record(run, &rec);
	collector_lost(c, lost);
	rec.host = text_str(c->host_name);
	rec.boot_id = text_str(c->boot_id);
	rec.kernel = text_str(c->kernel);
	rec.version = text_str(SKEP_VERSION);
	cpus = sysconf(_SC_NPROCESSORS_ONLN); /* a virtual machine may get more */
	rec.cpus = cpus > 0 ? (uint64_t)cpus : 1;
	rec.interval_ns = c->interval_ns;
	rec.lost_kernel = lost[SKEP_LOSS_KERNEL] - run->lost_begin[SKEP_LOSS_KERNEL];
	rec.lost_queue = lost[SKEP_LOSS_QUEUE] - run->lost_begin[SKEP_LOSS_QUEUE];
	rec.lost_spool = lost[SKEP_LOSS_SPOOL] - run->lost_begin[SKEP_LOSS_SPOOL];
	rec.lost_sink = lost[SKEP_LOSS_SINK] - run->lost_begin[SKEP_LOSS_SINK];
	delivery_emit(c->delivery, c->stream_run, run->root.pid ? &run->root : NULL,
		      run->ended ? run->end_ns : run->start_ns, &rec, &context);
}

/* The tracker calls this when a run begins, when it learns more about the run, and when the run ends. */
void collector_run_found(void *arg, struct run *run)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	collector_lost(c, run->lost_begin);
	collector_run_out(c, run);
}

/* A record of the run again: the lake keeps the newest of a run's id. */
void collector_run_changed(void *arg, struct run *run)
{
	collector_run_out(MAGIC_OBJECT(collector, arg), run);
}

void collector_run_over(void *arg, struct run *run)
{
	struct collector *c = MAGIC_OBJECT(collector, arg);

	collector_run_sample_out(c, run);
	run_sampled(run);
	collector_run_ledger_out(c, run);
	run->ended = true;
	collector_run_out(c, run);
}

/* ---- samples ----------------------------------------------------------------- */

struct sampling {
	struct collector *c;
	uint64_t now_ns;
};

static void cell_out(const struct cell *cell, void *arg)
{
	struct sampling *s = arg;
	struct collector *c = s->c;
	struct skep_context context = cell_context(cell->run, cell->tool);
	uint64_t start_ns = c->sampled_ns;
	struct record_tool_sample rec;

	/* A run may have begun since the last sample. */
	if (cell->run && cell->run->start_ns > start_ns)
		start_ns = cell->run->start_ns;
	rec = (struct record_tool_sample){
		.run = context.run,
		.tool = context.tool,
		.start_ns = start_ns,
		.interval_ns = s->now_ns > start_ns ? s->now_ns - start_ns : 0,
		.cpu_ns = cell->cpu_ns,
		.run_delay_ns = cell->run_delay_ns,
		.read_bytes = cell->read_bytes,
		.write_bytes = cell->write_bytes,
		.rss_bytes = cell->rss_bytes,
		.processes = cell->alive,
		.started = cell->started,
	};
	delivery_emit(c->delivery, c->stream_sample, NULL, s->now_ns, &rec, &context);
	if (cell->run) {
		struct run *run = cell->run;

		run->sample_cpu_ns += cell->cpu_ns;
		run->sample_read_bytes += cell->read_bytes;
		run->sample_write_bytes += cell->write_bytes;
		if (rec.interval_ns > run->sample_interval_ns)
			run->sample_interval_ns = rec.interval_ns;
		if (cell->cpu_ns > run->busiest_cpu_ns) {
			run->busiest_cpu_ns = cell->cpu_ns;
			snprintf(run->busiest, sizeof(run->busiest), "%.*s", (int)rec.tool.len, rec.tool.ptr);
		}
	}
}

static void figures_reset(struct run *run)
{
	run->sample_interval_ns = run->sample_cpu_ns = run->sample_read_bytes = run->sample_write_bytes = 0;
	run->busiest_cpu_ns = 0;
	run->busiest[0] = '\0';
}

void collector_sample_out(struct collector *c)
{
	struct sampling s = { c, clock_boot_ns() };

	for (struct run *run = track_runs(c->track)->first; run; run = run->next) {
		figures_reset(run);
		run_sampled(run);
		if (c->stop == STOP_NOT)
			collector_pss(c, run, s.now_ns);
	}
	if (track_swept_ns(c->track))
		saved_settle(c->track, s.now_ns);
	sampler_take(track_sampler(c->track), true, NULL, cell_out, &s);
	if (c->stop == STOP_NOT)
		track_findings_look(c->track, c->interval_ns, s.now_ns);
	if (c->config->process_interval_ns && s.now_ns - c->processes_sampled_ns >= c->config->process_interval_ns) {
		track_samples_out(c->track, c->config->process_interval_ns, s.now_ns);
		c->processes_sampled_ns = s.now_ns;
	}
	if (c->stop == STOP_NOT) /* after that no probe posts */
		collector_ledger_cut(c);
	collector_details_members(c);
	collector_loss_out(c);
	runs_reap(track_runs(c->track));
	c->sampled_ns = s.now_ns;
	c->sample_due = false;
	c->samples_due = true;
	if (c->watch)
		c->watch->sampled(c->watch->arg);
}

void collector_watch(struct collector *c, const struct collector_watch *watch)
{
	c->watch = watch;
}

void collector_run_sample_out(struct collector *c, struct run *run)
{
	struct sampling s = { c, clock_boot_ns() };

	figures_reset(run);
	sampler_take(track_sampler(c->track), false, run, cell_out, &s);
}

/* ---- losses ------------------------------------------------------------------- */

static const char *const where_names[DELIVERY_LOSSES] = {
	[SKEP_LOSS_KERNEL] = "kernel",
	[SKEP_LOSS_QUEUE] = "queue",
	[SKEP_LOSS_SPOOL] = "spool",
	[SKEP_LOSS_SINK] = "sink",
};

static void loss_record(struct collector *c, const char *instance, const char *stream, int where, uint64_t total,
			uint64_t *reported)
{
	struct record_loss rec = {
		.instance = text_str(instance),
		.stream = text_str(stream),
		.where = text_str(where_names[where]),
		.count = total - *reported,
	};

	/*
	 * The total can shrink: a probe has meanwhile counted losses that "core" had reported.  A reported loss stays
	 * reported.
	 */
	if (total <= *reported)
		return;
	*reported = total;
	delivery_emit(c->delivery, c->stream_loss, NULL, clock_boot_ns(), &rec, NULL);
}

static void record_loss(void *arg, const char *sink, const struct skep_stream *stream, enum skep_loss where, uint64_t n)
{
	uint64_t reported = 0;

	loss_record(arg, sink, stream->name, (int)where, n, &reported);
}

void collector_audit(struct collector *c, const char *run, const char *head, uint64_t entries, uint32_t uid)
{
	const struct record_audit rec = { text_str(run), text_str(head), entries, uid };

	delivery_emit(c->delivery, c->stream_audit, NULL, clock_boot_ns(), &rec, NULL);
}

void collector_data_loss_out(struct collector *c, struct instance_data *data)
{
	const struct skep_instance *inst = data->inst;

	for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
		for (int where = SKEP_LOSS_KERNEL; where < DELIVERY_LOSSES; where++)
			loss_record(c, inst->name, inst->plugin->desc->streams[s]->name, where, data->lost[s][where],
				    &data->reported[s][where]);
}

void collector_loss_out(struct collector *c)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		collector_data_loss_out(c, inst->extra);
	loss_record(c, "core", "process.final", SKEP_LOSS_KERNEL, finals_missing(c), &c->reported_missing);
	/* Losses on the way to sinks.  The loop above has reported the kernel's losses with the probes' names. */
	delivery_losses(c->delivery, record_loss, c);
}

/* ---- figures ------------------------------------------------------------------- */

int collector_live(const struct collector *c, const char *run_id, struct collector_live *ret)
{
	const struct run *run = c->track ? run_find(track_runs(c->track), run_id) : NULL;
	uint64_t now_ns = clock_boot_ns(), lost[DELIVERY_LOSSES];
	struct collector_live live = { 0 };
	double seconds;

	if (!run)
		return -ENOENT;
	collector_lost(c, lost);
	live.elapsed_ns = now_ns > run->start_ns ? now_ns - run->start_ns : 0;
	live.processes_alive = run->alive;
	live.processes_total = run->seen;
	live.rss_bytes = run->rss_bytes;
	if (run->sample_interval_ns > 0) {
		seconds = (double)run->sample_interval_ns / 1e9;
		live.cores_busy = (double)run->sample_cpu_ns / 1e9 / seconds;
		live.read_bytes_per_s = (double)run->sample_read_bytes / seconds;
		live.write_bytes_per_s = (double)run->sample_write_bytes / seconds;
		live.busiest_cores = (double)run->busiest_cpu_ns / 1e9 / seconds;
		memcpy(live.busiest, run->busiest, sizeof(live.busiest));
	}
	for (int where = SKEP_LOSS_KERNEL; where < DELIVERY_LOSSES; where++)
		live.lost += lost[where] - run->lost_begin[where];
	*ret = live;
	return 0;
}

size_t collector_stats(const struct collector *c, struct collector_stream_stats *ret, size_t room)
{
	size_t n = c->delivery ? delivery_counts(c->delivery, NULL, 0) : 0;
	struct delivery_count *counts = n > 0 ? malloc(n * sizeof(*counts)) : NULL;

	if (!counts)
		return 0;
	n = delivery_counts(c->delivery, counts, n);
	for (size_t i = 0; i < n && i < room; i++) {
		ret[i] = (struct collector_stream_stats){
			.stream = counts[i].stream->name,
			.sink = counts[i].sink,
			.seen = counts[i].seen,
			.delivered = counts[i].delivered,
			.filtered = counts[i].filtered,
			.pending = counts[i].pending,
		};
		memcpy(ret[i].lost, counts[i].lost, sizeof(ret[i].lost));
	}
	free(counts);
	return n;
}

uint64_t collector_lost_kernel(const struct collector *c)
{
	uint64_t n = c->gone_kernel;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct instance_data *data = inst->extra;

		for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
			n += data->lost[s][SKEP_LOSS_KERNEL];
	}
	return n;
}

size_t collector_processes(const struct collector *c)
{
	return c->track ? proctab_count(track_table(c->track)) : 0;
}

const struct skep_instance *collector_instances(const struct collector *c)
{
	return c->instances;
}

const struct skep_instance *collector_stuck_instance(const struct collector *c, const struct skep_instance *after)
{
	const struct skep_instance *inst = after ? after->next : c->leaving;

	while (inst && !((const struct instance_data *)inst->extra)->left_behind)
		inst = inst->next;
	return inst;
}

unsigned collector_instance_retries(const struct skep_instance *inst)
{
	return ((const struct instance_data *)inst->extra)->retries;
}

void collector_instance_lost(const struct skep_instance *inst, uint64_t ret[DELIVERY_LOSSES])
{
	const struct instance_data *data = inst->extra;

	memset(ret, 0, DELIVERY_LOSSES * sizeof(ret[0]));
	for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
		for (int where = SKEP_LOSS_KERNEL; where < DELIVERY_LOSSES; where++)
			ret[where] += data->lost[s][where];
}

bool collector_instance_queue(const struct skep_instance *inst, struct delivery_queue *ret)
{
	const struct instance_data *data = inst->extra;

	if (!data || !data->sink)
		return false;
	*ret = delivery_sink_queue(data->sink);
	return true;
}

const struct config *collector_config(const struct collector *c)
{
	return c->config;
}

uint64_t collector_interval_ns(const struct collector *c)
{
	return c->interval_ns;
}

void collector_self(const struct collector *c, struct collector_self *ret)
{
	struct collector_self self = { 0 };

	if (c->track) {
		const struct track_stats *s = track_stats(c->track);

		self = (struct collector_self){
			.records = s->records,
			.invalid = s->invalid,
			.late = s->late,
			.clamped = s->clamped,
			.processes_lost = s->lost,
			.facets_late = s->facet_late,
			.no_memory = s->no_memory,
			.unsaved = s->unsaved,
			.unrestored = s->unrestored,
			.queue_bytes = delivery_bytes(c->delivery),
		};
	}
	self.left_behind = c->left_behind;
	self.lag_ns = c->lag_ns;
	self.lag_worst_ns = c->lag_worst_ns;
	if (c->reader) {
		struct reader_stats s = reader_stats(c->reader);

		self.unread = s.stuck + s.refused;
		self.readers_replaced = s.replaced;
	}
	*ret = self;
}

const char *collector_engine_files(const struct collector *c)
{
	struct reader_stats s = { 0 };

	if (!c->config->read_engine_files)
		return "off";
	if (c->file_reader)
		s = reader_stats(c->file_reader);
	return !s.alive || !s.ready ? "none" : c->options.file_reader->unit ? "unit" : "own";
}
