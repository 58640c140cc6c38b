/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/diff.c - compares the figures of two runs, or of a run and the earlier runs of its pipeline.
 */
#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"
#include "analysis/stats.h"

/*
 * Of more values a side, test_runs() takes so many for the shift, evenly from the smallest to the largest: all pairs of
 * 10,000 and 10,000 executions would need 800 MB.
 */
#define SHIFT_VALUES 500

const struct diff_measure diff_measures[DIFF_METRICS] = {
	[DIFF_CPU] = { "CPU time", "cpu_s", DIFF_SECONDS, 1, true },
	[DIFF_WALL] = { "wall time", "wall_s", DIFF_SECONDS, 1, true },
	[DIFF_MEMORY] = { "memory", "memory_bytes", DIFF_BYTES, 32 * MIB, true },
	[DIFF_READ] = { "read", "read_bytes", DIFF_BYTES, 32 * MIB, false },
	[DIFF_WRITTEN] = { "written", "write_bytes", DIFF_BYTES, 32 * MIB, false },
	[DIFF_RCHAR] = { "calls in", "rchar_bytes", DIFF_BYTES, 32 * MIB, false },
	[DIFF_WCHAR] = { "calls out", "wchar_bytes", DIFF_BYTES, 32 * MIB, false },
	[DIFF_NETWORK] = { "network", "network_bytes", DIFF_BYTES, 32 * MIB, false },
	[DIFF_PROCESSES] = { "processes", "processes", DIFF_COUNT, 2, false },
	[DIFF_QUEUE] = { "run queue", "run_queue_s", DIFF_SECONDS, 1, false },
	[DIFF_BLOCK] = { "storage wait", "block_s", DIFF_SECONDS, 1, false },
	[DIFF_REST] = { "asleep", "rest_s", DIFF_SECONDS, 1, false },
};

/* A run, with the sums that its report lacks. */
struct side {
	const struct lake_report *report;
	struct analysis *analysis;
	struct analysis_waits waits, *tool_waits; /* tool_waits: as report->tools */
};

/* What one run has under a name: a group of tasks or a tool. */
struct part {
	const char *name;
	size_t side; /* 0: B; from 1 on: A, the newest first */
	const void *what; /* NULL: the run itself */
};

struct diff {
	struct side *sides;
	size_t n_sides;
	bool history;
	struct diff_row run, *tasks, *tools;
	size_t n_tasks, n_tools;
	struct diff_change_list changes;
	double *a, *b; /* buffers: room for a value of each execution of all runs, and of each run */
};

/* ---- values ------------------------------------------------------------------ */

/* Adds the processes without children to their tools and to the run. */
static int side_waits(struct side *s)
{
	const struct lake_report *r = s->report;

	s->tool_waits = calloc(r->n_tools + 1, sizeof(*s->tool_waits));
	if (!s->tool_waits)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_tools; i++)
		analysis_tool_waits(s->analysis, &r->tools[i], &s->tool_waits[i]);
	for (size_t i = 0; i < r->n_processes; i++)
		if (s->analysis->leaf[i])
			analysis_waits_add(&s->waits, &r->processes[i], s->analysis->end_ns);
	return 0;
}

/* One number of the totals; -1: no probe counted it. */
static double of_totals(const struct lake_totals *t, enum diff_metric m)
{
	switch (m) {
	case DIFF_CPU:
		return (double)t->cpu_ns / 1e9;
	case DIFF_MEMORY:
		return (double)t->rss_peak_bytes;
	case DIFF_READ:
		return (double)t->read_bytes;
	case DIFF_WRITTEN:
		return (double)t->write_bytes;
	case DIFF_RCHAR:
		return (double)t->rchar_bytes;
	case DIFF_WCHAR:
		return (double)t->wchar_bytes;
	case DIFF_NETWORK:
		return t->net_known ? (double)(t->net_rx_bytes + t->net_tx_bytes) : -1;
	case DIFF_PROCESSES:
		return (double)t->processes;
	default:
		return -1;
	}
}

static bool is_wait(enum diff_metric m)
{
	return m == DIFF_QUEUE || m == DIFF_BLOCK || m == DIFF_REST;
}

static double of_waits(const struct analysis_waits *w, enum diff_metric m)
{
	const double s = m == DIFF_QUEUE ? w->queue_s : m == DIFF_BLOCK ? w->block_s : w->rest_s;

	if (w->lifetime_s <= 0)
		return -1;
	return s < 1e-9 ? 0 : s; /* the remainder of a sum may be a trillionth */
}

