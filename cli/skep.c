/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/skep.c - skep: main. The subcommands are in commands.c.
 */
#include "cli/skep.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lakepath.h"
#include "cli/privilege.h"
#include "cli/program.h"
#include "core/trust.h"

#ifndef SKEP_VERSION
#define SKEP_VERSION "unknown"
#endif

static void print_overview(FILE *out)
{
	fputs("skep reports what a command ran: every process, exact CPU, memory and I/O.\n\n"
	      "usage: skep COMMAND [OPTION...]\n\n",
	      out);
	for (const struct skep_command *c = skep_commands; c->name; c++)
		fprintf(out, "  %-14s %s\n", c->name, c->summary);
	fputs("  help           explain a command: skep help show\n\n"
	      "  -h, --help     this text\n"
	      "  -V, --version  version and how it was built\n\n"
	      "To begin: skep run -- make\n",
	      out);
}

static int print_version(void)
{
	char *lake = NULL;
	int rc = lake_default_path(&lake);

	printf("skep %s\n", SKEP_VERSION);
	printf("plugin ABI   %d.%d\n", SKEP_ABI_MAJOR, SKEP_ABI_MINOR);
	printf("compiler     %s\n",
#ifdef __clang__
	       "clang " __clang_version__
#else
	       "gcc " __VERSION__
#endif
	);
	printf("jansson      %s (built with %s)\n", jansson_version_str(), JANSSON_VERSION);
	printf("lake         %s\n", rc == 0 ? lake : "none: HOME is not set");
	free(lake);
	return SKEP_EXIT_OK;
}

/*
 * The caller has fewer rights than this process, and chose the command, the environment and the files.  A command that
 * does not collect goes on with the caller's rights alone, and so does the program that it may execute.
 */
static int begin_privileged(const struct skep_command *c)
{
	int err;

	if (getuid() != geteuid() || getgid() != getegid()) {
		fprintf(stderr, "skep: refused: %s is set-uid or set-gid, by which its callers would read and write files as another user; "
				"chmod ug-s %s\n",
			program_path(), program_path());
		return SKEP_EXIT_PRIVILEGE;
	}
	if (c && c->collects) {
		privilege_environment();
		return SKEP_EXIT_OK;
	}
	err = privilege_drop();
	if (err < 0) {
		fprintf(stderr, "skep: cannot give up the capabilities of %s: %s\n", program_path(), strerror(-err));
		return SKEP_EXIT_PRIVILEGE;
	}
	return SKEP_EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
	const struct skep_command *c;

	if (argc < 2) {
		print_overview(stderr);
		return SKEP_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		if (argc > 2)
			return skep_help(argv[2]);
		print_overview(stdout);
		return SKEP_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	if (argv[1][0] == '-')
		return skep_usage("", "unknown option %s", argv[1]);
	c = skep_command_find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : skep_unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status = SKEP_EXIT_OK;

	program_begin();
	if (privileged_start() && getuid() != 0) /* root chooses as it likes: a security module may set AT_SECURE for root, too */
		status = begin_privileged(argc > 1 ? skep_command_find(argv[1]) : NULL);
	if (status != SKEP_EXIT_OK)
		return status;
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* numbers in reports and JSON have a point */
	status = dispatch(argc, argv);
	/* A full disk under `skep show >file` must not look like success. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == SKEP_EXIT_OK) {
		fprintf(stderr, "skep: cannot write to standard output: %s\n", strerror(errno));
		status = SKEP_EXIT_RUNTIME;
	}
	return status;
}
