/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_table.h - the keys of skepd.conf as data: for its JSON Schema and its
 * manual page.  What a key does is core/config/config.c's; tests/docs/schema.py holds one against
 * the other.
 */
#ifndef SKEP_CORE_CONFIG_TABLE_H
#define SKEP_CORE_CONFIG_TABLE_H

enum config_key_type {
	CONFIG_KEY_LABELS = 1, /* object of strings */
	CONFIG_KEY_TIME,       /* more than nothing */
	CONFIG_KEY_TIME_OR_0,
	CONFIG_KEY_TIME_ANY,   /* "0s" as well, and no bounds */
	CONFIG_KEY_SIZE,
	CONFIG_KEY_PATHS,
	CONFIG_KEY_PATHS_ABSOLUTE, /* at least one */
	CONFIG_KEY_PATH_ABSOLUTE,
	CONFIG_KEY_PACKS,
	CONFIG_KEY_CAPABILITIES,
	CONFIG_KEY_SOCKET, /* an absolute path, or false */
	CONFIG_KEY_BOOL,
	CONFIG_KEY_VERDICT, /* "include" or "exclude" */
	CONFIG_KEY_BACKLOG, /* "first" or "shared" */
	CONFIG_KEY_PROBES,
	CONFIG_KEY_SINKS,
};

struct config_key {
	const char *section; /* "filters"; NULL: at the top */
	const char *name;
	enum config_key_type type;
	const char *default_value; /* in words, or as written; NULL: none */
	const char *help;          /* no full stop at its end */
};

/* Ends with a NULL name. */
extern const struct config_key config_key_table[];
/* What every entry of probes and sinks may have, beside its plugin's options; with section "sinks": of sinks alone. */
extern const struct config_key config_entry_table[];

const char *config_key_type_name(enum config_key_type); /* "array of paths" */

#endif
