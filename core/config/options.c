/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options.c - a plugin's option table applied to its state.
 */
#include "core/config/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/option_read.h"
#include "core/config/sink_terms.h"

struct config_key *options_keys(const struct skep_plugin *desc, struct options_memory *memory)
{
	size_t n = 0, room = 0;
	struct config_key key, *keys;

	while (option_get(desc, room, &key))
		room++;
	room = 2 * room + 1;
	for (const struct config_key *own = config_entry_table; own->name; own++)
		room++;
	keys = options_memory_take(memory, calloc(room, sizeof(*keys)));
	for (size_t i = 0; keys && option_get(desc, i, &key); i++) {
		char *file = options_memory_take(memory, option_file_key(desc, &key));

		keys[n++] = key;
		if (file)
			keys[n++] = (struct config_key){ .name = file,
							 .type = CONFIG_O_SECRET_FILE,
							 .offset = key.offset,
							 .help = "path of a file that holds it" };
	}
	for (const struct config_key *own = config_entry_table; keys && own->name; own++)
		if (!own->section || sink_terms_key(desc, own->name)) {
			keys[n] = *own;
			keys[n++].flags |= CONFIG_OWN;
		}
	return keys;
}

static void unknown(struct option_reader *r, const struct config_pos *at, const struct config_key *keys,
		    const char *plugin)
{
	const char **names;
	char *remedy = NULL;
	size_t n = 0;

	while (keys[n].name)
		n++;
	names = calloc(n + 1, sizeof(*names));
	for (size_t i = 0; names && i < n; i++)
		names[i] = keys[i].name;
	if (names && asprintf(&remedy, "see \"skepd --options %s\"", plugin) >= 0)
		option_unknown(r, at, "option", "", names, remedy);
	else
		option_no_memory(r);
	free(remedy);
	free(names);
}

struct option_reader options_reader(const struct config *config, const struct config_plugin *entry,
				    char where[CONFIG_WHERE_SIZE], void *state, struct diag *diag)
{
	config_entry_name(entry, where, CONFIG_WHERE_SIZE - 2);
	strcat(where, ": ");
	return (struct option_reader){ .diag = diag,
				       .file = config->file,
				       .where = where,
				       .line = entry->line,
				       .others_read = config->others_read,
				       .state = state };
}

static const struct config_key *find(const struct config_key *keys, const char *name)
{
	while (keys->name && strcmp(keys->name, name) != 0)
		keys++;
	return keys->name ? keys : NULL;
}

static void apply(struct option_reader *r, const struct config_plugin *entry, const struct config_key *keys)
{
	for (const struct config_pos *at = entry->at->first; at; at = at->next) {
		const struct config_key *key = find(keys, at->key);
		const json_t *value = json_object_get(entry->options, at->key);

		if (!value) /* "plugin" */
			continue;
		if (!key)
			unknown(r, at, keys, entry->plugin);
		else if (key->type == CONFIG_O_SECRET_FILE && json_object_get(entry->options, key[-1].name))
			option_fail(r, key, at, "\"%s\" is given as well: remove one of them", key[-1].name);
		else if (!(key->flags & CONFIG_OWN))
			option_read(r, key, at, value);
	}
	for (const struct config_key *key = keys; key->name; key++) {
		const char *file = key[1].type == CONFIG_O_SECRET_FILE ? key[1].name : NULL;
		bool given = json_object_get(entry->options, key->name) ||
			     (file && json_object_get(entry->options, file));

		if (!given && !(key->flags & CONFIG_OWN) && key->type != CONFIG_O_SECRET_FILE)
			option_read_default(r, key, file);
	}
}

int options_apply(const struct skep_plugin *desc, const struct config *config, const struct config_plugin *entry,
		  void *state, struct options_memory **ret_memory, struct diag *diag)
{
	struct options_memory *scratch = options_memory_new(), *memory = options_memory_new();
	struct config_key option, *keys = scratch && memory ? options_keys(desc, scratch) : NULL;
	size_t n_errors = diag->n_errors;
	char where[CONFIG_WHERE_SIZE];
	struct option_reader r = options_reader(config, entry, where, state, diag);

	r.memory = memory;
	if (keys)
		apply(&r, entry, keys);
	else
		option_no_memory(&r);
	options_memory_free(scratch);
	if (diag->n_errors == n_errors) {
		*ret_memory = memory;
		return 0;
	}
	/* No pointer into freed memory stays behind. */
	for (size_t i = 0; option_get(desc, i, &option); i++)
		memset((char *)state + option.offset, 0, option_type_size(option.type));
	options_memory_free(memory);
	return -EINVAL;
}
