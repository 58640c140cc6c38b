/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/serial.c - finds tasks that ask for several cores and use one.
 */
#include <errno.h>

#include "analysis/finding.h"

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	(void)thresholds;
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .n = g->n };
		struct analysis_size size = analysis_size_cpus(g);
		const struct finding_cores asked = finding_cores_asked(g, 1);

		f.saving.core_s = asked.spare_s;
		if (g->requested_cpus <= 1 || g->n_shares || !finding_is_serial(g) || analysis_starved(g) ||
		    !analysis_worth(a, f.saving.core_s) || finding_whole_machine(a, g) || finding_wants_gpu(g) ||
		    finding_cores_for_memory(g) > 1)
			continue;
		f.severity = FINDING_WARN;
		f.confidence = g->n_ok < 5 ? FINDING_MEDIUM : FINDING_HIGH;
		f.value = g->cpu_sum_s / g->wall_sum_s;
		f.threshold = FINDING_SERIAL_MOST;
		size.value = 1;
		f.evidence = finding_text("used %.2f of %.3g cores on average, and %.1f or fewer for 95 %% of the time, in %zu %s",
					  f.value, asked.core_s / asked.wall_s, g->busy_cores[g->n_ok - 1], g->n,
					  g->n == 1 ? "execution" : "executions");
		if (finding_add_ask(a, &f, g, ASK_CPUS, &size, ", or turn the program's own threads on") != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_serial = {
	.id = "serial",
	.title = "one core used of several",
	.measures = "CPU time by wall time of all executions of a task: 0.85 to 1.01",
	.unit = "1",
	.guards = "a task that used more than 1.5 cores for a twentieth of its time, waited for CPUs more than a tenth of its CPU time, "
		  "asks for a GPU, or is a job that asks for a whole machine or gets its memory by the core and needs it; a task in "
		  "which another run began, or beside which tasks of its job ran",
	.advice = "one core, or the program's own threads turned on",
	.saving = "all cores but one, times the tasks' wall time",
	.source = ANALYSIS_EXACT,
	.find = find,
};
