/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/options.c - a plugin's option table applied to its state: defaults, checks,
 * secrets, unknown keys.
 */
#include "core/config/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config/config_table.h"
#include "core/config/option_table.h"
#include "core/config/sink_terms.h"
#include "filters/suggest.h"

#define SECRET_MAX (64u << 10)

struct options_memory {
	void **blocks;
	size_t n;
};

struct apply {
	const struct skep_plugin *desc;
	const struct config *config;
	const struct config_plugin *entry;
	char *state;
	struct options_memory *memory;
	struct diag *diag;
	char where[CONFIG_QUOTE_SIZE]; /* "sinks[0] (lake)" */
};

struct options_memory *options_memory_free(struct options_memory *memory)
{
	if (!memory)
		return NULL;
	for (size_t i = 0; i < memory->n; i++)
		free(memory->blocks[i]);
	free(memory->blocks);
	free(memory);
	return NULL;
}

/* Out of the list; false: it is not in it. */
static bool memory_take_out(struct options_memory *memory, const void *block)
{
	for (size_t i = 0; block && i < memory->n; i++)
		if (memory->blocks[i] == block) {
			memory->blocks[i] = memory->blocks[--memory->n];
			return true;
		}
	return false;
}

int options_memory_reserve(struct options_memory *memory, const struct options_memory *next)
{
	void **blocks = reallocarray(memory->blocks, memory->n + next->n + 1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	memory->blocks = blocks;
	return 0;
}

void options_memory_move(struct options_memory *from, const void *block, struct options_memory *to)
{
	if (memory_take_out(from, block))
		to->blocks[to->n++] = (void *)(uintptr_t)block;
}

void options_memory_drop(struct options_memory *memory, const void *block)
{
	if (memory_take_out(memory, block))
		free((void *)(uintptr_t)block);
}

/* Takes the block, on failure too. NULL stays NULL. */
static void *memory_take(struct options_memory *memory, void *block)
{
	void **blocks;

	if (!block)
		return NULL;
	blocks = reallocarray(memory->blocks, memory->n + 1, sizeof(*blocks));
	if (!blocks) {
		free(block);
		return NULL;
	}
	memory->blocks = blocks;
	blocks[memory->n++] = block;
	return block;
}

#define fail_line(a, line, column, ...) \
	diag_add((a)->diag, DIAG_ERROR, (a)->config->file, line, column, __VA_ARGS__)

/* An error at the key (or, where it is not written, at the entry): "sinks[0] (lake): path: ...". */
__attribute__((format(printf, 3, 4))) static void fail_key(struct apply *a, const char *key, const char *fmt, ...)
{
	char *text = NULL;
	int line, column;
	va_list ap;

	config_option_position(a->config, a->entry, key, &line, &column);
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	fail_line(a, line, column, "%s: %s: %s", a->where, key, text ? text : "out of memory");
	free(text);
}

/* "the string \"x\"", or for a secret only its type. */
static void describe(const struct skep_option *option, const json_t *value, char *ret, size_t size)
{
	if ((option->flags & SKEP_OPT_SECRET) && (json_is_string(value) || json_is_number(value)))
		snprintf(ret, size, "%s", json_is_string(value) ? "a string" : "a number");
	else
		config_describe(value, ret, size);
}

static void fail_type(struct apply *a, const struct skep_option *option, const json_t *value)
{
	char words[CONFIG_QUOTE_SIZE];

	describe(option, value, words, sizeof(words));
	fail_key(a, option->name, "expected %s, found %s", option_type_expected(option->type), words);
}

static void fail_bounds(struct apply *a, const struct skep_option *option, const json_t *value)
{
	char min[CONFIG_UNITS_SIZE], max[CONFIG_UNITS_SIZE], words[CONFIG_QUOTE_SIZE];

	describe(option, value, words, sizeof(words));
	if (option->min < option->max) {
		option_bound_format(option, option->min, min);
		option_bound_format(option, option->max, max);
		fail_key(a, option->name, "%s is out of bounds: from %s to %s", words, min, max);
	} else {
		fail_key(a, option->name, "%s is out of bounds: too large", words);
	}
}

/* SIZE and TIME. 0, -EINVAL: not one; -ERANGE: does not fit 64 bits. */
static int read_quantity(const struct skep_option *option, const json_t *value, uint64_t *ret)
{
	if (json_is_string(value))
		return option->type == SKEP_O_SIZE ? config_size(json_string_value(value), ret) :
						     config_time(json_string_value(value), ret);
	/* Of a time without its unit nobody knows what it means. */
	if (option->type != SKEP_O_SIZE || !json_is_integer(value) || json_integer_value(value) < 0)
		return -EINVAL;
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

static const char *copy_string(struct apply *a, const char *key, const char *text)
{
	char *copy = memory_take(a->memory, strdup(text));

	if (!copy)
		fail_key(a, key, "out of memory");
	return copy;
}

/* Not refused: in a container the platform often mounts files readable by all where there is nobody else. */
static void warn_of_readers(struct apply *a, const struct skep_option *option)
{
	int line, column;

	if (!a->config->others_read)
		return;
	config_option_position(a->config, a->entry, option->name, &line, &column);
	if (option->type == SKEP_O_STRV)
		diag_add(
			a->diag, DIAG_WARNING, a->config->file, line, column,
			"%s: %s: may hold a secret, and everybody can read this file: chmod o-r it, or write the value as \"env:NAME\" or \"file:PATH\"",
			a->where, option->name);
	else
		diag_add(
			a->diag, DIAG_WARNING, a->config->file, line, column,
			"%s: %s: a secret, and everybody can read this file: chmod o-r it, or write \"%s_file\" or \"env:NAME\"",
			a->where, option->name, option->name);
}

/* Of "Name: value" or "name=value": is the value itself there, and not where it is read from? */
static bool is_written_out(const char *element)
{
	const char *value = element + strcspn(element, ":=");

	value += strspn(value, ":= \t");
	return *value && strncmp(value, "env:", 4) != 0 && strncmp(value, "file:", 5) != 0;
}

/* A secret as written: itself, or "env:NAME" for what that variable holds. */
static const char *read_secret(struct apply *a, const struct skep_option *option, const char *written)
{
	const char *text = written;
	static const char prefix[] = "env:";
	char quoted[CONFIG_QUOTE_SIZE];

	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0) {
		const char *name = text + sizeof(prefix) - 1;

		text = getenv(name);
		config_quote(name, quoted, sizeof(quoted));
		if (!text || !*text) {
			fail_key(a, option->name, "the environment variable %s is %s", quoted,
				 text ? "empty" : "not set: set it where this program is started");
			return NULL;
		}
	}
	if (*text && text == written)
		warn_of_readers(a, option);
	return copy_string(a, option->name, text);
}

static void read_strv(struct apply *a, const struct skep_option *option, const json_t *value)
{
	size_t n = json_array_size(value);
	const char **list;

	if (!json_is_array(value)) {
		fail_type(a, option, value);
		return;
	}
	list = memory_take(a->memory, calloc(n + 1, sizeof(*list)));
	if (!list) {
		fail_key(a, option->name, "out of memory");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *element = json_array_get(value, i);
		char words[CONFIG_QUOTE_SIZE];

		if (!json_is_string(element)) {
			describe(option, element, words, sizeof(words));
			fail_key(a, option->name, "element %zu: expected a string, found %s", i, words);
			return;
		}
		list[i] = copy_string(a, option->name, json_string_value(element));
		if (!list[i])
			return;
	}
	memcpy(a->state + option->offset, &list, sizeof(list));
	for (size_t i = 0; (option->flags & SKEP_OPT_SECRET) && i < n; i++)
		if (is_written_out(list[i])) {
			warn_of_readers(a, option); /* once */
			return;
		}
}

/* Checks one value and writes it into the state, or adds an error. */
static void read_value(struct apply *a, const struct skep_option *option, const json_t *value)
{
	char *to = a->state + option->offset;
	const char *text;
	uint64_t quantity;
	int64_t integer;
	bool truth;
	int err;

	switch (option->type) {
	case SKEP_O_BOOL:
		if (!json_is_boolean(value)) {
			fail_type(a, option, value);
			return;
		}
		truth = json_is_true(value);
		memcpy(to, &truth, sizeof(truth));
		return;
	case SKEP_O_INT:
		if (!json_is_integer(value)) {
			fail_type(a, option, value);
			return;
		}
		integer = json_integer_value(value);
		if (option_in_bounds(option, integer))
			memcpy(to, &integer, sizeof(integer));
		else
			fail_bounds(a, option, value);
		return;
	case SKEP_O_SIZE:
	case SKEP_O_TIME:
		err = read_quantity(option, value, &quantity);
		if (err == -EINVAL)
			fail_type(a, option, value);
		else if (err || !option_in_bounds_unsigned(option, quantity))
			fail_bounds(a, option, value);
		else
			memcpy(to, &quantity, sizeof(quantity));
		return;
	case SKEP_O_STR:
		text = json_string_value(value);
		if (!text) {
			fail_type(a, option, value);
			return;
		}
		text = option->flags & SKEP_OPT_SECRET ? read_secret(a, option, text) :
							 copy_string(a, option->name, text);
		if (text)
			memcpy(to, &text, sizeof(text));
		return;
	default:
		read_strv(a, option, value);
		return;
	}
}

/* NAME_file of a secret option NAME: what stands in that file, less one newline at its end. */
static void read_secret_file(struct apply *a, const struct skep_option *option, const char *key, const json_t *value)
{
	const char *file = json_string_value(value);
	char words[CONFIG_QUOTE_SIZE], quoted[CONFIG_QUOTE_SIZE];
	char *text = NULL;
	struct diag errors;
	struct stat st;
	size_t len;

	if (!file || !*file) {
		config_describe(value, words, sizeof(words));
		fail_key(a, key, "expected the path of a file, found %s", words);
		return;
	}
	config_quote(file, quoted, sizeof(quoted));
	diag_init(&errors);
	if (config_read_file(file, SECRET_MAX, &errors, &text, &len)) {
		/* Told at the key that names the file: that is where it is put right. */
		fail_key(a, key, "%s: %s", quoted, errors.n > 0 ? errors.entries[0].text : "cannot read");
		goto out;
	}
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len == 0 || memchr(text, '\0', len)) {
		fail_key(a, key, "%s %s", quoted, len == 0 ? "is empty" : "holds a NUL byte: it is no text");
		explicit_bzero(text, len);
		goto out;
	}
	if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH)) {
		int line, column;

		config_option_position(a->config, a->entry, key, &line, &column);
		diag_add(a->diag, DIAG_WARNING, a->config->file, line, column,
			 "%s: %s: everybody can read %s: chmod o-r", a->where, key, quoted);
	}
	text = memory_take(a->memory, text);
	if (text)
		memcpy(a->state + option->offset, &text, sizeof(text));
	else
		fail_key(a, key, "out of memory");
	text = NULL;
