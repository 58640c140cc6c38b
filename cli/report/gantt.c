/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/gantt.c - a time line that fits the terminal: one row a tool, or a task's name, one
 * column a slice of the run, shaded by the cores that it kept busy in that slice.
 *
 * The processes give the exact times at which a tool ran.  The samples give the cores that it kept busy: the chart
 * spreads each sample over the slices in which the tool ran.  If the samples are too coarse to draw, the chart spreads
 * each process's CPU time evenly over its life.
 */
#include "cli/report/gantt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/text.h"
#include "cli/report/accuracy.h"

#define SECOND        UINT64_C(1000000000)
#define TICK_COLUMNS  9 /* at least, from one label to the next */
#define SAMPLE_SLICES 4 /* the chart draws samples of at most this many slices */

struct row {
	const char *name; /* NULL: the sum of all processes */
	uint64_t first_start_ns;
	double *cpu_ns; /* per slice */
	bool *present;  /* per slice */
	bool *failed;   /* per slice */
};

struct chart {
	const struct lake_report *report;
	uint64_t start_ns, end_ns;
	double slice_ns;
	size_t slices;
	bool sampled;
	bool tasks; /* rows are tasks: samples are of tools, so the processes alone give their CPU time */
	struct row *rows; /* rows[0] is the sum */
	size_t n_rows;
};

static size_t slice_of(const struct chart *c, uint64_t ns)
{
	size_t i;

	if (ns <= c->start_ns)
		return 0;
	i = (size_t)((double)(ns - c->start_ns) / c->slice_ns);
	return i < c->slices ? i : c->slices - 1;
}

static struct row *row_of(const struct chart *c, const char *name)
{
	for (size_t i = 1; i < c->n_rows; i++) {
		if (strcmp(c->rows[i].name, name) == 0)
			return &c->rows[i];
	}
	return NULL;
}

/* Spreads CPU time evenly over [from, to); only slices where the row is present when `present` is set. */
static void spread(const struct chart *c, struct row *row, uint64_t from, uint64_t to, double cpu_ns, bool present)
{
	size_t first, last;
	double sum = 0;

	from = from < c->start_ns ? c->start_ns : from;
	to = to > c->end_ns ? c->end_ns : to;
	first = slice_of(c, from);
	last = to > from ? slice_of(c, to - 1) : first;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = first; i <= last; i++) {
			double begin = (double)i * c->slice_ns, end = begin + c->slice_ns, part;

			if (present && !row->present[i])
				continue;
			begin = begin > (double)(from - c->start_ns) ? begin : (double)(from - c->start_ns);
			end = end < (double)(to - c->start_ns) ? end : (double)(to - c->start_ns);
			part = first == last ? 1 : end > begin ? end - begin : 0;
			if (pass == 0)
				sum += part;
			else if (sum > 0)
				row->cpu_ns[i] += cpu_ns * part / sum;
		}
	}
}

static void add_images(struct chart *c)
{
	const struct lake_report *report = c->report;

	for (size_t k = 0; k < report->n_processes; k++) {
		const struct lake_process *p = &report->processes[k];
		uint64_t end = p->end_ns ? p->end_ns : c->end_ns;
		struct row *row = row_of(c, c->tasks ? p->task : p->kind->tool);

		if (p->start_ns > c->end_ns)
			continue;
		if (!c->sampled)
			spread(c, &c->rows[0], p->start_ns, end, (double)p->totals.cpu_ns, false);
		if (!row)
			continue;
		if (!c->sampled || c->tasks)
			spread(c, row, p->start_ns, end, (double)p->totals.cpu_ns, false);
		if (p->kind->wrapper) /* it only waits for the program that it wraps */
			continue;
		for (size_t i = slice_of(c, p->start_ns), last = slice_of(c, end > p->start_ns ? end - 1 : end);
		     i <= last; i++)
			row->present[i] = true;
	}
}

static void add_samples(struct chart *c)
{
	for (size_t k = 0; c->sampled && k < c->report->n_samples; k++) {
		const struct lake_sample *s = &c->report->samples[k];
		struct row *row = c->tasks ? NULL : row_of(c, s->tool);

		spread(c, &c->rows[0], s->start_ns, s->start_ns + s->interval_ns, (double)s->cpu_ns, false);
		if (row)
			spread(c, row, s->start_ns, s->start_ns + s->interval_ns, (double)s->cpu_ns, true);
	}
}

static void add_failures(struct chart *c, const struct failures *failures)
{
	for (size_t k = 0; k < failures->n; k++) {
		const struct failure *failure = &failures->list[k];

		for (size_t i = 0; failure->severity == FAILURE_ERROR && i < failure->n; i++) {
			const struct lake_process *p = &c->report->processes[failure->images[i]];
			struct row *row = row_of(c, c->tasks ? p->task : p->kind->tool);

			if (row && p->end_ns)
				row->failed[slice_of(c, p->end_ns - 1)] = true;
		}
	}
}

