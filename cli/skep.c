/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/skep.c - skep: the table of subcommands, help, and how wrong usage is answered.
 */
#include "cli/skep.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <locale.h>
#include <skep/plugin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lakepath.h"
#include "core/config.h"

#ifndef SKEP_VERSION
#define SKEP_VERSION "unknown"
#endif

const struct skep_command skep_commands[] = {
	{
		.name = "run",
		.usage = "[--name N] [--pipeline P] [--lake PATH] [--json FILE] [--] CMD [ARG...]",
		.summary = "run a command and report all that it ran",
		.help = cmd_run_help,
		.run = cmd_run,
	},
	{
		.name = "show",
		.usage = "[RUN|last] [--lake PATH] [--json] [--processes] [--width N]",
		.summary = "report a run: its tools, their cost and times, its failures",
		.help = cmd_show_help,
		.run = cmd_show,
	},
	{
		.name = "runs",
		.usage = "[--limit N] [--lake PATH] [--json]",
		.summary = "list runs, newest first",
		.help = cmd_runs_help,
		.run = cmd_runs,
	},
	{0},
};

const struct skep_command *skep_command_find(const char *name)
{
	for (const struct skep_command *c = skep_commands; c->name; c++) {
		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

int skep_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "skep%s%s: ", *command ? " " : "", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry `skep %s%s`.\n", *command ? "help " : "--help", command);
	return SKEP_EXIT_USAGE;
}

int skep_fail(const char *command, int status, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "skep%s%s: ", *command ? " " : "", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

/* The option nearest to what was typed, without its dashes and its value; NULL: none is near. */
static const char *suggest_option(const char *typed, const struct option *longs)
{
	const char **names, *nearest = NULL;
	size_t n = 0;
	char *word;

	typed += strspn(typed, "-");
	word = strndup(typed, strcspn(typed, "="));
	while (longs[n].name)
		n++;
	names = calloc(n + 1, sizeof(*names));
	if (word && names) {
		for (size_t i = 0; i < n; i++)
			names[i] = longs[i].name;
		nearest = config_suggest(word, names); /* one of the table's, so it outlives the list */
	}
	free(names);
	free(word);
	return nearest;
}

int skep_usage_option(const char *command, int got, char **argv, const struct option *longs)
{
	const char *typed = argv[optind - 1], *nearest = NULL;

	if (got == ':')
		return skep_usage(command, "option %s needs a value", typed);
	if (strncmp(typed, "--", 2) == 0)
		nearest = suggest_option(typed, longs);
	/* getopt has not moved on while it is inside of "-abc". */
	else if (optopt)
		return skep_usage(command, "unknown option -%c", optopt);
	if (nearest && strncmp(typed + 2, nearest, strlen(nearest)) == 0 && typed[2 + strlen(nearest)] == '=')
		return skep_usage(command, "option --%s takes no value", nearest);
	if (nearest)
		return skep_usage(command, "unknown option %s; did you mean --%s?", typed, nearest);
	return skep_usage(command, "unknown option %s", typed);
}

static void print_overview(FILE *out)
{
	fputs("skep reports what a command ran: every process, exact CPU, memory and I/O.\n\n"
	      "usage: skep COMMAND [OPTION...]\n\n",
	      out);
	for (const struct skep_command *c = skep_commands; c->name; c++)
		fprintf(out, "  %-8s %s\n", c->name, c->summary);
	fputs("  help     explain a command: skep help show\n\n"
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

/* "skep nmae ...": the nearest name, if any is near. */
static int unknown_command(const char *name)
{
	const char *names[sizeof(skep_commands) / sizeof(*skep_commands) + 1], *nearest;
	size_t n = 0;

	for (const struct skep_command *c = skep_commands; c->name; c++)
		names[n++] = c->name;
	names[n++] = "help";
	names[n] = NULL;
	nearest = config_suggest(name, names);
	if (nearest)
		return skep_usage("", "unknown command '%s'; did you mean '%s'?", name, nearest);
	return skep_usage("", "unknown command '%s'; to run a program: skep run -- %s", name, name);
}

int skep_help(const char *command)
{
	const struct skep_command *c = skep_command_find(command);

	if (!c)
		return unknown_command(command);
	printf("usage: skep %s %s\n\n%c%s.\n\n%s", c->name, c->usage, c->summary[0] - 'a' + 'A', c->summary + 1, c->help);
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
	return c ? c->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

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
