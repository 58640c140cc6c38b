/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/tool_table.c - builds the tool table from etc/tools.json and a site's files, and finds entries
 * and options in it.
 */
#include "core/identify/tool_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/datafile.h"
#include "core/identify/tools_json.h"
#include "filters/glob.h"
#include "filters/suggest.h"

#define TOOL_SKIP_MAX 8
#define TOOL_DEPTH_MAX 4

static const struct {
	const char *word;
	enum tool_operand operand;
} operand_words[] = {
	{ "none", TOOL_OPERAND_NONE },
	{ "script", TOOL_OPERAND_SCRIPT },
	{ "class", TOOL_OPERAND_CLASS },
	{ "code", TOOL_OPERAND_CODE },
	{ "command", TOOL_OPERAND_COMMAND },
	{ "shell", TOOL_OPERAND_SHELL },
	{ "subcommand", TOOL_OPERAND_SUBCOMMAND },
	{ "subcommand_or_script", TOOL_OPERAND_EITHER },
	{ "applet", TOOL_OPERAND_APPLET },
};

static const struct {
	const char *key;
	enum tool_action action;
} option_keys[] = {
	{ "options_with_value", TOOL_VALUE },
	{ "options_with_two_values", TOOL_VALUE_2 },
	{ "options_with_attached_value", TOOL_ATTACHED },
	{ "code_options", TOOL_CODE },
	{ "shell_options", TOOL_SHELL },
	{ "shell_flags", TOOL_SHELL_FLAG },
	{ "module_options", TOOL_MODULE },
	{ "jar_options", TOOL_JAR },
	{ "script_options", TOOL_SCRIPT },
	{ "split_options", TOOL_SPLIT },
	{ "subcommand_options", TOOL_SUBCOMMAND },
	{ "plain_options", TOOL_PLAIN },
};

static const char *const entry_keys[] = {
	"match",
	"operand",
	"name",
	"trim_version",
	"single_dash_long",
	"assignments",
	"permute",
	"skip",
	"depth",
	"verbs",
	"groups",
	"options_with_value",
	"options_with_two_values",
	"options_with_attached_value",
	"code_options",
	"shell_options",
	"shell_flags",
	"module_options",
	"jar_options",
	"script_options",
	"split_options",
	"subcommand_options",
	"plain_options",
	NULL,
};

static const char *const root_keys[] = { "programs", NULL };

static void strings_free(char **strings)
{
	for (char **s = strings; s && *s; s++)
		free(*s);
	free(strings);
}

static void entry_clear(struct tool_entry *entry)
{
	for (size_t i = 0; i < entry->n_options; i++)
		free(entry->options[i].name);
	free(entry->options);
	free(entry->name);
	strings_free(entry->verbs);
	strings_free(entry->groups);
}

