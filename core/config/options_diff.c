/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options_diff.c - compares two states option by option, and applies the difference.
 */
#include "core/config/options_diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/option_table.h"

static const void *value(const void *state, const struct config_key *option)
{
	return (const char *)state + option->offset;
}

static const char *text_of(const void *state, const struct config_key *option)
{
	const char *text;

	memcpy(&text, value(state, option), sizeof(text));
	return text;
}

static const char **list_of(const void *state, const struct config_key *option)
{
	const char **list;

	memcpy(&list, value(state, option), sizeof(list));
	return list;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const char **a, const char **b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return !*a && !*b;
}

static bool same_labels(json_t *const *a, json_t *const *b)
{
	return *a == *b || (*a && *b && json_equal(*a, *b));
}

bool option_same(const struct config_key *option, const void *a, const void *b)
{
	switch (option->type) {
	case SKEP_O_STR:
		return same_text(text_of(a, option), text_of(b, option));
	case SKEP_O_STRV:
		return same_list(list_of(a, option), list_of(b, option));
	case CONFIG_O_LABELS:
		return same_labels(value(a, option), value(b, option));
	default:
		return memcmp(value(a, option), value(b, option), option_type_size(option->type)) == 0;
	}
}

enum options_change options_diff(const struct skep_plugin *desc, const void *was, const void *next, char **ret_names)
{
	enum options_change change = OPTIONS_SAME;
	struct config_key option;
	char *names = NULL;
	size_t size;
	FILE *out = ret_names ? open_memstream(&names, &size) : NULL;

	for (size_t i = 0; option_get(desc, i, &option); i++) {
		if (option_same(&option, was, next))
			continue;
		if (out)
			fprintf(out, "%s%s", change == OPTIONS_SAME ? "" : ", ", option.name);
		if (!(option.flags & SKEP_OPT_RELOADABLE))
			change = OPTIONS_OTHER;
		else if (change == OPTIONS_SAME)
			change = OPTIONS_RELOADABLE;
	}
	if (out && fclose(out) != 0) {
		free(names);
		names = NULL;
	}
	if (ret_names)
		*ret_names = names;
	return change;
}

static void copy(const struct config_key *option, const void *from, void *to)
{
	memcpy((char *)to + option->offset, value(from, option), option_type_size(option->type));
}

void options_share(const struct skep_plugin *desc, const void *was, void *next)
{
	struct config_key option;

	for (size_t i = 0; option_get(desc, i, &option); i++)
		if ((option.type == SKEP_O_STR || option.type == SKEP_O_STRV) && option_same(&option, was, next))
			copy(&option, was, next);
}

void options_copy(const struct skep_plugin *desc, const void *was, const void *next, void *state)
{
	struct config_key option;

	for (size_t i = 0; option_get(desc, i, &option); i++)
		if (!option_same(&option, was, next))
			copy(&option, next, state);
}

static void adopt_list(const char **was, const char **next, struct options_memory *memory,
		       struct options_memory *next_memory)
{
	for (const char **s = was; s && *s; s++)
		options_memory_drop(memory, *s);
	options_memory_drop(memory, was);
	for (const char **s = next; s && *s; s++)
		options_memory_move(next_memory, *s, memory);
	options_memory_move(next_memory, next, memory);
}

int options_adopt(const struct skep_plugin *desc, void *was, const void *next, struct options_memory *memory,
		  struct options_memory *next_memory)
{
	struct config_key option;
	int err = options_memory_reserve(memory, next_memory);

	if (err < 0)
		return err;
	for (size_t i = 0; option_get(desc, i, &option); i++) {
		if (option_same(&option, was, next))
			continue;
		if (option.type == SKEP_O_STR) {
			options_memory_drop(memory, text_of(was, &option));
			options_memory_move(next_memory, text_of(next, &option), memory);
		} else if (option.type == SKEP_O_STRV) {
			adopt_list(list_of(was, &option), list_of(next, &option), memory, next_memory);
		}
		copy(&option, next, was);
	}
	return 0;
}
