/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/memory_at_risk.c - finds tasks that the kernel killed for their memory, or nearly.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/finding.h"

enum { WARN };

static const struct lake_process *killed_outside(const struct analysis *a)
{
	for (size_t i = 0; i < a->report->n_processes; i++)
		if (a->report->processes[i].kind->oom_killed && !*a->report->processes[i].task)
			return &a->report->processes[i];
	return NULL;
}

/* The execution with a limit whose largest process came closest to it; NULL: no limit is known. */
static const struct analysis_execution *closest(const struct analysis_group *g)
{
	const struct analysis_execution *most = NULL;

	for (size_t i = 0; i < g->n_executions; i++) {
		const struct analysis_execution *e = &g->executions[i];

		if (e->limit > 0 && (!most || e->largest * most->limit > most->largest * e->limit))
			most = e;
	}
	return most;
}

static int of_group(struct analysis *a, const struct finding_kind *kind, const double *thresholds,
		    const struct analysis_group *g)
{
	const struct analysis_size size = analysis_size_memory(g);
	const struct analysis_execution *most = closest(g);
	struct finding f = { .kind = kind, .of = FINDING_OF_TASK, .name = g->name, .n = g->n_oom ? g->n_oom : g->n };
	char peak[FINDING_NUMBER], most_had[FINDING_NUMBER], limit[FINDING_NUMBER], *ask;

	f.process = g->killed;
	f.value = most ? most->largest / most->limit : 0;
	if (!g->n_oom && (!most || f.value < thresholds[WARN]))
		return 0;
	f.severity = FINDING_WARN;
	f.threshold = thresholds[WARN];
	f.confidence = FINDING_HIGH;
	for (size_t i = 0; i < g->n_executions; i++)
		if (g->executions[i].killed)
			f.saving.core_s += fmax(g->executions[i].cpu_s,
						 g->executions[i].asked_cpus * g->executions[i].wall_s);
	ask = finding_ask(g->engine, ASK_MEMORY, size.value);
	if (f.process)
		f.evidence = finding_text("the kernel killed %zu of %zu executions for their memory, at a limit of %s", g->n_oom,
					  g->n, f.process->kind->oom_limit_bytes
							? finding_bytes((double)f.process->kind->oom_limit_bytes, limit)
							: "the machine's memory");
	else if (most)
		f.evidence = finding_text("its largest process held %s of the %s that it could have",
					  finding_bytes(most->largest, peak), finding_bytes(most->limit, most_had));
	if (g->requested_memory > 0 && size.value <= 0)
		f.advice = finding_text("ask for more memory; %s, so how much it needs is not known",
					g->n_shares ? "others use its request, too" : "no execution ended well");
	else if (g->requested_memory > 0)
		f.advice = ask ? finding_text("ask for %s (%s)", ask, size.rule) : NULL;
	else
		f.advice = finding_text("raise the limit, or ask for memory: the task asks for none");
	free(ask);
	return finding_add_take(a, &f);
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_process *p = killed_outside(a);
	struct finding f = { .kind = kind, .of = FINDING_OF_RUN, .name = "", .n = 1, .severity = FINDING_WARN,
			     .confidence = FINDING_HIGH, .process = p };
	char limit[FINDING_NUMBER];

	for (size_t i = 0; i < a->n_groups; i++)
		if (of_group(a, kind, thresholds, a->groups[i]) != 0)
			return -ENOMEM;
	if (!p) /* outside of all tasks */
		return 0;
	f.evidence = finding_text("the kernel killed %s for its memory, at a limit of %s", p->kind->tool,
				  p->kind->oom_limit_bytes ? finding_bytes((double)p->kind->oom_limit_bytes, limit)
						     : "the machine's memory");
	f.advice = finding_text("raise the limit of its cgroup, or run fewer such processes at once");
	return finding_add_take(a, &f);
}

const struct finding_kind finding_memory_at_risk = {
	.id = "memory-at-risk",
	.title = "killed for its memory, or nearly",
	.measures = "the peak of the largest process by the memory granted, else asked; and each kill by the kernel",
	.unit = "1",
	.guards = "caches: the peak is a process's, not its cgroup's",
	.advice = "more memory: after a kill a fifth more than the limit, 100 MiB at least",
	.saving = "the cores of the executions that were killed",
	.source = ANALYSIS_EXACT,
	.thresholds = { [WARN] = { "warn", 0.90, "1", "ClusterCockpit: within a tenth of the limit" } },
	.find = find,
};
