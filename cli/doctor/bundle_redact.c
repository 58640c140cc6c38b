/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_redact.c - finds secrets and blanks them.
 */
#include "cli/doctor/bundle_redact.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/option_table.h"
#include "core/identify/redact_text.h"
#include "core/plugin/plugin.h"

#define SECRET_LEAST 4 /* bytes; a shorter secret would match parts of many words */
#define SECRET_MOST (64u << 10)
#define STARS "***"

struct known {
	char *text, *quoted; /* quoted: as a JSON string has it; NULL: as the text */
};

struct bundle_redact {
	struct redact *tables;
	json_t *config;      /* the configuration; NULL: it could not be read */
	char *config_errors; /* the reason */
	int pid;             /* of the running skepd; 0: none */
	struct known *known;
	size_t n_known;
};

static void known_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

/* The text as a JSON string has it, without its quotes. NULL: just as it is; or no memory, or no UTF-8. */
static char *quoted_new(const char *text, size_t len)
{
	json_t *string = json_stringn(text, len);
	char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
	size_t n = quoted ? strlen(quoted) - 2 : 0;

	json_decref(string);
	if (quoted && n == len) {
		known_free(quoted);
		return NULL;
	}
	if (quoted) {
		memmove(quoted, quoted + 1, n);
		quoted[n] = '\0';
	}
	return quoted;
}

/* Remembers a secret, and each of its lines: a program may print a private key one line at a time. */
static void know(struct bundle_redact *r, const char *text, size_t len)
{
	while (len > 0) {
		size_t line = strcspn(text, "\n");
		struct known *larger;

		line = line < len ? line : len;
		if (line >= SECRET_LEAST) {
			larger = reallocarray(r->known, r->n_known + 1, sizeof(*larger));
			if (!larger)
				return; /* the redaction tables remain */
			r->known = larger;
			larger[r->n_known] = (struct known){ strndup(text, line), quoted_new(text, line) };
			if (larger[r->n_known].text)
				r->n_known++;
			else
				known_free(larger[r->n_known].quoted);
		}
		line += line < len;
		text += line;
		len -= line;
	}
}

/* Remembers the password in user:password@ of each URL, and the user if it is a token or has no password. */
static void know_urls(struct bundle_redact *r, const char *text)
{
	for (const char *p = strstr(text, "://"); p; p = strstr(p, "://")) {
		const char *end, *at = NULL, *colon;

		p += 3;
		end = p + strcspn(p, "/ \t\n\"'?#");
		for (const char *c = p; c < end; c++)
			if (*c == '@')
				at = c;
		colon = at ? memchr(p, ':', (size_t)(at - p)) : NULL;
		if (colon)
			know(r, colon + 1, (size_t)(at - colon - 1));
		if (at && colon && redact_token(p, colon))
			know(r, p, (size_t)(colon - p));
		else if (at && !colon)
			know(r, p, (size_t)(at - p));
	}
}

static void know_all_urls(struct bundle_redact *r, const json_t *value)
{
	const char *key;
	json_t *child;
	size_t i;

	if (json_is_string(value))
		know_urls(r, json_string_value(value));
	json_array_foreach(value, i, child)
		know_all_urls(r, child);
	if (json_is_object(value))
		json_object_foreach((json_t *)(uintptr_t)value, key, child)
			know_all_urls(r, child);
}

/*
 * Remembers the value of a variable: here, and where skepd runs, which got its variables from the service manager.
 * /proc has those with which skepd began.
 */
static void know_variable(struct bundle_redact *r, const char *name)
{
	const char *value = getenv(name);
	size_t len = strlen(name), room = 0;
	char path[64], *entry = NULL;
	FILE *f;

	if (value)
		know(r, value, strlen(value));
	snprintf(path, sizeof(path), "/proc/%d/environ", r->pid);
	f = r->pid > 0 ? fopen(path, "re") : NULL;
	while (f && getdelim(&entry, &room, '\0', f) > 0)
		if (strncmp(entry, name, len) == 0 && entry[len] == '=')
			know(r, entry + len + 1, strlen(entry + len + 1));
	if (f)
		fclose(f);
	if (entry)
		explicit_bzero(entry, room);
	free(entry);
}