static size_t of_group(const struct analysis_group *g, enum diff_metric m, double *ret)
{
	size_t n = 0;

	if (is_wait(m)) { /* of the average execution */
		*ret = of_waits(&g->waits, m) / (double)g->n;
		return *ret >= 0;
	}
	if (m == DIFF_WALL || m == DIFF_MEMORY) {
		const double *values = m == DIFF_WALL ? g->wall_s : g->memory;

		for (; n < g->n_ok; n++)
			ret[n] = values[n];
		return n;
	}
	for (size_t i = 0; i < g->n; i++) {
		const struct lake_task *t = g->tasks[i];

		if (t->end_ns && !t->signal && t->exit_code <= 0) { /* as for wall_s */
			ret[n] = of_totals(&t->totals, m);
			n += ret[n] >= 0;
		}
	}
	return n;
}

/* Sums over all executions, the failed ones as well. */
struct spent {
	size_t executions, failed;
	double cpu_s, wall_s;
	struct analysis_waits waits;
};

static struct spent spent_of(const struct side *s, enum finding_subject of, const void *what)
{
	const struct analysis_group *g = what;
	const struct lake_tool *tool = what;

	switch (of) {
	case FINDING_OF_TASK:
		return (struct spent){ g->n, g->n_failed, g->cpu_sum_s, g->wall_sum_s, g->waits };
	case FINDING_OF_TOOL:
		return (struct spent){ (size_t)tool->calls, (size_t)tool->failures, (double)tool->totals.cpu_ns / 1e9,
				       (double)tool->wall_ns / 1e9, s->tool_waits[tool - s->report->tools] };
	default:
		return (struct spent){ 1, 0, (double)s->report->run.totals.cpu_ns / 1e9, s->analysis->wall_s,
				       s->waits };
	}
}

/* All values of one run. ret: room for each execution, and one more. */
static size_t values_of(const struct side *s, enum finding_subject of, const void *what, enum diff_metric m,
			double *ret)
{
	const struct lake_tool *tool = what;
	struct spent sum;

	if (of == FINDING_OF_TASK)
		return of_group(what, m, ret);
	sum = spent_of(s, of, what);
	if (is_wait(m))
		*ret = of_waits(&sum.waits, m);
	else if (m == DIFF_WALL)
		*ret = sum.wall_s;
	else
		*ret = of_totals(of == FINDING_OF_RUN ? &s->report->run.totals : &tool->totals, m);
	return *ret >= 0;
}

/* ---- figures ------------------------------------------------------------------ */

static double median_of(double *values, size_t n)
{
	stats_sort(values, n);
	return n ? stats_quantile(values, n, 0.5) : 0;
}

/* Of more than SHIFT_VALUES sorted values keeps so many. */
static size_t thin(double *sorted, size_t n)
{
	if (n <= SHIFT_VALUES)
		return n;
	for (size_t i = 0; i < SHIFT_VALUES; i++)
		sorted[i] = sorted[i * (n - 1) / (SHIFT_VALUES - 1)];
	return SHIFT_VALUES;
}

/* Tests a task of two runs. adjust() corrects p and gives the verdict when all tasks are tested. */
static int test_runs(struct diff *d, struct diff_figure *f)
{
	struct stats_shift shift;
	int rc;

	f->p = stats_mann_whitney(d->a, f->n_a, d->b, f->n_b);
	if (f->p < 0)
		return -ENOMEM;
	rc = stats_hodges_lehmann(d->a, thin(d->a, f->n_a), d->b, thin(d->b, f->n_b), 0.95, &shift);
	if (rc)
		return rc;
	f->verdict = DIFF_SAME;
	f->change = shift.estimate;
	f->bounded = shift.bounded;
	f->low = shift.low;
	f->high = shift.high;
	return 0;
}

/* Uses the buffer d->b as scratch. */
static void test_history(struct diff *d, struct diff_figure *f)
{
	const double off = DIFF_SIGMA * stats_sigma(d->a, f->n_a, d->b);

	f->verdict = DIFF_SAME;
	f->bounded = true;
	f->low = fmax(0, f->a - off);
	f->high = f->a + off;
	if (f->large && (f->b < f->low || f->b > f->high))
		f->verdict = f->b > f->a ? DIFF_MORE : DIFF_LESS;
}

