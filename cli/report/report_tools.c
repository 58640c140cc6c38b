/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_tools.c - chooses and prints the rows of the tools table.
 *
 * A shell script starts dozens of tools, and few of them matter.  A tool gets a row of its own
 * if its share of any column is large enough.  The last row is the sum of all other tools, so
 * that the columns still add up to the totals.
 */
#include "cli/report/report_tools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/report/accuracy.h"

#define ALWAYS_SHOWN 4 /* the table never shortens a list of up to this many tools */
#define FLEX_MOST    60
#define BAR_COLUMNS  8

/* Largest values and sums over all tools, the denominators of a tool's shares. */
struct scale {
	uint64_t cpu_ns, read_bytes, write_bytes, rss_bytes, run_ns;
};

static struct scale scale_of(const struct lake_report *report)
{
	struct scale s = { .run_ns = accuracy_end(report) - report->run.start_ns };

	for (size_t i = 0; i < report->n_tools; i++) {
		const struct lake_totals *t = &report->tools[i].totals;

		s.cpu_ns += t->cpu_ns;
		s.read_bytes += t->read_bytes;
		s.write_bytes += t->write_bytes;
		s.rss_bytes = t->rss_peak_bytes > s.rss_bytes ? t->rss_peak_bytes : s.rss_bytes;
	}
	return s;
}

/* The largest of the tool's shares: 1 means all of a column. */
static double importance(const struct lake_tool *tool, const struct scale *s)
{
	/* Wall time counts less (a shell runs all the time); the memory of a small tool does not count. */
	const double shares[] = {
		s->cpu_ns ? (double)tool->totals.cpu_ns / (double)s->cpu_ns : 0,
		s->run_ns ? 0.3 * (double)tool->wall_ns / (double)s->run_ns : 0,
		s->read_bytes > 1u << 20 ? 0.3 * (double)tool->totals.read_bytes / (double)s->read_bytes : 0,
		s->write_bytes > 1u << 20 ? 0.3 * (double)tool->totals.write_bytes / (double)s->write_bytes : 0,
		s->rss_bytes > 64u << 20 ? 0.02 * (double)tool->totals.rss_peak_bytes / (double)s->rss_bytes : 0,
	};
	double most = 0;

	/* A tool without calls has only forks before their exec: the cost of a shell, or of skep, to start programs. */
	if (tool->calls == 0 && s->cpu_ns && tool->totals.cpu_ns < s->cpu_ns / 5)
		return 0;
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		most = shares[i] > most ? shares[i] : most;
	return most;
}

struct candidate {
	size_t tool;
	double importance;
};

static int by_importance(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->importance < y->importance || x->importance > y->importance)
		return x->importance > y->importance ? -1 : 1;
	return x->tool < y->tool ? -1 : x->tool > y->tool;
}

static int by_index(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

int report_tools_select(const struct lake_report *report, size_t rows, size_t **ret_tools, size_t *ret_n)
{
	struct scale scale = scale_of(report);
	size_t n_all = report->n_tools, n = 0;
	struct candidate *candidates = calloc(n_all + 1, sizeof(*candidates));
	size_t *tools = calloc(n_all + 1, sizeof(*tools));

	if (!candidates || !tools) {
		free(candidates);
		free(tools);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_all; i++)
		candidates[i] = (struct candidate) { .tool = i, .importance = importance(&report->tools[i], &scale) };
	qsort(candidates, n_all, sizeof(*candidates), by_importance);
	while (n < n_all && n < rows &&
	       (candidates[n].importance >= 0.005 || (n < ALWAYS_SHOWN && report->tools[candidates[n].tool].calls))) {
		tools[n] = candidates[n].tool;
		n++;
	}
	/* A row "1 other tool" would need as much room as the tool's own row. */
	if (n + 1 == n_all && n && report->tools[candidates[n].tool].calls) {
		tools[n] = candidates[n].tool;
		n++;
	}
	/* The order by index is by CPU time, as in the lake's report. */
	qsort(tools, n, sizeof(*tools), by_index);
	free(candidates);
	*ret_tools = tools;
	*ret_n = n;
	return 0;
}

/* A bar of at most BAR_COLUMNS columns, in eighths. */
static void bar(const struct paint *p, double ratio, char buf[BAR_COLUMNS * 3 + 1])
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned n;
	char *at = buf;

	ratio = ratio < 0 ? 0 : ratio > 1 ? 1 : ratio;
	n = (unsigned)(ratio * BAR_COLUMNS * 8 + 0.5);
	if (!p->unicode) {
		n = (n + 4) / 8;
		memset(buf, '#', n);
		buf[n] = '\0';
		return;
	}
	for (unsigned i = 0; i < n / 8; i++)
		at = stpcpy(at, "█");
	strcpy(at, eighths[n % 8]);
}

