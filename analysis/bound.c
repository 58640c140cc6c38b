/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/bound.c - what the tasks of one name are bound by: what took half of their processes' time or more.
 *
 * A quota shows as waits for a CPU and a lack of memory as waits for storage, so the records of the processes' cgroup
 * say which of them it was. A program that waits for a GPU sleeps or looks for its end on a CPU, so the GPU decides.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

#define BOUND_SHARE 0.5

/* ---- stalls of a cgroup ------------------------------------------------------------ */

/* The first record of the cgroup that ends later than that. */
static size_t first_after(const struct lake_report *r, const char *cgroup, uint64_t ns)
{
	size_t low = 0, high = r->n_pressure;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(r->pressure[middle].cgroup, cgroup);

		if (order < 0 || (order == 0 && r->pressure[middle].end_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void analysis_stalls_add(struct analysis_waits *w, const struct lake_report *r, const struct lake_process *p,
			 uint64_t end_ns)
{
	const uint64_t end = p->end_ns ? p->end_ns : end_ns;
	double memory = 0, quota = 0, all = 0, alive;

	for (size_t i = first_after(r, p->kind->cgroup, p->start_ns); i < r->n_pressure; i++) {
		const struct lake_pressure *s = &r->pressure[i];

		if (strcmp(s->cgroup, p->kind->cgroup) != 0 || s->end_ns - s->interval_ns >= end)
			break;
		memory += (double)s->memory_full_ns;
		quota += (double)s->throttled_ns;
		all += (double)s->interval_ns;
	}
	if (all <= 0)
		return;
	alive = end > p->start_ns ? (double)(end - p->start_ns) / 1e9 : 0;
	w->memory_s += alive * fmin(1, memory / all);
	/* The quota's time is a sum over CPUs: of it, this process can have waited as long as it waited for CPUs. */
	w->quota_s += fmin((double)p->totals.run_delay_ns / 1e9, alive * quota / all);
}

/* ---- the cause --------------------------------------------------------------------- */

void analysis_bound(struct analysis_group *g, double net_bytes)
{
	const struct analysis_waits *w = &g->waits;
	const struct {
		double seconds;
		enum analysis_bound bound;
		enum analysis_source source;
	} causes[] = {
		{ w->cpu_s, BOUND_CPU, ANALYSIS_EXACT },
		{ w->queue_s, BOUND_QUEUE, ANALYSIS_EXACT },
		{ w->block_s, BOUND_DISK, ANALYSIS_DELAYACCT },
		{ w->rest_s, BOUND_WAITING, ANALYSIS_INFERRED },
		{ fmin(w->memory_s, w->block_s + w->rest_s), BOUND_MEMORY, ANALYSIS_EXACT },
	};

	g->bound = BOUND_UNKNOWN;
	g->bound_source = ANALYSIS_INFERRED;
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (w->lifetime_s > 0 && causes[i].seconds >= BOUND_SHARE * w->lifetime_s) {
			g->bound = causes[i].bound;
			g->bound_source = causes[i].source;
		}
	if (g->bound == BOUND_QUEUE && w->quota_s >= BOUND_SHARE * w->queue_s)
		g->bound = BOUND_QUOTA;
	/* at 1 MB a second while it slept it waited for the network */
	if (g->bound == BOUND_WAITING && net_bytes >= 1e6 * w->rest_s)
		g->bound = BOUND_NETWORK;
}

/* Whether the group's GPUs were busy for half of the time of its tasks. */
static int set_gpu(const struct analysis *a, struct analysis_group *g)
{
	const struct analysis_gpu_user user = analysis_gpu_group(g);
	struct analysis_gpu *list;
	double busy_s = 0;
	size_t n;
	int rc = analysis_gpu(a, &user, 0, &list, &n);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		busy_s += list[i].use * list[i].seconds;
	free(list);
	if (g->wall_sum_s > 0 && busy_s >= BOUND_SHARE * g->wall_sum_s) {
		g->bound = BOUND_GPU;
		g->bound_source = ANALYSIS_SAMPLED;
	}
	return 0;
}

int analysis_bound_gpus(struct analysis *a)
{
	const bool any = analysis_gpu_is_used(a->report);
	int rc = 0;

	for (size_t i = 0; any && i < a->n_groups && rc == 0; i++)
		rc = set_gpu(a, a->groups[i]);
	return rc;
}
