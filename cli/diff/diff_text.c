/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/diff/diff_text.c - prints a comparison of runs as text.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/diff/diff_print.h"
#include "cli/report/reason.h"

#define ROWS_MOST    12 /* of tasks and of tools; --all prints all */
#define CHANGES_MOST 12 /* of tools */
#define COMMAND_MOST 300
#define TEXT_SIZE    160 /* five parts of a split with their times have 128 at most */

/* ---- numbers ------------------------------------------------------------------ */

static const char *value_text(const struct paint *p, enum diff_unit unit, double value, char buf[HUMAN_SIZE])
{
	if (unit == DIFF_SECONDS)
		return human_time((uint64_t)(value * 1e9), paint_units(p), buf);
	return unit == DIFF_BYTES ? human_bytes((uint64_t)value, 0, buf) : human_count((uint64_t)llround(value), buf);
}

/* "+3.20 s" */
static const char *signed_time(const struct paint *p, double s, char buf[HUMAN_SIZE + 1])
{
	buf[0] = s < 0 ? '-' : '+';
	human_time((uint64_t)(fabs(s) * 1e9), paint_units(p), buf + 1);
	return buf;
}

/* "+30 %", "x 12", "" without a value to compare with. */
static const char *ratio_text(const struct paint *p, double a, double b, char buf[HUMAN_SIZE])
{
	const double percent = a > 0 ? 100 * (b - a) / a : 0;

	buf[0] = '\0';
	if (a <= 0)
		return buf;
	if (fabs(percent) < 0.05)
		snprintf(buf, HUMAN_SIZE, "=");
	else if (percent > 999)
		snprintf(buf, HUMAN_SIZE, "%s%.0f", paint_glyph(p, "×", "x"), b / a);
	else
		snprintf(buf, HUMAN_SIZE, "%+.*f %%", fabs(percent) < 9.95 ? 1 : 0, percent);
	return buf;
}

static enum ink verdict_ink(enum diff_verdict v)
{
	return v == DIFF_MORE ? INK_YELLOW : v == DIFF_LESS ? INK_GREEN : v == DIFF_SAME ? INK_DIM : INK_NONE;
}

/* ---- the head ------------------------------------------------------------------- */

static int print_run(const struct paint *p, const char *side, const struct lake_run *run)
{
	char *name = text_safe(run->name, p->unicode), *outcome = reason_run(run);
	char when[HUMAN_SIZE], elapsed[HUMAN_SIZE] = "", id[TEXT_SIZE];
	int rc = name && outcome ? 0 : -ENOMEM;

	if (rc == 0) {
		const bool failed = run->signal || run->exit_code > 0;

		snprintf(id, sizeof(id), "%s", run->id);
		if (run->end_ns > run->start_ns)
			human_time(run->end_ns - run->start_ns, paint_units(p), elapsed);
		paint(p, INK_BOLD, "%s  %s", side, *name ? name : id);
		fprintf(p->out, "  %s  ", human_date(run->start_ns, HUMAN_DATE | HUMAN_CLOCK, when));
		paint(p, failed ? INK_RED : run->end_ns ? INK_NONE : INK_YELLOW, "%s", outcome);
		fprintf(p->out, "%s%s", *elapsed ? failed ? " after " : " in " : "", elapsed);
		paint(p, INK_DIM, "  %s", id);
		fputc('\n', p->out);
	}
	free(name);
	free(outcome);
	return rc;
}

static int print_history(const struct paint *p, const struct diff_answer *a)
{
	const struct lake_run *newest = &a->before[0]->run, *oldest = &a->before[a->n_before - 1]->run;
	char from[HUMAN_SIZE], to[HUMAN_SIZE], n[HUMAN_SIZE];
	char *name = text_safe(*newest->pipeline ? newest->pipeline : newest->name, p->unicode);

	if (!name)
		return -ENOMEM;
	human_date(oldest->start_ns, HUMAN_DATE | HUMAN_CLOCK, from);
	human_date(newest->start_ns, HUMAN_DATE | HUMAN_CLOCK, to);
	paint(p, INK_BOLD, "A  the median of %s earlier run%s of %s", human_count(a->n_before, n), a->n_before == 1 ? "" : "s",
	      name);
	fprintf(p->out, "  %s%s%s\n", a->n_before > 1 ? from : "", a->n_before > 1 ? " to " : "", to);
	free(name);
	return 0;
}

