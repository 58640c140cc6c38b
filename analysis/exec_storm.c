/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/exec_storm.c - finds runs that start processes for tiny pieces of work.
 */
#include <string.h>

#include "analysis/finding.h"

enum { SHARE, LIFETIME };

/* Builds start a process for each file, and configure one for each question: their users know. */
static bool is_build(const struct lake_report *r)
{
	static const char *const builds[] = { "make", "ninja", "configure", "cmake" };

	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++) {
		if (strcmp(r->run.engine, builds[i]) == 0)
			return true;
		for (size_t k = 0; k < r->n_tools; k++)
			if (strcmp(r->tools[k].tool, builds[i]) == 0)
				return true;
	}
	return false;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	const struct lake_process *parent = NULL;
	struct finding f = { .kind = kind, .of = FINDING_OF_RUN, .name = "", .severity = FINDING_NOTE,
			     .confidence = FINDING_MEDIUM, .threshold = thresholds[SHARE] };
	double short_ns = 0;

	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		if (!p->start_ns || p->end_ns <= p->start_ns ||
		    (double)(p->end_ns - p->start_ns) >= thresholds[LIFETIME] * 1e9)
			continue;
		f.n++;
		short_ns += (double)p->totals.cpu_ns;
	}
	f.value = r->run.totals.cpu_ns ? short_ns / (double)r->run.totals.cpu_ns : 0;
	f.saving.cpu_s = short_ns / 1e9;
	if (f.value < thresholds[SHARE] || !analysis_worth(a, f.saving.cpu_s) || is_build(r))
		return 0;
	parent = analysis_busiest_parent(a, thresholds[LIFETIME]);
	f.process = parent;
	f.evidence = finding_text("%zu programs lived for less than %.0f ms each and took %.0f %% of the run's CPU time; %s%s%s",
				  f.n, thresholds[LIFETIME] * 1e3, f.value * 100, parent ? "most were started by " : "",
				  /* the tool of xargs is the command that xargs starts */
				  !parent ? "" : parent->kind->wrapper ? parent->kind->comm : parent->kind->tool,
				  parent ? "" : "their parents are not known");
	f.advice = finding_text("give one process many inputs (xargs -n, a shell's builtins, a loop inside of the program)");
	return finding_add_take(a, &f);
}

const struct finding_kind finding_exec_storm = {
	.id = "exec-storm",
	.title = "processes for tiny pieces of work",
	.measures = "CPU time of short-lived programs by the run's CPU time",
	.unit = "1",
	.guards = "make, ninja, cmake, configure: their work is to start programs",
	.advice = "one process for many inputs",
	.saving = "the CPU time of these programs",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[SHARE] = { "share", 0.20, "1", "own" },
		[LIFETIME] = { "lifetime", 0.05, "s", "own: to start a program costs milliseconds" },
	},
	.find = find,
};
