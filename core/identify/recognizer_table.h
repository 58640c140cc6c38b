/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_table.h - the compiled table of recognizers, and the fields that its conditions can test.
 */
#ifndef SKEP_CORE_RECOGNIZER_TABLE_H
#define SKEP_CORE_RECOGNIZER_TABLE_H

#include <jansson.h>
#include <skep/hash.h>

#include "core/identify/recognizer.h"
#include "filters/pattern.h"

#define RECOGNIZER_ENVIRON_MAX 64u  /* variables in all entries: proc searches environments for no more */
#define RECOGNIZER_TEXTS_MAX 64u    /* texts in one list of the table */
#define RECOGNIZER_ENGINE_MAX 32u   /* bytes of an engine's name */
#define RECOGNIZER_RUN_MARKS 256u   /* marks of runs in all entries */
#define RECOGNIZER_LINES_MAX 40     /* of a file */
#define RECOGNIZER_WORDS (RECOGNIZER_RUN_MARKS / 64)

/* The fields of conditions and facts.  environ.NAME and changed.NAME follow, two for each variable. */
enum recognizer_field {
	FIELD_TOOL,
	FIELD_EXE,
	FIELD_COMM,
	FIELD_FILENAME,
	FIELD_CWD,
	FIELD_CGROUP,
	FIELD_ARGV,
	FIELD_ARGV_0,
	FIELD_ARGV_1,
	FIELD_ARGV_2,
	FIELD_ARGV_3,
	FIELD_ARGV_4,
	FIELD_ARGV_5,
	FIELD_ARGV_6,
	FIELD_UID,
	FIELD_CHILD,
	FIELD_MOVED,
	FIELD_RUN_CWD,
	FIELD_RUN_ARGV,
	FIELD_RUN_ARGV_1,
	FIELD_RUN_ARGV_2,
	FIELD_FIXED,
};
#define RECOGNIZER_FIELDS (FIELD_FIXED + 2 * RECOGNIZER_ENVIRON_MAX)

struct recognizer_fields {
	struct filter_field fields[RECOGNIZER_FIELDS];
	struct filter_schema schema;
	const char *names[RECOGNIZER_ENVIRON_MAX + 1]; /* the variables; owned, as the fields' names are */
	uint32_t n_names;
};

/* Number of a variable; adds it.  -ENOMEM; -ENOSPC: too many. */
int recognizer_fields_variable(struct recognizer_fields *, const char *name, size_t len);
void recognizer_fields_init(struct recognizer_fields *);
void recognizer_fields_clear(struct recognizer_fields *);
/* The field of this name; -1: none. */
int recognizer_fields_find(const struct recognizer_fields *, const char *name, size_t len);
/* Likewise a text, "parent.argv.1" too.  ret_level: 1: the parent's. */
int recognizer_fields_find_text(const struct recognizer_fields *, const char *name, size_t len, unsigned *ret_level);

/* What conditions are evaluated on: a filter_get's subject. */
struct recognizer_view {
	const struct recognizer_fields *fields;
	const struct recognizer_subject *subject;
};
enum filter_known recognizer_field_get(const void *view, uint32_t level, uint32_t field, union filter_value *ret);
/* The value of a variable in "NAME=value\0..."; ptr NULL: not there. */
struct filter_text recognizer_variable(const struct filter_text *environ, const char *name);

/* One way to a fact; the first that yields it holds. */
struct recognizer_source {
	enum { SOURCE_FIELD, SOURCE_OPTION, SOURCE_TEXT, SOURCE_VALUE, SOURCE_LINES } kind;
	uint32_t field;          /* SOURCE_FIELD; a list: its first text that matches */
	char **options;          /* SOURCE_OPTION: the value behind one of these; NULL-terminated */
	char *text;              /* SOURCE_TEXT: with {field}, {fact}; SOURCE_VALUE: JSON pointer or key of a log */
	long lines;              /* SOURCE_LINES: number of lines, each of which the pattern may match */
	struct filter_expr *when; /* NULL: always */
	struct pattern *pattern; /* NULL: the whole text is fact `as` */
	uint8_t as;              /* number of a fact word */
	uint8_t groups[PATTERN_GROUPS]; /* fact words of the pattern's groups */
};