struct line {
	const char *name; /* safe for a terminal */
	enum ink name_ink;
	const struct lake_totals *totals;
	uint64_t calls, wall_ns;
	double cores_avg, cores_peak;
	bool peak_known;
};

static void add_line(struct table *t, const struct paint *p, const struct line *l, uint64_t cpu_all_ns, bool bars,
		     unsigned units)
{
	const struct lake_totals *v = l->totals;
	char buf[HUMAN_SIZE], bar_text[BAR_COLUMNS * 3 + 1];

	table_cell(t, l->name_ink, "%s", l->name);
	table_cell(t, INK_NONE, "%s", human_count(l->calls, buf));
	table_cell(t, INK_NONE, "%s", human_time(l->wall_ns, units, buf));
	table_cell(t, INK_BOLD, "%s", human_time(v->cpu_ns, units, buf));
	if (bars) {
		bar(p, cpu_all_ns ? (double)v->cpu_ns / (double)cpu_all_ns : 0, bar_text);
		table_cell(t, INK_CYAN, "%s", bar_text);
	}
	table_cell(t, INK_NONE, "%s", human_cores(l->cores_avg, buf));
	table_cell(t, INK_NONE, "%s", l->peak_known ? human_cores(l->cores_peak, buf) : "-");
	table_cell(t, INK_NONE, "%s", human_bytes(v->rss_peak_bytes, units, buf));
	table_cell(t, v->read_bytes ? INK_NONE : INK_DIM, "%s", human_bytes(v->read_bytes, units, buf));
	table_cell(t, v->write_bytes ? INK_NONE : INK_DIM, "%s", human_bytes(v->write_bytes, units, buf));
	table_cell(t, v->run_delay_ns ? INK_NONE : INK_DIM, "%s", human_time(v->run_delay_ns, units, buf));
}

static bool selected(const size_t *tools, size_t n, size_t tool)
{
	for (size_t i = 0; i < n; i++) {
		if (tools[i] == tool)
			return true;
	}
	return false;
}

static bool named(const struct lake_report *report, const size_t *tools, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(report->tools[tools[i]].tool, name) == 0)
			return true;
	}
	return false;
}

/* The time during which any tool without a row ran; one pass, as the processes are ordered by start. */
static uint64_t others_wall(const struct lake_report *report, const size_t *tools, size_t n)
{
	uint64_t run_end = accuracy_end(report), covered = 0, wall = 0;

	for (size_t i = 0; i < report->n_processes; i++) {
		const struct lake_process *p = &report->processes[i];
		uint64_t start = p->start_ns > covered ? p->start_ns : covered;
		uint64_t end = p->end_ns ? p->end_ns : run_end;

		if (p->kind->wrapper || end <= start || named(report, tools, n, p->kind->tool))
			continue;
		wall += end - start;
		covered = end;
	}
	return wall;
}

