/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_schema.c - config_key_table and the plugins' option tables, as JSON Schema.
 *
 * An entry's other keys depend on its plugin, so each plugin is an if/then of its own:
 * a oneOf would refuse the same files, but tell of every plugin why it is not that one.
 */
#include "core/config/config_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_table.h"
#include "core/config/option_table.h"
#include "core/config/sink_terms.h"

#define TIME_UNITS "(ns|us|ms|s|m|h|d)"
#define SIZE_UNITS "(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)"
#define PLUGIN_PATTERN "^[A-Za-z0-9_][A-Za-z0-9_-]{0,30}$"
#define INSTANCE_PATTERN "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$"
#define SOCKET_PATH_MAX 107 /* sun_path, less its end */

/* Both are stolen; NULL: no memory, and so is what it becomes part of. */
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

/* ---- the file's own keys ------------------------------------------------------------ */

static json_t *key_schema(enum config_key_type type)
{
	switch (type) {
	case CONFIG_KEY_LABELS:
		return json_pack("{s:s, s:{s:i}, s:{s:s}}", "type", "object", "propertyNames", "minLength", 1,
				 "additionalProperties", "type", "string");
	case CONFIG_KEY_TIME:
		return text_like("^[0-9]*[1-9][0-9]*" TIME_UNITS "$");
	case CONFIG_KEY_TIME_OR_0:
		return text_like("^(0+|[0-9]+" TIME_UNITS ")$");
	case CONFIG_KEY_TIME_ANY:
		return text_like("^(0+|[0-9]+" TIME_UNITS ")$");
	case CONFIG_KEY_SIZE:
		return json_pack("{s:[{s:s, s:i}, o]}", "anyOf", "type", "integer", "minimum", 0,
				 text_like("^[0-9]+" SIZE_UNITS "?$"));
	case CONFIG_KEY_PATHS:
		return list_of(json_pack("{s:s, s:i}", "type", "string", "minLength", 1));
	case CONFIG_KEY_PATHS_ABSOLUTE:
		return with(list_of(text_like("^/")), "minItems", json_integer(1));
	case CONFIG_KEY_PATH_ABSOLUTE:
		return text_like("^/");
	case CONFIG_KEY_PACKS:
		return with(list_of(text_like("^[^./][^/]*$")), "uniqueItems", json_true());
	case CONFIG_KEY_CAPABILITIES:
		return list_of(text_like("^[Cc][Aa][Pp]_[A-Za-z_]+$"));
	case CONFIG_KEY_SOCKET:
		return json_pack("{s:[{s:s, s:s, s:i}, {s:b}]}", "anyOf", "type", "string", "pattern", "^/",
				 "maxLength", SOCKET_PATH_MAX, "const", 0);
	case CONFIG_KEY_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case CONFIG_KEY_BACKLOG:
		return json_pack("{s:[ss]}", "enum", "first", "shared");
	case CONFIG_KEY_VERDICT:
		return json_pack("{s:[ss]}", "enum", "include", "exclude");
	default:
		return NULL;
	}
}

/* ---- a plugin's options --------------------------------------------------------------- */

static json_t *bounded(json_t *object, const struct skep_option *option)
{
	if (option->min >= option->max)
		return object;
	return with(with(object, "minimum", json_integer(option->min)), "maximum", json_integer(option->max));
}

/* A size or a time that is written as text. */
static json_t *quantity_schema(const struct skep_option *option)
{
	char *(*pattern)(uint64_t, uint64_t) = option->type == SKEP_O_SIZE ? config_size_pattern : config_time_pattern;
	char least[CONFIG_UNITS_SIZE], most[CONFIG_UNITS_SIZE], *text;
	json_t *schema;

	if (option->min >= option->max || option->max < 0)
		return text_like(option->type == SKEP_O_SIZE ? "^[0-9]+" SIZE_UNITS "?$"
							     : "^(0+|[0-9]+" TIME_UNITS ")$");
	text = pattern(option->min < 0 ? 0 : (uint64_t)option->min, (uint64_t)option->max);
	if (!text)
		return NULL;
	option_bound_format(option, option->min, least);
	option_bound_format(option, option->max, most);
	schema = text_like(text);
	free(text);
	if (asprintf(&text, "from %s to %s", least, most) < 0) {
		json_decref(schema);
		return NULL;
	}
	/* not JSON Schema's: editors say it instead of the pattern (vscode-json-languageservice) */
	schema = with(schema, "patternErrorMessage", json_string(text));
	free(text);
	return schema;
}

