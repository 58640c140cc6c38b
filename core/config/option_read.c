/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/option_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "filters/suggest.h"

#define SECRET_MAX (64u << 10)
#define PART_SIZE (CONFIG_QUOTE_SIZE + 2)

/* ---- messages ------------------------------------------------------------------------------ */

static int line_of(const struct option_reader *r, const struct config_pos *at)
{
	return !at ? r->line : at->key ? at->key_line : at->line;
}

static int column_of(const struct config_pos *at)
{
	return !at ? 0 : at->key ? at->key_column : at->column;
}

void option_say(struct option_reader *r, enum diag_severity severity, const struct config_key *key, const char *part,
		const struct config_pos *at, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	/* an entry's message already names sinks */
	diag_add(r->diag, severity, r->file, line_of(r, at), column_of(at), "%s%s%s%s%s: %s", r->where,
		 key->section && !*r->where ? key->section : "", key->section && !*r->where ? "." : "", key->name,
		 part, text ? text : "out of memory");
	free(text);
}

void option_no_memory(struct option_reader *r)
{
	diag_add(r->diag, DIAG_ERROR, r->file, r->line, 0, "%sout of memory", r->where);
}

static void wrong_part(struct option_reader *r, const struct config_key *key, const char *part,
		       const struct config_pos *at, const char *expected, const json_t *found)
{
	char words[CONFIG_QUOTE_SIZE];

	config_describe(found, words, sizeof(words));
	if ((key->flags & SKEP_OPT_SECRET) && (json_is_string(found) || json_is_number(found)))
		snprintf(words, sizeof(words), "%s", json_is_string(found) ? "a string" : "a number");
	option_say(r, DIAG_ERROR, key, part, at, "expected %s, found %s", expected, words);
}

void option_wrong(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
		  const char *expected, const json_t *found)
{
	char ret[OPTION_WORDS_SIZE];

	wrong_part(r, key, "", at, expected ? expected : option_expected(key, ret), found);
}

char *option_names(const char *const *names)
{
	char *list = NULL;
	size_t size;
	FILE *out = open_memstream(&list, &size);

	for (size_t i = 0; out && names[i]; i++)
		fprintf(out, "%s%s", i ? ", " : "", names[i]);
	if (!out || fclose(out) == 0)
		return list;
	free(list);
	return NULL;
}

void option_unknown(struct option_reader *r, const struct config_pos *at, const char *what, const char *in,
		    const char *const *names, const char *remedy)
{
	const char *near = suggest_nearest(at->key, names);
	char quoted[CONFIG_QUOTE_SIZE], *list = near || remedy ? NULL : option_names(names);

	config_quote(at->key, quoted, sizeof(quoted));
	diag_add(r->diag, DIAG_ERROR, r->file, at->key_line, at->key_column, "%sunknown %s %s%s: %s%s%s", r->where,
		 what, quoted, in, near ? "did you mean \"" : list ? "known are " : "",
		 near   ? near
		 : list ? list
		 : remedy ? remedy
			: "out of memory",
		 near ? "\"?" : "");
	free(list);
}

/* ---- numbers ------------------------------------------------------------------------------- */

static void fail_bounds(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
			const json_t *value)
{
	char bounds[OPTION_WORDS_SIZE], words[CONFIG_QUOTE_SIZE];

	config_describe(value, words, sizeof(words));
	if (key->min >= key->max) {
		option_fail(r, key, at, "%s is out of bounds: too large", words);
		return;
	}
	option_bounds_format(key, bounds);
	option_fail(r, key, at, "%s is out of bounds: %s%s", words, bounds,
	     key->flags & CONFIG_OR_ZERO ? ", or \"0s\"" : "");
}

