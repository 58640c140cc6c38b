/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/stuck.c - finds runs that live and do nothing now.  A program that waits for another one of its run is not
 * stuck, so the time counts in which none of them did anything.
 */
#include <string.h>

#include "analysis/waste.h"

enum { IDLE, CORES, BYTES };

#define GAPS 2.5 /* so many intervals without a sample are a gap */

static const char *const served[] = { "jupyter",    "jupyter-lab", "jupyter-notebook",
				      "jupyterhub", "ipython",     "ipykernel_launcher",
				      "ipykernel",  "rstudio",     "rserver",
				      "tmux",       "screen",      "bash -i",
				      NULL };

static const struct lake_span *run_of(const struct lake_usage *u, const struct lake_pulse *p)
{
	for (size_t i = 0; i < u->n_runs; i++)
		if (strcmp(u->runs[i].id, p->run) == 0 && strcmp(u->runs[i].boot_id, p->boot_id) == 0)
			return &u->runs[i];
	return NULL;
}

static bool is_idle(const struct lake_pulse *p, const double *thresholds)
{
	const double interval = (double)p->interval_ns;

	return p->processes && (double)p->cpu_ns <= thresholds[CORES] * interval &&
	       (double)p->bytes <= thresholds[BYTES] * interval / 1e9;
}

/* pulses: of one run, the newest first. */
static int look_at(struct sweep *s, const struct finding_kind *kind, const double *thresholds,
		   const struct lake_pulse *p, size_t n)
{
	const struct lake_usage *u = s->in->usage;
	const struct lake_span *run = run_of(u, p);
	struct sweep_finding f = {
		.kind = kind, .severity = FINDING_WARN, .n = 1, .run = run, .threshold = thresholds[IDLE]
	};
	double gpu_busy, gpu_known;
	char time[FINDING_NUMBER];
	size_t i = 0;

	if (!run || waste_is_one_of(p->tool, served))
		return 0;
	f.host = &u->hosts[run->host];
	f.to_ns = p->start_ns + p->interval_ns;
	if (!waste_is_open(f.host, f.to_ns)) /* the host has newer records, but none of the run: it has lost its end */
		return 0;
	while (i < n && is_idle(&p[i], thresholds) &&
	       (i == 0 || (double)(p[i - 1].start_ns - p[i].start_ns) <= GAPS * (double)p[i].interval_ns))
		i++;
	if (!i)
		return 0;
	f.from_ns = p[i - 1].start_ns;
	f.value = f.seconds = (double)(f.to_ns - f.from_ns) / 1e9;
	if (f.seconds < thresholds[IDLE])
		return 0;
	waste_gpus(s, f.host, f.from_ns, f.to_ns, &gpu_busy, &gpu_known);
	if (gpu_busy > 0.01 * gpu_known)
		return 0;
	f.is_open = true;
	f.amount.byte_s = (double)p->rss_bytes * f.seconds;
	f.subject = finding_text("%s", *run->name ? run->name : run->id);
	f.evidence = finding_text(
		"run %s has done nothing for %s%s: no CPU time, no file; the largest of its %llu process%s is %s",
		run->id, i == n ? "at least " : "", finding_seconds(f.seconds, time), (unsigned long long)p->processes,
		p->processes == 1 ? "" : "es", p->tool);
	f.advice = finding_text(
		"find out what it waits for (a lock, a peer, a prompt): `skep show %s`, `cat /proc/PID/stack`, "
		"`gdb -p PID`; give such a wait a limit",
		run->id);
	return waste_add_take(s, &f);
}

static int sweep_runs(struct sweep *s, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_pulses *p = s->in->pulses;
	int rc = 0;

	for (size_t i = 0, end; p && i < p->n && rc == 0; i = end) {
		for (end = i + 1; end < p->n && strcmp(p->one[end].run, p->one[i].run) == 0 &&
				  strcmp(p->one[end].boot_id, p->one[i].boot_id) == 0;
		     end++)
			;
		rc = look_at(s, kind, thresholds, &p->one[i], end - i);
	}
	return rc;
}

const struct finding_kind waste_stuck = {
	.id = "stuck",
	.title = "a run that lives and does nothing",
	.measures = "the time up to the last sample in which no process of the run used a CPU or a file",
	.unit = "s",
	.guards = "engines, which wait for jobs on other machines; login sessions and jobs of a shell; notebooks; hosts with a busy "
		  "GPU; time of which skep has no samples",
	.advice = "to end the run, or to give the run what its processes wait for",
	.saving = "the memory that it holds",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[IDLE] = { "idle", 600, "s", "own: ten minutes, as `stall` of skep tune" },
		[CORES] = { "cores", 0.01, "{cpu}", "own: a timer that looks whether something has come" },
		[BYTES] = { "bytes", 1000, "By/s", "GCP's idle machines: less than 1000 bytes a second sent" },
	},
	.sweep = sweep_runs,
};