static json_t *option_schema(const struct skep_option *option)
{
	json_t *bytes;

	switch (option->type) {
	case SKEP_O_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case SKEP_O_INT:
		return bounded(json_pack("{s:s}", "type", "integer"), option);
	case SKEP_O_SIZE:
		bytes = json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
		if (option->min >= 0)
			bytes = bounded(bytes, option);
		return json_pack("{s:[o, o]}", "anyOf", bytes, quantity_schema(option));
	case SKEP_O_TIME:
		return quantity_schema(option);
	case SKEP_O_STR:
		return json_pack("{s:s}", "type", "string");
	default:
		return list_of(json_pack("{s:s}", "type", "string"));
	}
}

/* What options_print says behind an option, in the tooltip. */
static json_t *option_help(const struct skep_option *option)
{
	char *text = NULL;
	json_t *help;
	int n = asprintf(&text, "%s%s%s%s%s", option->help ? option->help : "",
			 option->default_value ? ". Default: " : "", option->default_value ? option->default_value : "",
			 option->flags & SKEP_OPT_RELOADABLE ? ". Changes by a reload, without a restart" : "",
			 option->flags & SKEP_OPT_SECRET
				 ? ". A secret: better \"env:NAME\", or the file's path under this name and _file"
				 : "");

	if (n < 0)
		return NULL;
	help = json_string(text);
	free(text);
	return help;
}

/* {key, file}: not both; one of them where it is required. */
static int option_rules(json_t *rules, json_t *required, const struct skep_option *option, const char *file)
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
	json_t *properties = json_object(), *required = json_array(), *rules = json_array();
	struct skep_option option;
	int err = properties && required && rules ? 0 : -1;

	for (const struct config_key *key = config_entry_table; err == 0 && key->name; key++)
		if (!key->section) /* their types stand above, for all */
			err = json_object_set_new(properties, key->name, json_object());
		else if (sink_terms_key(plugin, key->name))
			err = json_object_set_new(
				properties, key->name,
				described(key->type == CONFIG_KEY_BACKLOG && !sink_terms_any_order(plugin)
						  ? json_pack("{s:[s]}", "enum", "first")
						  : key_schema(key->type),
					  key->help));
	for (size_t i = 0; err == 0 && option_get(plugin, i, &option); i++) {
		char *file = option_file_key(plugin, &option);

		err = json_object_set_new(properties, option.name,
					  with(option_schema(&option), "description", option_help(&option)));
		if (err == 0 && file)
			err = json_object_set_new(properties, file,
						  json_pack("{s:s, s:i, s:s}", "type", "string", "minLength", 1,
							    "description", "path of a file that holds it"));
		if (err == 0)
			err = option_rules(rules, required, &option, file);
		free(file);
	}
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

static const char *entry_help(const char *name)
{
	const struct config_key *key = config_entry_table;

	while (key->name && strcmp(key->name, name) != 0)
		key++;
	return key->help;
}

/* An enum must have something in it: with no plugin there, any that may be there one day. */
static json_t *plugin_name(json_t *names)
{
	if (json_array_size(names) == 0)
		return text_like(PLUGIN_PATTERN);
	return json_pack("{s:s, s:O}", "type", "string", "enum", names);
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
		err = json_object_set_new(properties, "plugin", described(plugin_name(names), entry_help("plugin"))) ||
		      json_object_set_new(properties, "name",
					  described(text_like(INSTANCE_PATTERN), entry_help("name"))) ||
		      json_object_set_new(properties, "required",
					  described(key_schema(CONFIG_KEY_BOOL), entry_help("required")));
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

/* Where the key stands: the file's properties, or those of its section, made when first asked for. Borrowed. */
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

		if (key->type == CONFIG_KEY_PROBES || key->type == CONFIG_KEY_SINKS)
			value = entries_schema(plugins, n,
					       key->type == CONFIG_KEY_PROBES ? SKEP_KIND_PROBE : SKEP_KIND_SINK);
		else
			value = key_schema(key->type);
		value = described(value, key->help);
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
