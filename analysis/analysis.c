/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/analysis.c - the table of all kinds of findings, and the analysis of one run.
 */
#include "analysis/analysis.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

const struct finding_kind *const analysis_kinds[] = {
	&finding_cpu_over_request,
	&finding_serial,
	&finding_oversubscribed,
	&finding_cpu_quota,
	&finding_memory_over_request,
	&finding_memory_at_risk,
	&finding_thrashing,
	&finding_io_bound,
	&finding_network_bound,
	&finding_tiny_io,
	&finding_re_read,
	&finding_exec_storm,
	&finding_short_tasks,
	&finding_straggler,
	&finding_serial_path,
	&finding_stall,
	&finding_retries,
	&finding_walltime_over_request,
	&finding_gpu_starved,
	&finding_gpu_low,
	&finding_regression,
	NULL,
};

enum { GATE_WALL, GATE_CORE_HOURS, GATE_SHARE };

const struct finding_threshold analysis_gates[] = {
	[GATE_WALL] = { "gate.wall", 60, "s", "below a minute start-up outweighs the work" },
	[GATE_CORE_HOURS] = { "gate.core_hours", 1, "h", "a saving worth an edit of a file" },
	[GATE_SHARE] = { "gate.share", 0.02, "1", "or 2 % of the run (job_defense_shield)" },
	{ 0 },
};

const char *analysis_source_text(enum analysis_source s)
{
	static const char *const texts[] = { "exact", "delayacct", "sampled", "inferred" };

	return texts[s];
}

const char *analysis_bound_text(enum analysis_bound b)
{
	static const char *const texts[] = {
		[BOUND_UNKNOWN] = "-",    [BOUND_CPU] = "cpu",         [BOUND_QUEUE] = "run queue",
		[BOUND_QUOTA] = "quota",  [BOUND_MEMORY] = "memory",   [BOUND_DISK] = "disk",
		[BOUND_GPU] = "gpu",      [BOUND_NETWORK] = "network", [BOUND_WAITING] = "waiting",
	};

	return texts[b];
}

bool analysis_setting_known(const char *asked, char ret_near[ANALYSIS_SETTING_NAME])
{
	return finding_threshold_known(analysis_kinds, analysis_gates, asked, ret_near);
}

/* ---- findings ----------------------------------------------------------------- */

bool analysis_worth(const struct analysis *a, double core_s)
{
	return core_s >= a->gate_core_s || (a->reserved_core_s > 0 && core_s >= a->gate_share * a->reserved_core_s);
}

char *finding_text(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

int finding_add_take(struct analysis *a, const struct finding *f)
{
	if (f->evidence && f->advice && a->n_findings == a->room) {
		const size_t room = a->room ? 2 * a->room : 16;
		struct finding *grown = reallocarray(a->findings, room, sizeof(*grown));

		if (grown) {
			a->findings = grown;
			a->room = room;
		}
	}
	if (!f->evidence || !f->advice || a->n_findings == a->room) {
		free(f->evidence);
		free(f->advice);
		return -ENOMEM;
	}
	a->findings[a->n_findings++] = *f;
	return 0;
}

const char *finding_bytes(double bytes, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	while (bytes >= 1000 && unit < 4) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, FINDING_NUMBER, "%.*f %s", bytes < 10 && unit ? 1 : 0, bytes, units[unit]);
	return buf;
}

const char *finding_seconds(double s, char *buf)
{
	if (s < 1)
		snprintf(buf, FINDING_NUMBER, "%.0f ms", s * 1e3);
	else if (s < 100)
		snprintf(buf, FINDING_NUMBER, "%.1f s", s);
	else if (s < 6000)
		snprintf(buf, FINDING_NUMBER, "%.0f min", s / 60);
	else
		snprintf(buf, FINDING_NUMBER, "%.1f h", s / 3600);
	return buf;
}

/* How the engines spell a request. The first format that fits the engine's name counts; the last one fits all. */
char *finding_ask(const char *engine, enum finding_ask ask, double value)
{
	static const struct {
		const char *engine, *cpus, *memory, *time;
		double memory_by, time_by;
	} spellings[] = {
		/* Snakemake reads mem_mb; it makes a mem_mib of it, and never the reverse */
		{ "snakemake", "threads: %.0f", "resources: mem_mb=%.0f", "resources: runtime=%.0f", 1e6, 60 },
		{ "nextflow", "cpus = %.0f", "memory = '%.0f MB'", "time = '%.0f min'", MIB, 60 },
		{ "slurm", "--cpus-per-task=%.0f", "--mem=%.0fM", "--time=%.0f", MIB, 60 },
		{ "cwltool", "coresMin: %.0f", "ramMin: %.0f", "ToolTimeLimit: timelimit: %.0f", MIB, 1 },
		{ "", "%.0f cores", "%.0f MiB", "%.0f min", MIB, 60 },
	};
	size_t i = 0;
	double by;
	char *text = NULL;

	while (*spellings[i].engine && strcmp(spellings[i].engine, engine) != 0)
		i++;
	by = ask == ASK_MEMORY ? spellings[i].memory_by : ask == ASK_TIME ? spellings[i].time_by : 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (asprintf(&text, ask == ASK_CPUS     ? spellings[i].cpus
			    : ask == ASK_MEMORY ? spellings[i].memory
						: spellings[i].time, ceil(value / by)) < 0)
		return NULL;
#pragma GCC diagnostic pop
	return text;
}

int finding_add_ask(struct analysis *a, struct finding *f, const struct analysis_group *g, enum finding_ask what,
		    const struct analysis_size *size, const char *then)
{
	char *ask = finding_ask(g->engine, what, size->value);

	if (ask && size->runs > 1)
		f->advice = finding_text("ask for %s%s; this rests on %zu executions in %zu runs", ask, then, size->n, size->runs);
	else if (ask)
		f->advice = finding_text("ask for %s%s", ask, then);
	free(ask);
	return finding_add_take(a, f);
}

