/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/cpu_quota.c - finds processes that a CPU quota keeps from running, such as a container's CPU limit.
 */
#include <math.h>
#include <string.h>

#include "analysis/finding.h"

enum { NOTE, WARN };

struct quota {
	double periods, used_up, still_s, cpu_s, cpus;
};

/* The cgroup's records. A quota stops its CPUs at different moments: the run waited for an interval at most. */
static struct quota quota_of(const struct lake_pressure *p, size_t n)
{
	struct quota q = { 0 };

	for (size_t i = 0; i < n; i++) {
		q.periods += (double)p[i].periods;
		q.used_up += (double)p[i].throttled_periods;
		q.still_s += fmin((double)p[i].throttled_ns, (double)p[i].interval_ns) / 1e9;
		q.cpu_s += (double)p[i].cpu_ns / 1e9;
		q.cpus = p[i].cpu_limit > 0 ? p[i].cpu_limit : q.cpus;
	}
	return q;
}

/* The process of the cgroup with most CPU time; NULL: the run has none. Sets the CPU time of all of them. */
static const struct lake_process *busiest(const struct lake_report *r, const char *cgroup, double *ret_cpu_s)
{
	const struct lake_process *most = NULL;

	*ret_cpu_s = 0;
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		if (strcmp(p->kind->cgroup, cgroup) != 0)
			continue;
		*ret_cpu_s += (double)p->totals.cpu_ns / 1e9;
		most = !most || p->totals.cpu_ns > most->totals.cpu_ns ? p : most;
	}
	return most;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	int rc = 0;

	for (size_t i = 0, end; i < r->n_pressure && rc == 0; i = end) {
		struct finding f = { .kind = kind, .confidence = FINDING_HIGH, .n = 1 };
		char still[FINDING_NUMBER];
		struct quota q;
		double own_s;

		for (end = i; end < r->n_pressure && strcmp(r->pressure[end].cgroup, r->pressure[i].cgroup) == 0; end++)
			;
		q = quota_of(r->pressure + i, end - i);
		f.value = q.periods > 0 ? q.used_up / q.periods : 0;
		f.saving.wall_s = fmin(q.still_s, a->wall_s);
		if (f.value < thresholds[NOTE] || f.saving.wall_s < a->gate_share * a->wall_s)
			continue;
		f.process = busiest(r, r->pressure[i].cgroup, &own_s);
		if (!f.process || own_s < 0.5 * q.cpu_s)
			continue;
		f.severity = f.value >= thresholds[WARN] ? FINDING_WARN : FINDING_NOTE;
		f.threshold = thresholds[f.severity == FINDING_WARN ? WARN : NOTE];
		f.of = *f.process->task ? FINDING_OF_TASK : FINDING_OF_TOOL;
		f.name = *f.process->task ? f.process->task : f.process->kind->tool;
		f.evidence = finding_text("its cgroup used up its quota of %.3g CPUs in %.0f of %.0f periods (%.0f %%) and had to wait "
					  "for %s then", q.cpus, q.used_up, q.periods, f.value * 100,
					  finding_seconds(f.saving.wall_s, still));
		f.advice = finding_text("raise the quota (cpu.max of %s: a container's CPU limit, CPUQuota of systemd), or start as "
					"many threads as it has CPUs", r->pressure[i].cgroup);
		rc = finding_add_take(a, &f);
	}
	return rc;
}

const struct finding_kind finding_cpu_quota = {
	.id = "cpu-quota",
	.title = "a CPU quota stops it",
	.measures = "periods in which a cgroup used up its quota, by all its periods during the run",
	.unit = "1",
	.guards = "cgroups in which other processes used most of the CPU time; quotas of the cgroups above it",
	.advice = "a higher quota, or as many threads as it has CPUs",
	.saving = "the time that the quota took, at most the run's duration: an upper bound",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[NOTE] = { "note", 0.25, "1", "the Kubernetes mixin: more than 25 % of the periods" },
		[WARN] = { "warn", 0.50, "1", "own: half of the periods" },
	},
	.find = find,
};
