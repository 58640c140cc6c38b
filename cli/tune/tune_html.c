/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune_html.c - writes a run as a page, with the answers of `skep show` and `skep tune`.
 */
#include "cli/report/report.h"
#include "cli/tune/tune.h"
#include "cli/web/html.h"

struct shown {
	struct lake *lake;
	const struct lake_report *report;
	struct engine_names *names;
};

/* As `skep show --json --columns`. */
static int write_shown(const void *arg, FILE *out, char *why, size_t room)
{
	const struct shown *shown = arg;

	(void)why;
	(void)room;
	return report_json_print_as(shown->report, REPORT_JSON_COLUMNS, out);
}

/* As `skep tune --json`. */
static int write_tuned(const void *arg, FILE *out, char *why, size_t room)
{
	const struct shown *shown = arg;

	return tune_report_json(shown->lake, shown->report, shown->names, out, why, room);
}

int tune_report_html(struct lake *lake, const struct lake_report *report, struct engine_names *names, const char *tab,
		     const struct html_answer *tuned, FILE *out, char *why, size_t room)
{
	const struct shown shown = { lake, report, names };
	char page[160], run[128], tune[128];
	const struct html_answer answers[] = {
		{ run, write_shown, &shown },
		{ tune, tuned ? tuned->write : write_tuned, tuned ? tuned->arg : &shown },
	};

	snprintf(page, sizeof(page), "#/run/%s%s", report->run.id, tab);
	snprintf(run, sizeof(run), "/api/run/%s", report->run.id);
	snprintf(tune, sizeof(tune), "/api/tune/%s", report->run.id);
	return html_write(page, answers, 2, out, why, room);
}
