/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config.h - the configuration: JSON with comments, read into an immutable object.
 */
#ifndef SKEP_CORE_CONFIG_H
#define SKEP_CORE_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/diag.h"

/* One entry of "probes" or "sinks". */
struct config_plugin {
	char *plugin; /* "proc" */
	char *name;   /* instance name, default: plugin */
	bool required;
	int line;        /* of the entry's opening brace */
	json_t *options; /* object: every key but plugin, name, required */
	/* Line of the option's key, for messages; 0 when not there. */
};

struct config {
	char *file; /* name used in messages */
	json_t *labels; /* object of strings, "host.labels"; NULL: none */
	uint64_t interval_ns;
	char **plugin_dirs; /* NULL-terminated */
	struct config_plugin *probes;
	size_t n_probes;
	struct config_plugin *sinks;
	size_t n_sinks;
	char **tools;  /* more tool tables (files or folders), NULL-terminated */
	char **redact; /* more redaction tables, NULL-terminated */
	void *positions; /* config.c: where each key stands */
};

/* Both return NULL after adding at least one error to the diag. `name` is used in messages. */
struct config *config_load(const char *file, struct diag *);
struct config *config_parse(const char *text, size_t len, const char *name, struct diag *);
struct config *config_free(struct config *); /* NULL is fine; returns NULL */

/* Line of option `key` of that entry (1-based; the entry's own line where the key is not there). */
int config_option_line(const struct config *, const struct config_plugin *, const char *key);

/*
 * JSON with comments for any other file of ours (tool tables, redaction tables):
 * comments blanked in place of equal length, so jansson's positions stay right.
 * Returns a new reference, or NULL after adding an error with line and column.
 */
json_t *config_json(const char *text, size_t len, const char *name, struct diag *);
json_t *config_json_file(const char *file, struct diag *);

/* "64MiB" "5s" "250ms": 0 or -EINVAL / -ERANGE. Sizes: B KiB MiB GiB TiB kB MB GB TB. Times: ns us ms s m h d. */
int config_size(const char *text, uint64_t *ret_bytes);
int config_time(const char *text, uint64_t *ret_ns);

/* The candidate nearest to word (edit distance), or NULL when none is near. Borrowed. */
const char *config_suggest(const char *word, const char *const *candidates);

#endif
