/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/io_bound.c - finds tasks and tools that wait for block devices.
 */
#include "analysis/finding.h"

enum { NOTE, WARN };

static int add(struct analysis *a, const struct finding_kind *kind, const double *thresholds, struct finding *f,
	       const struct analysis_waits *w, double cores)
{
	char blocked[FINDING_NUMBER], alive[FINDING_NUMBER];

	f->kind = kind;
	f->value = w->lifetime_s > 0 ? w->block_s / w->lifetime_s : 0;
	if (f->value < thresholds[NOTE] || w->cpu_s >= 0.5 * w->lifetime_s * (cores > 1 ? cores : 1) ||
	    w->block_s < a->gate_share * a->wall_s)
		return 0;
	f->severity = f->value >= thresholds[WARN] ? FINDING_WARN : FINDING_NOTE;
	f->threshold = thresholds[f->severity == FINDING_WARN ? WARN : NOTE];
	f->confidence = FINDING_MEDIUM;
	f->saving.wall_s = w->block_s < a->wall_s ? w->block_s : a->wall_s;
	f->evidence = finding_text("its processes waited %s of their %s for block devices (%.0f %%)",
				   finding_seconds(w->block_s, blocked), finding_seconds(w->lifetime_s, alive),
				   f->value * 100);
	f->advice = finding_text("put its files on local or faster storage, or read them in larger pieces and ahead");
	return finding_add_take(a, f);
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	int rc = 0;

	for (size_t i = 0; i < a->n_groups && rc == 0; i++) {
		const struct analysis_group *g = a->groups[i];
		struct finding f = { .of = FINDING_OF_TASK, .name = g->name, .n = g->n };

		rc = add(a, kind, thresholds, &f, &g->waits, g->requested_cpus);
	}
	for (size_t i = 0; i < a->report->n_tools && rc == 0 && !a->n_groups; i++) {
		const struct lake_tool *t = &a->report->tools[i];
		struct analysis_waits w = { 0 };
		struct finding f = { .of = FINDING_OF_TOOL, .name = t->tool, .n = t->calls };

		analysis_tool_waits(a, t, &w);
		rc = add(a, kind, thresholds, &f, &w, 1);
	}
	return rc;
}

const struct finding_kind finding_io_bound = {
	.id = "io-bound",
	.title = "waits for storage",
	.measures = "waits for block devices by the lifetime of processes without children",
	.unit = "1",
	.guards = "tasks that use half of their cores all the same; asynchronous I/O, which waits elsewhere, is not seen",
	.advice = "local or faster storage, larger reads, ahead of their use",
	.saving = "the waits, at most the run's duration: an upper bound",
	.source = ANALYSIS_DELAYACCT,
	.thresholds = {
		[NOTE] = { "note", 0.20, "1", "netdata's iowait: 20 %" },
		[WARN] = { "warn", 0.40, "1", "netdata's iowait: 40 %" },
	},
	.find = find,
};
