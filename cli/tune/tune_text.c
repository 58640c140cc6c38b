/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune_text.c - prints an analysis as text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/price_file.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/tune/tune.h"

#define ROWS_MOST 40
#define PATH_MOST 8 /* names of the observed path */

/* ---- the tasks ------------------------------------------------------------- */

static double median(const double *sorted, size_t n)
{
	return n ? (sorted[(n - 1) / 2] + sorted[n / 2]) / 2 : 0;
}

static int add_row(struct table *t, const struct paint *p, const struct analysis_group *g, bool history)
{
	const struct analysis_size cpus = analysis_size_cpus(g), memory = analysis_size_memory(g);
	const unsigned units = paint_units(p) | HUMAN_SHORT;
	char *name = text_safe(g->name, p->unicode), a[HUMAN_SIZE], b[HUMAN_SIZE];

	if (!name)
		return -ENOMEM;
	table_cell(t, INK_NONE, "%s", name);
	free(name);
	table_cell(t, INK_NONE, "%s", human_count(g->n, a));
	table_cell(t, INK_NONE, "%s", g->n_ok ? human_time((uint64_t)(median(g->wall_s, g->n_ok) * 1e9), units, a) : "-");
	if (g->requested_cpus > 0 && !g->n_shares)
		table_cell(t, INK_NONE, "%s of %.3g", g->n_ok ? human_cores(g->cores[g->n_ok - 1], a) : "-", g->requested_cpus);
	else
		table_cell(t, INK_NONE, "%s", g->n_ok ? human_cores(g->cores[g->n_ok - 1], a) : "-");
	if (g->requested_memory > 0 && !g->n_shares)
		table_cell(t, INK_NONE, "%s of %s",
			   g->n_ok ? human_bytes((uint64_t)g->memory[g->n_ok - 1], units, a) : "-",
			   human_bytes((uint64_t)g->requested_memory, units, b));
	else
		table_cell(t, INK_NONE, "%s", g->n_ok ? human_bytes((uint64_t)g->memory[g->n_ok - 1], units, a) : "-");
	table_cell(t, INK_NONE, "%s", analysis_bound_text(g->bound));
	if (cpus.value > 0 && memory.value > 0)
		table_cell(t, INK_BOLD, "%.0f, %s", cpus.value, human_bytes((uint64_t)memory.value, units, a));
	else if (memory.value > 0)
		table_cell(t, INK_BOLD, "%s", human_bytes((uint64_t)memory.value, units, a));
	else
		table_cell(t, INK_NONE, "-");
	if (history)
		table_cell(t, INK_DIM, "%s in %zu", human_count(memory.n, a), memory.runs);
	return 0;
}

/* history: whether sizes may rest on more than this run. */
static int print_tasks(const struct paint *p, const struct analysis *analysis, const char *run, bool history)
{
	static const struct table_column columns[] = {
		{ .title = "tasks", .left = true, .flex = true },
		{ .title = "n" },
		{ .title = "wall" },
		{ .title = "cores" },
		{ .title = "memory" },
		{ .title = "bound by", .left = true },
		{ .title = "ask for", .left = true },
		{ .title = "from n in runs", .left = true },
	};
	const struct analysis_group *const *groups;
	const size_t n = analysis_groups(analysis, &groups);
	size_t n_shares = 0;
	struct table *t;
	char rest[HUMAN_SIZE];
	int rc = 0;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		n_shares += groups[i]->n_shares;
	t = table_new(columns, sizeof(columns) / sizeof(*columns) - !history);
	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < n && i < ROWS_MOST && rc == 0; i++)
		rc = add_row(t, p, groups[i], history);
	if (rc == 0) {
		paint_title(p, "Tasks", "");
		rc = table_print(t, p, 0, 2);
	}
	table_free(t);
	if (rc == 0 && n > ROWS_MOST)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s other tasks used less CPU time; --json has all of them",
					     human_count(n - ROWS_MOST, rest)));
	if (rc == 0 && n_shares)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s %s what %s asked for with runs that began in %s (skep runs --within %s), or with tasks "
					     "of %s job: no cores and no memory to ask for follow from %s own use",
					     human_count(n_shares, rest), n_shares == 1 ? "execution shares" : "executions share",
					     n_shares == 1 ? "it" : "they", n_shares == 1 ? "it" : "them", run,
					     n_shares == 1 ? "its" : "their", n_shares == 1 ? "its" : "their"));
	return rc;
}

