/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/guards.c - conditions under which several findings say nothing.
 */
#include <math.h>

#include "analysis/finding.h"

bool finding_is_serial(const struct analysis_group *g)
{
	const double cores = g->wall_sum_s > 0 ? g->cpu_sum_s / g->wall_sum_s : 0;

	return g->n_ok && cores >= FINDING_SERIAL_LEAST && cores <= FINDING_SERIAL_MOST &&
	       g->busy_cores[g->n_ok - 1] <= 1.5;
}

bool finding_whole_machine(const struct analysis *a, const struct analysis_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!*g->tasks[i]->job)
			return false;
	return a->report->run.cpus && g->requested_cpus >= 0.85 * (double)a->report->run.cpus;
}

bool finding_wants_gpu(const struct analysis_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->tasks[i]->requested_gpus || g->tasks[i]->granted_gpus)
			return true;
	return false;
}

bool finding_memory_is_default(const struct analysis_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!*g->tasks[i]->job || g->tasks[i]->requested_memory_bytes)
			return false;
	return true;
}

double finding_cores_for_memory(const struct analysis_group *g)
{
	if (!finding_memory_is_default(g) || g->requested_cpus <= 0 || g->requested_memory <= 0)
		return 0;
	return fmin(g->requested_cpus, ceil(g->ask_memory.value / (g->requested_memory / g->requested_cpus)));
}

struct finding_cores finding_cores_asked(const struct analysis_group *g, double cores)
{
	struct finding_cores sum = { 0 };

	for (size_t i = 0; i < g->n_executions; i++) {
		const struct analysis_execution *e = &g->executions[i];

		if (e->asked_cpus <= 0)
			continue;
		sum.n++;
		sum.wall_s += e->wall_s;
		sum.cpu_s += e->cpu_s;
		sum.core_s += e->asked_cpus * e->wall_s;
		sum.spare_s += fmax(0, e->asked_cpus - cores) * e->wall_s;
	}
	return sum;
}

const struct analysis_execution *finding_tightest(const struct analysis_group *g, enum finding_ask what)
{
	const struct analysis_execution *most = NULL;
	double share = 0;

	for (size_t i = 0; i < g->n_executions; i++) {
		const struct analysis_execution *e = &g->executions[i];
		const double asked = what == ASK_MEMORY ? e->asked_memory : e->asked_walltime_s;
		const double used = what == ASK_MEMORY ? e->memory : e->wall_s;

		if (!e->ok || asked <= 0 || (most && used / asked <= share))
			continue;
		most = e;
		share = used / asked;
	}
	return most;
}

bool analysis_starved(const struct analysis_group *g)
{
	return g->queue_sum_s > 0.1 * (g->cpu_sum_s + g->queue_sum_s) && g->queue_sum_s > 0.05 * g->wall_sum_s;
}
