/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_entries.c - the entries of "probes" and "sinks".  A plugin's own options stay JSON here;
 * core/config/options.c applies them when the plugin is there to say what they are.
 */
#include <stdlib.h>
#include <string.h>

#include "core/config/config_read.h"
#include "core/config/moved.h"

#define INSTANCE_NAME_MAX 63u
#define PLUGIN_NAME_MAX 31u /* what a plugin's note has room for */

/*
 * Plugin and instance names end up in file names, log lines, metrics and labels, so
 * their letters are few.  A plugin's name is as core/plugin/plugin.c takes it, said here with its line.
 */
static bool name_is_good(const char *name, bool plugin)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t n = strspn(name, letters);

	if (plugin && memchr(name, '.', n))
		return false;
	return n > 0 && n <= (plugin ? PLUGIN_NAME_MAX : INSTANCE_NAME_MAX) && name[n] == '\0' && name[0] != '.' &&
	       name[0] != '-';
}

/* A name of an entry: "plugin" or "name". NULL after an error. */
static char *read_name(struct reader *r, const struct config_pos *at, const char *entry, const json_t *value)
{
	const char *name = json_string_value(value);
	bool plugin = strcmp(at->key, "plugin") == 0;
	char where[64], quoted[CONFIG_QUOTE_SIZE];
	char *copy;

	snprintf(where, sizeof(where), "%s: %s", entry, at->key);
	if (!name) {
		reader_wrong(r, at->key_line, at->key_column, where, "a name", value);
		return NULL;
	}
	if (!name_is_good(name, plugin)) {
		config_quote(name, quoted, sizeof(quoted));
		if (plugin && strchr(name, '/'))
			reader_fail(r, at->key_line, at->key_column,
				    "%s: %s is a path: write the bare name, and its directory into plugin_dirs", where,
				    quoted);
		else
			reader_fail(
				r, at->key_line, at->key_column,
				"%s: %s is not a name: 1 to %u letters, digits, '_'%s, beginning with a letter, digit or '_'",
				where, quoted, plugin ? PLUGIN_NAME_MAX : INSTANCE_NAME_MAX,
				plugin ? " and '-'" : ", '-' and '.'");
		return NULL;
	}
	copy = strdup(name);
	if (!copy)
		reader_no_memory(r);
	return copy;
}

static void read_entry(struct reader *r, const struct config_pos *at, const char *where, const json_t *value,
		       struct config_plugin *entry)
{
	bool named = false, has_plugin = false;

	entry->line = at->line;
	if (!json_is_object(value)) {
		reader_wrong(r, at->line, at->column, where, "an object such as { \"plugin\": \"proc\" }", value);
		return;
	}
	entry->options = json_object();
	for (at = at->first; at; at = at->next) {
		json_t *option = json_object_get(value, at->key);

		if (strcmp(at->key, "plugin") == 0) {
			has_plugin = true;
			entry->plugin = read_name(r, at, where, option);
		} else if (strcmp(at->key, "name") == 0) {
			named = true;
			entry->name = read_name(r, at, where, option);
		} else if (strcmp(at->key, "required") == 0) {
			char which[64];

			snprintf(which, sizeof(which), "%s: required", where);
			if (!json_is_boolean(option))
				reader_wrong(r, at->key_line, at->key_column, which, "true or false", option);
			entry->required = json_is_true(option);
		} else if (json_object_set_nocheck(entry->options, at->key, option)) {
			reader_no_memory(r); /* also when json_object() gave NULL */
		}
	}
	if (!entry->options)
		reader_no_memory(r);
	if (!has_plugin)
		reader_fail(r, entry->line, 0, "%s: \"plugin\" is missing: which plugin is it?", where);
	if (entry->plugin && !named) {
		entry->name = strdup(entry->plugin);
		if (!entry->name)
			reader_no_memory(r);
	}
}

static void read_entries(struct reader *r, const struct config_pos *at, const json_t *value,
			 struct config_plugin **ret_entries, size_t *ret_n)
{
	struct config_plugin *entries;
	char where[32];
	size_t i = 0;

	if (!json_is_array(value)) {
		reader_wrong(r, at->key_line, at->key_column, at->key, "an array of objects", value);
		return;
	}
	entries = calloc(json_array_size(value) + 1, sizeof(*entries));
	if (!entries) {
		reader_no_memory(r);
		return;
	}
	*ret_entries = entries;
	*ret_n = json_array_size(value);
	for (at = at->first; at; at = at->next, i++) {
		snprintf(where, sizeof(where), "%s[%zu]", ret_n == &r->config->n_probes ? "probes" : "sinks", i);
		read_entry(r, at, where, json_array_get(value, i), &entries[i]);
	}
}

void config_read_probes(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_entries(r, at, value, &r->config->probes, &r->config->n_probes);
}

void config_read_sinks(struct reader *r, const struct config_pos *at, const json_t *value)
{
	read_entries(r, at, value, &r->config->sinks, &r->config->n_sinks);
}

void config_check_names(struct reader *r)
{
	const struct config *config = r->config;
	size_t n = config->n_probes + config->n_sinks;
	json_t *seen = json_object();

	if (!seen)
		reader_no_memory(r);
	for (size_t i = 0; seen && i < n; i++) {
		const struct config_plugin *entry = i < config->n_probes ? &config->probes[i] :
									   &config->sinks[i - config->n_probes];
		const json_t *first;

		if (!entry->name)
			continue;
		first = json_object_get(seen, entry->name);
		if (first)
			reader_fail(
				r, entry->line, 0,
				"two instances are named \"%s\", here and in line %d: give one of them another \"name\"",
				entry->name, (int)json_integer_value(first));
		else if (json_object_set_new(seen, entry->name, json_integer(entry->line)))
			reader_no_memory(r);
	}
	json_decref(seen);
}

/* A configuration of 1.0 still starts skepd: options of a probe that another probe has now are out of it. */
void config_check_moved(struct reader *r)
{
	const struct config *config = r->config;
	bool has_identity = false;

	for (size_t i = 0; i < config->n_probes; i++)
		has_identity |= config->probes[i].plugin && strcmp(config->probes[i].plugin, "identity") == 0;
	for (size_t i = 0; i < config->n_probes; i++) {
		const struct config_plugin *entry = &config->probes[i];
		const struct moved *m;

		for (size_t k = 0; entry->plugin && (m = moved_get(k)); k++) {
			int line, column;

			if (strcmp(entry->plugin, m->from) != 0)
				continue;
			config_option_position(config, entry, m->option, &line, &column);
			if (json_object_del(entry->options, m->option) == 0)
				diag_add(r->diag, DIAG_WARNING, config->file, line, column,
					 "option \"%s\" of \"%s\" has no effect: since 1.1 it is the probe \"%s\"'s; "
					 "move it there",
					 m->option, m->from, m->to);
		}
		if (entry->plugin && strcmp(entry->plugin, "host") == 0 && !has_identity)
			diag_add(r->diag, DIAG_WARNING, config->file, entry->line, 0,
				 "host.identity is not recorded: since 1.1 it is the probe \"identity\"'s, not \"host\"'s; "
				 "add { \"plugin\": \"identity\" } to probes");
	}
}
