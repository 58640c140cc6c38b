/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collector_out.c - the collector's own records (runs, samples per tool, losses) and
 * its figures for people.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/collector_priv.h"

static struct skep_str text(const char *s)
{
	return (struct skep_str){ s, (uint32_t)strlen(s), (uint32_t)strlen(s) };
}

void collector_run_context(const struct run *run, struct skep_context *ret)
{
	*ret = (struct skep_context){ .size = sizeof(*ret), .run = text(run->id), .pipeline = text(run->pipeline) };
}

static struct skep_context run_context(const struct run *run, const struct interned *tool)
{
	return (struct skep_context){
		.size = sizeof(struct skep_context),
		.run = text(run ? run->id : ""),
		.pipeline = text(run ? run->pipeline : ""),
		.task = text(""),
		.tool = intern_str(tool),
		.container = text(""),
	};
}

/*
 * Final records that nobody reported as lost and that did not come: the kernel did not run
 * the probe's program.  Those that a probe has counted itself are not counted again.
 */
static uint64_t finals_missing(const struct collector *c)
{
	uint64_t reported = c->gone_finals, missing = c->track ? c->track->stats.lost : 0;

	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct part *part = inst->extra;

		for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
			if (inst->plugin->desc->streams[s]->role == SKEP_ROLE_PROC_FINAL)
				reported += part->lost[s][SKEP_LOSS_KERNEL];
	}
	return missing > reported ? missing - reported : 0;
}

void collector_lost_now(const struct collector *c, uint64_t ret[OUT_LOSSES])
{
	memset(ret, 0, OUT_LOSSES * sizeof(ret[0]));
	for (int where = SKEP_LOSS_KERNEL; where < OUT_LOSSES; where++)
		ret[where] = out_lost_total(c->out, (enum skep_loss)where) + c->gone_lost[where];
	for (const struct skep_instance *inst = c->instances; inst; inst = inst->next) {
		const struct part *part = inst->extra;

		for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++) {
			if (part->streams[s] >= 0)
				continue; /* in the way out's books already */
			for (int where = SKEP_LOSS_KERNEL; where < OUT_LOSSES; where++)
				ret[where] += part->lost[s][where];
		}
	}
	ret[SKEP_LOSS_KERNEL] += finals_missing(c);
}

void collector_run_out(struct collector *c, struct run *run)
{
	struct skep_context context = run_context(run, NULL);
	uint64_t lost[OUT_LOSSES];
	struct out_run rec;

	run_record(run, &rec);
	collector_lost_now(c, lost);
	rec.host = text(c->host_name);
	rec.boot_id = text(c->boot_id);
	rec.kernel = text(c->kernel);
	rec.version = text(SKEP_VERSION);
	rec.cpus = c->cpus;
	rec.interval_ns = c->interval_ns;
	rec.lost_kernel = lost[SKEP_LOSS_KERNEL] - run->lost_begin[SKEP_LOSS_KERNEL];
	rec.lost_queue = lost[SKEP_LOSS_QUEUE] - run->lost_begin[SKEP_LOSS_QUEUE];
	rec.lost_spool = lost[SKEP_LOSS_SPOOL] - run->lost_begin[SKEP_LOSS_SPOOL];
	rec.lost_sink = lost[SKEP_LOSS_SINK] - run->lost_begin[SKEP_LOSS_SINK];
	out_emit(c->out, c->stream_run, run->root.pid ? &run->root : NULL, run->ended ? run->end_ns : run->start_ns, &rec, &context);
}

/* Found by session: the tracker tells of its begin and, when the root is gone, of its end. */
void collector_run_found(void *arg, struct run *run)
{
	struct collector *c = arg;

	collector_lost_now(c, run->lost_begin);
	collector_run_out(c, run);
}