/* What makes figures of a side wrong or not comparable. n: runs of the side. */
static int print_limits(const struct paint *p, const char *side, struct lake_report *const *reports, size_t n)
{
	uint64_t lost = 0, losing = 0;
	char number[HUMAN_SIZE];
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		const struct lake_run *r = &reports[i]->run;
		const uint64_t here = lake_run_lost(r);

		lost += here;
		losing += here > 0;
	}
	if (lost && n == 1)
		rc = paint_taken(p, INK_RED, paint_glyph(p, "⚠ ", "! "), 2,
				 text_format("%s lost %s record%s: its figures may be too small.", side, human_count(lost, number),
					     lost == 1 ? "" : "s"));
	else if (lost)
		rc = paint_taken(p, INK_RED, paint_glyph(p, "⚠ ", "! "), 2,
				 text_format("%llu of the %zu runs of %s lost records: their figures may be too small.",
					     (unsigned long long)losing, n, side));
	if (rc == 0 && n == 1 && !reports[0]->run.end_ns)
		rc = paint_taken(p, INK_RED, paint_glyph(p, "⚠ ", "! "), 2,
				 text_format("%s still runs: its figures are those until now.", side));
	else if (rc == 0 && n == 1 && (reports[0]->run.signal || reports[0]->run.exit_code > 0))
		rc = paint_taken(p, INK_YELLOW, paint_glyph(p, "⚠ ", "! "), 2,
				 text_format("%s failed: a part of its work may be missing.", side));
	return rc;
}

static int print_head(const struct paint *p, const struct diff_answer *a)
{
	struct lake_report *const after[] = { (struct lake_report *)a->after };
	const struct lake_run *run_a = &a->before[0]->run, *run_b = &a->after->run;
	const bool history = diff_is_history(a->diff);
	int rc = history ? print_history(p, a) : print_run(p, "A", run_a);

	if (rc == 0)
		rc = print_run(p, "B", run_b);
	if (rc == 0)
		rc = print_limits(p, "A", a->before, a->n_before);
	if (rc == 0)
		rc = print_limits(p, "B", after, 1);
	if (rc == 0 && strcmp(run_a->id, run_b->id) == 0)
		rc = paint_taken(p, INK_YELLOW, paint_glyph(p, "⚠ ", "! "), 2, text_format("A and B are the same run."));
	else if (rc == 0 && strcmp(run_a->pipeline, run_b->pipeline) != 0)
		rc = paint_taken(p, INK_YELLOW, paint_glyph(p, "⚠ ", "! "), 2,
				 text_format("A and B are runs of different pipelines."));
	return rc;
}

/* ---- changes ---------------------------------------------------------------------- */

/* "binary /usr/bin/x → /opt/bin/x", "only in B: --fast" */
static char *change_text(const struct paint *p, const struct diff_change *c)
{
	const char *arrow = paint_glyph(p, " → ", " -> ");
	const bool option = c->what == DIFF_OPTION;

	if (!c->a)
		return text_format("only in B: %s", c->b);
	if (!c->b)
		return text_format("only in A: %s", c->a);
	return text_format("%s%s%.*s%s%s%.*s%s", option || c->of == FINDING_OF_RUN ? "" : diff_what_text(c->what),
			   option || c->of == FINDING_OF_RUN ? "" : " ", COMMAND_MOST, *c->a ? c->a : "none",
			   strlen(c->a) > COMMAND_MOST ? "..." : "", arrow, COMMAND_MOST, *c->b ? c->b : "none",
			   strlen(c->b) > COMMAND_MOST ? "..." : "");
}

/* All changes of one subject in a line. */
static int print_changes_of(const struct paint *p, enum finding_subject of, const char *name,
			    const struct diff_change *changes, size_t n)
{
	char *line = NULL, *safe, *first;
	int rc;

	for (size_t i = 0; i < n; i++) {
		char *one = change_text(p, &changes[i]), *longer = NULL;

		if (one)
			longer = text_format("%s%s%s", line ? line : "", line ? "; " : "", one);
		free(one);
		free(line);
		line = longer;
		if (!line)
			return -ENOMEM;
	}
	safe = text_safe(name, p->unicode);
	first = safe ? text_format("%s%s: ", of == FINDING_OF_TASK ? "task " : "", safe) : NULL;
	rc = first && line ? paint_taken(p, INK_NONE, first, 4, line) : -ENOMEM;
	if (!first)
		free(line);
	free(safe);
	free(first);
	return rc;
}