/* ---- an analysis ------------------------------------------------------------------ */

static uint64_t last_time(const struct lake_report *r)
{
	/* an administrator or NTP set the clock back: the recorded end is before the start */
	const bool ended = r->run.end_ns > r->run.start_ns;
	uint64_t last = ended ? r->run.end_ns : 0;

	for (size_t i = 0; !ended && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];
		const uint64_t t = p->end_ns ? p->end_ns : p->start_ns;

		last = t > last ? t : last;
	}
	for (size_t i = 0; !ended && i < r->n_samples; i++) {
		const uint64_t t = r->samples[i].start_ns + r->samples[i].interval_ns;

		last = t > last ? t : last;
	}
	return last;
}

static double wall_of(const struct lake_report *r, uint64_t end_ns)
{
	return r->run.start_ns && end_ns > r->run.start_ns ? (double)(end_ns - r->run.start_ns) / 1e9 : 0;
}

void analysis_set_times(struct analysis *a)
{
	a->end_ns = last_time(a->report);
	a->wall_s = wall_of(a->report, a->end_ns);
}

bool analysis_is_short(const struct lake_report *r)
{
	return wall_of(r, last_time(r)) < analysis_gates[GATE_WALL].value;
}

static double share_of(const struct analysis *a, const struct finding *f)
{
	const double reserved = a->reserved_core_s > 0 ? a->reserved_core_s : 1, wall = a->wall_s > 0 ? a->wall_s : 1;

	return fmax((f->saving.core_s + f->saving.cpu_s) / reserved, fmax(f->saving.wall_s, f->saving.gpu_s) / wall);
}

static int worst_first(const void *x, const void *y, void *arg)
{
	const struct finding *f = x, *g = y;
	const double a = share_of(arg, f), b = share_of(arg, g);

	if (f->severity != g->severity)
		return f->severity > g->severity ? -1 : 1;
	if (a < b || a > b)
		return a > b ? -1 : 1;
	if (f->kind != g->kind)
		return strcmp(f->kind->id, g->kind->id);
	return strcmp(f->name, g->name);
}

int analysis_new(const struct lake_report *r, const struct analysis_setting *settings, size_t n, struct analysis **ret)
{
	return analysis_new_with(r, NULL, NULL, settings, n, ret);
}

int analysis_new_with(const struct lake_report *r, const struct family *family, const struct analysis_history *history,
		      const struct analysis_setting *settings, size_t n, struct analysis **ret)
{
	struct analysis *a = calloc(1, sizeof(*a));
	bool too_short;
	int rc;

	if (!a)
		return -ENOMEM;
	a->report = r;
	a->family = family;
	a->history = history;
	analysis_set_times(a);
	a->gate_wall_s = finding_threshold_value(NULL, &analysis_gates[GATE_WALL], settings, n);
	a->gate_core_s = 3600 * finding_threshold_value(NULL, &analysis_gates[GATE_CORE_HOURS], settings, n);
	a->gate_share = finding_threshold_value(NULL, &analysis_gates[GATE_SHARE], settings, n);
	too_short = a->wall_s < a->gate_wall_s;
	rc = analysis_group_all(a);
	for (size_t i = 0; rc == 0 && i < a->n_groups; i++) {
		a->reserved_core_s += a->groups[i]->reserved_core_s;
		rc = analysis_size_group(a, a->groups[i]);
	}
	rc = rc == 0 ? analysis_bound_gpus(a) : rc;
	if (a->reserved_core_s < (double)r->run.totals.cpu_ns / 1e9)
		a->reserved_core_s = (double)r->run.totals.cpu_ns / 1e9;
	for (const struct finding_kind *const *k = analysis_kinds; *k && rc == 0 && !too_short; k++) {
		double thresholds[FINDING_THRESHOLDS] = { 0 };

		for (size_t i = 0; i < FINDING_THRESHOLDS && (*k)->thresholds[i].name; i++)
			thresholds[i] = finding_threshold_value(*k, &(*k)->thresholds[i], settings, n);
		rc = (*k)->find(a, *k, thresholds);
	}
	if (rc) {
		analysis_free(a);
		return rc;
	}
	/* The sums lack the lost records, which might have changed a finding. */
	for (size_t i = 0; i < a->n_findings && lake_run_lost(&r->run); i++)
		a->findings[i].confidence -= a->findings[i].confidence > FINDING_LOW;
	if (a->n_findings)
		qsort_r(a->findings, a->n_findings, sizeof(*a->findings), worst_first, a);
	*ret = a;
	return 0;
}

struct analysis *analysis_free(struct analysis *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n_findings; i++) {
		free(a->findings[i].evidence);
		free(a->findings[i].advice);
	}
	for (size_t i = 0; i < a->n_groups; i++)
		analysis_group_free(a->groups[i]);
	family_free(a->own_family);
	free(a->findings);
	analysis_group_free(a->whole);
	free(a->groups);
	free(a->leaf);
	free(a);
	return NULL;
}

bool analysis_too_short(const struct analysis *a, double *ret_shortest_s)
{
	*ret_shortest_s = a->gate_wall_s;
	return a->wall_s < a->gate_wall_s;
}

size_t analysis_findings(const struct analysis *a, const struct finding **ret)
{
	*ret = a->findings;
	return a->n_findings;
}

size_t analysis_groups(const struct analysis *a, const struct analysis_group *const **ret)
{
	*ret = (const struct analysis_group *const *)a->groups;
	return a->n_groups;
}
