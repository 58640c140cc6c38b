/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/datafile.c - reads tables that are data, in order, and reports their errors.
 */
#include "core/config/datafile.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config/config.h"
#include "filters/glob.h"
#include "filters/suggest.h"

#define DATAFILE_MAX (8u << 20)

static int read_text(const char *text, size_t len, const char *name, datafile_fn fn, void *arg, struct diag *diag)
{
	struct config_pos *pos = NULL;
	struct datanode root = { .file = name, .diag = diag };
	int err;

	root.json = config_json_positions(text, len, name, diag, &pos);
	if (!root.json)
		return 0; /* the diag has the error; go on, to find those of the other files */
	root.pos = pos;
	err = fn(&root, arg);
	json_decref(root.json);
	config_pos_free(pos);
	return err;
}

static int read_file(const char *file, datafile_fn fn, void *arg, struct diag *diag)
{
	char *text;
	size_t len;
	int err;

	if (config_read_file(file, DATAFILE_MAX, diag, &text, &len))
		return 0; /* the same */
	err = read_text(text, len, file, fn, arg, diag);
	free(text);
	return err;
}

static int is_table(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

/* Not alphasort, which follows the locale: the order decides which entry wins. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_folder(const char *folder, datafile_fn fn, void *arg, struct diag *diag)
{
	struct dirent **entries;
	int n, err = 0;

	n = scandir(folder, &entries, is_table, by_bytes);
	if (n < 0) {
		diag_add(diag, DIAG_ERROR, folder, 0, 0, "cannot read this folder: %s", strerror(errno));
		return 0;
	}
	for (int i = 0; i < n; i++) {
		char *path;

		if (err == 0 && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			err = -ENOMEM;
		else if (err == 0) {
			err = read_file(path, fn, arg, diag);
			free(path);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

int datafile_read(const char *text, size_t len, const char *name, const char *const *more, datafile_fn fn, void *arg,
		  struct diag *diag)
{
	size_t n_errors = diag->n_errors;
	struct stat st;
	int err;

	err = text ? read_text(text, len, name, fn, arg, diag) : 0;
	for (; err == 0 && more && *more; more++) {
		if (stat(*more, &st) == 0 && S_ISDIR(st.st_mode))
			err = read_folder(*more, fn, arg, diag);
		else
			err = read_file(*more, fn, arg, diag); /* adds the error if it cannot */
	}
	if (err == 0 && diag->n_errors > n_errors)
		err = -EINVAL;
	return err;
}

bool datanode_key(const struct datanode *node, const char *key, struct datanode *ret)
{
	json_t *json = json_object_get(node->json, key);

	if (!json)
		return false;
	*ret = (struct datanode){
		.up = node,
		.key = key,
		.json = json,
		.pos = config_pos_key(node->pos, key),
		.file = node->file,
		.diag = node->diag,
	};
	return true;
}

void datanode_at(const struct datanode *node, size_t index, struct datanode *ret)
{
	*ret = (struct datanode){
		.up = node,
		.index = index,
		.json = json_array_get(node->json, index),
		.pos = config_pos_at(node->pos, index),
		.file = node->file,
		.diag = node->diag,
	};
}

/* As deep as our own tables (three levels), however deep the input is. */
static void print_path(const struct datanode *node, FILE *out)
{
	if (!node->up)
		return;
	print_path(node->up, out);
	if (node->key)
		fprintf(out, "%s%s", node->up->up ? "." : "", node->key);
	else
		fprintf(out, "[%zu]", node->index);
}

static void error_at(const struct datanode *node, int line, int column, const char *text)
{
	char *path = NULL;
	size_t len;
	FILE *out = open_memstream(&path, &len);

	if (out) {
		print_path(node, out);
		fclose(out);
	}
	diag_add(node->diag, DIAG_ERROR, node->file, line, column, "%s%s%s", path ? path : "",
		 path && *path ? ": " : "", text);
	free(path);
}

void datanode_error(const struct datanode *node, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	error_at(node, node->pos ? node->pos->line : 0, node->pos ? node->pos->column : 0,
		 n < 0 ? "out of memory for this error's text" : text);
	if (n >= 0)
		free(text);
}

static void wrong_type(const struct datanode *node, const char *want)
{
	char is[CONFIG_QUOTE_SIZE];

	config_describe(node->json, is, sizeof(is));
	datanode_error(node, "is %s: give %s", is, want);
}

bool datanode_object(const struct datanode *node, const char *const *known)
{
	char quoted[CONFIG_QUOTE_SIZE], *text;
	const struct config_pos *pos;
	const char *key, *near;
	json_t *value;

	if (!json_is_object(node->json)) {
		wrong_type(node, "an object, { ... }");
		return false;
	}
	json_object_foreach(node->json, key, value) {
		const char *const *k = known;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (*k)
			continue;
		near = suggest_nearest(key, known);
		config_quote(key, quoted, sizeof(quoted));
		if (asprintf(&text, "unknown key %s%s%s%s", quoted, near ? ": did you mean \"" : ": remove it",
			     near ? near : "", near ? "\"?" : "") < 0)
			text = NULL;
		pos = config_pos_key(node->pos, key);
		error_at(node, pos ? pos->key_line : 0, pos ? pos->key_column : 0, text ? text : "unknown key");
		free(text);
	}
	return true;
}

bool datanode_array(const struct datanode *node)
{
	if (json_is_array(node->json))
		return true;
	wrong_type(node, "a list, [ ... ]");
	return false;
}

const char *datanode_string(const struct datanode *node)
{
	const char *s = json_string_value(node->json);

	if (s && *s && strlen(s) == json_string_length(node->json))
		return s;
	wrong_type(node, "a string that is not empty");
	return NULL;
}

const char *datanode_glob(const struct datanode *node)
{
	const char *s = datanode_string(node), *why = s ? glob_error(s) : NULL;
	char quoted[CONFIG_QUOTE_SIZE];

	if (!why)
		return s;
	config_quote(s, quoted, sizeof(quoted));
	datanode_error(node, "%s: %s", quoted, why);
	return NULL;
}

bool datanode_number(const struct datanode *node, long min, long max, long *ret)
{
	char want[96];
	json_int_t n;

	if (json_is_integer(node->json)) {
		n = json_integer_value(node->json);
		if (n >= min && n <= max) {
			*ret = (long)n;
			return true;
		}
	}
	snprintf(want, sizeof(want), "a whole number from %ld to %ld", min, max);
	wrong_type(node, want);
	return false;
}

bool datanode_bool(const struct datanode *node, bool *ret)
{
	if (!json_is_boolean(node->json)) {
		wrong_type(node, "true or false");
		return false;
	}
	*ret = json_is_true(node->json);
	return true;
}
