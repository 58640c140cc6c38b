/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/straggler.c - finds a task that takes much longer than the others of its name.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

enum { TIMES, SIGMAS, TASKS };

/* A larger input takes longer: that is skew of the data, and no other machine would be faster. */
static bool follows_size(const struct analysis *a, const struct analysis_group *g)
{
	double *bytes = calloc(g->n, sizeof(*bytes)), *wall = calloc(g->n, sizeof(*wall));
	struct stats_line line;
	size_t n = 0;
	bool follows;

	for (size_t i = 0; bytes && wall && i < g->n; i++) {
		const struct lake_task *t = g->tasks[i];

		if (!t->end_ns || t->signal || t->exit_code > 0)
			continue;
		bytes[n] = fmax((double)t->totals.rchar_bytes, (double)t->totals.read_bytes);
		wall[n++] = analysis_task_wall_s(a, t);
	}
	follows = n && stats_regression(bytes, wall, n, &line) && line.r2 >= 0.8 && line.slope > 0;
	free(bytes);
	free(wall);
	return follows;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		double *scratch, median, sigma, most;
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .n = 1,
				     .severity = FINDING_NOTE, .confidence = FINDING_MEDIUM,
				     .threshold = thresholds[TIMES] };
		char longest[FINDING_NUMBER], middle[FINDING_NUMBER];
		const struct lake_task *late = NULL;

		if (!g->n_ok || (double)g->n_ok < thresholds[TASKS])
			continue;
		scratch = calloc(g->n_ok, sizeof(*scratch));
		if (!scratch)
			return -ENOMEM;
		median = stats_quantile(g->wall_s, g->n_ok, 0.5);
		sigma = stats_sigma(g->wall_s, g->n_ok, scratch);
		free(scratch);
		most = g->wall_s[g->n_ok - 1];
		if (median <= 0 || most <= thresholds[TIMES] * median || most - median <= thresholds[SIGMAS] * sigma ||
		    most - median < a->gate_share * a->wall_s || follows_size(a, g))
			continue;
		for (size_t k = 0; k < g->n; k++)
			if (!late || analysis_task_wall_s(a, g->tasks[k]) > analysis_task_wall_s(a, late))
				late = g->tasks[k];
		f.value = most / median;
		/* Only if nothing else ran at its end does the run end earlier without it. */
		for (size_t k = 0; k < a->report->n_tasks && late; k++)
			if (a->report->tasks[k].end_ns > late->end_ns)
				late = NULL;
		f.saving.wall_s = late ? most - stats_quantile(g->wall_s, g->n_ok, 0.75) : 0;
		f.evidence = finding_text("one of %zu executions took %s, %.1f times the median of %s%s", g->n_ok,
					  finding_seconds(most, longest), f.value, finding_seconds(median, middle),
					  late ? "; the run waited for it" : "");
		f.advice = finding_text("look at its input and its machine: it did not read more than the others");
		if (finding_add_take(a, &f) != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_straggler = {
	.id = "straggler",
	.title = "one execution much slower than its like",
	.measures = "the longest wall time by the median, of the tasks of one name that ended well",
	.unit = "1",
	.guards = "wall times that follow the bytes read (r2 of 0.8 and more): the input is larger",
	.advice = "a look at its input and its machine",
	.saving = "its wall time less the third quartile, if it ended last: an upper bound",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[TIMES] = { "times", 1.5, "1", "Spark's speculation multiplier" },
		[SIGMAS] = { "sigmas", 3, "1", "SageMaker's debugger: 3 robust standard deviations" },
		[TASKS] = { "tasks", 4, "1", "fewer have no median worth the name" },
	},
	.find = find,
};