static int add_others(struct table *t, const struct paint *p, const struct lake_report *report, const size_t *tools,
		      size_t n, uint64_t cpu_all_ns, bool bars, unsigned units)
{
	struct lake_totals sum = { 0 };
	struct line line = { .totals = &sum, .name_ink = INK_DIM };
	char name[HUMAN_SIZE + 16], count[HUMAN_SIZE];

	for (size_t i = 0; i < report->n_tools; i++) {
		const struct lake_totals *v = &report->tools[i].totals;

		if (selected(tools, n, i))
			continue;
		line.calls += report->tools[i].calls;
		sum.cpu_ns += v->cpu_ns;
		sum.run_delay_ns += v->run_delay_ns;
		sum.read_bytes += v->read_bytes;
		sum.write_bytes += v->write_bytes;
		if (v->rss_peak_bytes > sum.rss_peak_bytes)
			sum.rss_peak_bytes = v->rss_peak_bytes;
	}
	line.wall_ns = others_wall(report, tools, n);
	line.cores_avg = line.wall_ns ? (double)sum.cpu_ns / (double)line.wall_ns : 0;
	snprintf(name, sizeof(name), "%s other tool%s", human_count(report->n_tools - n, count),
		 report->n_tools - n == 1 ? "" : "s");
	line.name = name;
	add_line(t, p, &line, cpu_all_ns, bars, units);
	return 0;
}

static int fill(struct table *t, const struct paint *p, const struct lake_report *report, const size_t *tools, size_t n,
		bool bars, unsigned units)
{
	uint64_t cpu_all_ns = scale_of(report).cpu_ns;

	for (size_t i = 0; i < n; i++) {
		const struct lake_tool *tool = &report->tools[tools[i]];
		char *name = text_safe(*tool->tool ? tool->tool : "(unknown)", p->unicode);
		struct line line = {
			.name = name,
			.totals = &tool->totals,
			.calls = tool->calls,
			.wall_ns = tool->wall_ns,
			.cores_avg = tool->cores_avg,
			.cores_peak = tool->cores_peak,
			.peak_known = true,
		};

		if (!name)
			return -ENOMEM;
		add_line(t, p, &line, cpu_all_ns, bars, units);
		free(name);
	}
	return n < report->n_tools ? add_others(t, p, report, tools, n, cpu_all_ns, bars, units) : 0;
}

int report_tools_print(const struct paint *p, const struct lake_report *report, const size_t *tools, size_t n)
{
	static const struct table_column wide[] = {
		{ .title = "tool", .left = true, .flex = true },
		{ .title = "calls" },
		{ .title = "wall" },
		{ .title = "CPU" },
		{ .title = "share", .left = true },
		{ .title = "cores" },
		{ .title = "peak" },
		{ .title = "RSS peak" },
		{ .title = "read" },
		{ .title = "written" },
		{ .title = "queued" },
	};
	static const struct table_column narrow[] = {
		{ .title = "tool", .left = true, .flex = true },
		{ .title = "calls" },
		{ .title = "wall" },
		{ .title = "CPU" },
		{ .title = "cores" },
		{ .title = "peak" },
		{ .title = "RSS" },
		{ .title = "read" },
		{ .title = "written" },
		{ .title = "queued" },
	};
	/* Layouts from the widest to the tightest: the first that fits is used. */
	static const struct {
		const struct table_column *columns;
		size_t n, gap;
		bool bars;
		unsigned units;
	} looks[] = {
		{ wide, sizeof(wide) / sizeof(*wide), 2, true, 0 },
		{ narrow, sizeof(narrow) / sizeof(*narrow), 2, false, 0 },
		{ narrow, sizeof(narrow) / sizeof(*narrow), 2, false, HUMAN_SHORT },
		{ narrow, sizeof(narrow) / sizeof(*narrow), 1, false, HUMAN_SHORT },
	};
	size_t n_looks = sizeof(looks) / sizeof(*looks);
	int rc = -ENOMEM;

	for (size_t i = 0; i < n_looks; i++) {
		struct table *t = table_new(looks[i].columns, looks[i].n);
		bool fits;

		if (!t)
			return -ENOMEM;
		rc = fill(t, p, report, tools, n, looks[i].bars, looks[i].units | paint_units(p));
		fits = table_width(t, looks[i].gap, FLEX_MOST) <= p->width;
		/* Prefer cut names to tighter numbers, as long as names keep 20 columns. */
		fits |= i + 2 >= n_looks && table_width(t, looks[i].gap, 20) <= p->width;
		if (rc == 0 && (fits || i + 1 == n_looks))
			rc = table_print(t, p, 0, looks[i].gap);
		table_free(t);
		if (rc || fits)
			break;
	}
	return rc;
}
