/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/tool_table.h - the compiled tool table: what is known of each program's command
 * line.  Immutable once built; core/identify/tool.c reads it.
 */
#ifndef SKEP_CORE_TOOL_TABLE_H
#define SKEP_CORE_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/identify/tool.h"

/* What the first word that is no option is. */
enum tool_operand {
	TOOL_OPERAND_NONE,       /* of no interest */
	TOOL_OPERAND_SCRIPT,     /* a file that this program interprets */
	TOOL_OPERAND_CLASS,      /* a Java-like class: org.x.Main, or a source file */
	TOOL_OPERAND_CODE,       /* program text */
	TOOL_OPERAND_COMMAND,    /* another program, its arguments follow */
	TOOL_OPERAND_SHELL,      /* a shell command line */
	TOOL_OPERAND_SUBCOMMAND, /* samtools SORT */
	TOOL_OPERAND_EITHER,     /* dotnet BUILD, dotnet APP.DLL: a subcommand or a file */
	TOOL_OPERAND_APPLET,     /* busybox LS */
};

/* What an option does to the recognition. */
enum tool_action {
	TOOL_FLAG,       /* nothing; what an option that is not listed does */
	TOOL_VALUE,      /* takes a value */
	TOOL_VALUE_2,    /* takes two */
	TOOL_ATTACHED,   /* takes the rest of its own word at most: perl -i.bak */
	TOOL_CODE,       /* the value is program text: python -c */
	TOOL_SHELL,      /* the value is a shell command line: su -c */
	TOOL_SHELL_FLAG, /* the first operand is a shell command line: bash -c */
	TOOL_MODULE,     /* the value is a program by its name: python -m */
	TOOL_JAR,        /* the value is a program's archive: java -jar */
	TOOL_SCRIPT,     /* the value is a script: R -f */
	TOOL_SPLIT,      /* the value holds words that come before the rest: env -S */
	TOOL_SUBCOMMAND, /* the value is the subcommand: GenomeAnalysisTK -T */
	TOOL_PLAIN,      /* with it, it is only itself: ionice -p PID */
};

struct tool_option {
	char *name; /* with its dashes */
	enum tool_action action;
};

struct tool_entry {
	char *name; /* shown; NULL: as it was called */
	enum tool_operand operand;
	bool trim_version;     /* python3.11 is shown as python3 */
	bool single_dash_long; /* -classpath is one option, not a cluster of letters */
	bool assignments;      /* NAME=value words come before the operand */
	bool permute;          /* operands do not end the options */
	bool plus_options;     /* some option begins with '+' */
	uint32_t skip;         /* operands before the one that counts */
	uint32_t depth;        /* words of a subcommand */
	struct tool_option *options; /* by name */
	size_t n_options;
	char **verbs; /* the operand counts only behind one of these; NULL-terminated or NULL */
	char **groups; /* subcommands that have subcommands; the same */
};

struct tool_word {
	char *text;     /* a name, or a glob */
	uint32_t entry; /* index; the larger one wins */
	char first, last; /* of a glob: what it begins and ends with, '\0': anything */
};

struct tools {
	struct tool_entry *entries;
	size_t n_entries, entries_room;
	struct tool_word *names; /* sorted by text, each once */
	size_t n_names, names_room;
	struct tool_word *globs; /* by entry, the largest first */
	size_t n_globs, globs_room;
};

/* The entry of a program name, or NULL. */
const struct tool_entry *tool_table_find(const struct tools *, const char *name, size_t len);
/* The option's action, TOOL_FLAG when it is not listed; ret_name borrowed from the table. */
enum tool_action tool_table_option(const struct tool_entry *, const char *name, size_t len, const char **ret_name);

#endif