out:
	free(text);
	diag_clear(&errors);
}

/* A default as the table writes it; STRV: a JSON array, or one string. NULL after an error. */
static json_t *default_json(const struct skep_option *option)
{
	const char *text = option->default_value;
	json_t *list;

	switch (option->type) {
	case SKEP_O_STR:
	case SKEP_O_TIME:
	case SKEP_O_SIZE:
		return json_string(text);
	case SKEP_O_STRV:
		if (text[0] == '[')
			return json_loads(text, 0, NULL);
		list = json_array();
		if (list && json_array_append_new(list, json_string(text))) {
			json_decref(list);
			return NULL;
		}
		return list;
	default:
		return json_loads(text, JSON_DECODE_ANY, NULL);
	}
}

static void apply_default(struct apply *a, const struct skep_option *option)
{
	json_t *value = default_json(option);

	if (value)
		read_value(a, option, value);
	else
		fail_key(a, option->name, "the plugin's own default \"%s\" is no %s: report it to its author",
			 option->default_value, option_type_name(option->type));
	json_decref(value);
}

static void apply_option(struct apply *a, const struct skep_option *option)
{
	char *key = option_file_key(a->desc, option);
	const json_t *value = json_object_get(a->entry->options, option->name);
	const json_t *file = key ? json_object_get(a->entry->options, key) : NULL;

	if (value && file)
		fail_key(a, key, "\"%s\" is given as well: remove one of them", option->name);
	else if (value)
		read_value(a, option, value);
	else if (file)
		read_secret_file(a, option, key, file);
	else if (option->flags & SKEP_OPT_REQUIRED)
		fail_line(a, a->entry->line, 0, "%s: option \"%s\"%s%s%s is missing: %s", a->where, option->name,
			  key ? " or \"" : "", key ? key : "", key ? "\"" : "",
			  option->help ? option->help : "it is required");
	else if (option->default_value)
		apply_default(a, option);
	free(key);
}

