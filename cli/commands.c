/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/commands.c - the commands of skep: one line for each, in the order of `skep --help`.
 */
#include "cli/base/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "cli/base/concepts_txt.h"
#include "cli/base/lakepath.h"

#define COMMANDS(X)       \
	X(run)            \
	X(show)           \
	X(runs)           \
	X(top)            \
	X(tune)           \
	X(diff)           \
	X(cost)           \
	X(audit)          \
	X(hosts)          \
	X(sweep)          \
	X(web)            \
	X(lake)           \
	X(status)         \
	X(plugins)        \
	X(stats)          \
	X(rules)          \
	X(recognize)      \
	X(reload)         \
	X(attach)         \
	X(detach)         \
	X(doctor)         \
	X(support_bundle) \
	X(spool)          \
	X(filter)         \
	X(loglevel)       \
	X(plugin)

#define DECLARATION(name) extern const struct command cmd_##name;
#define ENTRY(name)       &cmd_##name,

COMMANDS(DECLARATION)

static const struct command *const commands[] = { COMMANDS(ENTRY) NULL };

static void version(void)
{
	char *lake = NULL;
	int rc = lake_default_path(&lake);

	printf("jansson      %s (built with %s)\n", jansson_version_str(), JANSSON_VERSION);
	printf("lake         %s\n", rc == 0 ? lake : rc == -EINVAL ? "none: skep.conf has an error" : "none: HOME is not set");
	free(lake);
}

const struct command_program skep_program = {
	.name = "skep",
	.about = "skep reports what a command ran: every process, exact CPU, memory and I/O.",
	.begin = "skep run -- make",
	.commands = commands,
	.concepts = concepts_txt,
	.version = version,
};
