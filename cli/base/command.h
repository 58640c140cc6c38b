/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/command.h - a command of a program: one descriptor has its name, options, help and function.  The parser,
 * the help, the manual page and the completions all use the descriptor.
 */
#ifndef SKEP_CLI_BASE_COMMAND_H
#define SKEP_CLI_BASE_COMMAND_H

#include <getopt.h> /* optind */

#include "core/base/command_option.h"

struct command {
	const char *name;
	const char *operands;               /* "[RUN|last]"; NULL: none, or only words */
	const char *summary;                /* one line, in the imperative; NULL: not listed */
	const char *about;                  /* printed before the options, a paragraph per line; NULL: nothing */
	/* its first argument: "recover" of `skep spool recover FILE`; NULL: none */
	const struct command_option *words;
	const struct command_option *options; /* NULL: none but --help */
	const char *notes;                  /* printed after the options, a paragraph per line; NULL: nothing */
	int most;                           /* operands at most; -1: the command itself counts them */
	bool passes_on;                     /* the first operand begins another program's command line */
	bool collects;                      /* keeps the capabilities that the program's file gave it */
	/* argv[0] is the command's name. Returns the process's exit status. */
	int (*run)(int argc, char **argv);
};

/* A program of commands. */
struct command_program {
	const char *name;                     /* "skep" */
	const char *about;                    /* one sentence */
	const char *begin;                    /* an example for a first use */
	const struct command *const *commands; /* NULL-terminated */
	const char *concepts;                 /* `help concepts` prints this text; NULL: nothing */
	void (*version)(void);                /* prints the lines after "NAME VERSION" */
};

/*
 * Fills *options, and sets optind to the first operand.  -1: run the command; else the exit status after --help, or
 * after wrong usage, which stderr explains.
 */
int command_parse(const struct command *, int argc, char **argv, void *options);
/* Reports that `word` is not in the command's table of words, with the nearest word; returns SKEP_EXIT_USAGE. */
int command_no_word(const struct command *, const char *word);

/*
 * Prints the usage after the name: "[--limit N] [--json]". In lines of at most `width` columns, indented by `column`;
 * width 0: in one line.
 */
void command_usage(const struct command *, FILE *, size_t column, size_t width);
/* `skep help NAME` and `skep NAME --help`: to stdout; returns SKEP_EXIT_OK. */
int command_help(const struct command *);
void command_overview(const struct command_program *, FILE *);

/* cli/commands.c, cli/dev/dev.c */
extern const struct command_program skep_program, skep_dev_program;

/* The main() that skep and skep-dev share. Returns the process's exit status. */
int command_main(const struct command_program *, int argc, char **argv);

#endif