/* ---- the observed path --------------------------------------------------------- */

static int print_path(const struct paint *p, const struct analysis_path *path)
{
	static const struct table_column columns[] = {
		{ .title = "on the path", .left = true, .flex = true },
		{ .title = "n" },
		{ .title = "time" },
		{ .title = "the run without" },
	};
	const unsigned units = paint_units(p) | HUMAN_SHORT;
	struct table *t = path->n_parts ? table_new(columns, sizeof(columns) / sizeof(*columns)) : NULL;
	size_t with_data = 0;
	double rest = 0;
	char buf[HUMAN_SIZE];
	int rc = 0;

	if (!t)
		return path->n_parts ? -ENOMEM : 0;
	for (size_t i = 0; i < path->n_parts; i++) {
		const struct analysis_part *part = &path->parts[i];
		char *name;

		rest += i < PATH_MOST ? 0 : part->seconds;
		if (i >= PATH_MOST)
			continue;
		name = text_safe(part->name, p->unicode);
		rc = name ? rc : -ENOMEM;
		table_cell(t, INK_NONE, "%s", name ? name : "");
		free(name);
		table_cell(t, INK_NONE, "%s", human_count(part->n, buf));
		table_cell(t, INK_NONE, "%s", human_time((uint64_t)(part->seconds * 1e9), units, buf));
		table_cell(t, INK_NONE, "-%s", human_time((uint64_t)(part->saving_s * 1e9), units, buf));
	}
	if (rc == 0) {
		paint_title(p, "Observed path", "");
		rc = table_print(t, p, 0, 2);
	}
	table_free(t);
	for (size_t i = 0; i < path->n_steps; i++)
		with_data += path->steps[i].link == ANALYSIS_LINK_DATA;
	if (rc == 0 && path->n_parts > PATH_MOST)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s of other %s", human_time((uint64_t)(rest * 1e9), units, buf),
					     path->n_steps ? "tasks" : "tools"));
	if (rc == 0 && path->gaps_s > 0)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s between them: the engine, or a queue",
					     human_time((uint64_t)(path->gaps_s * 1e9), units, buf)));
	if (rc == 0 && with_data)
		rc = paint_taken(p, INK_DIM, "", 0,
				 text_format("%s of %zu steps opened a file that the step before had written", human_count(with_data, buf),
					     path->n_steps));
	return rc;
}

/* ---- findings ---------------------------------------------------------------- */