/* Every key that may stand in an entry, for suggestions: the plugin's, their _file, and the host's. */
static const char **known_keys(const struct skep_plugin *desc, struct options_memory *memory)
{
	struct skep_option option;
	const char **keys;
	size_t n = 0;

	for (const struct config_key *key = config_entry_table; key->name; key++)
		n++;

	for (size_t i = 0; option_get(desc, i, &option); i++)
		n += 2;
	keys = memory_take(memory, calloc(n + 1, sizeof(*keys)));
	if (!keys)
		return NULL;
	n = 0;
	for (size_t i = 0; option_get(desc, i, &option); i++) {
		char *file = option_file_key(desc, &option);

		keys[n++] = option.name;
		file = memory_take(memory, file);
		if (file)
			keys[n++] = file;
	}
	for (const struct config_key *key = config_entry_table; key->name; key++)
		if (!key->section || sink_terms_key(desc, key->name))
			keys[n++] = key->name;
	return keys;
}

static void fail_unknown(struct apply *a, const char *key, const char *const *known)
{
	const char *near = suggest_nearest(key, known);
	char quoted[CONFIG_QUOTE_SIZE];
	int line, column;

	config_quote(key, quoted, sizeof(quoted));
	config_option_position(a->config, a->entry, key, &line, &column);
	if (near)
		fail_line(a, line, column, "%s: unknown option %s: did you mean \"%s\"?", a->where, quoted, near);
	else
		fail_line(a, line, column, "%s: unknown option %s: see \"skepd --options %s\"", a->where, quoted,
			  a->entry->plugin);
}

