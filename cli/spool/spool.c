/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/spool/spool.c - `skep spool`: prints the batches that wait for each sink, checks the file, and repairs it.
 */
#include "cli/spool/spool.h"

#include <string.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"

struct spool_options {
	const char *path;
	bool json, dead;
};

static const struct command_option words[] = {
	{ "status", .help = "size of the spool, and the backlog of each sink (the default)" },
	{ "check", .help = "check the file's structure, and every batch" },
	{ "dead", .help = "the batches that receivers have refused for good, with the receivers' messages" },
	{ "recover", .value = "FILE",
	  .help = "copy every readable batch of a damaged file, FILE, into the spool" },
	{ "drop", .value = "[SINK]",
	  .help = "forget a sink that is no longer configured; with --dead: delete refused batches" },
	{ 0 },
};

static const struct command_option options[] = {
	{ "dead", .help = "drop: delete only the refused batches, of all sinks or of SINK",
	  COMMAND_AT(struct spool_options, dead) },
	{ "spool", .value = "PATH", .help = "the spool (default: " SPOOL_PATH ")",
	  COMMAND_AT(struct spool_options, path) },
	{ "json", .help = "print JSON, for programs (status, dead)", COMMAND_AT(struct spool_options, json) },
	{ 0 },
};

static int run_spool(int argc, char **argv);

const struct command cmd_spool = {
	.name = "spool",
	.summary = "inspect and repair the spool, which keeps records until sinks have them",
	.words = words,
	.options = options,
	.notes =
		"status, check and dead work while skepd runs; stop skepd for recover and drop. check and recover exit "
		"with 1 when anything was damaged.\n",
	.most = -1,
	.run = run_spool,
};

static int run_spool(int argc, char **argv)
{
	struct spool_options o = { .path = SPOOL_PATH };
	int status = command_parse(&cmd_spool, argc, argv, &o);
	const char *what, *rest;

	if (status >= 0)
		return status;
	what = optind < argc ? argv[optind++] : "status";
	rest = optind < argc ? argv[optind++] : NULL;
	if (optind < argc)
		return skep_usage("spool", "unexpected argument '%s'", argv[optind]);
	if (o.json && strcmp(what, "status") != 0 && strcmp(what, "dead") != 0)
		return skep_usage("spool", "--json goes with status and dead");
	if (o.dead && strcmp(what, "drop") != 0)
		return skep_usage("spool", "--dead goes with drop");
	if (strcmp(what, "recover") == 0)
		return rest ? spool_recover(rest, o.path) : skep_usage("spool", "recover needs a file: skep spool recover FILE");
	if (strcmp(what, "drop") == 0)
		return rest || o.dead ? spool_drop(o.path, rest, o.dead)
				      : skep_usage("spool", "drop needs a sink, or --dead");
	if (rest)
		return skep_usage("spool", "unexpected argument '%s'", rest);
	if (strcmp(what, "status") == 0)
		return spool_status(o.path, o.json);
	if (strcmp(what, "dead") == 0)
		return spool_list_dead(o.path, o.json);
	if (strcmp(what, "check") == 0)
		return spool_check_all(o.path);
	return command_no_word(&cmd_spool, what);
}