/* Makes room for one more element; the array may move. */
static int grow(void **array, size_t n, size_t *room, size_t size)
{
	size_t larger = *room ? *room * 2 : 16;
	void *p;

	if (n < *room)
		return 0;
	p = reallocarray(*array, larger, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = larger;
	return 0;
}

static int read_words(const struct datanode *entry, const char *key, char ***ret)
{
	struct datanode list, word;
	char **words;
	size_t n = 0;

	if (!datanode_key(entry, key, &list) || !datanode_array(&list))
		return 0;
	words = calloc(json_array_size(list.json) + 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		const char *s;

		datanode_at(&list, i, &word);
		s = datanode_string(&word);
		if (!s)
			continue;
		words[n] = strdup(s);
		if (!words[n]) {
			strings_free(words);
			return -ENOMEM;
		}
		n++;
	}
	*ret = words;
	return 0;
}

static int compare_options(const void *a, const void *b)
{
	return strcmp(((const struct tool_option *)a)->name, ((const struct tool_option *)b)->name);
}

static int read_options(const struct datanode *node, struct tool_entry *entry)
{
	struct datanode list, word;
	size_t room = 0;
	int err;

	for (size_t k = 0; k < sizeof(option_keys) / sizeof(option_keys[0]); k++) {
		if (!datanode_key(node, option_keys[k].key, &list) || !datanode_array(&list))
			continue;
		for (size_t i = 0; i < json_array_size(list.json); i++) {
			const char *s;

			datanode_at(&list, i, &word);
			s = datanode_string(&word);
			if (!s)
				continue;
			if ((s[0] != '-' && s[0] != '+') || s[1] == '\0') {
				datanode_error(&word, "\"%s\" is not an option: write it with its dashes, as "
					"\"-%s\"", s,
					       s);
				continue;
			}
			err = grow((void **)&entry->options, entry->n_options, &room, sizeof(*entry->options));
			if (err)
				return err;
			entry->options[entry->n_options].action = option_keys[k].action;
			entry->options[entry->n_options].name = strdup(s);
			if (!entry->options[entry->n_options].name)
				return -ENOMEM;
			entry->n_options++;
			entry->plus_options |= s[0] == '+';
		}
	}
	if (entry->n_options == 0)
		return 0;
	qsort(entry->options, entry->n_options, sizeof(*entry->options), compare_options);
	for (size_t i = 1; i < entry->n_options; i++)
		if (compare_options(&entry->options[i - 1], &entry->options[i]) == 0)
			datanode_error(node, "it names option \"%s\" more than once: keep one",
				       entry->options[i].name);
	return 0;
}

static void read_operand(const struct datanode *node, struct tool_entry *entry)
{
	const char *words[sizeof(operand_words) / sizeof(operand_words[0]) + 1] = { NULL };
	struct datanode value;
	const char *s, *near;

	if (!datanode_key(node, "operand", &value))
		return;
	s = datanode_string(&value);
	if (!s)
		return;
	for (size_t i = 0; i < sizeof(operand_words) / sizeof(operand_words[0]); i++) {
		if (strcmp(operand_words[i].word, s) == 0) {
			entry->operand = operand_words[i].operand;
			return;
		}
		words[i] = operand_words[i].word;
	}
	near = suggest_nearest(s, words);
	if (near)
		datanode_error(&value, "unknown operand \"%s\": did you mean \"%s\"?", s, near);
	else
		datanode_error(&value, "unknown operand \"%s\": one of none, script, class, code, command, shell, "
			       "subcommand, subcommand_or_script, applet", s);
}

static int read_scalars(const struct datanode *node, struct tool_entry *entry)
{
	const struct {
		const char *key;
		bool *ret;
	} bools[] = {
		{ "trim_version", &entry->trim_version },
		{ "single_dash_long", &entry->single_dash_long },
		{ "assignments", &entry->assignments },
		{ "permute", &entry->permute },
	};
	struct datanode value;
	const char *s;
	long n;

	for (size_t i = 0; i < sizeof(bools) / sizeof(bools[0]); i++)
		if (datanode_key(node, bools[i].key, &value))
			datanode_bool(&value, bools[i].ret);
	if (datanode_key(node, "skip", &value) && datanode_number(&value, 0, TOOL_SKIP_MAX, &n))
		entry->skip = (uint32_t)n;
	entry->depth = 1;
	if (datanode_key(node, "depth", &value) && datanode_number(&value, 1, TOOL_DEPTH_MAX, &n))
		entry->depth = (uint32_t)n;
	if (!datanode_key(node, "name", &value))
		return 0;
	s = datanode_string(&value);
	entry->name = s ? strdup(s) : NULL;
	return s && !entry->name ? -ENOMEM : 0;
}

static int read_match(const struct datanode *node, struct tools *tools, uint32_t entry)
{
	struct datanode list, word;
	struct tool_word *to;
	int err;

	if (!datanode_key(node, "match", &list)) {
		datanode_error(node, "has no \"match\": give the program's names, as \"match\": [\"samtools\"]");
		return 0;
	}
	if (!datanode_array(&list))
		return 0;
	if (json_array_size(list.json) == 0)
		datanode_error(&list, "is empty: give the program's names, as [\"samtools\"]");
	for (size_t i = 0; i < json_array_size(list.json); i++) {
		const char *s;

		datanode_at(&list, i, &word);
		s = datanode_glob(&word);
		if (!s)
			continue;
		if (strchr(s, '/')) {
			datanode_error(&word, "\"%s\" has a slash: programs are matched by the last part of their path",
				       s);
			continue;
		}
		if (glob_literal(s)) {
			err = grow((void **)&tools->names, tools->n_names, &tools->names_room, sizeof(*tools->names));
			to = err ? NULL : &tools->names[tools->n_names];
		} else {
			err = grow((void **)&tools->globs, tools->n_globs, &tools->globs_room, sizeof(*tools->globs));
			to = err ? NULL : &tools->globs[tools->n_globs];
		}
		if (err)
			return err;
		to->entry = entry;
		to->text = strdup(s);
		if (!to->text)
			return -ENOMEM;
		if (glob_literal(s))
			tools->n_names++;
		else
			tools->n_globs++;
	}
	return 0;
}

static int read_entry(const struct datanode *node, struct tools *tools)
{
	struct tool_entry *entry;
	int err;

	if (!datanode_object(node, entry_keys))
		return 0;
	err = grow((void **)&tools->entries, tools->n_entries, &tools->entries_room, sizeof(*tools->entries));
	if (err)
		return err;
	entry = &tools->entries[tools->n_entries++];
	memset(entry, 0, sizeof(*entry));
	read_operand(node, entry);
	err = read_scalars(node, entry);
	if (!err)
		err = read_words(node, "verbs", &entry->verbs);
	if (!err)
		err = read_words(node, "groups", &entry->groups);
	if (!err)
		err = read_options(node, entry);
	if (!err)
		err = read_match(node, tools, (uint32_t)(tools->n_entries - 1));
	return err;
}

static int read_table(const struct datanode *root, void *arg)
{
	struct datanode list, entry;
	int err = 0;

	if (!datanode_object(root, root_keys) || !datanode_key(root, "programs", &list) || !datanode_array(&list))
		return 0;
	for (size_t i = 0; err == 0 && i < json_array_size(list.json); i++) {
		datanode_at(&list, i, &entry);
		err = read_entry(&entry, arg);
	}
	return err;
}

/* Sorts by text; of equal texts the entry that wins is first. */
static int compare_names(const void *a, const void *b)
{
	const struct tool_word *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->entry < y->entry) - (x->entry > y->entry);
}

