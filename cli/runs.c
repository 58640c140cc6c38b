/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/runs.c - `skep runs`: prints the runs in a lake, newest first.
 */
#include "cli/runs.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/paint.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/report/reason.h"
#include "cli/report/report.h"
#include "lake/lake.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MOST    1000000

struct runs_options {
	unsigned long limit;
	const char *lake;
	bool json;
};

static const struct command_option options[] = {
	{ "limit", 'n', "N", "at most N runs (default 20; 0: all of them)", .max = LIMIT_MOST,
	  COMMAND_AT(struct runs_options, limit) },
	{ "json", .help = "for programs: a list of objects", COMMAND_AT(struct runs_options, json) },
	QUESTION_LAKE(struct runs_options, lake),
	{ 0 },
};

static int run_runs(int argc, char **argv);

const struct command cmd_runs = {
	.name = "runs",
	.summary = "list runs, newest first",
	.options = options,
	.notes = "`skep show ID` reports one; the beginning of an id is enough, a name finds its newest run.\n",
	.most = -1,
	.run = run_runs,
};

/* ---- for people ----------------------------------------------------------- */

/* Adds a run's row. On a narrow terminal it lacks the bytes, which `skep show` has, and the year, which the id has. */
static int add_run(struct table *t, const struct paint *p, const struct lake_run *run, bool wide)
{
	bool failed = run->signal || run->exit_code > 0;
	enum ink ink = failed ? INK_RED : run->exit_code == 0 ? INK_GREEN : INK_YELLOW;
	unsigned units = paint_units(p) | HUMAN_SHORT;
	char buf[HUMAN_SIZE], signal[REASON_SIGNAL_SIZE];
	char *id = text_safe(run->id, p->unicode), *name = text_safe(run->name, p->unicode);
	int rc = -ENOMEM;

	if (!id || !name)
		goto out;
	table_cell(t, INK_BOLD, "%s", id);
	human_date(run->start_ns, HUMAN_DATE | HUMAN_CLOCK, buf);
	if (wide)
		table_cell(t, INK_DIM, "%s", buf);
	else
		table_cell(t, INK_DIM, "%.11s", strlen(buf) > 5 ? buf + 5 : buf); /* 11-21 03:48 */
	table_cell(t, INK_NONE, "%s",
		   run->end_ns > run->start_ns ? human_time(run->end_ns - run->start_ns, units, buf) : "-");
	if (run->signal)
		table_cell(t, ink, "%s", reason_signal(run->signal, signal));
	else if (run->exit_code >= 0)
		table_cell(t, ink, "%s%d", run->exit_code ? "exit " : "", (int)run->exit_code);
	else
		table_cell(t, ink, "%s", run->end_ns ? "unknown" : "running");
	table_cell(t, INK_NONE, "%s", human_count(run->totals.processes, buf));
	table_cell(t, INK_NONE, "%s", human_time(run->totals.cpu_ns, units, buf));
	table_cell(t, INK_NONE, "%s", human_bytes(run->rss_peak_bytes, units, buf));
	if (wide) {
		table_cell(t, INK_NONE, "%s", human_bytes(run->totals.read_bytes, units, buf));
		table_cell(t, INK_NONE, "%s", human_bytes(run->totals.write_bytes, units, buf));
	}
	table_cell(t, INK_NONE, "%s", name);
	rc = 0;
out:
	free(id);
	free(name);
	return rc;
}

int runs_print(const struct lake_runs *runs, FILE *out, const struct paint_style *style)
{
	static const struct table_column wide[] = {
		{ .title = "run", .left = true },
		{ .title = "started", .left = true },
		{ .title = "elapsed" },
		{ .title = "exit", .left = true },
		{ .title = "procs" },
		{ .title = "CPU" },
		{ .title = "RSS" },
		{ .title = "read" },
		{ .title = "written" },
		{ .title = "name", .left = true, .flex = true },
	};
	static const struct table_column narrow[] = {
		{ .title = "run", .left = true },
		{ .title = "started", .left = true },
		{ .title = "elapsed" },
		{ .title = "exit", .left = true },
		{ .title = "procs" },
		{ .title = "CPU" },
		{ .title = "RSS" },
		{ .title = "name", .left = true, .flex = true },
	};
	struct paint p;
	int rc = 0;

	paint_init(&p, out, style);
	for (int look = 0; look < 2 && rc == 0; look++) {
		struct table *t = look == 0 ? table_new(wide, sizeof(wide) / sizeof(*wide))
					    : table_new(narrow, sizeof(narrow) / sizeof(*narrow));
		bool fits;

		if (!t)
			return -ENOMEM;
		for (size_t i = 0; i < runs->n && rc == 0; i++)
			rc = add_run(t, &p, &runs->runs[i], look == 0);
		fits = look == 1 || table_width(t, 1, 16) <= p.width;
		if (fits && rc == 0)
			rc = table_print(t, &p, 0, table_width(t, 2, 24) <= p.width ? 2 : 1);
		table_free(t);
		if (fits)
			break;
	}
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

/* ---- for programs --------------------------------------------------------- */

json_t *runs_json(const struct lake_runs *runs)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < runs->n; i++) {
		const struct lake_run *run = &runs->runs[i];
		json_t *one = report_json_run(run);

		if (!one ||
		    json_object_set_new(
			    one, "totals",
			    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "processes", (json_int_t)run->totals.processes,
				      "images", (json_int_t)run->totals.images, "cpu_ns",
				      (json_int_t)run->totals.cpu_ns, "rss_peak_bytes", (json_int_t)run->rss_peak_bytes,
				      "read_bytes", (json_int_t)run->totals.read_bytes, "write_bytes",
				      (json_int_t)run->totals.write_bytes)) != 0 ||
		    json_array_append(array, one) != 0) {
			json_decref(one);
			json_decref(array);
			return NULL;
		}
		json_decref(one);
	}
	return array;
}

/* ---- the command ---------------------------------------------------------- */

static int answer(const char *lake_path, size_t limit, bool json)
{
	struct lake *lake = NULL;
	struct lake_runs *runs = NULL;
	char why[512] = "";
	int rc, status;

	status = question_open("runs", lake_path, &lake);
	if (status)
		return status;
	rc = lake_runs(lake, limit, &runs, why, sizeof(why));
	if (rc) {
		status = skep_fail("runs", SKEP_EXIT_RUNTIME, "%s", why);
		goto out;
	}
	if (json)
		rc = json_out_write(runs_json(runs), stdout);
	else if (runs->n)
		rc = runs_print(runs, stdout, NULL);
	else
		puts("no runs yet; make one: skep run -- make");
	if (rc)
		status = skep_fail("runs", SKEP_EXIT_RUNTIME, "cannot write the list: %s", strerror(-rc));
out:
	lake_runs_free(runs);
	lake_close(lake);
	return status;
}

static int run_runs(int argc, char **argv)
{
	struct runs_options o = { .limit = LIMIT_DEFAULT };
	int status = command_parse(&cmd_runs, argc, argv, &o);

	if (status >= 0)
		return status;
	if (optind < argc)
		return skep_usage("runs", "unexpected argument '%s': to report one run, skep show %s", argv[optind], argv[optind]);
	return answer(o.lake, o.limit, o.json);
}
