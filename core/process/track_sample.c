/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_sample.c - emits samples of live processes.  Each sample is a difference of the kernel's own
 * counters, so the samples of an image add up to its process.exit.  A late sample costs only resolution.  A quiet
 * interval has no sample: the next one begins at its end, and says how long it was, as an average over both would hide
 * that the process slept, then used a CPU.
 */
#include <stdlib.h>

#include "core/base/counters.h"
#include "core/process/track_priv.h"

static bool any(const struct skep_counters *c)
{
	return c->cpu_ns | c->run_delay_ns | c->run_count | c->voluntary_switches | c->involuntary_switches |
	       c->minor_faults | c->major_faults | c->rchar_bytes | c->wchar_bytes | c->read_calls | c->write_calls |
	       c->read_bytes | c->write_bytes | c->cancelled_write_bytes;
}

static void sample_out(struct track *t, struct proc *p, const struct skep_counters *end, uint64_t end_ns, bool last)
{
	const struct skep_counters *since = p->sampled ? &p->sampled->counters : &p->base;
	const uint64_t since_ns = p->sampled ? p->sampled->time_ns : p->image_start_ns;
	uint64_t start_ns = since_ns;
	struct record_process_sample *r = t->sample;
	struct skep_counters used;
	struct skep_context ctx;

	t->stats.clamped += counters_sub(end, since, &used);
	/* allocates first: without this memory, facets_sample() must not consume the facets' values */
	if (!p->sampled) {
		p->sampled = malloc(sizeof(*p->sampled));
		if (!p->sampled) {
			t->stats.no_memory++;
			return;
		}
		*p->sampled = (struct proc_sampled){ p->base, since_ns, 0 };
	}
	if (!facets_sample(t->env.facets, p->facets, r) && !any(&used)) {
		/* without a newer sweep the figures are as old as those of the last look */
		if (t->swept_ns > since_ns && t->swept_ns > p->sampled->quiet_until_ns)
			p->sampled->quiet_until_ns = end_ns;
		return;
	}
	if (p->sampled->quiet_until_ns > since_ns)
		start_ns = p->sampled->quiet_until_ns;
	*p->sampled = (struct proc_sampled){ *end, end_ns, 0 };
	track_proc_context(t, p, &ctx);
	*r = (struct record_process_sample){
		.upid = p->upid,
		.image = p->image,
		.pid = p->upid.pid,
		.run = ctx.run,
		.tool = ctx.tool,
		.last = last,
		.start_ns = start_ns,
		.interval_ns = end_ns > start_ns ? end_ns - start_ns : 0,
		.quiet_ns = start_ns - since_ns,
		.cpu_ns = used.cpu_ns,
		.run_delay_ns = used.run_delay_ns,
		.run_count = used.run_count,
		.voluntary_switches = used.voluntary_switches,
		.involuntary_switches = used.involuntary_switches,
		.minor_faults = used.minor_faults,
		.major_faults = used.major_faults,
		.rchar_bytes = used.rchar_bytes,
		.wchar_bytes = used.wchar_bytes,
		.read_calls = used.read_calls,
		.write_calls = used.write_calls,
		.read_bytes = used.read_bytes,
		.write_bytes = used.write_bytes,
		.cancelled_write_bytes = used.cancelled_write_bytes,
		.rss_bytes = p->rss_bytes,
		.rss_peak_bytes = p->rss_peak_bytes,
		.threads_peak = p->threads_peak,
	};
	t->env.emit(t->env.out, t->env.sample_stream, &p->upid, end_ns, r, &ctx);
}

void track_samples_out(struct track *t, uint64_t min_age_ns, uint64_t now_ns)
{
	t->now_ns = now_ns;
	for (struct proc *p = proctab_first(t->table); p; p = p->next) {
		/* An ended process emits its last sample soon; an entry that only a facet made has no counters. */
		if ((p->flags & (PROC_EXITED | PROC_FINAL | PROC_MUTED)) || !(p->flags & PROC_CONFIRMED))
			continue;
		if (!p->sampled && now_ns - p->image_start_ns < min_age_ns)
			continue;
		sample_out(t, p, &p->last, now_ns, false);
	}
}

void track_sample_last(struct track *t, struct proc *p, const struct skep_counters *end, uint64_t end_ns)
{
	if (!p->sampled)
		return;
	sample_out(t, p, end, end_ns, true);
	free(p->sampled);
	p->sampled = NULL;
}