static void check_unknown(struct apply *a)
{
	/* Only for this pass: what it allocates is not the state's. */
	struct options_memory *scratch = calloc(1, sizeof(*scratch));
	const char **known = scratch ? known_keys(a->desc, scratch) : NULL;
	const char *key;
	json_t *value;

	if (!known) {
		fail_line(a, a->entry->line, 0, "%s: out of memory", a->where);
		options_memory_free(scratch);
		return;
	}
	json_object_foreach(a->entry->options, key, value) {
		const char **k = known;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k)
			fail_unknown(a, key, known);
	}
	options_memory_free(scratch);
}

/* No pointer into freed memory stays behind in a state that could not be filled. */
static void clear_options(struct apply *a)
{
	struct skep_option option;

	for (size_t i = 0; option_get(a->desc, i, &option); i++)
		memset(a->state + option.offset, 0, option_type_size(option.type));
}

int options_apply(const struct skep_plugin *desc, const struct config *config, const struct config_plugin *entry,
		  void *state, struct options_memory **ret_memory, struct diag *diag)
{
	struct apply a = { .desc = desc, .config = config, .entry = entry, .state = state, .diag = diag };
	size_t n_errors = diag->n_errors;
	struct skep_option option;

	config_entry_name(config, entry, a.where, sizeof(a.where));
	a.memory = calloc(1, sizeof(*a.memory));
	if (!a.memory) {
		fail_line(&a, entry->line, 0, "%s: out of memory", a.where);
		return -EINVAL;
	}
	for (size_t i = 0; option_get(desc, i, &option); i++)
		apply_option(&a, &option);
	check_unknown(&a);
	if (diag->n_errors > n_errors) {
		clear_options(&a);
		goto out;
	}
	*ret_memory = a.memory;
	return 0;
out:
	options_memory_free(a.memory);
	return -EINVAL;
}
