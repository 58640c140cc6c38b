/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_table.c - types of keys; a plugin's option table, entry by entry and as help text.
 */
#include "core/config/option_table.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/options.h"

bool option_get(const struct skep_plugin *desc, size_t i, struct config_key *ret)
{
	struct skep_option option = { .name = NULL };

	if (desc->options)
		memcpy(&option, (const char *)desc->options + i * desc->option_size,
		       desc->option_size < sizeof(option) ? desc->option_size : sizeof(option));
	*ret = (struct config_key) {
		.name = option.name,
		.type = option.type,
		.flags = option.flags,
		.offset = option.offset,
		.default_value = option.default_value,
		.min = option.min,
		.max = option.max,
		.help = option.help,
	};
	return ret->name != NULL;
}

static bool option_exists(const struct skep_plugin *desc, const char *name)
{
	struct config_key option;

	for (size_t i = 0; option_get(desc, i, &option); i++)
		if (strcmp(option.name, name) == 0)
			return true;
	return false;
}

static const struct {
	const char *name, *expected;
	size_t size;
} types[] = {
	[SKEP_O_BOOL] = { "bool", "true or false", sizeof(bool) },
	[SKEP_O_INT] = { "int", "an integer", sizeof(int64_t) },
	[SKEP_O_SIZE] = { "size", "a size such as 4096 or \"64MiB\" (units: B kB KiB MB MiB GB GiB TB TiB)",
			  sizeof(uint64_t) },
	[SKEP_O_TIME] = { "time", "a time such as \"5s\" (units: ns us ms s m h d)", sizeof(uint64_t) },
	[SKEP_O_STR] = { "string", "a string", sizeof(char *) },
	[SKEP_O_STRV] = { "strings", "an array of strings", sizeof(char **) },
	[CONFIG_O_EITHER] = { "", "", sizeof(bool) },
	[CONFIG_O_LABELS] = { "object of strings", "an object of strings", sizeof(json_t *) },
	[CONFIG_O_ENTRIES] = { "array of entries", "an array of objects", 0 },
	[CONFIG_O_SECRET_FILE] = { "path", "the path of a file", sizeof(char *) },
};

size_t option_type_size(uint32_t type)
{
	return type < sizeof(types) / sizeof(types[0]) ? types[type].size : 0;
}

const char *option_type_name(const struct config_key *key, char ret[OPTION_WORDS_SIZE])
{
	const struct config_text *text = key->text;

	if (key->type == CONFIG_O_EITHER)
		return option_expected(key, ret);
	if (!text)
		return types[key->type].name;
	snprintf(ret, OPTION_WORDS_SIZE, "%s%s", key->type == SKEP_O_STRV ? text->many : text->one,
		 key->flags & CONFIG_OR_FALSE ? ", or false" : "");
	return ret;
}

const char *option_default_shown(const struct config_key *key, char ret[OPTION_WORDS_SIZE])
{
	const char *value = key->default_value;

	if (key->shown_default || !value || strcmp(value, "[]") == 0)
		return key->shown_default;
	if (key->type != SKEP_O_SIZE && key->type != SKEP_O_TIME && key->type != SKEP_O_STR &&
	    key->type != CONFIG_O_EITHER)
		return value;
	snprintf(ret, OPTION_WORDS_SIZE, "\"%s\"", value);
	return ret;
}

const char *option_expected(const struct config_key *key, char ret[OPTION_WORDS_SIZE])
{
	if (key->expected)
		return key->expected;
	if (key->type == CONFIG_O_EITHER)
		snprintf(ret, OPTION_WORDS_SIZE, "\"%s\" or \"%s\"", key->words[0], key->words[1]);
	else if (key->text && key->type == SKEP_O_STRV)
		snprintf(ret, OPTION_WORDS_SIZE, "an %s", key->text->many);
	else
		return key->text ? key->text->expected : types[key->type].expected;
	return ret;
}

