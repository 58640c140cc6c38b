/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/walltime_over_request.c - finds tasks that ask for much more time than they take.
 */
#include <errno.h>
#include <string.h>

#include "analysis/finding.h"

enum { NOTE, WARN, LIMIT };

/* A user works in it: it takes as long as the work, not as the last time. */
static bool is_interactive(const struct analysis *a, const struct analysis_group *g)
{
	if (strcmp(a->report->run.origin, "session") == 0 || strcmp(a->report->run.origin, "shell") == 0)
		return true;
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(g->tasks[i]->step, "interactive") == 0)
			return true;
	return false;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .n = g->n_ok };
		const struct analysis_size size = analysis_size_walltime(g);
		const struct analysis_execution *most = finding_tightest(g, ASK_TIME);
		char longest[FINDING_NUMBER], limit[FINDING_NUMBER];

		if (!most || g->requested_walltime_s <= thresholds[LIMIT] || size.value >= g->requested_walltime_s ||
		    is_interactive(a, g))
			continue;
		f.value = most->wall_s / most->asked_walltime_s;
		if (f.value >= thresholds[NOTE])
			continue;
		f.severity = f.value <= thresholds[WARN] ? FINDING_WARN : FINDING_NOTE;
		f.threshold = thresholds[f.severity == FINDING_WARN ? WARN : NOTE];
		f.confidence = size.confidence;
		f.evidence = finding_text("took at most %s of %s, in %zu %s", finding_seconds(most->wall_s, longest),
					  finding_seconds(most->asked_walltime_s, limit), g->n_ok,
					  g->n_ok == 1 ? "execution" : "executions");
		if (finding_add_ask(a, &f, g, ASK_TIME, &size, ": short jobs start earlier") != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_walltime_over_request = {
	.id = "walltime-over-request",
	.title = "more time asked than taken",
	.measures = "the wall time by the time asked, of the execution of a task that ended well and came closest",
	.unit = "1",
	.guards = "limits of 15 minutes and less; tasks that did not end well; sessions, a shell's jobs, and steps that Slurm calls "
		  "interactive",
	.advice = "the longest and 20 % more: short jobs start earlier",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[NOTE] = { "note", 0.60, "1", "jobstats of Princeton: below 60 %" },
		[WARN] = { "warn", 0.10, "1", "jobstats of Princeton: red at 10 %" },
		[LIMIT] = { "limit", 900, "s", "jobstats of Princeton: limits above 15 minutes" },
	},
	.find = find,
};
