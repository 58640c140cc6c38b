/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/dev.c - the commands of skep-dev.
 */
#include "cli/base/command.h"

extern const struct command cmd_new, cmd_check;

static const struct command *const commands[] = {
	&cmd_new,
	&cmd_check,
	NULL,
};

const struct command_program skep_dev_program = {
	.name = "skep-dev",
	.about = "skep-dev begins plugins of skep (probes, sinks, recognizers) and checks them.",
	.begin = "skep-dev new probe-proc NAME",
	.commands = commands,
};
