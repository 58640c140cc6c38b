/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/waits.c - where the time of processes went, and what the probes say of one process.
 */
#include <math.h>
#include <string.h>

#include "analysis/finding.h"

/* From so many samples on, the states of a process's threads say whether it waited for storage. */
#define BLOCK_SAMPLES 5

/*
 * Waits for block devices. Linux 6.18 under load counts some of them from an earlier begin or from the boot on: 12.5 s
 * in a life of 12.0 s, 19 h in one of 2 ms. The samples of the threads' states decide where there are enough of them.
 */
static double block_of(const struct lake_process *p, double alive_s, double cpu_s, double queue_s)
{
	const double threads = fmax(1, (double)p->totals.threads), counted = (double)p->totals.block_delay_ns / 1e9;
	const double asleep = alive_s * threads - cpu_s - queue_s; /* a thread does one of the three */
	const double waiting = (double)p->totals.states[LAKE_IOWAIT];
	double samples = 0;

	for (size_t i = 0; i < LAKE_STATES; i++)
		samples += (double)p->totals.states[i];
	if (samples < BLOCK_SAMPLES)
		return counted <= asleep + 0.01 * alive_s ? counted : 0;
	if (counted <= alive_s * threads * fmin(1, (waiting + 2) / samples))
		return counted;
	return fmax(0, fmin(asleep, alive_s * threads * waiting / samples));
}

/*
 * A shell that waits for its child looks asleep, so only processes without children count. A process of several
 * threads can use and wait for more than its lifetime: then it lasts as long as they do together.
 */
void analysis_waits_add(struct analysis_waits *w, const struct lake_process *p, uint64_t end_ns)
{
	const uint64_t end = p->end_ns ? p->end_ns : end_ns;
	const double alive = p->start_ns && end > p->start_ns ? (double)(end - p->start_ns) / 1e9 : 0;
	const double cpu = (double)p->totals.cpu_ns / 1e9, queue = (double)p->totals.run_delay_ns / 1e9;
	const double block = block_of(p, alive, cpu, queue);
	const double lifetime = fmax(alive, cpu + queue + block);

	w->lifetime_s += lifetime;
	w->cpu_s += cpu;
	w->queue_s += queue;
	w->block_s += block;
	w->rest_s += lifetime - cpu - queue - block;
}

double analysis_facet(const struct lake_process *p, const char *name)
{
	for (size_t i = 0; i < p->n_facets; i++)
		if (strcmp(p->facets[i].name, name) == 0)
			return p->facets[i].value;
	return 0;
}

size_t analysis_progress(const struct lake_report *r, size_t process, const struct lake_progress **ret)
{
	size_t low = 0, high = r->n_progress, end;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->progress[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < r->n_progress && r->progress[end].process == process; end++)
		;
	*ret = end > low ? &r->progress[low] : NULL;
	return end - low;
}

void analysis_tool_waits(const struct analysis *a, const struct lake_tool *t, struct analysis_waits *ret)
{
	struct analysis_waits w = { 0 };

	for (size_t i = 0; i < t->n_images; i++)
		if (a->leaf[t->images[i]])
			analysis_waits_add(&w, &a->report->processes[t->images[i]], a->end_ns);
	*ret = w;
}
