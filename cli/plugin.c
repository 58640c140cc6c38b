/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plugin.c - `skep plugin`: names its successor, the program skep-dev, for one release.
 */
#include "cli/base/command.h"
#include "cli/base/skep.h"

static int run_plugin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return skep_fail("plugin", SKEP_EXIT_USAGE,
			 "moved to skep-dev new and skep-dev check; install the package skep-dev (rpm: skep-devel)");
}

const struct command cmd_plugin = {
	.name = "plugin",
	.run = run_plugin,
};