/* parts: of one name, by side. */
static int figure_of(struct diff *d, struct diff_row *row, const struct part *parts, size_t n, enum diff_metric m)
{
	const struct diff_measure *measure = &diff_measures[m];
	struct diff_figure *f = &row->figures[m];
	double times = 1;
	bool enough;
	int rc = 0;

	*f = (struct diff_figure){ .verdict = DIFF_OBSERVED, .p = 1 };
	for (size_t i = 0; i < n; i++) {
		double *values = parts[i].side ? d->a + f->n_a : d->b;
		size_t more = values_of(&d->sides[parts[i].side], row->of, parts[i].what, m, values);

		if (d->history && parts[i].side && more) {
			*values = median_of(values, more);
			more = 1;
		}
		*(parts[i].side ? &f->n_a : &f->n_b) += more;
	}
	f->a = median_of(d->a, f->n_a);
	f->b = median_of(d->b, f->n_b);
	if (!f->n_a || !f->n_b)
		return 0;
	f->change = f->b - f->a;
	enough = measure->tested && f->n_a >= DIFF_TEST;
	if (!d->history && enough && f->n_b >= DIFF_TEST && row->of == FINDING_OF_TASK)
		rc = test_runs(d, f);
	if (row->of == FINDING_OF_TASK && measure->unit == DIFF_SECONDS)
		times = (double)(row->executions_b < row->executions_a ? row->executions_b : row->executions_a);
	f->large = fabs(f->change) * fmax(1, times) >= measure->least && fabs(f->change) >= DIFF_SHARE * f->a;
	if (d->history && enough)
		test_history(d, f);
	return rc;
}

/* Of the average execution of a task; of a run or a tool as a whole. */
static struct diff_split split_of(enum finding_subject of, const struct spent *a, const struct spent *b)
{
	const double each_a = of == FINDING_OF_TASK ? 1 / (double)a->executions : 1;
	const double each_b = of == FINDING_OF_TASK ? 1 / (double)b->executions : 1;
	double per_a, per_b, by;

	if (a->wall_s <= 0 || b->wall_s <= 0 || a->waits.lifetime_s <= 0 || b->waits.lifetime_s <= 0)
		return (struct diff_split){ 0 };
	/* wall = lifetime * per: the change of each factor counts at the mean of the other one */
	per_a = a->wall_s / a->waits.lifetime_s;
	per_b = b->wall_s / b->waits.lifetime_s;
	by = (per_a + per_b) / 2;
	return (struct diff_split){
		.known = true,
		.total_s = each_b * b->wall_s - each_a * a->wall_s,
		.cpu_s = by * (each_b * b->waits.cpu_s - each_a * a->waits.cpu_s),
		.queue_s = by * (each_b * b->waits.queue_s - each_a * a->waits.queue_s),
		.block_s = by * (each_b * b->waits.block_s - each_a * a->waits.block_s),
		.rest_s = by * (each_b * b->waits.rest_s - each_a * a->waits.rest_s),
		.parallel_s = (each_a * a->waits.lifetime_s + each_b * b->waits.lifetime_s) / 2 * (per_b - per_a),
	};
}

/* ---- requests ------------------------------------------------------------------- */

static char *request_text(const struct analysis_group *g)
{
	char cpus[FINDING_NUMBER] = "", memory[FINDING_NUMBER] = "", time[FINDING_NUMBER] = "";

	if (g->requested_cpus > 0)
		snprintf(cpus, sizeof(cpus), "%.3g cores", g->requested_cpus);
	if (g->requested_memory > 0)
		finding_bytes(g->requested_memory, memory);
	if (g->requested_walltime_s > 0)
		finding_seconds(g->requested_walltime_s, time);
	return finding_text("%s%s%s%s%s", cpus, *cpus && (*memory || *time) ? ", " : "", memory,
			    *memory && *time ? ", " : "", time);
}

static bool asks_same(const struct analysis_group *a, const struct analysis_group *b)
{
	return fabs(a->requested_cpus - b->requested_cpus) < 1e-9 &&
	       fabs(a->requested_memory - b->requested_memory) < 1 &&
	       fabs(a->requested_walltime_s - b->requested_walltime_s) < 1e-3;
}

static int add_request(struct diff *d, const struct analysis_group *a, const struct analysis_group *b)
{
	if (asks_same(a, b))
		return 0;
	return diff_change_take(&d->changes, FINDING_OF_TASK, b->name, DIFF_REQUEST, request_text(a), request_text(b));
}

/* ---- rows --------------------------------------------------------------------- */

/* What A spent; of a history, the run with the median wall time. parts: those of A, n > 0. */
static struct spent spent_of_a(const struct diff *d, enum finding_subject of, const struct part *parts, size_t n)
{
	struct spent middle = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct spent here = spent_of(&d->sides[parts[i].side], of, parts[i].what);
		size_t shorter = 0;

