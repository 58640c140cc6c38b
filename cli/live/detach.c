/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/detach.c - `skep detach`: ends a detail, of this or another user.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"

static int run_detach(int argc, char **argv);

const struct command cmd_detach = {
	.name = "detach",
	.operands = "ID",
	.summary = "end an attached detail early",
	.options = answer_options,
	.notes =
		"`skep status` shows the ids of attached details. skepd informs the reader of its records that the "
		"detail has ended.\n",
	.most = 1,
	.run = run_detach,
};

static int run_detach(int argc, char **argv)
{
	struct answer_options options = { 0 };
	int status = command_parse(&cmd_detach, argc, argv, &options);
	json_t *answer = NULL;
	struct ctl *ctl = NULL;
	unsigned long id;

	if (status >= 0)
		return status;
	if (optind == argc)
		return skep_usage("detach", "no detail named: skep status shows the ids");
	if (command_number(argv[optind], 1, LONG_MAX, &id))
		return skep_usage("detach", "'%s' is not an id: a whole number, as skep status shows it", argv[optind]);
	status = ctl_open("detach", options.socket, &ctl);
	if (status == SKEP_EXIT_OK)
		status = ctl_ask("detach", ctl, json_pack("{s:s, s:I}", "request", "detach", "id", (json_int_t)id),
				 &answer);
	if (status == SKEP_EXIT_OK && options.json)
		json_out_write(json_incref(answer), stdout);
	json_decref(answer);
	ctl_close(ctl);
	return status;
}
