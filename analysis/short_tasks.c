/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/short_tasks.c - finds jobs of a scheduler that are too short for it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

enum { SHARE, WALL, TASKS };

/*
 * The median time from the end of the last job before it, of whatever name, to a job's begin: what a scheduler takes
 * where one job follows another. Jobs side by side have none.
 */
static int gap_of(const struct analysis *a, const struct analysis_group *g, double *ret)
{
	const struct lake_report *r = a->report;
	double *gaps = calloc(g->n + 1, sizeof(*gaps));
	uint64_t reach = 0;
	size_t n = 0;

	if (!gaps)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_tasks; i++) {
		const struct lake_task *t = &r->tasks[i];

		if (reach && strcmp(t->task, g->name) == 0)
			gaps[n++] = t->start_ns > reach ? (double)(t->start_ns - reach) / 1e9 : 0;
		reach = t->end_ns > reach ? t->end_ns : reach;
	}
	stats_sort(gaps, n);
	*ret = n ? stats_quantile(gaps, n, 0.5) : 0;
	free(gaps);
	return 0;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .severity = FINDING_NOTE,
				     .confidence = FINDING_MEDIUM, .threshold = thresholds[SHARE] };
		char median[FINDING_NUMBER];
		size_t jobs = 0;
		double gap;

		for (size_t k = 0; k < g->n; k++) {
			jobs += *g->tasks[k]->job != '\0';
			f.n += g->tasks[k]->end_ns && analysis_task_wall_s(a, g->tasks[k]) < thresholds[WALL];
		}
		f.value = (double)f.n / (double)g->n;
		if (!g->n_ok || jobs < g->n || (double)g->n < thresholds[TASKS] || f.value < thresholds[SHARE])
			continue;
		if (gap_of(a, g, &gap) != 0)
			return -ENOMEM;
		f.saving.wall_s = fmin(a->wall_s, (double)f.n * gap);
		f.evidence = finding_text("%zu of %zu jobs took less than %.0f s (median %s)", f.n, g->n, thresholds[WALL],
					  finding_seconds(stats_quantile(g->wall_s, g->n_ok, 0.5), median));
		f.advice = finding_text("let one job do several of them (group-components of Snakemake, buffer of Nextflow, an array's "
					"tasks in a loop): the scheduler takes longer to start one than it runs");
		if (finding_add_take(a, &f) != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_short_tasks = {
	.id = "short-tasks",
	.title = "jobs too short for their scheduler",
	.measures = "share of the tasks of one name that are short",
	.unit = "1",
	.guards = "tasks that no scheduler starts: a local executor has no queue",
	.advice = "several of them in one job",
	.saving = "the median time between two jobs, times the short ones: an upper bound",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[SHARE] = { "share", 0.50, "1", "own" },
		[WALL] = { "wall", 30, "s", "XDMoD: jobs below 30 s" },
		[TASKS] = { "tasks", 10, "1", "own: a few short jobs are no problem" },
	},
	.find = find,
};