/* Remembers the value of "env:NAME" or of a file. A value that this user cannot read cannot get into the bundle. */
static void know_value(struct bundle_redact *r, const char *text, bool file)
{
	struct diag ignored;
	char *content = NULL;
	size_t len = 0;

	if (!file && strncmp(text, "env:", 4) == 0) {
		know_variable(r, text + 4);
		return;
	}
	if (!file) {
		know(r, text, strlen(text));
		return;
	}
	diag_init(&ignored);
	if (config_read_file(text, SECRET_MOST, &ignored, &content, &len) == 0) {
		know(r, content, len);
		explicit_bzero(content, len);
		free(content);
	}
	diag_clear(&ignored);
}

/* Remembers what a text names: "env:NAME"; in a header or a property also "Name: env:NAME", "name=file:PATH". */
static void know_reference(struct bundle_redact *r, const char *text)
{
	const char *value = text + strcspn(text, ":=");

	value += strspn(value, ":= \t");
	if (strncmp(text, "env:", 4) == 0)
		know_value(r, text, false);
	else if (strncmp(value, "env:", 4) == 0)
		know_value(r, value, false);
	else if (strncmp(value, "file:", 5) == 0)
		know_value(r, value + 5, true);
}

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n >= len && strcmp(text + n - len, end) == 0;
}

/* A plugin need not mark an option as secret that only names a variable or a file. */
static void know_references(struct bundle_redact *r, const json_t *entry)
{
	const char *key, *text;
	json_t *value, *item;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)entry, key, value) {
		text = json_string_value(value);
		if (text)
			know_reference(r, text);
		if (text && *text == '/' && (ends(key, "token_file") || ends(key, "password_file")))
			know_value(r, text, true);
		json_array_foreach(value, i, item)
			if (json_is_string(item))
				know_reference(r, json_string_value(item));
	}
}

static const struct skep_plugin *descriptor(const char *const *dirs, const char *name)
{
	struct plugin *plugin = NULL;
	struct diag ignored;
	int err;

	diag_init(&ignored);
	err = name ? plugin_load(dirs, name, 0, &ignored, &plugin) : -1;
	diag_clear(&ignored);
	return err < 0 ? NULL : plugin->desc;
}

/* The options of a missing plugin are unknown, and so are its secrets: blanks every text. */
static void blank_all(json_t *entry)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(entry, next, key, value) if (strcmp(key, "plugin") != 0 && strcmp(key, "name") != 0 &&
							      !json_is_boolean(value) && !json_is_number(value))
		json_object_set_new(entry, key, json_string(STARS));
}

static void blank_entry(struct bundle_redact *r, const char *const *dirs, json_t *entry)
{
	const struct skep_plugin *desc = descriptor(dirs, json_string_value(json_object_get(entry, "plugin")));
	struct config_key option;

	if (!desc)
		blank_all(entry);
	for (size_t i = 0; desc && option_get(desc, i, &option); i++) {
		json_t *value = json_object_get(entry, option.name), *item;
		char *file = option_file_key(desc, &option);
		const char *path = file ? json_string_value(json_object_get(entry, file)) : NULL;
		size_t k;

		if (path)
			know_value(r, path, true);
		free(file);
		if (!(option.flags & SKEP_OPT_SECRET) || !value)
			continue;
		if (json_is_string(value))
			know_value(r, json_string_value(value), false);
		json_array_foreach(value, k, item)
			if (json_is_string(item))
				know_value(r, json_string_value(item), false);
		if (!json_is_string(value) || strncmp(json_string_value(value), "env:", 4) != 0)
			json_object_set_new(entry, option.name, json_string(STARS));
	}
}

static void blank_config(struct bundle_redact *r, const char *const *dirs)
{
	static const char *const lists[] = { "probes", "sinks" };
	json_t *entry;
	size_t i;

	know_all_urls(r, r->config);
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		json_array_foreach(json_object_get(r->config, lists[k]), i, entry) {
			know_references(r, entry);
			blank_entry(r, dirs, entry);
		}
}

