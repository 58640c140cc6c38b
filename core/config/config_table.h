/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_table.h - the keys of skepd.conf.  One entry for each has its type, bounds, default, help and the
 * place of its value.  The parser, the JSON Schema, the manual page and the reference are made from it.  An option of a
 * plugin is a key as well (core/config/option_table.h), so one engine reads both.
 */
#ifndef SKEP_CORE_CONFIG_TABLE_H
#define SKEP_CORE_CONFIG_TABLE_H

#include <skep/plugin.h>

/* Types beside enum skep_option_type, for keys of skepd itself. */
enum config_key_type {
	CONFIG_O_EITHER = 64, /* bool; written as the first (false) or the second (true) of two words */
	CONFIG_O_LABELS,      /* json_t *, an object of strings */
	CONFIG_O_ENTRIES,     /* probes or sinks */
	CONFIG_O_SECRET_FILE, /* const char *; written as the path of a file that holds the text */
};

/* Flags beside SKEP_OPT_*. */
#define CONFIG_OR_ZERO (1u << 16)      /* a time outside of its bounds may be "0s" */
#define CONFIG_RAISED (1u << 17)       /* the least value replaces one below it, with a warning */
#define CONFIG_OR_FALSE (1u << 18)     /* a string may be false: NULL */
#define CONFIG_UNIQUE (1u << 19)       /* no two elements are the same */
#define CONFIG_NOT_EMPTY (1u << 20)    /* a list has an element */
#define CONFIG_OWN (1u << 22)          /* in a plugin's table: a key that skepd reads */
#define CONFIG_AT_START (1u << 23)     /* a reload reports a change, which the next start applies */
#define CONFIG_FIXED (1u << 24)        /* a reload that would change it is refused */
#define CONFIG_WITH_SECTION (1u << 21) /* the default applies only when the file has the section */

/* What a string, or each element of a list, must be. */
struct config_text {
	const char *expected;       /* "a path" */
	const char *one, *many;     /* in tables: "path", "array of paths" */
	const char *pattern;        /* extended regular expression, which the schema has, too; NULL: any but "" */
	const char *mismatch;       /* a message's words about a text that does not match; NULL: `expected` */
	int (*check)(const char *); /* below 0: a mismatch, too; NULL: the pattern is all */
};

struct config_key {
	const char *section; /* "filters"; NULL: at the top */
	const char *name;
	uint32_t type;             /* enum skep_option_type or enum config_key_type */
	uint32_t flags;            /* SKEP_OPT_*, CONFIG_* */
	size_t offset;             /* of the value in the state */
	const char *default_value; /* as the file would have it, a string without its quotes; NULL: zero */
	int64_t min, max;          /* of numbers, when min < max; of a string: max bytes */
	const char *help;          /* no full stop at its end */
	const struct config_text *text;
	const char *words[2];      /* of CONFIG_O_EITHER */
	const char *expected;      /* in messages, where the type's own words do not explain enough */
	const char *shown_default; /* for people, where default_value depends on the build or on the plugin */
	const char *variable;      /* of a list: this environment variable replaces the default; both are colon lists */
};

/* Ends with a NULL name. */
extern const struct config_key config_key_table[];
/* What each entry of probes and sinks may have, beside its plugin's options; with section "sinks": of sinks alone. */
extern const struct config_key config_entry_table[];
extern const struct config_text config_plugin_name;

#endif
