/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_parse.c - walks the text of a configuration by the table of keys.  A plugin's own options stay
 * JSON here: core/config/options.c applies them once the plugin is loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "core/config/option_read.h"

struct parse {
	struct config *config;
	struct option_reader reader; /* into the configuration */
};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The keys of a section, or, with NULL, those at the top, of which a section is one. */
static void names_of(const char *section, const char *names[static 32])
{
	size_t n = 0;

	for (const struct config_key *key = config_key_table; key->name && n < 31; key++) {
		const char *name = same(key->section, section) ? key->name : section ? NULL : key->section;
		bool listed = !name;

		for (size_t i = 0; i < n && !listed; i++)
			listed = strcmp(names[i], name) == 0;
		if (!listed)
			names[n++] = name;
	}
	names[n] = NULL;
}

/* ---- entries ------------------------------------------------------------------------------- */

static const struct config_key *entry_key(const char *name)
{
	const struct config_key *key = config_entry_table;

	while (key->name && (key->section || strcmp(key->name, name) != 0))
		key++;
	return key->name ? key : NULL;
}

static void read_entry(struct parse *p, const json_t *value, const struct config_pos *at, struct config_plugin *entry)
{
	struct option_reader r = p->reader;
	char where[48];

	snprintf(where, sizeof(where), "%s[%zu]: ", entry->list, entry->index);
	r.where = where;
	r.line = entry->line = at->line;
	r.state = entry;
	entry->at = at;
	if (!json_is_object(value)) {
		char found[CONFIG_QUOTE_SIZE];

		config_describe(value, found, sizeof(found));
		diag_add(r.diag, DIAG_ERROR, r.file, at->line, at->column,
			 "%sexpected an object such as { \"plugin\": \"proc\" }, found %s", where, found);
		return;
	}
	entry->options = json_copy((json_t *)(uintptr_t)value);
	if (!entry->options)
		option_no_memory(&r);
	for (at = at->first; at; at = at->next) {
		const struct config_key *key = entry_key(at->key);

		if (!key)
			continue;
		option_read(&r, key, at, json_object_get(value, at->key));
		json_object_del(entry->options, at->key);
	}
	for (const struct config_key *key = config_entry_table; key->name; key++)
		if (!key->section && !json_object_get(value, key->name))
			option_read_default(&r, key, NULL);
	if (!json_object_get(value, "name"))
		entry->name = entry->plugin;
}

static void read_entries(struct parse *p, const struct config_key *key, const struct config_pos *at,
			 const json_t *value)
{
	bool probes = key->offset == offsetof(struct config, probes);
	size_t n = json_array_size(value);
	struct config_plugin *entries;

	if (!json_is_array(value)) {
		option_wrong(&p->reader, key, at, NULL, value);
		return;
	}
	entries = calloc(n + 1, sizeof(*entries));
	if (!entries) {
		option_no_memory(&p->reader);
		return;
	}
	*(probes ? &p->config->probes : &p->config->sinks) = entries;
	*(probes ? &p->config->n_probes : &p->config->n_sinks) = n;
	at = at->first;
	for (size_t i = 0; i < n; i++, at = at->next) {
		entries[i].list = key->name;
		entries[i].index = i;
		read_entry(p, json_array_get(value, i), at, &entries[i]);
	}
}

