/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filters/suggest.h"

#define INTERVAL_MIN (100 * NS_PER_MS)
#define INTERVAL_MAX (3600 * 1000 * NS_PER_MS)

void reader_no_memory(struct reader *r)
{
	reader_fail(r, 0, 0, "out of memory");
}

void reader_wrong(struct reader *r, int line, int column, const char *where, const char *expected,
		      const json_t *found)
{
	char words[CONFIG_QUOTE_SIZE];

	config_describe(found, words, sizeof(words));
	reader_fail(r, line, column, "%s: expected %s, found %s", where, expected, words);
}

/* Keys that a configuration of an earlier version may still have: skepd says what to do, and starts. */
static const struct {
	const char *name, *instead;
} retired[] = {
	{ "carry_file", "the spool keeps this state: delete the line, and set spool.path if there is none" },
};

static bool warn_retired(struct reader *r, const struct config_pos *at, const char *in)
{
	for (size_t i = 0; !*in && i < sizeof(retired) / sizeof(retired[0]); i++) {
		if (strcmp(retired[i].name, at->key) != 0)
			continue;
		diag_add(r->diag, DIAG_WARNING, r->config->file, at->key_line, at->key_column,
			 "%s has no effect since 1.1: %s", at->key, retired[i].instead);
		return true;
	}
	return false;
}

/* in: "" for the file's own keys, else " in host". */
static void fail_unknown(struct reader *r, const struct config_pos *at, const char *in, const struct key *keys)
{
	const char *names[24] = { NULL };
	const char *near;
	char quoted[CONFIG_QUOTE_SIZE];
	char *list = NULL;
	size_t n = 0, size;
	FILE *out;

	for (; keys->name && n + 1 < sizeof(names) / sizeof(names[0]); keys++)
		names[n++] = keys->name;
	config_quote(at->key, quoted, sizeof(quoted));
	near = suggest_nearest(at->key, names);
	if (near) {
		reader_fail(r, at->key_line, at->key_column, "unknown key %s%s: did you mean \"%s\"?", quoted, in,
			    near);
		return;
	}
	out = open_memstream(&list, &size);
	for (size_t i = 0; out && i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", names[i]);
	if (out && fclose(out) != 0)
		size = 0;
	reader_fail(r, at->key_line, at->key_column, "unknown key %s%s: known are %s", quoted, in,
		    list ? list : "others");
	free(list);
}

/* Calls each key's reader. Walks the positions and not the object: then each key knows its place at no cost. */
void reader_keys(struct reader *r, const struct config_pos *at, const json_t *object, const char *in,
		      const struct key *keys)
{
	for (at = at->first; at; at = at->next) {
		const struct key *key = keys;

		while (key->name && strcmp(key->name, at->key) != 0)
			key++;
		if (key->name)
			key->read(r, at, json_object_get(object, at->key));
		else if (!warn_retired(r, at, in))
			fail_unknown(r, at, in, keys);
	}
}

char **config_strings_free(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
	return NULL;
}

char **reader_strings(struct reader *r, const struct config_pos *at, const json_t *value, bool absolute)
{
	size_t n_errors = r->diag->n_errors, i = 0;
	char **strings;

	if (!json_is_array(value)) {
		reader_wrong(r, at->key_line, at->key_column, at->key, "an array of paths", value);
		return NULL;
	}
	strings = calloc(json_array_size(value) + 1, sizeof(*strings));
	if (!strings)
		goto memory;
	for (const struct config_pos *item = at->first; item; item = item->next, i++) {
		const json_t *element = json_array_get(value, i);
		const char *path = json_string_value(element);
		char where[CONFIG_QUOTE_SIZE], quoted[CONFIG_QUOTE_SIZE];

		snprintf(where, sizeof(where), "%s[%zu]", at->key, i);
		if (!path || !*path) {
			reader_wrong(r, item->line, item->column, where, "a path", element);
			path = "";
		} else if (absolute && path[0] != '/') {
			config_quote(path, quoted, sizeof(quoted));
			reader_fail(r, item->line, item->column,
				"%s: %s is not an absolute path: code is loaded from there, so it must not depend on "
				"the current directory",
				where, quoted);
		}
		strings[i] = strdup(path);
		if (!strings[i])
			goto memory;
	}
	if (r->diag->n_errors == n_errors)
		return strings;
	return config_strings_free(strings);
memory:
	reader_no_memory(r);
	return config_strings_free(strings);
}

void reader_time(struct reader *r, const struct config_pos *at, const json_t *value, const char *key, bool zero_ok,
		 uint64_t *ret)
{
	const char *text = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE];
	uint64_t ns = 0;
	int err = text ? config_time(text, &ns) : -EINVAL;

	if (err == -EINVAL)
		reader_wrong(r, at->key_line, at->key_column, key,
			  "a time such as \"5s\" (units: ns us ms s m h d)", value);
	if (err == -EINVAL)
		return;
	config_quote(text, quoted, sizeof(quoted));
	if (err || ((ns < INTERVAL_MIN || ns > INTERVAL_MAX) && !(zero_ok && ns == 0)))
		reader_fail(r, at->key_line, at->key_column, "%s: %s is out of bounds: from 100ms to 1h%s", key, quoted,
			zero_ok ? ", or \"0s\" for none" : "");
	else
		*ret = ns;
}

void reader_absolute(struct reader *r, const struct config_pos *at, const json_t *value, const char *key,
		     const char *expected, char **to)
{
	const char *path = json_string_value(value);

	if (!path || path[0] != '/') {
		reader_wrong(r, at->key_line, at->key_column, key, expected, value);
		return;
	}
	*to = strdup(path);
	if (!*to)
		reader_no_memory(r);
}

void reader_size(struct reader *r, const struct config_pos *at, const json_t *value, const char *key, uint64_t least,
		 uint64_t *ret)
{
	const char *text = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE], bound[CONFIG_UNITS_SIZE];
	uint64_t bytes = 0;
	int err = text ? config_size(text, &bytes) : -EINVAL;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		bytes = (uint64_t)json_integer_value(value);
		err = 0;
	}
	if (err == -EINVAL) {
		reader_wrong(r, at->key_line, at->key_column, key,
			     "a size such as \"1GiB\" (units: B KiB MiB GiB TiB kB MB GB TB)", value);
		return;
	}
	config_size_format(least, bound);
	config_describe(value, quoted, sizeof(quoted));
	if (err) {
		reader_fail(r, at->key_line, at->key_column, "%s: %s is more than fits", key, quoted);
		return;
	}
	if (bytes < least)
		diag_add(r->diag, DIAG_WARNING, r->config->file, at->key_line, at->key_column,
			 "%s: %s is too little to work with: %s is taken", key, quoted, bound);
	*ret = bytes < least ? least : bytes;
}

void reader_any_time(struct reader *r, const struct config_pos *at, const json_t *value, const char *key, uint64_t *ret)
{
	const char *text = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE];
	int err = text ? config_time(text, ret) : -EINVAL;

	if (err == -EINVAL) {
		reader_wrong(r, at->key_line, at->key_column, key, "a time such as \"5s\" (units: ns us ms s m h d)",
			     value);
	} else if (err) {
		config_quote(text, quoted, sizeof(quoted));
		reader_fail(r, at->key_line, at->key_column, "%s: %s is more than fits", key, quoted);
	}
}
