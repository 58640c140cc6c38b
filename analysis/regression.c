/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/regression.c - finds what became slower than in the pipeline's earlier runs: a task, or the run if no task
 * did.
 *
 * Executions of one run share the state of its machine, so a run is one point of a series: the median of a task's
 * executions. skep searches the series for a lasting change; if there is none, it tests this run's executions against
 * all earlier ones.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

enum { SHARE, CHANGE, LEAST, SIGMAS, BEFORE, AFTER };
enum { WALL, CPU, METRICS };

#define SIDE       4    /* with fewer values a side no test reaches 0.05, and a series has no change point */
#define TEST_P     0.05 /* after Holm's correction for all tasks */
#define CHANGE_P   0.01
#define MORE_INPUT 1.1 /* an input that grew by more explains the time */

/* A run's executions of one task. */
struct point {
	const char *id, *kernel;
	const struct analysis_group *group;
	double median[METRICS], input;
};

/* A task, or the run, in all runs that can be compared: oldest first, the last is the run that is judged. */
struct series {
	const char *name;
	struct point *points;
	size_t n;
	bool tested;       /* both sides have enough executions */
	double p[METRICS]; /* of the test of this run's executions against all earlier ones; 1: the effect is small */
};

static double value_of(const struct analysis_execution *e, int metric)
{
	return metric == WALL ? e->wall_s : e->cpu_s;
}

/* Appends the values of the executions that ended well. */
static size_t values_of(const struct analysis_group *g, int metric, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_executions; i++)
		if (g->executions[i].ok)
			values[n++] = value_of(&g->executions[i], metric);
	return n;
}

static double median_of(double *values, size_t n)
{
	stats_sort(values, n);
	return n ? stats_quantile(values, n, 0.5) : 0;
}

/* scratch: room for the group's executions. */
static struct point point_of(const char *id, const char *kernel, const struct analysis_group *g, double *scratch)
{
	struct point p = { .id = id, .kernel = kernel, .group = g };
	size_t n = 0;

	for (int m = 0; m < METRICS; m++)
		p.median[m] = median_of(scratch, values_of(g, m, scratch));
	for (size_t i = 0; i < g->n_executions; i++)
		if (g->executions[i].ok)
			scratch[n++] = g->executions[i].input;
	p.input = median_of(scratch, n);
	return p;
}

/* A machine of another speed, or a part of the pipeline, takes another time anyway. */
static bool is_comparable(const struct lake_report *r, const struct analysis_past *past, bool whole)
{
	const double tasks = (double)r->n_tasks, past_tasks = (double)past->n_tasks;

	return strcmp(past->host, r->run.host) == 0 && past->cpus == r->run.cpus &&
	       (!whole || fabs(tasks - past_tasks) <= 0.1 * tasks);
}

/* 0 or -ENOMEM; the caller frees ret->points. */
static int series_new(const struct analysis *a, const struct analysis_group *g, bool whole, double *scratch,
		      struct series *ret)
{
	const struct lake_run *run = &a->report->run;
	struct series s = { .name = g->name, .points = calloc(a->history->n + 1, sizeof(*s.points)), .p = { 1, 1 } };

	if (!s.points)
		return -ENOMEM;
	for (size_t i = a->history->n; i-- > 0 && g->n_ok;) {
		const struct analysis_past *past = &a->history->runs[i];
		const struct analysis_group *earlier = whole ? past->whole : analysis_past_group(past, g->name);

		if (earlier && earlier->n_ok && is_comparable(a->report, past, whole))
			s.points[s.n++] = point_of(past->id, past->kernel, earlier, scratch);
	}
	if (g->n_ok)
		s.points[s.n++] = point_of(run->id, run->kernel, g, scratch);
	*ret = s;
	return 0;
}

/* The median of points; scratch: room for all of them. metric METRICS: of the inputs. */
static double median_points(const struct point *points, size_t n, int metric, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = metric == METRICS ? points[i].input : points[i].median[metric];
	return median_of(scratch, n);
}

/*
 * The standard deviation of points, or 1.48 median absolute deviations if these are more. With few points both are
 * unsure, so the result is 2 / n more: with 4 points, 3 times it has false positives of 0 to 3 % whether values are
 * uniform or log-normal; 3 times 1.48 deviations alone have 8 to 12 %. scratch: room for twice as many.
 */