/* Prints the changes of one tool or task, and adds 1 to *ret_n if there are any. */
static int print_subject(const struct paint *p, const struct diff_answer *a, enum finding_subject of, const char *name,
			 bool print, size_t *ret_n)
{
	const struct diff_change *changes;
	const size_t n = diff_changes(a->diff, &changes);
	size_t first = 0, end;

	while (first < n && (changes[first].of != of || strcmp(changes[first].name, name) != 0))
		first++;
	for (end = first; end < n && changes[end].of == of && strcmp(changes[end].name, name) == 0;)
		end++;
	*ret_n += end > first;
	return end > first && print ? print_changes_of(p, of, name, changes + first, end - first) : 0;
}

static int print_changes(const struct paint *p, const struct diff_answer *a)
{
	static const enum finding_subject subjects[] = { FINDING_OF_TASK, FINDING_OF_TOOL };
	const struct diff_change *changes;
	const size_t n = diff_changes(a->diff, &changes);
	char rest[HUMAN_SIZE];
	size_t printed = 0;
	int rc = 0;

	if (n)
		paint_title(p, "Changed", diff_is_history(a->diff) ? "since the newest earlier run" : "");
	for (size_t i = 0; i < n && rc == 0; i++)
		if (changes[i].of == FINDING_OF_RUN)
			rc = print_changes_of(p, FINDING_OF_RUN, diff_what_text(changes[i].what), changes + i, 1);
	for (size_t k = 0; k < 2; k++) {
		const struct diff_row *rows;
		const size_t n_rows = diff_rows(a->diff, subjects[k], &rows);

		for (size_t i = 0; i < n_rows && rc == 0; i++)
			rc = print_subject(p, a, subjects[k], rows[i].name, a->all || printed < CHANGES_MOST, &printed);
	}
	if (rc == 0 && printed > CHANGES_MOST && !a->all)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s other tasks and tools have changes; --all prints them",
					     human_count(printed - CHANGES_MOST, rest)));
	return rc;
}

/* ---- figures ------------------------------------------------------------------------ */

static const struct table_column columns[] = {
	{ .title = "", .left = true, .flex = true },
	{ .title = "", .left = true },
	{ .title = "A" },
	{ .title = "B" },
	{ .title = "change" },
	{ .title = "", .left = true },
};

/* "~ p 0.38, -2 to +9 %, n 8 and 8" */
static void note_text(const struct paint *p, const struct diff_answer *a, const struct diff_row *row,
		      enum diff_metric m, char buf[TEXT_SIZE])
{
	const struct diff_figure *f = &row->figures[m];
	const char *mark = f->verdict == DIFF_MORE   ? paint_glyph(p, "▲ ", "^ ")
			   : f->verdict == DIFF_LESS ? paint_glyph(p, "▼ ", "v ")
						     : "~ ";
	char low[HUMAN_SIZE], high[HUMAN_SIZE];

	buf[0] = '\0';
	if (row->presence != DIFF_BOTH) {
		const size_t n = row->presence == DIFF_NEW ? row->executions_b : row->executions_a;

		snprintf(buf, TEXT_SIZE, "%zu %s%s", n, row->of == FINDING_OF_TASK ? "execution" : "call", n == 1 ? "" : "s");
	} else if (f->verdict == DIFF_OBSERVED) {
		if (row->of == FINDING_OF_TASK && diff_measures[m].tested && !diff_is_history(a->diff))
			snprintf(buf, TEXT_SIZE, "observed, not tested: n %zu and %zu", f->n_a, f->n_b);
	} else if (diff_is_history(a->diff)) {
		snprintf(buf, TEXT_SIZE, "%susual %s to %s", mark, value_text(p, diff_measures[m].unit, f->low, low),
			 value_text(p, diff_measures[m].unit, f->high, high));
	} else if (f->bounded && f->a > 0) {
		snprintf(buf, TEXT_SIZE, "%sp %.2g, %+.0f to %+.0f %%, n %zu and %zu", mark, f->p, 100 * f->low / f->a,
			 100 * f->high / f->a, f->n_a, f->n_b);
	} else {
		snprintf(buf, TEXT_SIZE, "%sp %.2g, n %zu and %zu", mark, f->p, f->n_a, f->n_b);
	}
}

