/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/memory_over_request.c - finds tasks that ask for more memory than they need.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

enum { NOTE, WARN };

/* Byte-seconds that were asked for beyond so many bytes. */
static double spare(const struct analysis_group *g, double bytes)
{
	double sum = 0;

	for (size_t i = 0; i < g->n_executions; i++)
		sum += fmax(0, g->executions[i].asked_memory - bytes) * g->executions[i].wall_s;
	return sum;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	double reserved = 0;

	for (size_t i = 0; i < a->n_groups; i++)
		reserved += spare(a->groups[i], 0);
	for (size_t i = 0; i < a->n_groups; i++) {
		const struct analysis_group *g = a->groups[i];
		const struct analysis_size size = analysis_size_memory(g);
		const struct analysis_execution *most = finding_tightest(g, ASK_MEMORY);
		struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .n = g->n };
		char need[FINDING_NUMBER], median[FINDING_NUMBER], asked[FINDING_NUMBER], first[FINDING_NUMBER],
		     then[256];

		f.saving.byte_s = spare(g, size.value);
		/* A Java heap grows to the size that it is given, so its peak says nothing about its need. */
		if (!most || g->n_oom || g->n_shares || f.saving.byte_s <= 0 ||
		    (f.saving.byte_s < 3600 * GIB && f.saving.byte_s < a->gate_share * reserved) ||
		    finding_whole_machine(a, g) || finding_memory_is_default(g) || g->java)
			continue;
		f.value = most->memory / most->asked_memory;
		if (f.value >= thresholds[NOTE])
			continue;
		f.severity = f.value <= thresholds[WARN] ? FINDING_WARN : FINDING_NOTE;
		f.threshold = thresholds[f.severity == FINDING_WARN ? WARN : NOTE];
		f.confidence = size.confidence;
		if (g->first_memory > 0)
			snprintf(then, sizeof(then), " (%s); or for %s at the first attempt and this at the second, which takes "
				 "%.0f %% less in all", size.rule, finding_bytes(g->first_memory, first), g->first_saves * 100);
		else
			snprintf(then, sizeof(then), " (%s)", size.rule);
		f.evidence = finding_text("needed at most %s (median %s) of %s, in %zu %s",
					  finding_bytes(most->memory, need),
					  finding_bytes(stats_quantile(g->memory, g->n_ok, 0.5), median),
					  finding_bytes(most->asked_memory, asked), g->n_ok,
					  g->n_ok == 1 ? "execution" : "executions");
		if (finding_add_ask(a, &f, g, ASK_MEMORY, &size, then) != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_memory_over_request = {
	.id = "memory-over-request",
	.title = "more memory asked than needed",
	.measures = "the largest sum of the peaks of processes that ran at once, by the memory asked, of the execution that came closest",
	.unit = "1",
	.guards = "jobs that ask for a whole machine, or get their memory by the core or by the site's default; tasks that the kernel killed for their memory, that run Java, in which another run began, or beside which tasks of their job ran",
	.advice = "what the executions held, with a margin that shrinks as they become more",
	.saving = "memory not needed, times the tasks' wall time",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[NOTE] = { "note", 0.70, "1", "jobstats of Princeton: below 70 %" },
		[WARN] = { "warn", 0.35, "1", "job_defense_shield: 35 % and less" },
	},
	.find = find,
};