/* Across probes and sinks: counters, losses and log lines name an instance by its name alone. */
static void check_names(struct parse *p)
{
	const struct config *config = p->config;
	size_t n = config->n_probes + config->n_sinks;
	json_t *seen = json_object();

	if (!seen)
		option_no_memory(&p->reader);
	for (size_t i = 0; seen && i < n; i++) {
		const struct config_plugin *entry = i < config->n_probes ? &config->probes[i] :
									   &config->sinks[i - config->n_probes];
		const json_t *first = entry->name ? json_object_get(seen, entry->name) : NULL;

		if (first)
			diag_add(
				p->reader.diag, DIAG_ERROR, config->file, entry->line, 0,
				"two instances are named \"%s\", here and in line %d: give one of them another \"name\"",
				entry->name, (int)json_integer_value(first));
		else if (entry->name && json_object_set_new(seen, entry->name, json_integer(entry->line)))
			option_no_memory(&p->reader);
	}
	json_decref(seen);
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void read_keys(struct parse *p, const struct config_pos *object, const json_t *value, const char *section);

/* A key that the table lacks: a section, or a mistake. */
static void read_section(struct parse *p, const struct config_pos *at, const json_t *value, const char *section)
{
	char in[32] = "", found[CONFIG_QUOTE_SIZE], *list;
	const struct config_key *key = config_key_table;
	struct option_reader *r = &p->reader;
	const char *names[32];

	while (!section && key->name && !same(key->section, at->key))
		key++;
	if (section || !key->name) {
		names_of(section, names);
		if (section)
			snprintf(in, sizeof(in), " in %s", section);
		option_unknown(r, at, "key", in, names, NULL);
		return;
	}
	if (json_is_object(value)) {
		read_keys(p, at, value, key->section);
		return;
	}
	names_of(key->section, names);
	list = option_names(names);
	config_describe(value, found, sizeof(found));
	diag_add(r->diag, DIAG_ERROR, r->file, at->key_line, at->key_column,
		 "%s: expected an object { ... } with the keys %s, found %s", at->key, list ? list : "that it has", found);
	free(list);
}

/* Walks the positions, not the object: then errors are in the file's order. */
static void read_keys(struct parse *p, const struct config_pos *object, const json_t *value, const char *section)
{
	for (const struct config_pos *at = object->first; at; at = at->next) {
		const json_t *child = json_object_get(value, at->key);
		const struct config_key *key = config_key_table;

		while (key->name && !(same(key->section, section) && strcmp(key->name, at->key) == 0))
			key++;
		if (!key->name)
			read_section(p, at, child, section);
		else if (key->type == CONFIG_O_ENTRIES)
			read_entries(p, key, at, child);
		else
			option_read(&p->reader, key, at, child);
	}
}

static void read_defaults(struct parse *p, const json_t *json)
{
	struct config *config = p->config;

	for (const struct config_key *key = config_key_table; key->name; key++) {
		const json_t *section = key->section ? json_object_get(json, key->section) : json;

		if (!json_object_get(section, key->name) && (section || !(key->flags & CONFIG_WITH_SECTION)))
			option_read_default(&p->reader, key, NULL);
	}
	config->control_asked = json_object_get(json_object_get(json, "control"), "socket") != NULL;
	if (!config->probes)
		config->probes = calloc(1, sizeof(*config->probes));
	if (!config->sinks)
		config->sinks = calloc(1, sizeof(*config->sinks));
	if (!config->probes || !config->sinks)
		option_no_memory(&p->reader);
}

struct config *config_parse(const char *text, size_t len, const char *name, struct diag *diag)
{
	struct config *config = calloc(1, sizeof(*config));
	struct parse p = { config, { .diag = diag, .file = name, .where = "", .state = config } };
	size_t n_errors = diag->n_errors;
	char found[CONFIG_QUOTE_SIZE];
	json_t *json = NULL;

	if (config) {
		config->file = strdup(name);
		p.reader.memory = config->memory = options_memory_new();
	}
	if (!config || !config->file || !config->memory) {
		option_no_memory(&p.reader);
		goto out;
	}
	json = config_json_positions(text, len, name, diag, &config->positions);
	if (json_is_object(json)) {
		read_keys(&p, config->positions, json, NULL);
		check_names(&p);
		read_defaults(&p, json);
	} else if (json) {
		config_describe(json, found, sizeof(found));
		diag_add(diag, DIAG_ERROR, name, config->positions->line, config->positions->column,
			 "configuration: expected an object: { ... }, found %s", found);
	}
out:
	json_decref(json);
	return diag->n_errors > n_errors ? config_free(config) : config;
}