/* The file in which a mark's values and lines stand. */
struct recognizer_file {
	char *path;      /* with {field} in it; NULL: only the log, or standard error */
	char *error;     /* the text of the task's line of the engine's standard error, with {field}; NULL: none */
	char *where;     /* path is a folder: JSON pointer of the text that chooses a file; NULL: path is a file */
	char *log;       /* folder of logs, with {field} in it; NULL: none */
	uint32_t equals; /* the field that this text equals, and that has the command of the job in the log */
	char *behind;    /* only what follows this text in the field; NULL: all of it */
};

struct recognizer_mark {
	const struct recognizer *entry;
	struct recognizer_file *file; /* NULL: none */
	char **programs, **parents; /* names or globs; NULL: any */
	uint32_t *changed;          /* variables, of which one has changed */
	size_t n_changed;
	bool child;
	bool root;                  /* of a task: only at the exec that begins the run; else never there */
	struct filter_expr *when;   /* NULL: always */
	struct recognizer_source *sources;
	size_t n_sources;
};

struct recognizer {
	char *engine, *file;
	enum recognizer_class class;
	long priority;
	bool nests;
	bool reads; /* variables of environments */
	const struct recognizer_fields *fields;
	struct recognizer_mark *runs, *tasks, *learns;
	size_t n_runs, n_tasks, n_learns;
	struct filter_expr **helpers;
	size_t n_helpers;
	json_t *tests;     /* the list of its tests, with their places; NULL: none */
	unsigned line;
};

/* The marks of runs whose `programs` or `parents` match one name: computed once for each name. */
struct recognizer_cached {
	uint32_t len;
	char name[60];
	uint64_t programs[RECOGNIZER_WORDS], parents[RECOGNIZER_WORDS];
};
#define RECOGNIZER_CACHE 512u /* a power of two */

struct recognizers {
	unsigned refs;
	struct recognizer_fields fields;
	struct recognizer **entries;
	size_t n, room;
	size_t n_built_in; /* the first entries */
	struct recognizer_mark *marks[RECOGNIZER_RUN_MARKS]; /* of runs, in all entries */
	size_t n_marks;
	uint64_t any_program[RECOGNIZER_WORDS], any_parent[RECOGNIZER_WORDS]; /* marks without the list */
	uint64_t needs_environ[RECOGNIZER_WORDS]; /* marks with `changed` */
	char **parents; /* of recognizers_parents() */
	struct skep_hash_key key;
	struct recognizer_cached *cache;
};

/* The facts' words: "name", "memory_mib" ... ; what a word means is in recognizer_facts.c. */
#define FACT_WORD_NONE 255u
int recognizer_fact_word(const char *word, size_t len); /* its number; -1: no such word */
int recognizer_fact_text_word(const char *word, size_t len); /* likewise of a text; -1: other facts, too */
const char *const *recognizer_fact_words(void);         /* NULL-terminated */
/* Evaluates a condition; NULL: true. */
bool recognizer_holds(const struct recognizer_fields *, const struct filter_expr *, const struct recognizer_subject *);

/* The keys that the reader of tables knows; NULL-terminated. */
extern const char *const recognizer_root_keys[], *const recognizer_entry_keys[], *const recognizer_mark_keys[],
	*const recognizer_source_keys[], *const recognizer_file_keys[];
/* Reads this text only, without the built-in table; recognizers_new() otherwise. */
struct recognizers *recognizers_read(const char *text, size_t len, struct diag *);

/* recognizer_match.c: prepares the index over the marks of runs.  0 or -ENOMEM. */
int recognizers_index(struct recognizers *);

#endif
