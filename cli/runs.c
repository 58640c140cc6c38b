/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/runs.c - `skep runs`: the runs that a lake knows, newest first.
 */
#include "cli/runs.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/human.h"
#include "cli/paint.h"
#include "cli/question.h"
#include "cli/reason.h"
#include "cli/report_json.h"
#include "cli/skep.h"
#include "cli/table.h"
#include "cli/text.h"
#include "lake/lake.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MOST    1000000

const char cmd_runs_help[] = "  --limit N     at most N runs (default 20; 0: all of them)\n"
			     "  --json        for programs: a list of objects\n"
			     "  --lake PATH   the lake to ask (default: $SKEP_LAKE, as root /var/lib/skep/lake,\n"
			     "                else ~/.local/share/skep/lake, and where that\n"
			     "                is not there: /var/lib/skep/lake, for group skep)\n"
			     "\n"
			     "`skep show ID` reports one; the beginning of an id is enough, a name takes its newest.\n";

/* ---- for people ----------------------------------------------------------- */

/* Where the line is short, bytes are left to `skep show`, and the year to the id. */
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

int runs_print(const struct lake_runs *runs, FILE *out, const struct report_style *style)
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
		rc = report_json_write(runs_json(runs), stdout);
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

int cmd_runs(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "limit", required_argument, NULL, 'n' },
		{ "lake", required_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	unsigned long limit = LIMIT_DEFAULT;
	const char *lake_path = NULL;
	bool json = false;
	int got;

	opterr = 0;
	while ((got = getopt_long(argc, argv, ":hn:", longs, NULL)) != -1) {
		switch (got) {
		case 'n':
			if (question_number(optarg, 0, LIMIT_MOST, &limit))
				return skep_usage("runs", "--limit '%s' is not a number from 0 to %d", optarg,
						  LIMIT_MOST);
			break;
		case 'l':
			lake_path = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			return skep_help("runs");
		default:
			return skep_usage_option("runs", got, argv, longs);
		}
	}
	if (optind < argc)
		return skep_usage("runs", "what is '%s'? To report one run: skep show %s", argv[optind], argv[optind]);
	return answer(lake_path, limit, json);
}
