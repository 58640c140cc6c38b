/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/command_option.h - the options of a command line: one table for the parser, the help, the manual page and
 * the completions, in skep, skep-dev and skepd.
 */
#ifndef SKEP_CORE_COMMAND_OPTION_H
#define SKEP_CORE_COMMAND_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COMMAND_OPTIONS_MOST 24 /* options of one command, and its words */

enum command_type { COMMAND_FLAG, COMMAND_COUNT, COMMAND_TEXT, COMMAND_NUMBER, COMMAND_LIST };

struct command_option {
	const char *name;  /* "lake": --lake; NULL ends a table */
	char letter;       /* 'o': also -o; 0: none */
	const char *value; /* name of its value in the help: "PATH"; NULL: the option has no value */
	const char *help;
	enum command_type type;
	size_t offset;          /* in the command's struct of options */
	unsigned long min, max; /* of a COMMAND_NUMBER; a COMMAND_TEXT with min 1 must not be empty */
	/* refused if the program's file has capabilities, because the code that the caller chooses would get them */
	bool chooses_code;
};

/*
 * Type and offset of an option, from the member that receives it.  NULL ends a list; the caller of the parser frees it.
 */
#define COMMAND_AT(options, member) \
	.offset = offsetof(options, member), \
	.type = _Generic(((options *)0)->member, bool : COMMAND_FLAG, int : COMMAND_COUNT, \
			 const char * : COMMAND_TEXT, unsigned long : COMMAND_NUMBER, const char ** : COMMAND_LIST)

/*
 * Parses a command line: fills *options, and sets optind to the first operand.  0; 1: --help or -h, which a table need
 * not have; -EINVAL: wrong usage, -EPERM: refused, or -ENOMEM, with the reason in *ret_why (the caller frees it), NULL
 * without memory.
 */
int command_options_parse(const struct command_option *, bool passes_on, int argc, char **argv, void *options,
			  char **ret_why);
/* Reads a number in digits only, within min and max.  0 or -EINVAL. */
int command_number(const char *text, unsigned long min, unsigned long max, unsigned long *ret);
/* Prints a line for each word and option, wrapped to `width` columns.  Either table may be NULL. */
void command_options_print(const struct command_option *words, const struct command_option *options, FILE *,
			   size_t width);

#endif