/* SIZE and TIME. 0, -EINVAL: not one; -ERANGE: does not fit 64 bits. */
static int quantity(const struct config_key *key, const json_t *value, uint64_t *ret)
{
	if (json_is_string(value))
		return key->type == SKEP_O_SIZE ? config_size(json_string_value(value), ret) :
						  config_time(json_string_value(value), ret);
	/* A time without its unit would be a guess. */
	if (key->type != SKEP_O_SIZE || !json_is_integer(value) || json_integer_value(value) < 0)
		return -EINVAL;
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

static void read_quantity(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
			  const json_t *value, uint64_t *to)
{
	char words[CONFIG_QUOTE_SIZE], min[CONFIG_UNITS_SIZE];
	uint64_t n = 0;
	int err = quantity(key, value, &n);

	if (err == 0 && (key->flags & CONFIG_RAISED) && n < (uint64_t)key->min) {
		config_describe(value, words, sizeof(words));
		option_bound_format(key, key->min, min);
		option_say(r, DIAG_WARNING, key, "", at, "%s is too little to work with: skepd uses %s", words, min);
		n = (uint64_t)key->min;
	}
	if (err == -EINVAL)
		option_wrong(r, key, at, NULL, value);
	else if (err || !(option_in_bounds_unsigned(key, n) || (n == 0 && (key->flags & CONFIG_OR_ZERO))))
		fail_bounds(r, key, at, value);
	else
		*to = n;
}

/* ---- texts --------------------------------------------------------------------------------- */

static const char *copy_string(struct option_reader *r, const char *text)
{
	char *copy = options_memory_take(r->memory, strdup(text));

	if (!copy)
		option_no_memory(r);
	return copy;
}

/* Is it one that the key allows? A message names `part` of the value. */
static bool check_text(struct option_reader *r, const struct config_key *key, const char *part,
		       const struct config_pos *at, const char *expected, const json_t *value)
{
	const char *text = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE];
	int err = !text ? -EINVAL : key->text ? option_text_check(key->text, text) : 0;

	if (err == -ENOMEM) {
		option_no_memory(r);
	} else if (err && (!text || !key->text->mismatch)) {
		wrong_part(r, key, part, at, expected, value);
	} else if (err) {
		config_quote(text, quoted, sizeof(quoted));
		option_say(r, DIAG_ERROR, key, part, at, "%s %s", quoted, key->text->mismatch);
	}
	return err == 0;
}

/* Warns and does not refuse: a container's platform often mounts files readable by all, and only skepd runs there. */
static void warn_of_readers(struct option_reader *r, const struct config_key *key, const struct config_pos *at)
{
	if (!r->others_read)
		return;
	if (key->type == SKEP_O_STRV)
		option_say(r, DIAG_WARNING, key, "", at,
		    "may hold a secret, and everybody can read this file: "
		    "chmod o-r it, or write the value as \"env:NAME\" or \"file:PATH\"");
	else
		option_say(r, DIAG_WARNING, key, "", at,
		    "a secret, and everybody can read this file: chmod o-r it, or write \"%s_file\" or \"env:NAME\"",
		    key->name);
}

/* A secret as written: itself, or "env:NAME" for what that variable holds. NULL after an error. */
static const char *resolve_secret(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
				  const char *written)
{
	static const char prefix[] = "env:";
	char quoted[CONFIG_QUOTE_SIZE];
	const char *name, *text;

	if (strncmp(written, prefix, sizeof(prefix) - 1) != 0) {
		if (*written)
			warn_of_readers(r, key, at);
		return written;
	}
	name = written + sizeof(prefix) - 1;
	text = getenv(name);
	if (text && *text)
		return text;
	config_quote(name, quoted, sizeof(quoted));
	option_fail(r, key, at, "the environment variable %s is %s", quoted,
	     text ? "empty" : "not set: set it where this program is started");
	return NULL;
}

static void read_string(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
			const json_t *value, const char **to)
{
	char words[OPTION_WORDS_SIZE], quoted[CONFIG_QUOTE_SIZE];
	const char *text = json_string_value(value);

	if (json_is_false(value) && (key->flags & CONFIG_OR_FALSE)) {
		*to = NULL;
		return;
	}
	if (!check_text(r, key, "", at, option_expected(key, words), value))
		return;
	if (key->max > 0 && strlen(text) > (size_t)key->max) {
		config_quote(text, quoted, sizeof(quoted));
		option_fail(r, key, at, "%s is too long: at most %lld bytes", quoted, (long long)key->max);
		return;
	}
	if (key->flags & SKEP_OPT_SECRET)
		text = resolve_secret(r, key, at, text);
	text = text ? copy_string(r, text) : NULL;
	if (text)
		*to = text;
}

