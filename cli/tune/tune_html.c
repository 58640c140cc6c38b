/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune_html.c - writes a run as a page, with the answers of `skep show` and `skep tune`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"
#include "cli/tune/tune.h"
#include "cli/web/html.h"

/* The answer of `skep show --json --columns`, or of `skep tune --json`. The caller frees *ret. */
static int answer_of(struct lake *lake, const struct lake_report *report, struct engine_names *names, bool tune,
		     char **ret, char *why, size_t room)
{
	size_t size;
	FILE *out = open_memstream(ret, &size);
	int rc;

	snprintf(why, room, "out of memory");
	if (!out)
		return -ENOMEM;
	rc = tune ? tune_report_json(lake, report, names, out, why, room)
		  : report_json_print_as(report, REPORT_JSON_COLUMNS, out);
	return fclose(out) != 0 && rc == 0 ? -ENOMEM : rc;
}

int tune_report_html(struct lake *lake, const struct lake_report *report, struct engine_names *names, const char *tab,
		     const char *tuned, FILE *out, char *why, size_t room)
{
	char page[160], run[128], tune[128], *shown = NULL, *computed = NULL;
	struct html_answer answers[] = { { .path = run }, { .path = tune } };
	const char *id = report->run.id;
	int rc = answer_of(lake, report, names, false, &shown, why, room);

	if (rc == 0 && !tuned)
		rc = answer_of(lake, report, names, true, &computed, why, room);
	if (rc == 0) {
		snprintf(page, sizeof(page), "#/run/%s%s", id, tab);
		snprintf(run, sizeof(run), "/api/run/%s", id);
		snprintf(tune, sizeof(tune), "/api/tune/%s", id);
		answers[0].json = shown;
		answers[0].len = strlen(shown);
		answers[1].json = tuned ? tuned : computed;
		answers[1].len = strlen(answers[1].json);
		rc = html_write(page, answers, 2, out, why, room);
	}
	free(shown);
	free(computed);
	return rc;
}