static void add_figure(struct table *t, const struct paint *p, const struct diff_answer *a, const struct diff_row *row,
		       enum diff_metric m, const char *name)
{
	const struct diff_figure *f = &row->figures[m];
	const enum diff_unit unit = diff_measures[m].unit;
	char value[HUMAN_SIZE], note[TEXT_SIZE];

	table_cell(t, INK_BOLD, "%s", name);
	table_cell(t, INK_NONE, "%s", diff_measures[m].name);
	table_cell(t, INK_NONE, "%s", f->n_a ? value_text(p, unit, f->a, value) : "-");
	table_cell(t, INK_NONE, "%s", f->n_b ? value_text(p, unit, f->b, value) : "-");
	table_cell(t, verdict_ink(f->verdict), "%s", f->n_a && f->n_b ? ratio_text(p, f->a, f->b, value) : "");
	note_text(p, a, row, m, note);
	table_cell(t, verdict_ink(f->verdict), "%s", note);
}

/* "CPU +2.80 s, asleep +0.31 s": the largest parts, `most` of them, but none below a twentieth of the first. */
static void split_text(const struct paint *p, const struct diff_split *s, size_t most, char buf[TEXT_SIZE])
{
	struct {
		const char *name;
		double s;
	} parts[] = {
		{ "CPU", s->cpu_s },
		{ "run queue", s->queue_s },
		{ "storage wait", s->block_s },
		{ "asleep", s->rest_s },
		{ s->parallel_s > 0 ? "fewer at once" : "more at once", s->parallel_s },
	};
	const size_t n = sizeof(parts) / sizeof(*parts);
	double largest = 0;
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && i < most && used < TEXT_SIZE; i++) {
		size_t at = 0;
		char number[HUMAN_SIZE + 1];

		for (size_t k = 1; k < n; k++)
			at = fabs(parts[k].s) > fabs(parts[at].s) ? k : at;
		largest = fmax(largest, fabs(parts[at].s));
		if (fabs(parts[at].s) < 0.05 * largest || largest <= 0)
			break;
		used += (size_t)snprintf(buf + used, TEXT_SIZE - used, "%s%s %s", used ? ", " : "", parts[at].name,
					 signed_time(p, parts[at].s, number));
		parts[at].s = 0;
	}
}

static void add_count(struct table *t, const struct paint *p, const char *what, size_t a, size_t b, const char **name)
{
	char text[HUMAN_SIZE];

	if (a == b)
		return;
	table_cell(t, INK_BOLD, "%s", *name);
	table_cell(t, INK_NONE, "%s", what);
	table_cell(t, INK_NONE, "%s", human_count(a, text));
	table_cell(t, INK_NONE, "%s", human_count(b, text));
	table_cell(t, INK_NONE, "%s", ratio_text(p, (double)a, (double)b, text));
	table_cell(t, INK_NONE, "%s", "");
	*name = "";
}

static bool is_shown(const struct diff_answer *a, const struct diff_row *row, enum diff_metric m)
{
	const struct diff_figure *f = &row->figures[m];

	if (row->of == FINDING_OF_RUN || a->all)
		return f->a > 0 || f->b > 0;
	if (row->presence != DIFF_BOTH)
		return m == DIFF_CPU;
	if (m >= DIFF_QUEUE && row->of == FINDING_OF_TASK && row->figures[DIFF_WALL].large)
		return false; /* the line below the wall time has the waits */
	return f->large;
}