static double spread_of(const struct point *points, size_t n, int metric, double *scratch)
{
	double mean = 0, squares = 0, sigma;

	median_points(points, n, metric, scratch);
	sigma = stats_sigma(scratch, n, scratch + n);
	for (size_t i = 0; i < n; i++)
		mean += points[i].median[metric] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (points[i].median[metric] - mean) * (points[i].median[metric] - mean);
	return (1 + 2 / (double)n) * fmax(sigma, n > 1 ? sqrt(squares / (double)(n - 1)) : 0);
}

/* Whether points from `from` on are slower than the first n by a share and a time that matter, and do not read more. */
static bool is_slower(const struct series *s, size_t n, size_t from, int metric, double share, const double *thresholds,
		      double *scratch)
{
	const struct point *after = s->points + from;
	const size_t m = s->n - from;
	const double was = median_points(s->points, n, metric, scratch), is = median_points(after, m, metric, scratch);

	return was > 0 && is >= (1 + share) * was && is - was >= thresholds[LEAST] &&
	       median_points(after, m, METRICS, scratch) <= MORE_INPUT * median_points(s->points, n, METRICS, scratch);
}

/* What the time of an execution consists of, on average of the points. */
static void waits_of(const struct point *points, size_t n, struct analysis_waits *ret)
{
	struct analysis_waits w = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct analysis_waits *of = &points[i].group->waits;
		const double share = 1 / (double)n / (double)points[i].group->n;

		w.cpu_s += share * of->cpu_s;
		w.queue_s += share * of->queue_s;
		w.block_s += share * of->block_s;
		w.rest_s += share * of->rest_s;
	}
	*ret = w;
}

static bool same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/*
 * A text that names what else changed at points[at]: the program, the command or the kernel. A value counts as changed
 * only if the two runs before agree on it, since names of temporary files differ in each run. The caller owns the
 * text; "": nothing is known.
 */
static char *changed_with(const struct series *s, size_t at)
{
	const struct point *p = &s->points[at], *last = p - 1, *earlier = at > 1 ? p - 2 : NULL;
	const struct analysis_group *now = p->group, *was = last->group;

	if (!same(now->exe, was->exe) && (!earlier || same(was->exe, earlier->group->exe)))
		return finding_text("; with it came another program: %.100s, before %.100s", now->exe ? now->exe : "?",
				    was->exe ? was->exe : "?");
	if (!same(now->command, was->command) && earlier && same(was->command, earlier->group->command))
		return finding_text("; with it came another command: '%.100s', before '%.100s'",
				    now->command ? now->command : "?", was->command ? was->command : "?");
	if (!same(p->kernel, last->kernel) && (!earlier || same(last->kernel, earlier->kernel)))
		return finding_text("; with it came another kernel: %.60s, before %.60s", p->kernel, last->kernel);
	return strdup("");
}

/* NULL: no memory. */
static char *p_text(double p)
{
	return p < 0.0001 ? finding_text("p < 0.0001") : finding_text("p = %.4f", p);
}

/* Adds the finding that the series is slower from points[from] on. how: how sure that is; add() frees it. */
static int add(struct analysis *a, const struct series *s, size_t from, int metric, struct finding f, char *how,
	       double *scratch)
{
	const struct point *points = s->points;
	const size_t n = s->n - from;
	const double was = median_points(points, from, metric, scratch);
	const double is = median_points(points + from, n, metric, scratch);
	const double cpu_was = median_points(points, from, CPU, scratch);
	const double cpu_is = median_points(points + from, n, CPU, scratch);
	const int digits = is < 100;
	char *changed = changed_with(s, from);
	struct analysis_waits before, after;

	waits_of(points, from, &before);
	waits_of(points + from, n, &after);
	f.of = *s->name ? FINDING_OF_TASK : FINDING_OF_RUN;
	f.name = s->name;
	f.n = points[s->n - 1].group->n_ok;
	f.value = is / was - 1;
	f.saving.wall_s = metric == WALL ? fmin((is - was) * (double)f.n, a->wall_s) : 0;
	f.saving.cpu_s = fmax(0, (cpu_is - cpu_was) * (double)f.n);
	if (how && changed)
		f.evidence = finding_text(
			"%s %.*f s since run %s, and %.*f s before (%+.0f %%; medians of %zu and %zu runs; %s); of each "
			"execution's processes %+.1f s of CPU, %+.1f s in the run queue, %+.1f s on disks, %+.1f s of "
			"rest%s",
			metric == WALL ? "takes" : "uses CPU time of", digits, is, points[from].id, digits, was,
			f.value * 100, n, from, how, after.cpu_s - before.cpu_s, after.queue_s - before.queue_s,
			after.block_s - before.block_s, after.rest_s - before.rest_s, changed);
	f.advice = finding_text("compare skep show %s with skep show %s", points[from - 1].id, points[from].id);
	free(how);
	free(changed);
	return finding_add_take(a, &f);
}