/* Of "Name: value" or "name=value": is the value itself there, and not the place to read it from? */
static bool is_written_out(const char *element)
{
	const char *value = element + strcspn(element, ":=");

	value += strspn(value, ":= \t");
	return *value && strncmp(value, "env:", 4) != 0 && strncmp(value, "file:", 5) != 0;
}

static bool stands_before(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], list[n]) == 0)
			return true;
	return false;
}

static void read_list(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
		      const json_t *value, const char ***to)
{
	size_t n = json_array_size(value), n_errors = r->diag->n_errors;
	const char **list;

	if (!json_is_array(value)) {
		option_wrong(r, key, at, NULL, value);
		return;
	}
	if (n == 0 && (key->flags & CONFIG_NOT_EMPTY)) {
		option_fail(r, key, at, "expected at least one: leave the key out for the default");
		return;
	}
	list = options_memory_take(r->memory, calloc(n + 1, sizeof(*list)));
	if (!list) {
		option_no_memory(r);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct config_pos *place = config_pos_at(at, i);
		const json_t *element = json_array_get(value, i);
		char part[PART_SIZE], quoted[CONFIG_QUOTE_SIZE];

		snprintf(part, sizeof(part), "[%zu]", i);
		list[i] = "";
		if (!check_text(r, key, part, place, key->text ? key->text->expected : "a string", element))
			continue;
		list[i] = copy_string(r, json_string_value(element));
		if (!list[i])
			return;
		if (!(key->flags & CONFIG_UNIQUE) || !stands_before(list, i))
			continue;
		config_quote(list[i], quoted, sizeof(quoted));
		option_say(r, DIAG_ERROR, key, part, place, "%s stands here a second time: remove one", quoted);
	}
	if (r->diag->n_errors > n_errors)
		return;
	*to = list;
	for (size_t i = 0; (key->flags & SKEP_OPT_SECRET) && i < n; i++)
		if (is_written_out(list[i])) {
			warn_of_readers(r, key, at); /* once */
			return;
		}
}

/* The text of that file, less one newline at its end. */
static void read_secret_file(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
			     const json_t *value, const char **to)
{
	const char *file = json_string_value(value);
	char quoted[CONFIG_QUOTE_SIZE];
	char *text = NULL;
	struct diag errors;
	struct stat st;
	size_t len;

	if (!file || !*file) {
		option_wrong(r, key, at, NULL, value);
		return;
	}
	config_quote(file, quoted, sizeof(quoted));
	diag_init(&errors);
	if (config_read_file(file, SECRET_MAX, &errors, &text, &len)) {
		/* The message has the key's place: the operator mends the name there. */
		option_fail(r, key, at, "%s: %s", quoted, errors.n > 0 ? errors.entries[0].text : "cannot read");
		goto out;
	}
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len == 0 || memchr(text, '\0', len)) {
		option_fail(r, key, at, "%s %s", quoted, len == 0 ? "is empty" : "holds a NUL byte: it is no text");
		explicit_bzero(text, len);
		free(text);
		goto out;
	}
	if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
		option_say(r, DIAG_WARNING, key, "", at, "everybody can read %s: chmod o-r", quoted);
	text = options_memory_take(r->memory, text);
	if (text)
		*to = text;
	else
		option_no_memory(r);
out:
	diag_clear(&errors);
}

static void read_labels(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
			const json_t *value, json_t **to)
{
	size_t n_errors = r->diag->n_errors;

	if (!json_is_object(value)) {
		option_wrong(r, key, at, NULL, value);
		return;
	}
	for (const struct config_pos *label = at ? at->first : NULL; label; label = label->next) {
		const json_t *text = json_object_get(value, label->key);
		char part[PART_SIZE] = ".";

		if (!*label->key)
			option_say(r, DIAG_ERROR, key, "", label, "a label needs a name");
		if (json_is_string(text))
			continue;
		config_quote(label->key, part + 1, sizeof(part) - 1);
		wrong_part(r, key, part, label, "a string", text);
	}
	if (r->diag->n_errors > n_errors)
		return;
	*to = json_deep_copy(value);
	if (!*to)
		option_no_memory(r);
}