		for (size_t k = 0; k < n; k++) {
			const double other = spent_of(&d->sides[parts[k].side], of, parts[k].what).wall_s;

			shorter += other < here.wall_s || (k < i && other <= here.wall_s);
		}
		if (shorter == (n - 1) / 2)
			middle = here;
	}
	return middle;
}

/* parts: of one name, by side. false: neither B nor A's newest run has it. *rc: -ENOMEM if memory runs out. */
static bool row_of(struct diff *d, enum finding_subject of, const struct part *parts, size_t n, struct diff_row *row,
		   int *rc)
{
	const struct part *a = parts[0].side ? parts : parts + 1;
	const size_t n_a = n - (size_t)(a - parts);
	struct spent spent_b = { 0 }, middle = { 0 }, newest = { 0 };

	if (a == parts && a->side > 1)
		return false;
	*row = (struct diff_row){ .of = of, .name = parts[0].name };
	row->presence = a == parts ? DIFF_GONE : n_a ? DIFF_BOTH : DIFF_NEW;
	if (a > parts)
		spent_b = spent_of(&d->sides[0], of, parts[0].what);
	if (n_a) {
		newest = spent_of(&d->sides[a->side], of, a->what);
		middle = spent_of_a(d, of, a, n_a);
	}
	row->executions_a = newest.executions;
	row->failed_a = newest.failed;
	row->executions_b = spent_b.executions;
	row->failed_b = spent_b.failed;
	row->weight_s = fmax(fabs(spent_b.cpu_s - middle.cpu_s), fabs(spent_b.wall_s - middle.wall_s));
	row->differs = row->presence != DIFF_BOTH || row->failed_a != row->failed_b;
	if (of == FINDING_OF_TASK)
		row->differs |= row->executions_a != row->executions_b;
	for (enum diff_metric m = 0; m < DIFF_METRICS && *rc == 0; m++) {
		*rc = figure_of(d, row, parts, n, m);
		row->differs |= row->figures[m].large;
	}
	if (row->presence == DIFF_BOTH)
		row->split = split_of(of, &middle, &spent_b);
	if (of == FINDING_OF_TASK && row->presence == DIFF_BOTH && a->side == 1 && *rc == 0)
		*rc = add_request(d, a->what, parts[0].what);
	return true;
}

static int part_order(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : (x->side > y->side) - (x->side < y->side);
}

static size_t parts_of_side(const struct diff *d, size_t side, enum finding_subject of, struct part *ret)
{
	const struct side *s = &d->sides[side];
	const struct analysis_group *const *groups;
	const size_t n = of == FINDING_OF_TASK ? analysis_groups(s->analysis, &groups) : s->report->n_tools;

	for (size_t i = 0; ret && i < n; i++)
		ret[i] = of == FINDING_OF_TASK ? (struct part){ groups[i]->name, side, groups[i] }
					       : (struct part){ s->report->tools[i].tool, side, &s->report->tools[i] };
	return n;
}

static int rows_of(struct diff *d, enum finding_subject of, struct diff_row **ret, size_t *ret_n)
{
	struct part *parts;
	size_t n = 0, at = 0;
	int rc = 0;

	for (size_t i = 0; i < d->n_sides; i++)
		n += parts_of_side(d, i, of, NULL);
	parts = calloc(n + 1, sizeof(*parts));
	*ret = calloc(n + 1, sizeof(**ret));
	if (!parts || !*ret) {
		free(parts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->n_sides; i++)
		at += parts_of_side(d, i, of, parts + at);
	if (n)
		qsort(parts, n, sizeof(*parts), part_order);
	for (size_t i = 0, end; i < n && rc == 0; i = end) {
		for (end = i + 1; end < n && strcmp(parts[i].name, parts[end].name) == 0; end++)
			;
		*ret_n += row_of(d, of, parts + i, end - i, &(*ret)[*ret_n], &rc);
	}
	free(parts);
	return rc;
}

/* Adjusts the p of all tasks that were tested for this metric, and gives the verdicts. */
static int adjust(struct diff *d, enum diff_metric m)
{
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < d->n_tasks; i++)
		if (d->tasks[i].figures[m].verdict == DIFF_SAME)
			d->a[n++] = d->tasks[i].figures[m].p;
	rc = stats_holm(d->a, n);
	n = 0;
	for (size_t i = 0; i < d->n_tasks && rc == 0; i++) {
		struct diff_figure *f = &d->tasks[i].figures[m];

		if (f->verdict != DIFF_SAME)
			continue;
		f->p = d->a[n++];
		if (f->p < DIFF_P && f->large)
			f->verdict = f->change > 0 ? DIFF_MORE : DIFF_LESS;
	}
	return rc;
}