/* "12.3 core-hours, 4.1 GiB-hours (0.41 EUR), 3m02s of the run" or "" */
static char *saving_text(const struct paint *p, const struct tune_price *price, const struct finding_saving *s)
{
	char *text = NULL, buf[HUMAN_SIZE], money[PRICE_TEXT_SIZE];
	const int64_t worth = tune_worth(price, s);
	const char *comma = "";
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (s->core_s > 0) {
		fprintf(f, "%.3g core-hours", s->core_s / 3600);
		comma = ", ";
	}
	if (s->byte_s > 0) {
		fprintf(f, "%s%.3g GiB-hours", comma, s->byte_s / 3600 / 1073741824);
		comma = ", ";
	}
	if (s->cpu_s > 0) {
		fprintf(f, "%s%s of CPU time", comma, human_time((uint64_t)(s->cpu_s * 1e9), paint_units(p), buf));
		comma = ", ";
	}
	if (s->gpu_s > 0) {
		fprintf(f, "%s%.3g GPU-hours", comma, s->gpu_s / 3600);
		comma = ", ";
	}
	if (worth > 0)
		fprintf(f, " (%s %s)", price_text(worth, price_decimals(worth), money), price_currency(price->table));
	if (s->wall_s > 0)
		fprintf(f, "%s%s of the run", comma, human_time((uint64_t)(s->wall_s * 1e9), paint_units(p), buf));
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int print_finding(const struct paint *p, const struct tune_price *price, const struct finding *f)
{
	char *saving = saving_text(p, price, &f->saving), *name = text_safe(f->name, p->unicode);
	const bool warn = f->severity == FINDING_WARN;
	int rc = -ENOMEM;

	if (saving && name) {
		paint(p, warn ? INK_YELLOW : INK_CYAN, "%s", warn ? paint_glyph(p, "▲ ", "! ") : paint_glyph(p, "• ", "- "));
		paint(p, INK_BOLD, "%s%s%s", *name ? name : "the run", ": ", f->kind->title);
		paint(p, INK_DIM, "  %s\n", f->kind->id);
		rc = paint_taken(p, INK_NONE, "  ", 2, text_format("%s.", f->evidence));
		if (rc == 0)
			rc = paint_taken(p, INK_GREEN, paint_glyph(p, "  → ", "  > "), 4, text_format("%s", f->advice));
		if (rc == 0)
			rc = paint_taken(p, INK_DIM, "  ", 2,
					 text_format("%s%s%sconfidence %s, figures %s", *saving ? "saves up to " : "", saving,
						     *saving ? "; " : "", tune_confidence(f->confidence),
						     analysis_source_text(f->kind->source)));
		if (rc == 0 && f->process) {
			char *argv = text_argv(f->process->argv, f->process->argv_cut, p->unicode, 200);

			rc = argv ? paint_taken(p, INK_DIM, "  ", 4, text_format("look at pid %llu: %s",
									   (unsigned long long)f->process->pid, argv))
				  : -ENOMEM;
			free(argv);
		}
	}
	free(saving);
	free(name);
	return rc;
}

static int print_none(const struct paint *p, const struct analysis *a, const struct lake_report *r)
{
	size_t kinds = 0;
	double shortest;

	while (analysis_kinds[kinds])
		kinds++;
	if (analysis_too_short(a, &shortest))
		return paint_taken(p, INK_NONE, "", 0,
				   text_format("The run is shorter than %.0f s: too short to judge (--set gate.wall=0 does so).",
					       shortest));
	return paint_taken(p, INK_GREEN, "", 0,
			   text_format("Nothing to change: none of %zu kinds of findings applies%s.", kinds,
				       r->n_tasks ? "" : "; the run has no tasks, so nothing is known of requests"));
}

/* "with 20 earlier runs of align; 13 older ones are left out" */
static int print_history(const struct paint *p, const struct lake_run *run, const struct tune_history *h)
{
	char *name = text_safe(*run->pipeline ? run->pipeline : run->name, p->unicode), *left_out;
	int rc;

	if (!h->n) {
		free(name);
		return 0;
	}
	left_out = h->left_out ? text_format("; %zu%s older one%s left out", h->left_out, h->more ? " and more" : "",
					     h->left_out == 1 && !h->more ? " is" : "s are")
			       : text_format("%s", "");
	rc = name && left_out ? paint_taken(p, INK_DIM, "", 0,
					    text_format("with %zu earlier run%s of %s%s", h->n, h->n == 1 ? "" : "s", name, left_out))
			      : -ENOMEM;
	free(left_out);
	free(name);
	return rc;
}

int tune_text(const struct lake_report *r, const struct analysis *a, const struct tune_history *history,
	      const struct tune_price *price, FILE *out, const struct paint_style *style)
{
	const struct lake_run *run = &r->run;
	const struct finding *findings;
	const size_t n = analysis_findings(a, &findings);
	const uint64_t lost = lake_run_lost(run);
	struct analysis_path *path = NULL;
	char count[HUMAN_SIZE], *name;
	struct paint p;
	int rc;

	paint_init(&p, out, style);
	name = text_safe(*run->name ? run->name : run->id, p.unicode);
	if (!name)
		return -ENOMEM;
	paint(&p, INK_BOLD, "%s", name);
	fprintf(out, "  %s%s%s\n", run->id, *run->engine ? "  " : "", run->engine);
	free(name);
	rc = print_history(&p, run, history);
	rc = rc ? rc : print_tasks(&p, a, run->id, history->n > 0);
	if (rc == 0)
		rc = analysis_path_new(a, &path);
	if (rc == 0)
		rc = print_path(&p, path);
	analysis_path_free(path);
	if (rc == 0) {
		paint_title(&p, "Findings", n > 1 ? human_count(n, count) : "");
		rc = n ? 0 : print_none(&p, a, r);
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = print_finding(&p, price, &findings[i]);
	if (rc == 0 && lost)
		rc = paint_taken(&p, INK_RED, "", 2,
				 text_format("%s records of this run were lost: figures may be too small, and a finding be missing; the "
					     "confidence of each finding is a step lower for that.",
					     human_count(lost, count)));
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}