void collector_run_over(void *arg, struct run *run)
{
	struct collector *c = arg;

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
	struct skep_context context = run_context(cell->run, cell->tool);
	uint64_t start_ns = c->sampled_ns;
	struct out_tool_sample rec;

	/* A run may have begun, or had its last sample, since then. */
	if (cell->run && cell->run->start_ns > start_ns)
		start_ns = cell->run->start_ns;
	rec = (struct out_tool_sample){
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
	out_emit(c->out, c->stream_sample, NULL, s->now_ns, &rec, &context);
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

	for (struct run *run = c->track->runs.first; run; run = run->next) {
		figures_reset(run);
		run_sampled(run);
	}
	if (c->track->swept_ns)
		track_carry_settle(c->track, s.now_ns);
	sampler_take(c->track->sampler, true, NULL, cell_out, &s);
	if (c->config->process_interval_ns && s.now_ns - c->processes_sampled_ns >= c->config->process_interval_ns) {
		track_samples_out(c->track, c->config->process_interval_ns, s.now_ns);
		c->processes_sampled_ns = s.now_ns;
	}
	if (c->stop == STOP_NOT) /* afterwards nobody posts any more */
		collector_ledger_cut(c);
	collector_details_members(c);
	collector_loss_out(c);
	runs_reap(&c->track->runs);
	c->sampled_ns = s.now_ns;
	c->sample_due = false;
	c->samples_due = true;
}

void collector_run_sample_out(struct collector *c, struct run *run)
{
	struct sampling s = { c, clock_boot_ns() };

	figures_reset(run);
	sampler_take(c->track->sampler, false, run, cell_out, &s);
}

/* ---- losses ------------------------------------------------------------------- */

static const char *const where_names[OUT_LOSSES] = {
	[SKEP_LOSS_KERNEL] = "kernel",
	[SKEP_LOSS_QUEUE] = "queue",
	[SKEP_LOSS_SPOOL] = "spool",
	[SKEP_LOSS_SINK] = "sink",
};

static void loss_record(struct collector *c, const char *instance, const char *stream, int where, uint64_t total, uint64_t *told)
{
	struct out_loss rec = {
		.instance = text(instance),
		.stream = text(stream),
		.where = text(where_names[where]),
		.count = total - *told,
	};

	/* Less: a probe has counted meanwhile, as its own, what "core" had missed. What is told stays told. */
	if (total <= *told)
		return;
	*told = total;
	out_emit(c->out, c->stream_loss, NULL, clock_boot_ns(), &rec, NULL);
}

static void out_loss(void *arg, const char *sink, const struct skep_stream *stream, enum skep_loss where, uint64_t n)
{
	uint64_t told = 0;

	loss_record(arg, sink, stream->name, (int)where, n, &told);
}

void collector_part_loss_out(struct collector *c, struct part *part)
{
	const struct skep_instance *inst = part->inst;

	for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
		for (int where = SKEP_LOSS_KERNEL; where < OUT_LOSSES; where++)
			loss_record(c, inst->name, inst->plugin->desc->streams[s]->name, where, part->lost[s][where],
				    &part->told[s][where]);
}

void collector_loss_out(struct collector *c)
{
	for (struct skep_instance *inst = c->instances; inst; inst = inst->next)
		collector_part_loss_out(c, inst->extra);
	loss_record(c, "core", "process.final", SKEP_LOSS_KERNEL, finals_missing(c), &c->told_missing);
	/* What died on the way out; the kernel's part of it has just been told with its probe's name. */
	out_losses(c->out, out_loss, c);
}

/* ---- figures ------------------------------------------------------------------- */

int collector_live(const struct collector *c, const char *run_id, struct collector_live *ret)
{
	const struct run *run = c->track ? run_find(&c->track->runs, run_id) : NULL;
	uint64_t now_ns = clock_boot_ns(), lost[OUT_LOSSES];
	struct collector_live live = { 0 };
	double seconds;

	if (!run)
		return -ENOENT;
	collector_lost_now(c, lost);
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
	for (int where = SKEP_LOSS_KERNEL; where < OUT_LOSSES; where++)
		live.lost += lost[where] - run->lost_begin[where];
	*ret = live;
	return 0;
}

size_t collector_stats(const struct collector *c, struct collector_stream_stats *ret, size_t room)
{
	size_t n = c->out ? out_counts(c->out, NULL, 0) : 0;
	struct out_count *counts = n > 0 ? malloc(n * sizeof(*counts)) : NULL;

	if (!counts)
		return 0;
	n = out_counts(c->out, counts, n);
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
		const struct part *part = inst->extra;

		for (uint32_t s = 0; s < inst->plugin->desc->n_streams; s++)
			n += part->lost[s][SKEP_LOSS_KERNEL];
	}
	return n;
}

size_t collector_processes(const struct collector *c)
{
	return c->track ? proctab_count(c->track->table) : 0;
}

const struct skep_instance *collector_instances(const struct collector *c)
{
	return c->instances;
}

void collector_self(const struct collector *c, struct collector_self *ret)
{
	struct collector_self self = { 0 };

	if (c->track) {
		const struct track_stats *s = &c->track->stats;

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
			.queue_bytes = out_bytes(c->out),
		};
	}
	self.left_behind = c->left_behind;
	if (c->reader) {
		struct reader_stats s = reader_stats(c->reader);

		self.unread = s.stuck + s.refused;
		self.readers_replaced = s.replaced;
	}
	*ret = self;
}
