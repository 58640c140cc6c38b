/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/spool.c - `skep spool`: what waits there and for whom, is it sound, and what can be done when not.
 */
#include "cli/spool.h"

#include <getopt.h>
#include <string.h>

#include "cli/skep.h"

const char cmd_spool_help[] =
	"  status         size, backlog, and how far each sink has come (what else: nothing named)\n"
	"  check          is it sound: the file's structure, and every batch\n"
	"  dead           what receivers have refused for good, with their words\n"
	"  recover FILE   take what can be read out of a damaged file, FILE, into the spool\n"
	"  drop SINK      forget a sink that is not configured any more\n"
	"  --dead         drop throws away what was refused for good; with SINK, by that one alone\n"
	"  --spool PATH   the spool (default: " SPOOL_PATH ")\n"
	"  --json         for programs (status, dead)\n"
	"\n"
	"status, check and dead may be asked while skepd runs; recover and drop need it stopped. check and recover\n"
	"end with 1 where anything was damaged.\n";

int cmd_spool(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "spool", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "dead", no_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = SPOOL_PATH, *what, *rest;
	bool json = false, dead = false;
	int got;

	opterr = 0;
	while ((got = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (got) {
		case 's':
			path = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'd':
			dead = true;
			break;
		case 'h':
			return skep_help("spool");
		default:
			return skep_usage_option("spool", got, argv, longs);
		}
	}
	what = optind < argc ? argv[optind++] : "status";
	rest = optind < argc ? argv[optind++] : NULL;
	if (optind < argc)
		return skep_usage("spool", "'%s' is one word too many", argv[optind]);
	if (json && strcmp(what, "status") != 0 && strcmp(what, "dead") != 0)
		return skep_usage("spool", "--json goes with status and dead");
	if (dead && strcmp(what, "drop") != 0)
		return skep_usage("spool", "--dead goes with drop");
	if (strcmp(what, "recover") == 0)
		return rest ? spool_recover(rest, path) : skep_usage("spool", "recover: which file?");
	if (strcmp(what, "drop") == 0)
		return rest || dead ? spool_drop(path, rest, dead) : skep_usage("spool", "drop: which sink, or --dead?");
	if (rest)
		return skep_usage("spool", "'%s' is one word too many", rest);
	if (strcmp(what, "status") == 0)
		return spool_status(path, json);
	if (strcmp(what, "dead") == 0)
		return spool_list_dead(path, json);
	if (strcmp(what, "check") == 0)
		return spool_check_all(path);
	return skep_usage("spool", "there is no '%s': status, check, dead, recover, drop", what);
}
