/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/commands.c - the table of subcommands, their help, and how wrong usage is answered.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <skep/utf8.h>
#include <string.h>

#include "cli/skep.h"
#include "filters/suggest.h"

const struct skep_command skep_commands[] = {
	{
		.name = "run",
		.usage = "[--name N] [--pipeline P] [--lake PATH] [--json FILE] [--] CMD [ARG...]",
		.summary = "run a command and report all that it ran",
		.collects = true,
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
	{
		.name = "lake",
		.usage = "init --clickhouse URL [--database NAME] [--keep DAYS] [--user NAME --password-file FILE] [--ca-file FILE] [--print VERSION]",
		.summary = "make the lake's tables in ClickHouse, or bring them up to date",
		.help = cmd_lake_help,
		.run = cmd_lake,
	},
	{
		.name = "status",
		.usage = "[--json] [--socket PATH]",
		.summary = "show what the running skepd does, costs and has lost",
		.help = cmd_status_help,
		.run = cmd_status,
	},
	{
		.name = "plugins",
		.usage = "[NAME] [--json] [--socket PATH]",
		.summary = "list the running skepd's plugins, or all about one",
		.help = cmd_plugins_help,
		.run = cmd_plugins,
	},
	{
		.name = "stats",
		.usage = "[--prometheus] [--json] [--socket PATH]",
		.summary = "show what the running skepd measures of itself",
		.help = cmd_stats_help,
		.run = cmd_stats,
	},
	{
		.name = "rules",
		.usage = "[--json] [--socket PATH]",
		.summary = "list the running skepd's rules, and what each has decided",
		.help = cmd_rules_help,
		.run = cmd_rules,
	},
	{
		.name = "reload",
		.usage = "[--check] [--json] [--socket PATH]",
		.summary = "have the running skepd take over its changed configuration",
		.help = cmd_reload_help,
		.run = cmd_reload,
	},
	{
		.name = "attach",
		.usage = "DETAIL [--for TIME] [--run R | --cgroup PATH | --pid PID] [--quiet] [--json]",
		.summary = "measure in detail for some time, by the running skepd",
		.help = cmd_attach_help,
		.run = cmd_attach,
	},
	{
		.name = "detach",
		.usage = "ID [--json] [--socket PATH]",
		.summary = "end a detail before its time",
		.help = cmd_detach_help,
		.run = cmd_detach,
	},
	{
		.name = "doctor",
		.usage = "[--local] [--config FILE] [--json] [--socket PATH]",
		.summary = "tell what can be measured here, how, and what not and why",
		.collects = true,
		.help = cmd_doctor_help,
		.run = cmd_doctor,
	},
	{
		.name = "support-bundle",
		.usage = "[-o FILE] [--config FILE] [--socket PATH]",
		.summary = "put what somebody who helps has to know into one file, without secrets",
		.help = cmd_support_bundle_help,
		.run = cmd_support_bundle,
	},
	{
		.name = "spool",
		.usage = "[status | check | dead | recover FILE | drop SINK | drop --dead [SINK]] [--spool PATH] [--json]",
		.summary = "look into what is on its way to sinks, and mend it",
		.help = cmd_spool_help,
		.run = cmd_spool,
	},
	{
		.name = "filter",
		.usage = "test [EXPRESSION] [--rules PATH...] [FILE] | explain PID | schema",
		.summary = "try rules on processes, and tell which takes which and why",
		.help = cmd_filter_help,
		.run = cmd_filter,
	},
	{
		.name = "loglevel",
		.usage = "[LEVEL] [--json] [--socket PATH]",
		.summary = "show or set how much the running skepd logs",
		.help = cmd_loglevel_help,
		.run = cmd_loglevel,
	},
	{
		.name = "plugin",
		.usage = "check [--option NAME=VALUE...] [--no-start] [--json] FILE.so | new KIND NAME [DIR]",
		.summary = "for those who write plugins: begin one, check one",
		.help = cmd_plugin_help,
		.run = cmd_plugin,
	},
	{ 0 },
};

const struct skep_command *skep_command_find(const char *name)
{
	for (const struct skep_command *c = skep_commands; c->name; c++) {
		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

/* Names of files and programs get into messages: none may move the terminal's cursor (docs/text.md). */
static void __attribute__((format(printf, 2, 0))) say(const char *command, const char *fmt, va_list ap)
{
	char *text = NULL, *shown = NULL;
	int n = vasprintf(&text, fmt, ap);

	fprintf(stderr, "skep%s%s: ", *command ? " " : "", command);
	if (n >= 0)
		shown = malloc(4 * (size_t)n + 1);
	for (char *line = text, *stop; shown && line; line = stop ? stop + 1 : NULL) { /* an expression and its ^~~ are lines */
		stop = strchr(line, '\n');
		fwrite(shown, 1, skep_utf8_shown(line, stop ? (size_t)(stop - line) : strlen(line), shown), stderr);
		fputc('\n', stderr);
	}
	free(shown);
	if (n >= 0)
		free(text);
}

void skep_say(const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(command, fmt, ap);
	va_end(ap);
}

int skep_usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(command, fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try `skep %s%s`.\n", *command ? "help " : "--help", command);
	return SKEP_EXIT_USAGE;
}

int skep_fail(const char *command, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(command, fmt, ap);
	va_end(ap);
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
		nearest = suggest_nearest(word, names); /* one of the table's, so it outlives the list */
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

int skep_unknown(const char *name)
{
	const char *names[sizeof(skep_commands) / sizeof(*skep_commands) + 1], *nearest;
	size_t n = 0;

	for (const struct skep_command *c = skep_commands; c->name; c++)
		names[n++] = c->name;
	names[n++] = "help";
	names[n] = NULL;
	nearest = suggest_nearest(name, names);
	if (nearest)
		return skep_usage("", "unknown command '%s'; did you mean '%s'?", name, nearest);
	return skep_usage("", "unknown command '%s'; to run a program: skep run -- %s", name, name);
}

int skep_help(const char *command)
{
	const struct skep_command *c = skep_command_find(command);

	if (!c)
		return skep_unknown(command);
	printf("usage: skep %s %s\n\n%c%s.\n\n%s", c->name, c->usage, c->summary[0] - 'a' + 'A', c->summary + 1,
	       c->help);
	return SKEP_EXIT_OK;
}
