/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_schema.c - config_key_table and the plugins' option tables, as JSON Schema.
 *
 * An entry's other keys depend on its plugin, so each plugin has an if/then of its own.  A oneOf would refuse the same
 * files, but explain for every plugin why the entry is not of that plugin.
 */
#include "core/config/config_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_table.h"
#include "core/config/options.h"
#include "core/config/sink_terms.h"

#define TIME_UNITS "(ns|us|ms|s|m|h|d)"
#define SIZE_UNITS "(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)"
/* Takes both. NULL when either is NULL: no memory. */
static json_t *with(json_t *object, const char *key, json_t *value)
{
	if (object && value && json_object_set_new(object, key, value) == 0)
		return object;
	if (!object || !value)
		json_decref(value);
	json_decref(object);
	return NULL;
}

static json_t *described(json_t *object, const char *help)
{
	return help ? with(object, "description", json_string(help)) : object;
}

static json_t *text_like(const char *pattern)
{
	return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

static json_t *list_of(json_t *item)
{
	return json_pack("{s:s, s:o}", "type", "array", "items", item);
}

/* ---- a key ---------------------------------------------------------------------------------- */

static json_t *bounded(json_t *object, const struct config_key *option, int64_t min)
{
	if (option->min >= option->max)
		return object;
	object = with(object, "minimum", json_integer(min));
	return option->max < INT64_MAX ? with(object, "maximum", json_integer(option->max)) : object;
}

/* A size or a time as text. */
static json_t *quantity_schema(const struct config_key *option, int64_t min)
{
	char *(*pattern)(uint64_t, uint64_t) = option->type == SKEP_O_SIZE ? config_size_pattern : config_time_pattern;
	struct config_key shown = *option;
	char bounds[OPTION_WORDS_SIZE], *text;
	json_t *schema;

	if (option->min >= option->max || option->max < 0)
		return text_like(option->type == SKEP_O_SIZE ? "^[0-9]+" SIZE_UNITS "?$"
							     : "^(0+|[0-9]+" TIME_UNITS ")$");
	text = pattern(min < 0 ? 0 : (uint64_t)min, (uint64_t)option->max);
	if (!text)
		return NULL;
	shown.min = min;
	option_bounds_format(&shown, bounds);
	schema = text_like(text);
	free(text);
	if (option->flags & CONFIG_OR_ZERO)
		schema = json_pack("{s:[o, o]}", "anyOf", text_like("^0+" TIME_UNITS "?$"), schema);
	/* no keyword of JSON Schema: editors print it instead of the pattern (vscode-json-languageservice) */
	return with(schema, "patternErrorMessage", json_string(bounds));
}

static json_t *text_schema(const struct config_text *text)
{
	if (text && text->pattern)
		return text_like(text->pattern);
	return text ? json_pack("{s:s, s:i}", "type", "string", "minLength", 1) : json_pack("{s:s}", "type", "string");
}

static json_t *key_schema(const struct config_key *key)
{
	int64_t min = key->flags & CONFIG_RAISED ? 0 : key->min;
	json_t *schema;

	switch (key->type) {
	case SKEP_O_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case SKEP_O_INT:
		return bounded(json_pack("{s:s}", "type", "integer"), key, min);
	case SKEP_O_SIZE:
		schema = json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
		if (min >= 0)
			schema = bounded(schema, key, min);
		return json_pack("{s:[o, o]}", "anyOf", schema, quantity_schema(key, min));
	case SKEP_O_TIME:
		return quantity_schema(key, min);
	case SKEP_O_STR:
		schema = text_schema(key->text);
		if (key->max > 0)
			schema = with(schema, "maxLength", json_integer(key->max));
		return key->flags & CONFIG_OR_FALSE ? json_pack("{s:[o, {s:b}]}", "anyOf", schema, "const", 0) : schema;
	case SKEP_O_STRV:
		schema = list_of(text_schema(key->text));
		if (key->flags & CONFIG_UNIQUE)
			schema = with(schema, "uniqueItems", json_true());
		return key->flags & CONFIG_NOT_EMPTY ? with(schema, "minItems", json_integer(1)) : schema;
	case CONFIG_O_EITHER:
		return json_pack("{s:[ss]}", "enum", key->words[0], key->words[1]);
	case CONFIG_O_LABELS:
		return json_pack("{s:s, s:{s:i}, s:{s:s}}", "type", "object", "propertyNames", "minLength", 1,
				 "additionalProperties", "type", "string");
	case CONFIG_O_SECRET_FILE:
		return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
	default:
		return NULL;
	}
}

/* The tooltip of an editor. */
static json_t *key_help(const struct config_key *key)
{
	char *text = NULL, shown[OPTION_WORDS_SIZE];
	const char *value = option_default_shown(key, shown);
	json_t *help;
	int n = asprintf(&text, "%s%s%s%s%s%s", key->help ? key->help : "", value ? ". Default: " : "", value ? value : "",
			 key->flags & SKEP_OPT_RELOADABLE ? ". Changes by a reload, without a restart" : "",
			 key->flags & (CONFIG_AT_START | CONFIG_FIXED) ? ". Changes only with a restart" : "",
			 key->flags & SKEP_OPT_SECRET
				 ? ". A secret: better \"env:NAME\", or the file's path under this name and _file"
				 : "");

	if (n < 0)
		return NULL;
	help = json_string(text);
	free(text);
	return help;
}

static json_t *described_key(const struct config_key *key)
{
	return with(key_schema(key), "description", key_help(key));
}

/* ---- a plugin's options --------------------------------------------------------------------- */

/* An entry has at most one of key and file; exactly one when the option is required. */
static int option_rules(json_t *rules, json_t *required, const struct config_key *option, const char *file)
{
	bool wanted = option->flags & SKEP_OPT_REQUIRED;

	if (!file)
		return wanted ? json_array_append_new(required, json_string(option->name)) : 0;
	if (json_array_append_new(rules, json_pack("{s:{s:[ss]}}", "not", "required", option->name, file)) < 0)
		return -1;
	if (!wanted)
		return 0;
	return json_array_append_new(
		rules, json_pack("{s:[{s:[s]}, {s:[s]}]}", "anyOf", "required", option->name, "required", file));
}

/* What an entry of this plugin may be. */
static json_t *plugin_schema(const struct skep_plugin *plugin)
{
	json_t *properties = json_object(), *required = json_array(), *rules = json_array(), *schema;
	struct options_memory *memory = options_memory_new();
	const struct config_key *keys = memory ? options_keys(plugin, memory) : NULL;
	int err = properties && required && rules && keys ? 0 : -1;

	for (const struct config_key *key = keys; err == 0 && key->name; key++) {
		if ((key->flags & CONFIG_OWN) && !key->section)
			schema = json_object(); /* the schema of each entry has its type */
		else
			schema = described_key(key);
		err = json_object_set_new(properties, key->name, schema);
		if (err == 0 && !(key->flags & CONFIG_OWN) && key->type != CONFIG_O_SECRET_FILE)
			err = option_rules(rules, required, key,
					   key[1].type == CONFIG_O_SECRET_FILE ? key[1].name : NULL);
	}
	options_memory_free(memory);
	if (err < 0) {
		json_decref(properties);
		json_decref(required);
		json_decref(rules);
		return NULL;
	}
	if (json_array_size(rules) > 0)
		return json_pack("{s:b, s:o, s:o, s:o}", "additionalProperties", 0, "properties", properties,
				 "required", required, "allOf", rules);
	json_decref(rules);
	return json_pack("{s:b, s:o, s:o}", "additionalProperties", 0, "properties", properties, "required", required);
}

static json_t *entries_schema(const struct skep_plugin *const *plugins, size_t n, uint32_t kind)
{
	json_t *names = json_array(), *cases = json_array(), *item;
	json_t *properties = json_object();
	int err = names && cases && properties ? 0 : -1;

	for (size_t i = 0; err == 0 && i < n; i++) {
		if (plugins[i]->kind != kind)
			continue;
		err = json_array_append_new(names, json_string(plugins[i]->name));
		if (err == 0)
			err = json_array_append_new(
				cases, json_pack("{s:{s:[s], s:{s:{s:s}}}, s:o}", "if", "required", "plugin",
						 "properties", "plugin", "const", plugins[i]->name, "then",
						 described(plugin_schema(plugins[i]), plugins[i]->summary)));
	}
	if (err == 0)
		for (const struct config_key *key = config_entry_table; err == 0 && key->name; key++)
			if (!key->section)
				err = json_object_set_new(properties, key->name, described_key(key));
	/* An enum must have something in it: without plugins any name is right. */
	if (err == 0 && json_array_size(names) > 0)
		err = json_object_set(json_object_get(properties, "plugin"), "enum", names);
	if (err) {
		json_decref(names);
		json_decref(cases);
		json_decref(properties);
		return NULL;
	}
	json_decref(names);
	item = json_pack("{s:s, s:[s], s:o}", "type", "object", "required", "plugin", "properties", properties);
	/* An empty allOf is no schema. */
	if (json_array_size(cases) > 0)
		item = with(item, "allOf", cases);
	else
		json_decref(cases);
	return list_of(item);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* The properties of the file, or of the section, which the first call for it makes. Borrowed. */
static json_t *place_of(json_t *top, const char *section)
{
	json_t *object;

	if (!section)
		return top;
	object = json_object_get(top, section);
	if (!object) {
		object = json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0, "properties");
		if (!object || json_object_set_new(top, section, object) < 0)
			return NULL;
	}
	return json_object_get(object, "properties");
}

json_t *config_schema(const struct skep_plugin *const *plugins, size_t n)
{
	json_t *top = json_object();

	for (const struct config_key *key = config_key_table; top && key->name; key++) {
		json_t *value, *place = place_of(top, key->section);

		if (key->type == CONFIG_O_ENTRIES)
			value = entries_schema(plugins, n,
					       key->offset == offsetof(struct config, probes) ? SKEP_KIND_PROBE
												: SKEP_KIND_SINK);
		else
			value = key_schema(key);
		value = with(value, "description", key_help(key));
		if (!place || !value || json_object_set_new(place, key->name, value) < 0) {
			if (!place)
				json_decref(value);
			json_decref(top);
			return NULL;
		}
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "$schema", "http://json-schema.org/draft-07/schema#",
			 "title", "Configuration of skepd", "description",
			 "skepd.conf: JSON, with // and /* */ comments.", "type", "object", "additionalProperties", 0,
			 "properties", top);
}
