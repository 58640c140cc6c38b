/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_text.c - prints a run's report as text: head, losses, failures, totals, tasks,
 * tools, time line, and the accuracy of the figures.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/report/gantt.h"
#include "cli/report/report.h"
#include "cli/report/report_parts.h"
#include "cli/report/report_tasks.h"
#include "cli/report/report_tools.h"
#include "cli/report/tree.h"

#define ROWS_DEFAULT 12

static size_t rows_of(const struct paint_style *style)
{
	return style && style->rows ? style->rows : ROWS_DEFAULT;
}

static int print_tools(const struct report *r)
{
	if (r->lake->n_tools == 0)
		return 0;
	paint_title(&r->paint, "Tools", "");
	return report_tools_print(&r->paint, r->lake, r->tools, r->n_tools);
}

static int print_time_line(const struct report *r, size_t rows)
{
	struct gantt_name *names = NULL;
	bool tasks = r->lake->n_tasks > 0;
	size_t n = r->n_tools;
	int rc = 0;

	if (tasks)
		rc = report_tasks_names(r->lake, rows, &names, &n);
	else
		names = calloc(n + 1, sizeof(*names));
	if (rc == 0 && !names)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && !tasks && i < n; i++)
		names[i] = (struct gantt_name){ .name = r->lake->tools[r->tools[i]].tool,
						.first_start_ns = r->lake->tools[r->tools[i]].first_start_ns };
	if (rc == 0)
		rc = gantt_print(&r->paint, r->lake, r->failures, names, n, tasks);
	free(names);
	return rc;
}

static int print_all(const struct report *r, const struct paint_style *style)
{
	/* A reader first wants to know why the run failed; minor failures come later. */
	bool failed = r->failures->n && r->failures->list[0].severity == FAILURE_ERROR;
	int rc;

	rc = report_head(r);
	if (rc == 0)
		rc = report_losses(r);
	if (rc == 0)
		rc = report_environ(r);
	if (rc == 0 && failed)
		rc = report_failures(r);
	if (rc == 0)
		rc = report_totals(r);
	if (rc == 0)
		rc = report_tasks_print(&r->paint, r->lake, style && style->tasks);
	if (rc == 0)
		rc = print_tools(r);
	if (rc == 0)
		rc = print_time_line(r, rows_of(style));
	if (rc == 0 && !failed)
		rc = report_failures(r);
	if (rc == 0)
		rc = report_advice(r);
	if (rc == 0)
		rc = report_unended(r);
	if (rc == 0 && style && style->processes && r->lake->n_processes)
		rc = tree_print(&r->paint, r->family);
	return rc ? rc : report_accuracy(r);
}

int report_print(const struct lake_report *lake, FILE *out, const struct paint_style *style)
{
	struct report r = { .lake = lake, .end_ns = accuracy_end(lake) };
	int rc;

	paint_init(&r.paint, out, style);
	rc = family_new(lake, &r.family);
	if (rc == 0)
		rc = failures_new(r.family, &r.failures);
	if (rc == 0)
		rc = report_tools_select(lake, rows_of(style), &r.tools, &r.n_tools);
	if (rc == 0) {
		accuracy_of(r.family, &r.accuracy);
		rc = print_all(&r, style);
	}
	free(r.tools);
	failures_free(r.failures);
	family_free(r.family);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}
