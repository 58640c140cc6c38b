/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/show.c - `skep show`: the report of one run.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/question.h"
#include "cli/report.h"
#include "cli/skep.h"
#include "lake/lake.h"

const char cmd_show_help[] = "RUN is a run's id, the beginning of one, its name (then its newest), or `last`,\n"
			     "which is also what is shown when no RUN is given.  `skep runs` lists them.\n"
			     "\n"
			     "  --processes   every process as well, as a tree\n"
			     "  --json        everything, for programs\n"
			     "  --width N     columns of the text (80 to 400; default: the terminal's)\n"
			     "  --lake PATH   the lake to ask (default: $SKEP_LAKE, as root /var/lib/skep/lake,\n"
			     "                else ~/.local/share/skep/lake, and where that\n"
			     "                is not there: /var/lib/skep/lake, for group skep)\n"
			     "\n"
			     "How to read it: `cores` is CPU time by wall time, while the tool ran; `peak` that of\n"
			     "its busiest sample; `RSS peak` is that of the largest process; `read` and `written`\n"
			     "are bytes of storage, what came from caches left out; `queued` is the time in which\n"
			     "it was ready to run and waited for a CPU.  NO_COLOR turns colours off.\n";

static int answer(const char *lake_path, const char *which, bool json, const struct report_style *style)
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

int cmd_show(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "lake", required_argument, NULL, 'l' }, { "json", no_argument, NULL, 'j' },
		{ "processes", no_argument, NULL, 'p' },  { "width", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },       { 0 },
	};
	struct report_style style = { 0 };
	const char *lake_path = NULL;
	unsigned long width;
	bool json = false;
	int got;

	opterr = 0;
	/* RUN may stand before the options, so no '+' here. */
	while ((got = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (got) {
		case 'l':
			lake_path = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'p':
			style.processes = true;
			break;
		case 'w':
			if (question_number(optarg, 80, 400, &width))
				return skep_usage("show", "--width '%s' is not a number from 80 to 400", optarg);
			style.width = (unsigned)width;
			break;
		case 'h':
			return skep_help("show");
		default:
			return skep_usage_option("show", got, argv, longs);
		}
	}
	if (argc - optind > 1)
		return skep_usage("show", "one run at a time, not '%s' as well", argv[optind + 1]);
	return answer(lake_path, optind < argc ? argv[optind] : "last", json, &style);
}
