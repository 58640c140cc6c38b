/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/detach.c - `skep detach`: ends a detail, whoever attached it.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "cli/answer.h"
#include "cli/ctl.h"
#include "cli/question.h"
#include "cli/report_json.h"
#include "cli/skep.h"

const char cmd_detach_help[] = ANSWER_HELP "\n"
			       "`skep status` shows the ids of what is attached. Whoever reads its records is told that\n"
			       "it has ended.\n";

int cmd_detach(int argc, char **argv)
{
	struct answer_options options = { 0 };
	int status = answer_parse("detach", argc, argv, 1, &options);
	json_t *answer = NULL;
	struct ctl *ctl = NULL;
	unsigned long id;

	if (status >= 0)
		return status;
	if (optind == argc)
		return skep_usage("detach", "which one? skep status shows the ids");
	if (question_number(argv[optind], 1, LONG_MAX, &id))
		return skep_usage("detach", "'%s' is not an id: a whole number, as skep status shows it", argv[optind]);
	status = ctl_open("detach", options.socket, &ctl);
	if (status == SKEP_EXIT_OK)
		status = ctl_ask("detach", ctl, json_pack("{s:s, s:I}", "request", "detach", "id", (json_int_t)id), &answer);
	if (status == SKEP_EXIT_OK && options.json)
		report_json_write(json_incref(answer), stdout);
	json_decref(answer);
	ctl_close(ctl);
	return status;
}