/* Samples can be drawn when they are not much wider than a slice. */
static bool samples_fit(const struct chart *c)
{
	for (size_t i = 0; i < c->report->n_samples; i++) {
		if ((double)c->report->samples[i].interval_ns > SAMPLE_SLICES * c->slice_ns)
			return false;
	}
	return c->report->n_samples > 0;
}

static int by_first_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->first_start_ns != y->first_start_ns)
		return x->first_start_ns < y->first_start_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int make_rows(struct chart *c, const struct gantt_name *names, size_t n)
{
	c->rows = calloc(n + 1, sizeof(*c->rows));
	if (!c->rows)
		return -ENOMEM;
	c->n_rows = n + 1;
	for (size_t i = 0; i < c->n_rows; i++) {
		struct row *row = &c->rows[i];

		row->cpu_ns = calloc(c->slices, sizeof(*row->cpu_ns));
		row->present = calloc(c->slices, sizeof(*row->present));
		row->failed = calloc(c->slices, sizeof(*row->failed));
		if (!row->cpu_ns || !row->present || !row->failed)
			return -ENOMEM;
		if (i) {
			row->name = names[i - 1].name;
			row->first_start_ns = names[i - 1].first_start_ns;
		}
	}
	qsort(c->rows + 1, n, sizeof(*c->rows), by_first_start);
	return 0;
}

static void free_rows(struct chart *c)
{
	for (size_t i = 0; c->rows && i < c->n_rows; i++) {
		free(c->rows[i].cpu_ns);
		free(c->rows[i].present);
		free(c->rows[i].failed);
	}
	free(c->rows);
}

/* The smallest round step that leaves room for labels. */
static uint64_t tick_step(const struct chart *c)
{
	static const uint64_t more[] = { 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400 };
	double least = c->slice_ns * TICK_COLUMNS;
	uint64_t step = 1;

	for (int i = 0; step < 10 * SECOND && (double)step < least; i++)
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	for (size_t i = 0; i < sizeof(more) / sizeof(*more) && (double)step < least; i++)
		step = more[i] * SECOND;
	while ((double)step < least)
		step *= 2;
	return step;
}

static void tick_label(uint64_t ns, uint64_t step, unsigned units, char buf[HUMAN_SIZE])
{
	uint64_t s = ns / SECOND;

	if (ns == 0)
		snprintf(buf, HUMAN_SIZE, "0");
	else if (step >= 86400 * SECOND)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "d", s / 86400);
	else if (s >= 86400)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
	else if (s >= 3600 && step % (3600 * SECOND) == 0)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "h", s / 3600);
	else if (s >= 3600)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "h%02" PRIu64, s / 3600, s / 60 % 60);
	else if (s >= 60 && step % (60 * SECOND) == 0)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "m", s / 60);
	else if (s >= 60)
		snprintf(buf, HUMAN_SIZE, "%" PRIu64 "m%02" PRIu64, s / 60, s % 60);
	else if (ns >= SECOND) /* whole milliseconds, cut */
		snprintf(buf, HUMAN_SIZE, "%gs", (double)(ns - ns % 1000000) / 1e9);
	else if (ns >= 1000000)
		snprintf(buf, HUMAN_SIZE, "%gms", (double)(ns - ns % 1000) / 1e6);
	else
		snprintf(buf, HUMAN_SIZE, "%g%s", (double)ns / 1e3, units & HUMAN_ASCII ? "us" : "µs");
}

static void print_axis(const struct paint *p, const struct chart *c, size_t label)
{
	const char *bar = paint_glyph(p, "│", "|");
	uint64_t step = tick_step(c);
	char text[HUMAN_SIZE], end[HUMAN_SIZE];
	size_t column = 0, end_columns;

	human_time(c->end_ns - c->start_ns, paint_units(p) | HUMAN_SHORT, end);
	end_columns = text_width(end) + 1;
	fprintf(p->out, "%*s", (int)label, "");
	for (uint64_t t = 0; t < c->end_ns - c->start_ns; t += step) {
		size_t at = (size_t)((double)t / c->slice_ns), w;

		tick_label(t, step, paint_units(p), text);
		w = text_width(text) + 1;
		if (at < column || at + w + 1 + end_columns > c->slices)
			break;
		fprintf(p->out, "%*s", (int)(at - column), "");
		paint(p, INK_DIM, "%s%s", bar, text);
		column = at + w;
	}
	if (column + end_columns <= c->slices) {
		fprintf(p->out, "%*s", (int)(c->slices - column - end_columns), "");
		paint(p, INK_DIM, "%s%s", end, bar);
	}
	fputc('\n', p->out);
}