/* ---- all types ----------------------------------------------------------------------------- */

void option_read(struct option_reader *r, const struct config_key *key, const struct config_pos *at,
		 const json_t *value)
{
	void *to = (char *)r->state + key->offset;
	const char *text = json_string_value(value);

	switch (key->type) {
	case SKEP_O_BOOL:
		if (json_is_boolean(value))
			*(bool *)to = json_is_true(value);
		else
			option_wrong(r, key, at, NULL, value);
		break;
	case SKEP_O_INT:
		if (!json_is_integer(value))
			option_wrong(r, key, at, NULL, value);
		else if (!option_in_bounds(key, json_integer_value(value)))
			fail_bounds(r, key, at, value);
		else
			*(int64_t *)to = json_integer_value(value);
		break;
	case SKEP_O_SIZE:
	case SKEP_O_TIME:
		read_quantity(r, key, at, value, to);
		break;
	case SKEP_O_STR:
		read_string(r, key, at, value, to);
		break;
	case SKEP_O_STRV:
		read_list(r, key, at, value, to);
		break;
	case CONFIG_O_EITHER:
		if (text && (strcmp(text, key->words[0]) == 0 || strcmp(text, key->words[1]) == 0))
			*(bool *)to = strcmp(text, key->words[1]) == 0;
		else
			option_wrong(r, key, at, NULL, value);
		break;
	case CONFIG_O_LABELS:
		read_labels(r, key, at, value, to);
		break;
	case CONFIG_O_SECRET_FILE:
		read_secret_file(r, key, at, value, to);
		break;
	}
}

/* "/a:/b" */
static json_t *colon_list(const char *text)
{
	json_t *list = json_array();

	while (list && *text) {
		size_t len = strcspn(text, ":");

		if (len > 0 && json_array_append_new(list, json_stringn(text, len)) < 0) {
			json_decref(list);
			return NULL;
		}
		text += len + (text[len] == ':');
	}
	return list;
}

/* NULL: no such value, or no memory. */
static json_t *default_json(const struct config_key *key, const char *text)
{
	if (key->variable)
		return colon_list(text);
	if (key->type == SKEP_O_STRV && text[0] != '[')
		return json_pack("[s]", text);
	if (key->type == SKEP_O_BOOL || key->type == SKEP_O_INT || key->type == SKEP_O_STRV)
		return json_loads(text, JSON_DECODE_ANY, NULL);
	return json_string(text);
}

void option_read_default(struct option_reader *r, const struct config_key *key, const char *file_key)
{
	/* secure_getenv: the caller of a program with file capabilities must not choose the code that it loads. */
	const char *text = key->variable ? secure_getenv(key->variable) : NULL;
	struct config_key unchecked = *key;
	char words[OPTION_WORDS_SIZE];
	json_t *value;

	if (key->flags & SKEP_OPT_REQUIRED)
		diag_add(r->diag, DIAG_ERROR, r->file, r->line, 0, "%s\"%s\"%s%s%s is missing: %s", r->where, key->name,
			 file_key ? " or \"" : "", file_key ? file_key : "", file_key ? "\"" : "",
			 key->help ? key->help : "it is required");
	if (!text || !*text)
		text = key->default_value;
	if (!text || (key->flags & SKEP_OPT_REQUIRED))
		return;
	/* Folders in a variable may be relative. */
	unchecked.text = NULL;
	unchecked.flags = 0;
	value = default_json(key, text);
	if (value)
		option_read(r, &unchecked, NULL, value);
	else
		option_fail(r, key, NULL, "the plugin's own default \"%s\" is no %s: report it to its author", text,
		     option_type_name(key, words));
	json_decref(value);
}
