/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/command_main.c - main() of a program of commands: privileges, the first word, standard output.
 */
#include <errno.h>
#include <locale.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/privilege.h"
#include "cli/base/program.h"
#include "cli/base/skep.h"
#include "core/base/streams.h"
#include "core/base/trust.h"
#include "filters/suggest.h"

#ifndef SKEP_VERSION
#define SKEP_VERSION "unknown"
#endif

static const struct command *find(const struct command_program *program, const char *name)
{
	for (const struct command *const *c = program->commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

/* Reports that there is no such command, with the nearest name if any is near. */
static int unknown(const struct command_program *program, const char *name)
{
	const char *names[64] = { "help" }, *nearest;
	const struct command *passes_on = NULL;
	size_t n = 1;

	for (const struct command *const *c = program->commands; *c; c++) {
		if ((*c)->summary && n < sizeof(names) / sizeof(names[0]) - 1)
			names[n++] = (*c)->name;
		passes_on = (*c)->passes_on ? *c : passes_on;
	}
	nearest = suggest_nearest(name, names);
	if (nearest)
		return skep_usage("", "unknown command '%s'; did you mean '%s'?", name, nearest);
	if (passes_on)
		return skep_usage("", "unknown command '%s'; to run a program: %s %s -- %s", name, program->name,
				  passes_on->name, name);
	return skep_usage("", "unknown command '%s'", name);
}

static int help(const struct command_program *program, const char *name)
{
	const struct command *c = find(program, name);

	if (program->concepts && strcmp(name, "concepts") == 0)
		return fputs(program->concepts, stdout) < 0 ? SKEP_EXIT_RUNTIME : SKEP_EXIT_OK;
	return !c ? unknown(program, name) : c->summary ? command_help(c) : c->run(0, NULL);
}

static int version(const struct command_program *program)
{
	printf("%s %s\n", program->name, SKEP_VERSION);
	printf("plugin ABI   %d.%d\n", SKEP_ABI_MAJOR, SKEP_ABI_MINOR);
	printf("compiler     %s\n",
#ifdef __clang__
	       "clang " __clang_version__
#else
	       "gcc " __VERSION__
#endif
	);
	if (program->version)
		program->version();
	return SKEP_EXIT_OK;
}

/*
 * The caller has fewer rights than this process, and chose the command, the environment and the files.  A command that
 * does not collect drops to the caller's rights, and so a program that it executes also has only these rights.
 */
static int begin_privileged(const struct command *c)
{
	int err;

	if (getuid() != geteuid() || getgid() != getegid())
		return skep_fail(
			"", SKEP_EXIT_PRIVILEGE,
			"refused: "
			"%s is set-uid or set-gid, by which its callers would read and write files as another user; "
			"chmod ug-s %s",
			program_path(), program_path());
	if (c && c->collects) {
		privilege_environment();
		return SKEP_EXIT_OK;
	}
	err = privilege_drop();
	if (err < 0)
		return skep_fail("", SKEP_EXIT_PRIVILEGE, "cannot give up the capabilities of %s: %s", program_path(),
				 strerror(-err));
	return SKEP_EXIT_OK;
}

static int dispatch(const struct command_program *program, int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		command_overview(program, stderr);
		return SKEP_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		if (argc > 2)
			return help(program, argv[2]);
		command_overview(program, stdout);
		return SKEP_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return version(program);
	if (argv[1][0] == '-')
		return skep_usage("", "unknown option %s", argv[1]);
	c = find(program, argv[1]);
	return c ? c->run(argc - 1, argv + 1) : unknown(program, argv[1]);
}

int command_main(const struct command_program *program, int argc, char **argv)
{
	int status = SKEP_EXIT_OK;

	(void)streams_begin(); /* without memory for them the usual streams still serve */
	program_begin(program->name);
	/* root may choose anything, although a security module may set AT_SECURE for root, too */
	if (privileged_start() && getuid() != 0)
		status = begin_privileged(argc > 1 ? find(program, argv[1]) : NULL);
	if (status != SKEP_EXIT_OK)
		return status;
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* numbers in reports and JSON have a point */
	status = dispatch(program, argc, argv);
	/* A full disk under `skep show >file` must not look like success. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == SKEP_EXIT_OK)
		status = skep_fail("", SKEP_EXIT_RUNTIME, "cannot write to standard output: %s", strerror(errno));
	return status;
}