static int compare_globs(const void *a, const void *b)
{
	const struct tool_word *x = a, *y = b;

	return (x->entry < y->entry) - (x->entry > y->entry);
}

/* Stores the glob's first and last character: comparing them rules out most globs. */
static void glob_ends(struct tool_word *glob)
{
	size_t len = strlen(glob->text);

	glob->first = strchr("*?[\\", glob->text[0]) ? '\0' : glob->text[0];
	glob->last = strchr("*?]", glob->text[len - 1]) || strchr(glob->text, '\\') ? '\0' : glob->text[len - 1];
}

static void sort_words(struct tools *tools)
{
	size_t n = 0;

	for (size_t i = 0; i < tools->n_globs; i++)
		glob_ends(&tools->globs[i]);

	if (tools->n_globs)
		qsort(tools->globs, tools->n_globs, sizeof(*tools->globs), compare_globs);
	if (tools->n_names)
		qsort(tools->names, tools->n_names, sizeof(*tools->names), compare_names);
	for (size_t i = 0; i < tools->n_names; i++) {
		if (n > 0 && strcmp(tools->names[n - 1].text, tools->names[i].text) == 0)
			free(tools->names[i].text);
		else
			tools->names[n++] = tools->names[i];
	}
	tools->n_names = n;
}

struct tools *tools_new(const char *const *more, struct diag *diag)
{
	struct tools *tools = calloc(1, sizeof(*tools));
	int err = tools ? 0 : -ENOMEM;

	if (!err)
		err = datafile_read(tools_json, tools_json_len, "tools.json (built in)", more, read_table, tools, diag);
	if (err) {
		if (err == -ENOMEM)
			diag_add(diag, DIAG_ERROR, NULL, 0, 0, "out of memory for the tool table");
		return tools_free(tools);
	}
	sort_words(tools);
	return tools;
}

static void words_free(struct tool_word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(words[i].text);
	free(words);
}

struct tools *tools_free(struct tools *tools)
{
	if (!tools)
		return NULL;
	for (size_t i = 0; i < tools->n_entries; i++)
		entry_clear(&tools->entries[i]);
	free(tools->entries);
	words_free(tools->names, tools->n_names);
	words_free(tools->globs, tools->n_globs);
	free(tools);
	return NULL;
}

/* strcmp for a text with a length. */
static int compare_counted(const char *s, const char *text, size_t len)
{
	int order = strncmp(s, text, len);

	return order ? order : s[len] != '\0';
}

const struct tool_entry *tool_table_find(const struct tools *tools, const char *name, size_t len)
{
	size_t low = 0, high = tools->n_names;
	const struct tool_word *best = NULL;

	if (memchr(name, '\0', len))
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_counted(tools->names[middle].text, name, len);

		if (order == 0) {
			best = &tools->names[middle];
			break;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; len > 0 && i < tools->n_globs && (!best || tools->globs[i].entry > best->entry); i++) {
		const struct tool_word *glob = &tools->globs[i];

		if ((!glob->first || glob->first == name[0]) && (!glob->last || glob->last == name[len - 1]) &&
		    glob_match(glob->text, name, len)) {
			best = glob;
			break;
		}
	}
	return best ? &tools->entries[best->entry] : NULL;
}

enum tool_action tool_table_option(const struct tool_entry *entry, const char *name, size_t len, const char **ret_name)
{
	size_t low = 0, high = entry->n_options;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_counted(entry->options[middle].name, name, len);

		if (order == 0) {
			*ret_name = entry->options[middle].name;
			return entry->options[middle].action;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return TOOL_FLAG;
}
