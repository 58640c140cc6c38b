/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/show.c - `skep show`: prints the report of one run.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/question.h"
#include "cli/base/skep.h"
#include "cli/report/report.h"
#include "lake/lake.h"

struct show_options {
	unsigned long width;
	const char *lake;
	bool json, processes;
};

static const struct command_option options[] = {
	{ "processes", .help = "every process as well, as a tree", COMMAND_AT(struct show_options, processes) },
	{ "json", .help = "everything, for programs", COMMAND_AT(struct show_options, json) },
	{ "width", .value = "N", .help = "columns of the text (80 to 400; default: the terminal's)", .min = 80,
	  .max = 400, COMMAND_AT(struct show_options, width) },
	QUESTION_LAKE(struct show_options, lake),
	{ 0 },
};

static int run_show(int argc, char **argv);

const struct command cmd_show = {
	.name = "show",
	.operands = "[RUN|last]",
	.summary = "report a run: its tools, their cost and times, its failures",
	.about = "RUN is a run's id, the beginning of one, its name (then its newest), or `last`, the default. "
		 "`skep runs` lists them.\n",
	.options = options,
	.notes =
		"How to read it: `cores` is CPU time by wall time, while the tool ran; `peak` that of its busiest sample; "
		"`RSS peak` is that of the largest process; `read` and `written` are bytes of storage, without those from "
		"caches; `queued` is the time in which it was ready to run and waited for a CPU. NO_COLOR turns colours off.\n",
	.most = -1,
	.run = run_show,
};

static int answer(const char *lake_path, const char *which, bool json, const struct paint_style *style)
{
	struct lake *lake = NULL;
	struct lake_report *report = NULL;
	char why[1024] = "";
	int rc, status;

	status = question_open("show", lake_path, &lake);
	if (status)
		return status;
	rc = lake_report(lake, which, &report, why, sizeof(why));
	if (rc)
		status = skep_fail("show", SKEP_EXIT_RUNTIME, "%s", why);
	else
		rc = json ? report_json_print(report, stdout) : report_print(report, stdout, style);
	if (rc && status == SKEP_EXIT_OK)
		status = skep_fail("show", SKEP_EXIT_RUNTIME, "cannot write the report: %s", strerror(-rc));
	lake_report_free(report);
	lake_close(lake);
	return status;
}

static int run_show(int argc, char **argv)
{
	struct show_options o = { 0 };
	int status = command_parse(&cmd_show, argc, argv, &o);
	const struct paint_style style = { .width = (unsigned)o.width, .processes = o.processes };

	if (status >= 0)
		return status;
	if (argc - optind > 1)
		return skep_usage("show", "unexpected argument '%s': one run at a time", argv[optind + 1]);
	return answer(o.lake, optind < argc ? argv[optind] : "last", o.json, &style);
}
