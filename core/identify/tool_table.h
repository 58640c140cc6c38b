/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/tool_table.h - the compiled tool table: how each known program reads its command line.
 * Immutable once built; core/identify/tool.c reads it.
 */
#ifndef SKEP_CORE_TOOL_TABLE_H
#define SKEP_CORE_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/identify/tool.h"

/* The meaning of the first word that is not an option. */
enum tool_operand {
	TOOL_OPERAND_NONE,       /* not used */
	TOOL_OPERAND_SCRIPT,     /* a file that this program interprets */
	TOOL_OPERAND_CLASS,      /* a Java-like class: org.x.Main, or a source file */
	TOOL_OPERAND_CODE,       /* program text */
	TOOL_OPERAND_COMMAND,    /* another program; its arguments follow */
	TOOL_OPERAND_SHELL,      /* a shell command line */
	TOOL_OPERAND_SUBCOMMAND, /* samtools SORT */
	TOOL_OPERAND_EITHER,     /* dotnet BUILD, dotnet APP.DLL: a subcommand or a file */
	TOOL_OPERAND_APPLET,     /* busybox LS */
};

/* The effect of an option on the recognition. */
enum tool_action {
	TOOL_FLAG,       /* none; also the action of an unlisted option */
	TOOL_VALUE,      /* takes a value */
	TOOL_VALUE_2,    /* takes two */
	TOOL_ATTACHED,   /* takes at most the rest of its own word: perl -i.bak */
	TOOL_CODE,       /* the value is program text: python -c */
	TOOL_SHELL,      /* the value is a shell command line: su -c */
	TOOL_SHELL_FLAG, /* the first operand is a shell command line: bash -c */
	TOOL_MODULE,     /* the value names a program: python -m */
	TOOL_JAR,        /* the value is a program's archive: java -jar */
	TOOL_SCRIPT,     /* the value is a script: R -f */
	TOOL_SPLIT,      /* the value holds words to read before the remaining words: env -S */
	TOOL_SUBCOMMAND, /* the value is the subcommand: GenomeAnalysisTK -T */
	TOOL_PLAIN,      /* the program then runs nothing else: ionice -p PID */
};

struct tool_option {
	char *name; /* with its dashes */
	enum tool_action action;
};

struct tool_entry {
	char *name; /* the shown name; NULL: the name by which the program was called */
	enum tool_operand operand;
	bool trim_version;     /* python3.11 becomes python3 */
	bool single_dash_long; /* -classpath is one option, not a cluster of letters */
	bool assignments;      /* NAME=value words come before the operand */
	bool permute;          /* operands do not end the options */
	bool plus_options;     /* some option begins with '+' */
	uint32_t skip;         /* operands to skip first */
	uint32_t depth;        /* number of words in a subcommand */
	struct tool_option *options; /* sorted by name */
	size_t n_options;
	char **verbs; /* the operand counts only behind one of these; NULL-terminated or NULL */
	char **groups; /* subcommands that have subcommands; NULL-terminated or NULL */
};

struct tool_word {
	char *text;     /* a name, or a glob */
	uint32_t entry; /* index; the larger index wins */
	char first, last; /* of a glob: its first and last character; '\0': a wildcard */
};

struct tools {
	struct tool_entry *entries;
	size_t n_entries, entries_room;
	struct tool_word *names; /* sorted by text, without duplicates */
	size_t n_names, names_room;
	struct tool_word *globs; /* sorted by entry, the largest first */
	size_t n_globs, globs_room;
};

/* The entry of a program name, or NULL. */
const struct tool_entry *tool_table_find(const struct tools *, const char *name, size_t len);
/* The option's action; TOOL_FLAG for an unlisted option. ret_name is borrowed from the table. */
enum tool_action tool_table_option(const struct tool_entry *, const char *name, size_t len, const char **ret_name);

#endif
