/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/thrashing.c - finds the time in which processes wait for memory that the kernel took from them.
 */
#include <math.h>
#include <string.h>

#include "analysis/finding.h"

enum { FULL, SEVERE, SEVERE_S, FAULTS, FAULTS_S };

/* The process of the cgroup (NULL: of the run) that had to read most pages again. */
static const struct lake_process *most_faults(const struct lake_report *r, const char *cgroup)
{
	const struct lake_process *most = NULL;

	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		if (p->totals.major_faults && (!most || p->totals.major_faults > most->totals.major_faults) &&
		    (!cgroup || strcmp(p->kind->cgroup, cgroup) == 0))
			most = p;
	}
	return most;
}

static int add(struct analysis *a, struct finding *f, const struct lake_process *p, const char *limit)
{
	f->of = *p->task ? FINDING_OF_TASK : FINDING_OF_TOOL;
	f->name = *p->task ? p->task : p->kind->tool;
	f->n = 1;
	f->process = p;
	f->advice = finding_text("give it more memory%s%s%s, or run fewer at a time beside it", *limit ? " (its limit is " : "", limit,
				 *limit ? ")" : "");
	return finding_add_take(a, f);
}

/* ---- pressure of the cgroups ---------------------------------------------------------- */

struct pressure {
	double full_s, all_s, severe_s, limit;
};

static struct pressure pressure_of(const struct lake_pressure *p, size_t n, double severe)
{
	struct pressure sum = { 0 };
	double stretch = 0;

	for (size_t i = 0; i < n; i++) {
		const double interval = (double)p[i].interval_ns / 1e9, full = (double)p[i].memory_full_ns / 1e9;

		sum.full_s += full;
		sum.all_s += interval;
		stretch = interval > 0 && full >= severe * interval ? stretch + interval : 0;
		sum.severe_s = fmax(sum.severe_s, stretch);
		sum.limit = p[i].memory_limit_bytes ? (double)p[i].memory_limit_bytes : sum.limit;
	}
	return sum;
}

static int find_pressure(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	int rc = 0;

	for (size_t i = 0, end; i < r->n_pressure && rc == 0; i = end) {
		struct finding f = { .kind = kind, .confidence = FINDING_MEDIUM };
		char full[FINDING_NUMBER], all[FINDING_NUMBER], limit[FINDING_NUMBER] = "";
		const struct lake_process *p;
		struct pressure sum;
		bool severe;

		for (end = i; end < r->n_pressure && strcmp(r->pressure[end].cgroup, r->pressure[i].cgroup) == 0; end++)
			;
		sum = pressure_of(r->pressure + i, end - i, thresholds[SEVERE]);
		f.value = sum.all_s > 0 ? sum.full_s / sum.all_s : 0;
		severe = sum.severe_s > 0 && sum.severe_s >= thresholds[SEVERE_S];
		if ((f.value < thresholds[FULL] && !severe) || sum.full_s < a->gate_share * a->wall_s)
			continue;
		p = most_faults(r, r->pressure[i].cgroup);
		if (!p) /* only a neighbour in its cgroup had to read pages again: not the run's memory */
			continue;
		f.severity = severe ? FINDING_WARN : FINDING_NOTE;
		f.threshold = severe && f.value < thresholds[FULL] ? thresholds[SEVERE] : thresholds[FULL];
		f.saving.wall_s = fmin(sum.full_s, a->wall_s);
		f.evidence = finding_text("for %s of %s (%.0f %%) all processes of its cgroup waited for memory that the kernel had taken "
					  "from them; this process had %llu major faults", finding_seconds(sum.full_s, full),
					  finding_seconds(sum.all_s, all), f.value * 100,
					  (unsigned long long)p->totals.major_faults);
		rc = add(a, &f, p, sum.limit > 0 ? finding_bytes(sum.limit, limit) : "");
	}
	return rc;
}

/* ---- faults, where the kernel has no pressure of a cgroup ---------------------------------- */

static int find_faults(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	struct finding f = { .kind = kind, .confidence = FINDING_LOW, .severity = FINDING_NOTE,
			     .threshold = thresholds[FULL] };
	const struct lake_process *worst = NULL;
	char text[FINDING_NUMBER];
	double longest = 0;

	for (size_t i = 0, end; i < r->n_progress; i = end) {
		double stretch = 0;
		bool reclaimed = false;

		for (end = i; end < r->n_progress && r->progress[end].process == r->progress[i].process; end++) {
			const struct lake_progress *p = &r->progress[end];
			const double interval = (double)p->interval_ns / 1e9;
			const bool many = (double)p->major_faults > thresholds[FAULTS] * interval;

			stretch = many ? stretch + interval : 0;
			reclaimed = many && (reclaimed || p->reclaims);
			/* the first read of a mapped file is a major fault too, without a lack of memory */
			if (reclaimed && stretch >= thresholds[FAULTS_S] && stretch > longest) {
				longest = stretch;
				worst = &r->processes[p->process];
			}
		}
	}
	if (!worst || longest < a->gate_share * a->wall_s)
		return 0;
	f.value = longest / a->wall_s;
	f.saving.wall_s = fmin(longest, a->wall_s);
	f.evidence = finding_text("for %s it had more than %.0f major faults a second while it had to free memory",
				  finding_seconds(longest, text), thresholds[FAULTS]);
	return add(a, &f, worst, "");
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const size_t before = a->n_findings;
	const int rc = find_pressure(a, kind, thresholds);

	return rc || a->n_findings > before ? rc : find_faults(a, kind, thresholds);
}

const struct finding_kind finding_thrashing = {
	.id = "thrashing",
	.title = "waits for memory that the kernel took",
	.measures = "share of the time in which all processes of a cgroup of the run were stalled for memory",
	.unit = "1",
	.guards = "cgroups in which no process of the run had a major fault: the neighbours' pressure; faults without reclaim: a file "
		  "that is mapped and read for the first time",
	.advice = "more memory, or fewer processes beside it",
	.saving = "that time, at most the run's duration: an upper bound",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[FULL] = { "full", 0.10, "1", "own: a tenth of the time" },
		[SEVERE] = { "severe", 0.60, "1", "systemd-oomd kills from 60 % on" },
		[SEVERE_S] = { "severe_for", 30, "s", "systemd-oomd: for 30 s" },
		[FAULTS] = { "faults", 500, "1/s", "node_exporter's mixin: 500 major faults a second" },
		[FAULTS_S] = { "faults_for", 900, "s", "node_exporter's mixin: for 15 min" },
	},
	.find = find,
};