/* Whether points from `from` on are further above those before than their spread explains. */
static bool stands_out(const struct series *s, size_t from, int metric, const double *thresholds, double *scratch)
{
	return median_points(s->points + from, s->n - from, metric, scratch) -
		       median_points(s->points, from, metric, scratch) >
	       thresholds[SIGMAS] * spread_of(s->points, from, metric, scratch);
}

/* Searches for a change that lasts. 1: added a finding; 0: there is none; -ENOMEM. */
static int find_change(struct analysis *a, const struct series *s, struct finding like, const double *thresholds,
		       double *scratch)
{
	for (int m = 0; m < METRICS; m++) {
		double *values = scratch + 2 * s->n, p;
		struct stats_change change = { 0 };
		size_t newest;
		bool is_long, far;
		int found;

		for (size_t i = 0; i < s->n; i++)
			values[i] = s->points[i].median[m];
		found = stats_change_find(values, s->n, SIDE, &change);
		if (found < 0)
			return found;
		newest = s->n - (s->n - change.at < SIDE ? s->n - change.at : SIDE);
		is_long = (double)change.at >= thresholds[BEFORE] && (double)(s->n - change.at) >= thresholds[AFTER];
		far = found && stands_out(s, change.at, m, thresholds, scratch);
		/* A short series must show the share; and the newest runs must be slow as well. */
		if (!found ||
		    !is_slower(s, change.at, change.at, m, is_long && far ? thresholds[SHARE] : thresholds[CHANGE],
			       thresholds, scratch) ||
		    !is_slower(s, change.at, newest, m, thresholds[SHARE], thresholds, scratch))
			continue;
		p = stats_change_p(values, s->n, SIDE, change.statistic);
		if (p < 0)
			return -ENOMEM;
		if (p > CHANGE_P)
			continue;
		like.severity = FINDING_WARN;
		like.confidence = is_long ? FINDING_HIGH : FINDING_MEDIUM;
		like.threshold = thresholds[CHANGE];
		return add(a, s, change.at, m, like, p_text(p), scratch) == 0 ? 1 : -ENOMEM;
	}
	return 0;
}

