/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_tasks.c - the table of a run's tasks.
 *
 * A pipeline runs one step for each of a thousand samples.  When a run has more than a page of tasks, those of one name
 * share a row, with median and maximum.  A failed task keeps a row of its own, because the reader looks for it.
 */
#include "cli/report/report_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/report/accuracy.h"
#include "cli/report/reason.h"

#define SINGLY      20 /* up to this many tasks have a row each */
#define FAILED_MOST 50 /* failed tasks with a row of their own */
#define ROWS_MOST   20 /* names with a row of their own */
#define TASK_COLUMNS 13

/* A row: the tasks order[first] to order[first + n - 1] of one name, or of any name if `others`. */
struct row {
	size_t first, n;
	bool others;
	uint64_t start_ns, cpu_ns;
};

struct tasks {
	const struct lake_report *report;
	uint64_t end_ns;
	size_t *order; /* by name, then failed tasks first, then by start */
	struct row *rows;
	size_t n_rows, folded, failed_hidden;
	uint64_t *values; /* of one row, to find the median */
	bool attempts;
	bool blocked; /* a task waited for block devices: known only with kernel.task_delayacct */
	bool requests;
	bool brief; /* for width the table leaves out medians before requests, and the peak of cores */
};

static bool has_failed(const struct lake_task *t)
{
	return t->signal || t->exit_code > 0;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct lake_task *x = (const struct lake_task *)arg + *(const size_t *)a;
	const struct lake_task *y = (const struct lake_task *)arg + *(const size_t *)b;
	int order = strcmp(x->task, y->task);

	if (!order)
		order = has_failed(y) - has_failed(x);
	return order ? order : x < y ? -1 : x > y; /* the lake orders them by start */
}

static int most_cpu_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->others != y->others)
		return x->others - y->others;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static const struct lake_task *task_at(const struct tasks *t, size_t i)
{
	return &t->report->tasks[t->order[i]];
}

static void add_row(struct tasks *t, size_t first, size_t n)
{
	struct row *row = &t->rows[t->n_rows++];

	*row = (struct row){ .first = first, .n = n, .start_ns = UINT64_MAX };
	for (size_t i = first; i < first + n; i++) {
		row->start_ns = task_at(t, i)->start_ns < row->start_ns ? task_at(t, i)->start_ns : row->start_ns;
		row->cpu_ns += task_at(t, i)->totals.cpu_ns;
	}
	t->folded += n > 1 ? n : 0;
}

enum figure { FIGURE_WALL, FIGURE_CPU, FIGURE_CORES, FIGURE_PEAK, FIGURE_RSS };

/* What its engine or scheduler was asked for, else what it was granted; 0: not known, or no such figure. */
static uint64_t asked_of(const struct lake_task *task, enum figure f)
{
	switch (f) {
	case FIGURE_WALL:
		return task->requested_walltime_ns;
	case FIGURE_CORES:
		return (uint64_t)(lake_task_cpus(task) * 1000 + 0.5);
	case FIGURE_RSS:
		return lake_task_memory(task);
	default:
		return 0;
	}
}

/* Orders the tasks, and makes a row for each name with all its tasks. */
static int group(const struct lake_report *report, struct tasks *ret)
{
	size_t n = report->n_tasks;
	struct tasks t = { .report = report, .end_ns = accuracy_end(report) };

	t.order = calloc(n + 1, sizeof(*t.order));
	t.rows = calloc(n + 1, sizeof(*t.rows));
	t.values = calloc(n + 1, sizeof(*t.values));
	*ret = t;
	if (!t.order || !t.rows || !t.values)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		t.order[i] = i;
		t.attempts |= report->tasks[i].attempt > 1;
		t.blocked |= report->tasks[i].totals.block_delay_ns > 0;
		for (enum figure f = FIGURE_WALL; f <= FIGURE_RSS; f++)
			t.requests |= asked_of(&report->tasks[i], f) != 0;
	}
	qsort_r(t.order, n, sizeof(*t.order), by_name, report->tasks);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && strcmp(task_at(&t, end)->task, task_at(&t, i)->task) == 0; end++)
			;
		add_row(&t, i, end - i);
	}
	*ret = t;
	return 0;
}

static void tasks_free(struct tasks *t)
{
	free(t->order);
	free(t->rows);
	free(t->values);
}

