/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_table.c - reading a plugin's option table, and the table for people.
 */
#include "core/config/option_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/options.h"

/* Entry i of the table; false: the end. Fields that this table does not have yet are zero. */
bool option_get(const struct skep_plugin *desc, size_t i, struct skep_option *ret)
{
	size_t size = desc->option_size < sizeof(*ret) ? desc->option_size : sizeof(*ret);

	if (!desc->options)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, (const char *)desc->options + i * desc->option_size, size);
	return ret->name != NULL;
}

static bool option_exists(const struct skep_plugin *desc, const char *name)
{
	struct skep_option option;

	for (size_t i = 0; option_get(desc, i, &option); i++)
		if (strcmp(option.name, name) == 0)
			return true;
	return false;
}

const char *option_type_name(uint32_t type)
{
	switch (type) {
	case SKEP_O_BOOL:
		return "bool";
	case SKEP_O_INT:
		return "int";
	case SKEP_O_SIZE:
		return "size";
	case SKEP_O_TIME:
		return "time";
	case SKEP_O_STR:
		return "string";
	case SKEP_O_STRV:
		return "strings";
	default:
		return NULL;
	}
}

const char *option_type_expected(uint32_t type)
{
	switch (type) {
	case SKEP_O_BOOL:
		return "true or false";
	case SKEP_O_INT:
		return "an integer";
	case SKEP_O_SIZE:
		return "a size such as 4096 or \"64MiB\" (units: B kB KiB MB MiB GB GiB TB TiB)";
	case SKEP_O_TIME:
		return "a time such as \"5s\" (units: ns us ms s m h d)";
	case SKEP_O_STR:
		return "a string";
	default:
		return "an array of strings";
	}
}

size_t option_type_size(uint32_t type)
{
	switch (type) {
	case SKEP_O_BOOL:
		return sizeof(bool);
	case SKEP_O_STR:
	case SKEP_O_STRV:
		return sizeof(char *);
	default:
		return sizeof(uint64_t);
	}
}

void option_bound_format(const struct skep_option *option, int64_t bound, char ret[CONFIG_UNITS_SIZE])
{
	/* A negative bound of an unsigned type bounds nothing from below. */
	if (option->type == SKEP_O_SIZE)
		config_size_format(bound < 0 ? 0 : (uint64_t)bound, ret);
	else if (option->type == SKEP_O_TIME)
		config_time_format(bound < 0 ? 0 : (uint64_t)bound, ret);
	else
		snprintf(ret, CONFIG_UNITS_SIZE, "%" PRId64, bound);
}

bool option_in_bounds(const struct skep_option *option, int64_t value)
{
	return option->min >= option->max || (value >= option->min && value <= option->max);
}

bool option_in_bounds_unsigned(const struct skep_option *option, uint64_t value)
{
	if (option->min >= option->max)
		return true;
	return value <= INT64_MAX && option_in_bounds(option, (int64_t)value);
}

/* Only for secrets, and only where the plugin has no such option of its own. NULL: none. To be freed. */
char *option_file_key(const struct skep_plugin *desc, const struct skep_option *option)
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
	char min[CONFIG_UNITS_SIZE], max[CONFIG_UNITS_SIZE];
	struct skep_option option;
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
		const char *type = option_type_name(option.type);

		fprintf(out, "%-*s  %-*s  %-*s  %s", name_width, option.name, type_width, type ? type : "?",
			default_width, option.default_value ? option.default_value : "-",
			option.help ? option.help : "");
		if (option.min < option.max) {
			option_bound_format(&option, option.min, min);
			option_bound_format(&option, option.max, max);
			fprintf(out, " (%s to %s)", min, max);
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
