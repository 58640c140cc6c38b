/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/serial_path.c - finds the time in which a run with many cores uses one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/finding.h"

enum { SHARE, CORES };

/* Sets *ret to the most cores that tasks asked for, or were granted, at one moment; 0: not known. 0 or -ENOMEM. */
static int asked_at_once(const struct analysis *a, double *ret)
{
	const struct lake_report *r = a->report;
	struct lake_edge *edges = calloc(r->n_tasks + 1, 4 * sizeof(*edges)); /* half of it for the sort */
	size_t n = 0;

	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_tasks; i++) {
		const struct lake_task *t = &r->tasks[i];
		const double cpus = lake_task_cpus(t);

		if (cpus <= 0)
			continue;
		edges[n++] = (struct lake_edge){ t->start_ns, cpus };
		edges[n++] = (struct lake_edge){ t->end_ns ? t->end_ns : a->end_ns, -cpus };
	}
	lake_edges_sort(edges, n, edges + n);
	*ret = lake_edges_most(edges, n);
	free(edges);
	return 0;
}

/* When the last task but one ended, if the last one begins then: a merge of what the others made. */
static uint64_t merge_begin(const struct analysis *a)
{
	const struct lake_report *r = a->report;
	uint64_t last = 0, before = 0;

	for (size_t i = 0; i < r->n_tasks; i++) {
		const uint64_t end = r->tasks[i].end_ns ? r->tasks[i].end_ns : a->end_ns;

		if (end >= last) {
			before = last;
			last = end;
		} else if (end > before) {
			before = end;
		}
	}
	return before && r->tasks[r->n_tasks - 1].start_ns >= before ? before : UINT64_MAX;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	struct finding f = { .kind = kind, .of = FINDING_OF_RUN, .name = "", .n = 1, .severity = FINDING_NOTE,
			     .confidence = FINDING_LOW, .threshold = thresholds[SHARE] };
	double asked, cores, alone = 0, more = 0, all = 0;
	char text[FINDING_NUMBER];
	const uint64_t merge = merge_begin(a);
	uint64_t reach = 0;
	size_t k = 0;

	if (asked_at_once(a, &asked) != 0)
		return -ENOMEM;
	cores = asked > 0 ? asked : (double)r->run.cpus;
	if (cores < thresholds[CORES])
		return 0;
	for (size_t i = 0, end; i < r->n_samples; i = end) {
		const double interval = (double)r->samples[i].interval_ns;
		const uint64_t middle = r->samples[i].start_ns + r->samples[i].interval_ns / 2;
		double busy = 0, delay = 0;

		for (end = i; end < r->n_samples && r->samples[end].start_ns == r->samples[i].start_ns; end++) {
			busy += (double)r->samples[end].cpu_ns;
			delay += (double)r->samples[end].run_delay_ns;
		}
		for (; k < r->n_tasks && r->tasks[k].start_ns <= middle; k++) {
			const uint64_t end_ns = r->tasks[k].end_ns ? r->tasks[k].end_ns : a->end_ns;

			reach = end_ns > reach ? end_ns : reach;
		}
		all += interval;
		more += fmax(0, busy + delay - interval);
		/* with the delay: what waited for a CPU would have used a second one */
		if (busy + delay <= 1.1 * interval && busy >= 0.5 * interval && (!r->n_tasks || reach >= middle) &&
		    middle < merge)
			alone += interval;
	}
	f.value = all > 0 ? alone / all : 0;
	if (f.value < thresholds[SHARE] || more < 0.05 * all)
		return 0;
	f.saving.core_s = asked > 0 ? (cores - 1) * alone / 1e9 : 0;
	f.evidence = finding_text("for %s (%.0f %% of the run) one core of %.0f was busy", finding_seconds(alone / 1e9, text),
				  f.value * 100, cores);
	f.advice = finding_text("split the step that runs alone, or %s",
				asked > 0 ? "run it in a job of its own with one core" : "let the next steps begin before it ends");
	return finding_add_take(a, &f);
}

const struct finding_kind finding_serial_path = {
	.id = "serial-path",
	.title = "a long part of the run on one core",
	.measures = "share of the run in which half a core to one core was busy, of four or more",
	.unit = "1",
	.guards = "runs that use a second core for less than a twentieth of their time; times in which none of their tasks runs, in which "
		  "more was ready to run and waited for a CPU, or of a last task that begins when all others have ended: a merge",
	.advice = "a step in pieces, a job of its own with one core, or later steps beside it",
	.saving = "the cores that were asked for and idle meanwhile",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[SHARE] = { "share", 0.20, "1", "own" },
		[CORES] = { "cores", 4, "1", "own" },
	},
	.find = find,
};
