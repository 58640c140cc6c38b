/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/cpu_over_request.c - finds tasks that use fewer cores than they ask for.
 */
#include <errno.h>
#include <math.h>

#include "analysis/finding.h"

enum { WARN, NOTE };

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		struct analysis_size size = analysis_size_cpus(g);
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name };
		struct finding_cores asked;

		size.value = size.value > 0 ? fmax(size.value, finding_cores_for_memory(g)) : 0;
		asked = finding_cores_asked(g, size.value);
		if (g->requested_cpus <= 1 || !g->n_ok || g->n_shares || asked.core_s <= 0 || size.value <= 0 ||
		    asked.spare_s <= 0 || finding_is_serial(g))
			continue;
		f.value = asked.cpu_s / asked.core_s;
		if (f.value >= thresholds[NOTE] || !analysis_worth(a, asked.spare_s) || finding_whole_machine(a, g) ||
		    finding_wants_gpu(g) || analysis_starved(g))
			continue;
		f.n = asked.n;
		f.severity = f.value < thresholds[WARN] ? FINDING_WARN : FINDING_NOTE;
		f.threshold = thresholds[f.severity == FINDING_WARN ? WARN : NOTE];
		f.confidence = size.confidence;
		f.saving.core_s = asked.spare_s;
		f.evidence = finding_text("used %.1f of %.3g cores on average (%.0f %%), and %.1f or fewer for 95 %% of the time, in "
					  "%zu %s",
					  asked.cpu_s / asked.wall_s, asked.core_s / asked.wall_s, f.value * 100,
					  g->busy_cores[g->n_ok - 1], f.n, f.n == 1 ? "execution" : "executions");
		if (finding_add_ask(a, &f, g, ASK_CPUS, &size, "") != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_cpu_over_request = {
	.id = "cpu-over-request",
	.title = "more cores asked than used",
	.measures = "CPU time by wall time and cores asked, of all executions of a task, each by its own request",
	.unit = "1",
	.guards = "jobs that ask for a whole machine, or get their memory by the core and need it; tasks that ask for a GPU, that waited "
		  "for CPUs more than a tenth of their CPU time (their use is too small to size from), that are serial, in which "
		  "another run began, or beside which tasks of their job ran",
	.advice = "the cores that were busy in 95 % of the time and 15 % more",
	.saving = "cores not needed, times the tasks' wall time",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[WARN] = { "warn", 0.65, "1", "jobstats of Princeton: red below 65 %" },
		[NOTE] = { "note", 0.80, "1", "jobstats of Princeton: below 80 %" },
	},
	.find = find,
};