static bool is_marked(const struct diff_row *r, bool only_more)
{
	for (enum diff_metric m = 0; m < DIFF_METRICS; m++)
		if (r->figures[m].verdict == DIFF_MORE || (!only_more && r->figures[m].verdict == DIFF_LESS))
			return true;
	return false;
}

static int worst_first(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	const int more_x = is_marked(x, true), more_y = is_marked(y, true);

	if (more_x != more_y)
		return more_y - more_x;
	if (x->differs != y->differs)
		return x->differs ? -1 : 1;
	if (x->weight_s < y->weight_s || x->weight_s > y->weight_s)
		return x->weight_s > y->weight_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void rows_sort(struct diff_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i].marked = is_marked(&rows[i], false);
	if (n)
		qsort(rows, n, sizeof(*rows), worst_first);
}

/* ---- a diff --------------------------------------------------------------------- */

static int side_init(struct side *s, const struct lake_report *r)
{
	/* a run shorter than this gate is only grouped: a diff needs no findings */
	static const struct analysis_setting no_findings = { "gate.wall", INFINITY };
	int rc = analysis_new(r, &no_findings, 1, &s->analysis);

	s->report = r;
	return rc ? rc : side_waits(s);
}

static int compare(struct diff *d)
{
	struct part *parts = calloc(d->n_sides, sizeof(*parts));
	int rc = parts ? diff_changes_find(&d->changes, d->sides[1].report, d->sides[0].report) : -ENOMEM;

	for (size_t i = 0; parts && i < d->n_sides; i++)
		parts[i] = (struct part){ "", i, NULL };
	if (rc == 0)
		row_of(d, FINDING_OF_RUN, parts, d->n_sides, &d->run, &rc);
	free(parts);
	if (rc == 0)
		rc = rows_of(d, FINDING_OF_TASK, &d->tasks, &d->n_tasks);
	if (rc == 0)
		rc = rows_of(d, FINDING_OF_TOOL, &d->tools, &d->n_tools);
	for (enum diff_metric m = 0; m < DIFF_METRICS && rc == 0 && !d->history; m++)
		rc = adjust(d, m);
	d->run.marked = is_marked(&d->run, false);
	rows_sort(d->tasks, d->n_tasks);
	rows_sort(d->tools, d->n_tools);
	return rc;
}

int diff_new(const struct lake_report *const *before, size_t n, bool history, const struct lake_report *after,
	     struct diff **ret)
{
	struct diff *d = calloc(1, sizeof(*d));
	size_t values = after->n_tasks + n + 1;
	int rc;

	if (!d)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		values += before[i]->n_tasks;
	d->history = history;
	d->sides = calloc(n + 1, sizeof(*d->sides));
	d->a = calloc(values, sizeof(*d->a));
	d->b = calloc(values, sizeof(*d->b));
	rc = d->sides && d->a && d->b ? side_init(&d->sides[0], after) : -ENOMEM;
	d->n_sides = d->sides ? n + 1 : 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = side_init(&d->sides[i + 1], before[i]);
	if (rc == 0)
		rc = compare(d);
	if (rc) {
		diff_free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

struct diff *diff_free(struct diff *d)
{
	if (!d)
		return NULL;
	for (size_t i = 0; i < d->n_sides; i++) {
		analysis_free(d->sides[i].analysis);
		free(d->sides[i].tool_waits);
	}
	for (size_t i = 0; i < d->changes.n; i++) {
		free(d->changes.changes[i].a);
		free(d->changes.changes[i].b);
	}
	free(d->changes.changes);
	free(d->sides);
	free(d->tasks);
	free(d->tools);
	free(d->a);
	free(d->b);
	free(d);
	return NULL;
}

bool diff_is_history(const struct diff *d)
{
	return d->history;
}

const struct diff_row *diff_run(const struct diff *d)
{
	return &d->run;
}

size_t diff_rows(const struct diff *d, enum finding_subject of, const struct diff_row **ret)
{
	*ret = of == FINDING_OF_TASK ? d->tasks : d->tools;
	return of == FINDING_OF_TASK ? d->n_tasks : d->n_tools;
}

size_t diff_changes(const struct diff *d, const struct diff_change **ret)
{
	*ret = d->changes.changes;
	return d->changes.n;
}