int option_text_check(const struct config_text *text, const char *value)
{
	regex_t pattern;
	bool good;

	if (!text->pattern)
		return *value ? 0 : -EINVAL;
	if (regcomp(&pattern, text->pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return -ENOMEM; /* patterns are ours: no other error */
	good = regexec(&pattern, value, 0, NULL, 0) == 0;
	regfree(&pattern);
	return good && (!text->check || text->check(value) >= 0) ? 0 : -EINVAL;
}

void option_bound_format(const struct config_key *option, int64_t bound, char ret[CONFIG_UNITS_SIZE])
{
	/* A negative bound of an unsigned type bounds nothing from below. */
	if (option->type == SKEP_O_SIZE)
		config_size_format(bound < 0 ? 0 : (uint64_t)bound, ret);
	else if (option->type == SKEP_O_TIME)
		config_time_format(bound < 0 ? 0 : (uint64_t)bound, ret);
	else
		snprintf(ret, CONFIG_UNITS_SIZE, "%" PRId64, bound);
}

void option_bounds_format(const struct config_key *option, char ret[OPTION_WORDS_SIZE])
{
	char min[CONFIG_UNITS_SIZE], max[CONFIG_UNITS_SIZE];

	option_bound_format(option, option->min, min);
	option_bound_format(option, option->max, max);
	if (option->max < INT64_MAX)
		snprintf(ret, OPTION_WORDS_SIZE, "from %s to %s", min, max);
	else
		snprintf(ret, OPTION_WORDS_SIZE, "at least %s", min);
}

bool option_in_bounds(const struct config_key *option, int64_t value)
{
	return option->min >= option->max || (value >= option->min && value <= option->max);
}

bool option_in_bounds_unsigned(const struct config_key *option, uint64_t value)
{
	if (option->min >= option->max)
		return true;
	return value <= INT64_MAX && option_in_bounds(option, (int64_t)value);
}

char *option_file_key(const struct skep_plugin *desc, const struct config_key *option)
{
	char *key;

	if (!(option->flags & SKEP_OPT_SECRET) || option->type != SKEP_O_STR)
		return NULL;
	if (asprintf(&key, "%s_file", option->name) < 0)
		return NULL;
	if (option_exists(desc, key)) {
		free(key);
		return NULL;
	}
	return key;
}

void options_print(const struct skep_plugin *desc, FILE *out)
{
	char type[OPTION_WORDS_SIZE], bounds[OPTION_WORDS_SIZE];
	struct config_key option;
	int name_width = 6, type_width = 7, default_width = 7;

	if (!option_get(desc, 0, &option)) {
		fprintf(out, "%s has no options\n", desc->name);
		return;
	}
	for (size_t i = 0; option_get(desc, i, &option); i++) {
		int n = (int)strlen(option.name), d = option.default_value ? (int)strlen(option.default_value) : 0;

		name_width = n > name_width ? n : name_width;
		default_width = d > default_width ? d : default_width;
	}
	fprintf(out, "%-*s  %-*s  %-*s  %s\n", name_width, "option", type_width, "type", default_width, "default",
		"meaning");
	for (size_t i = 0; option_get(desc, i, &option); i++) {
		fprintf(out, "%-*s  %-*s  %-*s  %s", name_width, option.name, type_width, option_type_name(&option, type),
			default_width, option.default_value ? option.default_value : "-",
			option.help ? option.help : "");
		if (option.min < option.max) {
			option_bounds_format(&option, bounds);
			fprintf(out, " (%s)", bounds);
		}
		if (option.flags & SKEP_OPT_REQUIRED)
			fprintf(out, " (required)");
		if (option.flags & SKEP_OPT_RELOADABLE)
			fprintf(out, " (changes by a reload, without a restart)");
		/* its plugin has its own words for where values are */
		if ((option.flags & SKEP_OPT_SECRET) && option.type == SKEP_O_STRV)
			fprintf(out, " (secret)");
		else if (option.flags & SKEP_OPT_SECRET)
			fprintf(out, " (secret: also \"env:NAME\", or %s_file)", option.name);
		fputc('\n', out);
	}
}