static char *errors_text(const struct diag *diag)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	diag_print(diag, out);
	return fclose(out) == 0 ? text : NULL;
}

struct bundle_redact *bundle_redact_new(const char *config_file, int pid)
{
	struct bundle_redact *r = calloc(1, sizeof(*r));
	struct config *config = NULL;
	struct diag diag;

	if (!r)
		return NULL;
	r->pid = pid;
	diag_init(&diag);
	if (config_file) {
		config = config_load(config_file, &diag);
		/* A configuration with errors is useful too, if it is JSON. */
		r->config = config_json_file(config_file, &diag);
		if (diag.n > 0)
			r->config_errors = errors_text(&diag);
	}
	r->tables = redact_new(config ? config->redact : NULL, &diag);
	if (!r->tables)
		r->tables = redact_new(NULL, &diag); /* a site's table is wrong: the built-in tables */
	if (r->config && config)
		blank_config(r, config->plugin_dirs);
	else if (r->config)
		blank_config(r, (const char *const[]){ NULL });
	config_free(config);
	diag_clear(&diag);
	if (!r->tables) {
		bundle_redact_free(r);
		return NULL;
	}
	return r;
}

void bundle_redact_free(struct bundle_redact *r)
{
	if (!r)
		return;
	redact_free(r->tables);
	json_decref(r->config);
	free(r->config_errors);
	for (size_t i = 0; i < r->n_known; i++) {
		known_free(r->known[i].text);
		known_free(r->known[i].quoted);
	}
	free(r->known);
	free(r);
}

size_t bundle_redact_known(const struct bundle_redact *r)
{
	return r->n_known;
}

char *bundle_redact_config(const struct bundle_redact *r)
{
	if (r->config)
		return json_dumps(r->config, JSON_INDENT(2));
	return strdup(r->config_errors ? r->config_errors : "no configuration file\n");
}

/* Redacts a line: first as one argument, for headers, URLs and pairs, then as a command line of words. */
static size_t redact_line(const struct bundle_redact *r, char *line, size_t len)
{
	uint32_t n = (uint32_t)len + 1;

	line[len] = '\0'; /* in place of the newline */
	redact_argv(r->tables, NULL, line, &n);
	len = n - 1;
	for (size_t i = 0; i < len; i++)
		if (line[i] == ' ')
			line[i] = '\0';
	n = (uint32_t)len + 1;
	redact_argv(r->tables, NULL, line, &n);
	len = n - 1;
	for (size_t i = 0; i < len; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	return len;
}

static void blank_text(const char *secret, char *text, size_t *len)
{
	size_t n = strlen(secret);
	char *p = text, *found;

	while ((found = memmem(p, *len - (size_t)(p - text), secret, n))) {
		memcpy(found, STARS, sizeof(STARS) - 1);
		memmove(found + sizeof(STARS) - 1, found + n, *len - (size_t)(found - text) - n);
		*len -= n - (sizeof(STARS) - 1);
		p = found + sizeof(STARS) - 1;
	}
}

/* The JSON form first: the secret "\x" is a part of it, "\\x", and the rest would be no JSON. */
static void blank_known(const struct known *known, char *text, size_t *len)
{
	if (known->quoted)
		blank_text(known->quoted, text, len);
	blank_text(known->text, text, len);
}

void bundle_redact_text(const struct bundle_redact *r, char *text, size_t *len)
{
	size_t from = 0, to = 0;

	/* A NUL would end an argument, so replace it: no text of the bundle needs NULs. */
	for (size_t i = 0; i < *len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	for (size_t i = 0; i < r->n_known; i++)
		blank_known(&r->known[i], text, len);
	while (from < *len) {
		char *newline = memchr(text + from, '\n', *len - from);
		size_t line = newline ? (size_t)(newline - (text + from)) : *len - from, done;

		done = redact_line(r, text + from, line);
		memmove(text + to, text + from, done);
		to += done;
		from += line;
		if (newline) {
			text[to++] = '\n';
			from++;
		}
	}
	*len = to;
}