/* Splits the row of each name: failed tasks apart; all tasks apart if `all`. */
static int split(struct tasks *t, bool all)
{
	struct row *names = t->rows;
	size_t n_names = t->n_rows, n_failed = 0;

	t->rows = calloc(t->report->n_tasks + 2, sizeof(*t->rows));
	if (!t->rows) {
		t->rows = names;
		return -ENOMEM;
	}
	t->n_rows = t->folded = 0;
	for (size_t k = 0; k < n_names; k++) {
		size_t i = names[k].first, end = i + names[k].n;

		for (; i < end && (all || (has_failed(task_at(t, i)) && n_failed < FAILED_MOST)); i++) {
			n_failed += has_failed(task_at(t, i));
			add_row(t, i, 1);
		}
		for (size_t rest = i; rest < end && has_failed(task_at(t, rest)); rest++)
			t->failed_hidden++;
		if (i < end)
			add_row(t, i, end - i);
	}
	free(names);
	return 0;
}

/* Puts all but the ROWS_MOST largest folded or successful rows into one. Their tasks become neighbours in `order`. */
static int fold_others(struct tasks *t)
{
	size_t *order, at = 0, kept = 0;
	struct row others = { .others = true };

	if (t->n_rows <= ROWS_MOST + FAILED_MOST)
		return 0;
	order = calloc(t->report->n_tasks + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	qsort(t->rows, t->n_rows, sizeof(*t->rows), most_cpu_first);
	for (int pass = 0; pass < 2; pass++) { /* 0: rows that stay, 1: the others */
		size_t shown = 0, n = 0;

		others.first = at;
		for (size_t i = 0; i < t->n_rows; i++) {
			struct row *row = &t->rows[i];
			bool failed = row->n == 1 && has_failed(task_at(t, row->first));
			bool stays = failed || shown++ < ROWS_MOST;

			if (stays == (pass == 1))
				continue;
			memcpy(order + at, t->order + row->first, row->n * sizeof(*order));
			at += row->n;
			others.n += pass ? row->n : 0;
			n++;
		}
		kept += pass ? 0 : n;
	}
	for (size_t i = 0, n = 0, shown = 0, first = 0; i < t->n_rows; i++) {
		bool failed = t->rows[i].n == 1 && has_failed(task_at(t, t->rows[i].first));

		if (!failed && shown++ >= ROWS_MOST)
			continue;
		t->rows[n] = t->rows[i];
		t->rows[n].first = first;
		first += t->rows[n++].n;
	}
	memcpy(t->order, order, t->report->n_tasks * sizeof(*order));
	free(order);
	t->n_rows = kept;
	t->rows[t->n_rows++] = others;
	t->folded += others.n;
	return 0;
}

static uint64_t figure_of(const struct tasks *t, const struct lake_task *task, enum figure f)
{
	uint64_t end = task->end_ns ? task->end_ns : t->end_ns;
	uint64_t wall = task->start_ns && end > task->start_ns ? end - task->start_ns : 0, average;

	switch (f) {
	case FIGURE_WALL:
		return wall;
	case FIGURE_CPU:
		return task->totals.cpu_ns;
	case FIGURE_CORES: /* in thousandths */
		return wall ? (uint64_t)((double)task->totals.cpu_ns / (double)wall * 1000) : 0;
	case FIGURE_PEAK:
		average = figure_of(t, task, FIGURE_CORES);
		return task->cores_peak * 1000 > (double)average ? (uint64_t)(task->cores_peak * 1000) : average;
	default:
		return task->totals.rss_peak_bytes;
	}
}

/* Of a row the request that all its tasks have in common, else 0. */
static uint64_t asked(const struct tasks *t, const struct row *row, enum figure f)
{
	uint64_t first = asked_of(task_at(t, row->first), f);

	for (size_t i = row->first + 1; i < row->first + row->n; i++)
		if (asked_of(task_at(t, i), f) != first)
			return 0;
	return first;
}

static const char *figure_text(enum figure f, uint64_t value, unsigned units, char buf[HUMAN_SIZE])
{
	if (f == FIGURE_CORES || f == FIGURE_PEAK)
		return human_cores((double)value / 1000, buf);
	return f == FIGURE_RSS ? human_bytes(value, units, buf) : human_time(value, units, buf);
}

/*
 * "12.3 s", "12.3 s / 40.1 s" (median and maximum; of the peak of cores the maximum), and with a request "40.1 s of
 * 2h00m".
 */
static void figure_cell(struct table *table, const struct tasks *t, const struct row *row, enum figure f,
			unsigned units)
{
	char median[HUMAN_SIZE], most[HUMAN_SIZE], request[HUMAN_SIZE] = "";
	const uint64_t of = asked(t, row, f);
	const bool both = row->n > 1 && f != FIGURE_PEAK && (!of || !t->brief);
	enum ink ink = f == FIGURE_CPU && !both ? INK_BOLD : INK_NONE;

	for (size_t i = 0; i < row->n; i++)
		t->values[i] = figure_of(t, task_at(t, row->first + i), f);
	qsort(t->values, row->n, sizeof(*t->values), by_value);
	figure_text(f, t->values[(row->n - 1) / 2], units, median);
	figure_text(f, t->values[row->n - 1], units, most);
	if (of && f == FIGURE_CORES)
		snprintf(request, sizeof(request), "%.3g", (double)of / 1000);
	else if (of)
		figure_text(f, of, units, request);
	if (of && f != FIGURE_CORES && t->values[row->n - 1] > of)
		ink = INK_RED;
	table_cell(table, ink, "%s%s%s%s%s", both ? median : "", both ? " / " : "", most, of ? " of " : "", request);
}

static void end_cell(struct table *table, const struct lake_task *task)
{
	char signal[REASON_SIGNAL_SIZE];

	if (task->signal)
		table_cell(table, INK_RED, "%s", reason_signal(task->signal, signal));
	else if (task->exit_code >= 0)
		table_cell(table, task->exit_code ? INK_RED : INK_GREEN, "%s%lld", task->exit_code ? "exit " : "",
			   (long long)task->exit_code);
	else
		table_cell(table, INK_YELLOW, "%s", !task->end_ns ? "running" : *task->state ? task->state : "-");
}

static char *name_of(const struct tasks *t, const struct row *row, bool unicode)
{
	const struct lake_task *task = task_at(t, row->first);
	char count[HUMAN_SIZE], *plain, *safe;

	human_count(row->n, count);
	if (row->others)
		return text_format("%s other tasks", count);
	if (row->n > 1)
		plain = text_format("%s x%s", task->task, count);
	else
		plain = text_format("%s%s%s", task->task, *task->sample ? " " : "", task->sample);
	safe = plain ? text_safe(plain, unicode) : NULL;
	free(plain);
	return safe;
}

static int add_cells(struct table *table, const struct tasks *t, const struct row *row, bool bytes, unsigned units,
		     bool unicode)
{
	const struct lake_task *task = task_at(t, row->first);
	uint64_t read = 0, written = 0, queued = 0, blocked = 0, processes = 0, failed = 0;
	char buf[HUMAN_SIZE], *name = name_of(t, row, unicode);

	if (!name)
		return -ENOMEM;
	table_cell(table, row->others ? INK_DIM : INK_NONE, "%s", name);
	free(name);
	for (size_t i = row->first; i < row->first + row->n; i++) {
		read += task_at(t, i)->totals.read_bytes;
		written += task_at(t, i)->totals.write_bytes;
		queued += task_at(t, i)->totals.run_delay_ns;
		blocked += task_at(t, i)->totals.block_delay_ns;
		processes += task_at(t, i)->totals.processes;
		failed += has_failed(task_at(t, i));
	}
	if (t->attempts && row->n == 1 && task->attempt > 1)
		table_cell(table, INK_YELLOW, "%s", human_count(task->attempt, buf));
	else if (t->attempts)
		table_cell(table, INK_NONE, "%s", "");
	if (row->n == 1)
		end_cell(table, task);
	else if (failed)
		table_cell(table, INK_RED, "%s failed", human_count(failed, buf));
	else
		table_cell(table, INK_NONE, "%s", "");
	for (enum figure f = FIGURE_WALL; f <= FIGURE_RSS; f++)
		if (f != FIGURE_PEAK || !t->brief)
			figure_cell(table, t, row, f, units);
	if (!bytes)
		return 0;
	table_cell(table, INK_NONE, "%s", human_bytes(read, units, buf));
	table_cell(table, INK_NONE, "%s", human_bytes(written, units, buf));
	table_cell(table, INK_NONE, "%s", human_time(queued, units, buf));
	if (t->blocked)
		table_cell(table, INK_NONE, "%s", human_time(blocked, units, buf));
	table_cell(table, INK_NONE, "%s", human_count(processes, buf));
	return 0;
}

static struct table *new_table(const struct tasks *t, bool bytes, struct table_column columns[TASK_COLUMNS])
{
	static const struct table_column all[] = {
		{ .title = "task", .left = true, .flex = true },
		{ .title = "try" },
		{ .title = "exit", .left = true },
		{ .title = "wall" },
		{ .title = "CPU" },
		{ .title = "cores" },
		{ .title = "peak" },
		{ .title = "RSS peak" },
		{ .title = "read" },
		{ .title = "written" },
		{ .title = "queued" },
		{ .title = "blocked" },
		{ .title = "procs" },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((i != 1 || t->attempts) && (i != 6 || !t->brief) && (i < 8 || bytes) &&
		    (i != 11 || t->blocked))
			columns[n++] = all[i];
	return table_new(columns, n);
}

static int print_table(const struct paint *p, struct tasks *t)
{
	static const struct {
		bool bytes, brief;
		unsigned units;
	} looks[] = { { true, false, 0 },
		      { true, false, HUMAN_SHORT },
		      { true, true, HUMAN_SHORT },
		      { false, false, 0 },
		      { false, false, HUMAN_SHORT },
		      { false, true, HUMAN_SHORT } };
	size_t n_looks = sizeof(looks) / sizeof(*looks);
	int rc = 0;

	for (size_t look = 0; look < n_looks; look++) {
		struct table_column columns[TASK_COLUMNS];
		size_t gap = look + 1 == n_looks ? 1 : 2;
		struct table *table;
		bool fits;

		t->brief = t->requests && looks[look].brief;
		table = new_table(t, looks[look].bytes, columns);
		if (!table)
			return -ENOMEM;
		for (size_t i = 0; i < t->n_rows && rc == 0; i++)
			rc = add_cells(table, t, &t->rows[i], looks[look].bytes, looks[look].units | paint_units(p),
				       p->unicode);
		fits = table_width(table, gap, 24) <= p->width || look + 1 == n_looks;
		if (rc == 0 && fits)
			rc = table_print(table, p, 0, gap);
		table_free(table);
		if (rc || fits)
			break;
	}
	return rc;
}

static int print_note(const struct paint *p, const struct tasks *t)
{
	char folded[HUMAN_SIZE], hidden[HUMAN_SIZE], *text;

	if (!t->folded)
		return 0;
	human_count(t->failed_hidden, hidden);
	text = text_format("%s tasks share a row with others of their name: wall, CPU, cores and RSS peak are median / "
			   "maximum%s, the other figures sums%s%s%s. skep show --tasks shows each.",
			   human_count(t->folded, folded),
			   t->brief ? " (before \"of\" and a request: maximum)"
				    : ", peak is the maximum of cores at one moment",
			   t->failed_hidden ? "; " : "", t->failed_hidden ? hidden : "",
			   t->failed_hidden ? " of them failed" : "");
	if (!text)
		return -ENOMEM;
	paint_wrapped(p, INK_DIM, "", 0, text);
	free(text);
	return 0;
}

int report_tasks_print(const struct paint *p, const struct lake_report *report, bool all)
{
	struct tasks t;
	char n[HUMAN_SIZE];
	int rc;

	if (!report->n_tasks)
		return 0;
	all |= report->n_tasks <= SINGLY;
	rc = group(report, &t);
	if (rc == 0)
		rc = split(&t, all);
	if (rc == 0 && !all)
		rc = fold_others(&t);
	if (rc == 0) {
		qsort(t.rows, t.n_rows, sizeof(*t.rows), by_start);
		paint_title(p, "Tasks", report->n_tasks > 1 ? human_count(report->n_tasks, n) : "");
		rc = print_table(p, &t);
	}
	if (rc == 0)
		rc = print_note(p, &t);
	tasks_free(&t);
	return rc;
}

int report_tasks_names(const struct lake_report *report, size_t most, struct gantt_name **ret, size_t *ret_n)
{
	struct gantt_name *names;
	struct tasks t;
	int rc = group(report, &t);

	if (rc == 0) {
		qsort(t.rows, t.n_rows, sizeof(*t.rows), most_cpu_first);
		t.n_rows = t.n_rows > most ? most : t.n_rows;
		names = calloc(t.n_rows + 1, sizeof(*names));
		rc = names ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		for (size_t i = 0; i < t.n_rows; i++)
			names[i] = (struct gantt_name){ .name = task_at(&t, t.rows[i].first)->task,
							.first_start_ns = t.rows[i].start_ns };
		*ret = names;
		*ret_n = t.n_rows;
	}
	tasks_free(&t);
	return rc;
}