/* Eighths of all CPUs. */
static void print_sum(const struct paint *p, const struct chart *c, size_t label)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "%", "#" };
	uint64_t cpus = c->report->run.cpus ? c->report->run.cpus : 1;
	char name[64];

	snprintf(name, sizeof(name), "busy of %" PRIu64 " CPU%s", cpus, cpus == 1 ? "" : "s");
	paint(p, INK_DIM, "%-*s", (int)label, name);
	paint_begin(p, INK_GREEN);
	for (size_t i = 0; i < c->slices; i++) {
		double ratio = c->rows[0].cpu_ns[i] / (c->slice_ns * (double)cpus);
		size_t level = ratio >= 1 ? 8 : (size_t)(ratio * 8 + 0.5);

		if (level == 0 && ratio > 0.002)
			level = 1;
		fputs(paint_glyph(p, blocks[level], ascii[level]), p->out);
	}
	paint_end(p, INK_GREEN);
	fputc('\n', p->out);
}

/* 0 to 3: under half a core, about one, several, at least three quarters of all. */
static int shade(const struct chart *c, double cpu_ns)
{
	double cores = cpu_ns / c->slice_ns;
	double cpus = c->report->run.cpus ? (double)c->report->run.cpus : 1;

	if (cores >= cpus * 0.75)
		return 3;
	return cores < 0.5 ? 0 : cores < 1.5 ? 1 : 2;
}

static int print_row(const struct paint *p, const struct chart *c, const struct row *row, size_t label)
{
	static const char *const shades[] = { "░", "▒", "▓", "█" };
	static const char *const ascii[] = { ".", ":", "=", "#" };
	char *name = text_safe(row->name, p->unicode), *cut = NULL;
	enum ink ink = INK_NONE;
	size_t end = c->slices;

	if (name)
		cut = text_cut(name, label - 1, p->unicode);
	free(name);
	if (!cut)
		return -ENOMEM;
	fprintf(p->out, "%s%*s", cut, (int)(label - text_width(cut)), "");
	free(cut);
	while (end && !row->present[end - 1] && !row->failed[end - 1])
		end--;
	for (size_t i = 0; i < end; i++) {
		int level = shade(c, row->cpu_ns[i]);
		enum ink want = row->failed[i] ? INK_RED : !row->present[i] ? INK_NONE : level ? INK_CYAN : INK_DIM;

		/* One colour sequence for adjacent cells of one colour: users also read charts over slow lines. */
		if (want != ink) {
			paint_end(p, ink);
			paint_begin(p, want);
			ink = want;
		}
		fputs(row->failed[i]    ? paint_glyph(p, "✘", "X")
		      : row->present[i] ? paint_glyph(p, shades[level], ascii[level])
					: " ",
		      p->out);
	}
	paint_end(p, ink);
	fputc('\n', p->out);
	return 0;
}

static void print_legend(const struct paint *p, const struct chart *c)
{
	uint64_t cpus = c->report->run.cpus ? c->report->run.cpus : 1;
	char *text;

	if (asprintf(&text, "%s under half a core  %s%s%s%s%s %g or more of %" PRIu64 " CPU%s%s",
		     paint_glyph(p, "░", "."), cpus > 1 ? paint_glyph(p, "▒", ":") : "", cpus > 1 ? " about one  " : "",
		     cpus > 2 ? paint_glyph(p, "▓", "=") : "", cpus > 2 ? " several  " : "", paint_glyph(p, "█", "#"),
		     (double)cpus * 0.75, cpus, cpus == 1 ? "" : "s",
		     c->sampled && !c->tasks ? "" : "; CPU spread evenly over each process's life") < 0)
		return; /* no memory: print the chart without its legend */
	paint_wrapped(p, INK_DIM, "", 0, text);
	free(text);
}

int gantt_print(const struct paint *p, const struct lake_report *report, const struct failures *failures,
		const struct gantt_name *names, size_t n, bool tasks)
{
	struct chart c = {
		.report = report, .start_ns = report->run.start_ns, .end_ns = accuracy_end(report), .tasks = tasks
	};
	size_t label = 14, most = p->width / 4; /* "busy of 8 CPUs" */
	int rc;

	if (c.end_ns <= c.start_ns || n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		char *name = text_safe(names[i].name, p->unicode);

		if (!name)
			return -ENOMEM;
		if (text_width(name) > label)
			label = text_width(name);
		free(name);
	}
	label = (label > most ? most : label) + 2;
	c.slices = p->width - label;
	c.slice_ns = (double)(c.end_ns - c.start_ns) / (double)c.slices;
	c.sampled = samples_fit(&c);
	rc = make_rows(&c, names, n);
	if (rc)
		goto out;
	add_images(&c);
	add_samples(&c);
	add_failures(&c, failures);
	paint_title(p, "Time line", "");
	print_axis(p, &c, label);
	print_sum(p, &c, label);
	for (size_t i = 1; i < c.n_rows && rc == 0; i++)
		rc = print_row(p, &c, &c.rows[i], label);
	print_legend(p, &c);
out:
	free_rows(&c);
	return rc;
}