static int add_row(struct table *t, const struct paint *p, const struct diff_answer *a, const struct diff_row *row)
{
	const char *const presence = row->presence == DIFF_NEW ? "new: " : row->presence == DIFF_GONE ? "gone: " : "";
	char *safe = text_safe(row->name, p->unicode), *title = safe ? text_format("%s%s", presence, safe) : NULL;
	const char *name = title; /* until it is printed */

	free(safe);
	if (!title)
		return -ENOMEM;
	if (row->presence == DIFF_BOTH && row->of == FINDING_OF_TASK)
		add_count(t, p, "executions", row->executions_a, row->executions_b, &name);
	if (row->presence == DIFF_BOTH)
		add_count(t, p, "failed", row->failed_a, row->failed_b, &name);
	for (enum diff_metric m = 0; m < DIFF_METRICS; m++) {
		if (!is_shown(a, row, m))
			continue;
		add_figure(t, p, a, row, m, name);
		name = "";
		if (m == DIFF_WALL && row->of == FINDING_OF_TASK && row->split.known) {
			const bool several = row->executions_a + row->executions_b > 2;
			char split[TEXT_SIZE], total[HUMAN_SIZE + 1];

			split_text(p, &row->split, 2, split);
			for (size_t i = 0; i < 4; i++)
				table_cell(t, INK_NONE, "%s", "");
			table_cell(t, INK_DIM, "%s", signed_time(p, row->split.total_s, total));
			table_cell(t, INK_DIM, "%s%s", several ? "mean: " : "", split);
		}
	}
	free(title);
	return 0;
}

static int print_run_figures(const struct paint *p, const struct diff_answer *a)
{
	const struct diff_row *run = diff_run(a->diff);
	struct table *t = table_new(columns, sizeof(columns) / sizeof(*columns));
	char split[TEXT_SIZE], total[HUMAN_SIZE + 1];
	int rc;

	if (!t)
		return -ENOMEM;
	rc = add_row(t, p, a, run);
	if (rc == 0) {
		paint_title(p, "Run", diff_is_history(a->diff) && a->n_before >= DIFF_TEST ? "" : "observed, not tested");
		rc = table_print(t, p, 0, 2);
	}
	table_free(t);
	if (rc == 0 && run->split.known && fabs(run->split.total_s) >= 0.1) {
		split_text(p, &run->split, 5, split);
		rc = paint_taken(p, INK_NONE, "", 2,
				 text_format("Wall time %s: %s", signed_time(p, run->split.total_s, total), split));
	}
	return rc;
}

static int print_rows(const struct paint *p, const struct diff_answer *a, enum finding_subject of, const char *title,
		      const char *note, const char *others)
{
	const struct diff_row *rows;
	const size_t n = diff_rows(a->diff, of, &rows);
	struct table *t = table_new(columns, sizeof(columns) / sizeof(*columns));
	size_t shown = 0, left = 0;
	char number[HUMAN_SIZE];
	int rc = 0;

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (!a->all && (!rows[i].differs || shown >= ROWS_MOST)) {
			left += rows[i].differs;
			continue;
		}
		rc = add_row(t, p, a, &rows[i]);
		shown++;
	}
	if (rc == 0 && shown) {
		paint_title(p, title, note);
		rc = table_print(t, p, 0, 2);
	}
	table_free(t);
	if (rc == 0 && left)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s other %s differ less; --all prints them", human_count(left, number), others));
	return rc;
}

static bool any_differs(const struct diff_answer *a)
{
	static const enum finding_subject subjects[] = { FINDING_OF_TASK, FINDING_OF_TOOL };

	for (size_t k = 0; k < 2; k++) {
		const struct diff_row *rows;
		const size_t n = diff_rows(a->diff, subjects[k], &rows);

		for (size_t i = 0; i < n; i++)
			if (rows[i].differs)
				return true;
	}
	return diff_run(a->diff)->differs;
}

int diff_print_text(const struct diff_answer *a, FILE *out, const struct paint_style *style)
{
	struct paint p;
	int rc;

	paint_init(&p, out, style);
	rc = print_head(&p, a);
	if (rc == 0)
		rc = print_changes(&p, a);
	if (rc == 0)
		rc = print_run_figures(&p, a);
	if (rc == 0)
		rc = print_rows(&p, a, FINDING_OF_TASK, "Tasks", "medians of the executions that ended well", "tasks");
	if (rc == 0)
		rc = print_rows(&p, a, FINDING_OF_TOOL, "Tools",
				diff_is_history(a->diff) && a->n_before >= DIFF_TEST ? "in sum" : "in sum; observed, not tested", "tools");
	if (rc == 0 && !any_differs(a))
		rc = paint_taken(&p, INK_GREEN, "", 0,
				 text_format("No difference: nothing changed by 5 %% and by 1 s, 32 MiB or 2 processes."));
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}
