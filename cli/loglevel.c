/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/loglevel.c - `skep loglevel`: prints or sets the log level of a running skepd.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/json_out.h"
#include "cli/base/skep.h"
#include "core/control/control_request.h"

static int run_loglevel(int argc, char **argv);

const struct command cmd_loglevel = {
	.name = "loglevel",
	.operands = "[LEVEL]",
	.summary = "show or set how much the running skepd logs",
	.about = "LEVEL is error, warning, notice, info or debug; without one, skep prints the present level. "
		 "It holds until skepd ends.\n",
	.options = answer_options,
	.most = 1,
	.run = run_loglevel,
};

static int run_loglevel(int argc, char **argv)
{
	struct answer_options options = { 0 };
	int status = command_parse(&cmd_loglevel, argc, argv, &options);
	json_t *request, *answer = NULL;
	struct ctl *ctl = NULL;

	if (status >= 0)
		return status;
	if (optind < argc && !control_level(argv[optind]))
		return skep_usage("loglevel", "'%s' is no level: error, warning, notice, info or debug", argv[optind]);
	status = ctl_open("loglevel", options.socket, &ctl);
	if (status)
		return status;
	request = json_pack("{s:s}", "request", "loglevel");
	if (optind < argc && json_object_set_new(request, "level", json_string(argv[optind])) < 0) {
		json_decref(request);
		request = NULL;
	}
	status = ctl_ask("loglevel", ctl, request, &answer);
	if (status == SKEP_EXIT_OK && options.json)
		json_out_write(json_incref(answer), stdout);
	else if (status == SKEP_EXIT_OK && optind == argc)
		puts(answer_text(answer, "level"));
	json_decref(answer);
	ctl_close(ctl);
	return status;
}
