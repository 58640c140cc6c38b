/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/skep.h - the subcommands of `skep`: one descriptor and one function each.
 */
#ifndef SKEP_CLI_SKEP_H
#define SKEP_CLI_SKEP_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes a script may rely on. */
enum skep_exit {
	SKEP_EXIT_OK = 0,
	SKEP_EXIT_RUNTIME = 1,
	SKEP_EXIT_USAGE = 2,
	SKEP_EXIT_CONFIG = 3,
	SKEP_EXIT_PRIVILEGE = 4, /* privilege or kernel */
	SKEP_EXIT_ABI = 5,       /* a plugin's ABI */
};

/* After a privileged start, of an option and its value: it would choose what runs with the capabilities of the program's file. */
#define SKEP_NO_CHOICE "%s %s: refused: the file of this program has capabilities, and its caller must not choose the code that gets them; use sudo"

struct skep_command {
	const char *name;
	const char *usage;   /* what follows the name: "[--limit N] [--json]" */
	const char *summary; /* one line for `skep --help` */
	bool collects;       /* keeps what capabilities the program's file gave it */
	const char *help;    /* the options and what else `skep help NAME` says; ends in a newline */
	/* argv[0] is the subcommand's name. Returns the process's exit status. */
	int (*run)(int argc, char **argv);
};

/* The table ends with an entry whose name is NULL. */
extern const struct skep_command skep_commands[];
const struct skep_command *skep_command_find(const char *name);

int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_runs(int argc, char **argv);
int cmd_lake(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_plugin(int argc, char **argv);
int cmd_plugins(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_support_bundle(int argc, char **argv);
int cmd_filter(int argc, char **argv);
int cmd_loglevel(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_spool(int argc, char **argv);
int cmd_stats(int argc, char **argv);
/* Help texts live beside their command. */
extern const char cmd_run_help[];
extern const char cmd_show_help[];
extern const char cmd_runs_help[];
extern const char cmd_lake_help[];
extern const char cmd_status_help[];
extern const char cmd_plugin_help[];
extern const char cmd_plugins_help[];
extern const char cmd_attach_help[];
extern const char cmd_detach_help[];
extern const char cmd_doctor_help[];
extern const char cmd_support_bundle_help[];
extern const char cmd_filter_help[];
extern const char cmd_loglevel_help[];
extern const char cmd_reload_help[];
extern const char cmd_rules_help[];
extern const char cmd_spool_help[];
extern const char cmd_stats_help[];

/*
 * For wrong usage: "skep NAME: message" and a hint to stderr; returns
 * SKEP_EXIT_USAGE, so that a command can `return skep_usage("run", ...)`.
 */
int skep_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * The option that stood at argv[optind - 1] is unknown or lacks its value: what
 * getopt_long returned '?' or ':' for (call it with opterr = 0 and an optstring that
 * begins with "+:").  longs: the same table, for a suggestion.
 */
struct option;
int skep_usage_option(const char *command, int got, char **argv, const struct option *longs);
/* "skep NAME: message" to stderr, as all of these write it: bytes that are not UTF-8 and control characters as \xNN. */
void skep_say(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For failures at run time: the same; returns status. */
int skep_fail(const char *command, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* There is no such subcommand: says so, with the nearest name if any is near; returns SKEP_EXIT_USAGE. */
int skep_unknown(const char *name);
/* `skep help NAME` and `skep NAME --help`: to stdout; returns SKEP_EXIT_OK. */
int skep_help(const char *command);

#endif