/* Tests this run's executions against all earlier ones. 0 or -ENOMEM. */
static int test_newest(struct series *s, const double *thresholds, double *scratch)
{
	const size_t last = s->n - 1;
	size_t n_earlier = 0;

	for (size_t i = 0; i < last; i++)
		n_earlier += s->points[i].group->n_ok;
	s->tested = s->points[last].group->n_ok >= SIDE && n_earlier >= SIDE;
	for (int m = 0; m < METRICS && s->tested; m++) {
		const bool many_runs = last >= SIDE;
		size_t n = 0, n_now;

		/* Executions of a run resemble each other, so its median must also lie outside of the runs' spread. */
		if (!is_slower(s, last, last, m, many_runs ? thresholds[SHARE] : thresholds[CHANGE], thresholds,
			       scratch) ||
		    (many_runs && !stands_out(s, last, m, thresholds, scratch)))
			continue;
		for (size_t i = 0; i < last; i++)
			n += values_of(s->points[i].group, m, scratch + n);
		n_now = values_of(s->points[last].group, m, scratch + n);
		s->p[m] = stats_mann_whitney(scratch, n, scratch + n, n_now);
		if (s->p[m] < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Corrects the p of all tested series. p: room for n. 0 or -ENOMEM. */
static int correct(struct series *all, size_t n, double *p)
{
	for (int m = 0; m < METRICS; m++) {
		size_t tested = 0;

		for (size_t i = 0; i < n; i++)
			if (all[i].tested)
				p[tested++] = all[i].p[m];
		if (stats_holm(p, tested) != 0)
			return -ENOMEM;
		tested = 0;
		for (size_t i = 0; i < n; i++)
			if (all[i].tested)
				all[i].p[m] = p[tested++];
	}
	return 0;
}

/* Adds the finding that this run is slower than all earlier ones, if it is. */
static int add_newest(struct analysis *a, const struct series *s, struct finding like, const double *thresholds,
		      double *scratch)
{
	const size_t last = s->n - 1;

	like.severity = s->tested && last >= SIDE ? FINDING_WARN : FINDING_NOTE;
	like.confidence = !s->tested || last < SIDE ? FINDING_LOW : FINDING_MEDIUM;
	like.threshold = thresholds[s->tested ? SHARE : CHANGE];
	for (int m = 0; m < METRICS; m++) {
		if (s->tested && s->p[m] < TEST_P)
			return add(a, s, last, m, like, p_text(s->p[m]), scratch);
		if (!s->tested && last >= SIDE &&
		    is_slower(s, last, last, m, thresholds[CHANGE], thresholds, scratch) &&
		    stands_out(s, last, m, thresholds, scratch))
			return add(a, s, last, m, like, finding_text("observed, not tested"), scratch);
	}
	return 0;
}

/* all: n series; those with a finding of their own become empty. */
static int judge(struct analysis *a, const struct finding_kind *kind, const double *thresholds, struct series *all,
		 size_t n, double *scratch)
{
	const struct finding like = { .kind = kind };
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		if (all[i].n < 2)
			continue;
		rc = find_change(a, &all[i], like, thresholds, scratch);
		if (rc == 0) {
			rc = test_newest(&all[i], thresholds, scratch);
		} else if (rc > 0) {
			all[i].n = 0;
			rc = 0;
		}
	}
	rc = rc ? rc : correct(all, n, scratch);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (all[i].n > 1)
			rc = add_newest(a, &all[i], like, thresholds, scratch);
	return rc;
}

/* Room for all values at once, and for three of each run. */
static double *scratch_new(const struct analysis *a)
{
	const struct analysis_history *h = a->history;
	size_t n = 3 * (h->n + 1) + a->n_groups + a->report->n_tasks;

	for (size_t i = 0; i < h->n; i++)
		n += h->runs[i].n_tasks;
	return calloc(n, sizeof(double));
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const size_t n_before = a->n_findings;
	struct series *all, whole = { 0 };
	double *scratch;
	int rc = 0;

	if (!a->history || !a->history->n)
		return 0;
	all = calloc(a->n_groups + 1, sizeof(*all));
	scratch = scratch_new(a);
	rc = all && scratch ? 0 : -ENOMEM;
	for (size_t i = 0; i < a->n_groups && rc == 0; i++)
		rc = series_new(a, a->groups[i], false, scratch, &all[i]);
	rc = rc ? rc : judge(a, kind, thresholds, all, a->n_groups, scratch);
	/* A change of a task is one of the run too, and is said once. */
	if (rc == 0 && a->n_findings == n_before)
		rc = series_new(a, a->whole, true, scratch, &whole);
	rc = rc ? rc : judge(a, kind, thresholds, &whole, 1, scratch);
	for (size_t i = 0; all && i < a->n_groups; i++)
		free(all[i].points);
	free(whole.points);
	free(all);
	free(scratch);
	return rc;
}

const struct finding_kind finding_regression = {
	.id = "regression",
	.title = "slower than in earlier runs",
	.measures = "the wall time or the CPU time of a task, or of the run if no task changed, by that of earlier runs, less 1: a lasting "
		    "change of the runs' medians (E-divisive, permutation p of 0.01), else this run against all earlier ones (Mann-Whitney, p of "
		    "0.05 after Holm's correction for all tasks)",
	.unit = "1",
	.guards = "runs on another machine or with another number of CPUs; inputs that grew by more than a tenth; for the run, another "
		  "number of tasks, or an end that was no success",
	.advice = "a comparison of the first slower run with the run before it",
	.saving = "the difference of the medians, times the executions: an upper bound",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[SHARE] = { "share", 0.05, "1", "own: less is within the noise of a machine" },
		[CHANGE] = { "change", 0.10, "1", "own: the least change that counts within the sigmas" },
		[LEAST] = { "least", 1, "s", "own: shorter differences do not matter" },
		[SIGMAS] = { "sigmas", 3, "1", "own: standard deviations of the runs before, 2/n more for n runs" },
		[BEFORE] = { "before", 8, "1", "runs before a change; with fewer, 4 at least, sigmas do not count" },
		[AFTER] = { "after", 4, "1", "runs since a change" },
	},
	.find = find,
};
