/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/sink_terms.h"

#include <errno.h>
#include <string.h>

#include "core/config/config_table.h"
#include "core/config/options.h"

bool sink_terms_key(const struct skep_plugin *desc, const char *name)
{
	const struct config_key *key = config_entry_table;
	struct config_key option;

	while (key->name && (!key->section || strcmp(key->name, name) != 0))
		key++;
	if (!key->name || desc->kind != SKEP_KIND_SINK)
		return false;
	for (size_t i = 0; option_get(desc, i, &option); i++)
		if (strcmp(option.name, name) == 0)
			return false;
	return true;
}

int sink_terms_read(const struct skep_plugin *desc, const struct config *config, const struct config_plugin *entry,
		    struct sink_terms *ret, struct diag *diag)
{
	char where[CONFIG_WHERE_SIZE];
	struct option_reader r = options_reader(config, entry, where, ret, diag);
	size_t n_errors = diag->n_errors;

	*ret = (struct sink_terms){ .any_order = desc->sink && desc->sink->flags & SKEP_SINK_ANY_ORDER };
	for (const struct config_key *key = config_entry_table; key->name; key++) {
		const json_t *value = json_object_get(entry->options, key->name);

		if (value && sink_terms_key(desc, key->name))
			option_read(&r, key, config_pos_key(entry->at, key->name), value);
	}
	return diag->n_errors > n_errors ? -EINVAL : 0;
}
