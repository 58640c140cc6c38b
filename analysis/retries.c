/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/retries.c - finds tasks whose failed executions cost a good part of the run.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>

#include "analysis/finding.h"

enum { SHARE };

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .severity = FINDING_WARN,
				     .confidence = FINDING_HIGH, .threshold = thresholds[SHARE] };
		double lost = 0;
		char text[FINDING_NUMBER];

		for (size_t k = 0; k < g->n; k++) {
			const struct lake_task *t = g->tasks[k];

			/* Schedulers and users end tasks with SIGTERM: those were no failures. */
			if (!t->end_ns || t->signal == SIGTERM || t->exit_code == 128 + SIGTERM ||
			    !(t->signal || t->exit_code > 0))
				continue;
			f.n++;
			lost += fmax(lake_task_cpus(t) * analysis_task_wall_s(a, t), (double)t->totals.cpu_ns / 1e9);
		}
		f.value = a->reserved_core_s > 0 ? lost / a->reserved_core_s : 0;
		if (!f.n || f.value < thresholds[SHARE])
			continue;
		f.saving.core_s = lost;
		f.evidence = finding_text("%zu of %zu executions failed; they had %s of cores, %.0f %% of the run", f.n, g->n,
					  finding_seconds(lost, text), f.value * 100);
		f.advice = finding_text("mend the cause before the engine retries: skep show %s has the failures", a->report->run.id);
		if (finding_add_take(a, &f) != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_retries = {
	.id = "retries",
	.title = "failed executions cost a good part of the run",
	.measures = "cores of a task's failed executions by those of the run",
	.unit = "1",
	.guards = "executions that ended by SIGTERM: preempted or cancelled",
	.advice = "a mended cause",
	.saving = "the cores of the failed executions",
	.source = ANALYSIS_EXACT,
	.thresholds = { [SHARE] = { "share", 0.05, "1", "own" } },
	.find = find,
};
