/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/sink_terms.h"

#include <errno.h>
#include <string.h>

#include "core/config/config_table.h"
#include "core/config/option_table.h"

bool sink_terms_key(const struct skep_plugin *desc, const char *name)
{
	const struct config_key *key = config_entry_table;
	struct skep_option option;

	while (key->name && (!key->section || strcmp(key->name, name) != 0))
		key++;
	if (!key->name || desc->kind != SKEP_KIND_SINK)
		return false;
	for (size_t i = 0; option_get(desc, i, &option); i++)
		if (strcmp(option.name, name) == 0)
			return false;
	return true;
}

bool sink_terms_any_order(const struct skep_plugin *desc)
{
	return desc->sink && SKEP_HAS(desc->sink, flags) && (desc->sink->flags & SKEP_SINK_ANY_ORDER);
}

struct reading {
	const struct config *config;
	const struct config_plugin *entry;
	struct diag *diag;
	int err;
};

static void wrong(struct reading *r, const char *key, const char *expected, const json_t *found)
{
	char where[CONFIG_QUOTE_SIZE], words[CONFIG_QUOTE_SIZE];
	int line, column;

	config_entry_name(r->config, r->entry, where, sizeof(where));
	config_option_position(r->config, r->entry, key, &line, &column);
	config_describe(found, words, sizeof(words));
	diag_add(r->diag, DIAG_ERROR, r->config->file, line, column, "%s: %s: %s, found %s", where, key, expected,
		 words);
	r->err = -EINVAL;
}

static const json_t *get(const struct skep_plugin *desc, const struct config_plugin *entry, const char *key)
{
	return sink_terms_key(desc, key) ? json_object_get(entry->options, key) : NULL;
}

int sink_terms_read(const struct skep_plugin *desc, const struct config *config, const struct config_plugin *entry,
		    struct sink_terms *ret, struct diag *diag)
{
	const json_t *backlog = get(desc, entry, "backlog"), *age = get(desc, entry, "max_age");
	const char *text = json_string_value(backlog);
	struct reading r = { config, entry, diag, 0 };

	*ret = (struct sink_terms){ .shares = sink_terms_any_order(desc) };
	if (text && strcmp(text, "first") == 0)
		ret->shares = false;
	else if (backlog && !(text && strcmp(text, "shared") == 0))
		wrong(&r, "backlog", "expected \"first\" or \"shared\"", backlog);
	else if (backlog && !sink_terms_any_order(desc))
		wrong(&r, "backlog", "this plugin needs its records in order, expected \"first\"", backlog);
	if (age && (!json_is_string(age) || config_time(json_string_value(age), &ret->max_age_ns) != 0))
		wrong(&r, "max_age",
		      "expected a time such as \"6h\" (units: ns us ms s m h d), or \"0s\" for everything", age);
	return r.err;
}
