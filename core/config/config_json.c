/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_json.c - JSON with comments: blanks of equal length replace comments, and jansson parses the rest.
 * An error has line and column.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/config/config_pos.h"

#define JSON_FILE_MAX (8u << 20) /* far above every table of ours; stops at a /dev/zero given by mistake */

/* Keeps newlines, so lines stay; columns are counted in the original text. */
static void blank(char *begin, const char *end)
{
	for (; begin < end; begin++)
		if (*begin != '\n')
			*begin = ' ';
}

/* 0, or -EINVAL with the offset of the comment that has no end. */
static int blank_comments(char *text, size_t len, size_t *ret_offset)
{
	char *p = text, *end = text + len;

	/* Editors on Windows put a byte order mark in front; RFC 8259 §8.1 lets a parser skip it. */
	if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		blank(p, p + 3);
	while (p < end) {
		char *begin = p;

		if (*p == '"') {
			/*
			 * A raw newline ends the string, too: it is an error there, and jansson reports it at that
			 * place.
			 */
			for (p++; p < end && *p != '"' && *p != '\n'; p++)
				if (*p == '\\' && p + 1 < end && p[1] != '\n')
					p++;
			if (p < end)
				p++;
		} else if (*p == '/' && p + 1 < end && p[1] == '/') {
			p = memchr(p, '\n', (size_t)(end - p));
			if (!p)
				p = end;
			blank(begin, p);
		} else if (*p == '/' && p + 1 < end && p[1] == '*') {
			p = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);
			if (!p) {
				*ret_offset = (size_t)(begin - text);
				return -EINVAL;
			}
			p += 2;
			blank(begin, p);
		} else {
			p++;
		}
	}
	return 0;
}

/* jansson's position is the end of the token that it dislikes; its text ends in "near 'token'" when that is short. */
static size_t token_begin(const char *message, size_t position)
{
	static const char near[] = "near '";
	const char *token = NULL;
	size_t n;

	for (const char *p = message; (p = strstr(p, near)); p++)
		token = p + sizeof(near) - 1;
	n = token ? strlen(token) : 0;
	if (n < 2 || token[n - 1] != '\'' || n - 1 > position)
		return position > 0 ? position - 1 : 0;
	return position - (n - 1);
}

static void syntax_error(const char *original, const char *blanked, size_t len, const char *name,
			 const json_error_t *error, struct diag *diag)
{
	size_t offset = error->position > 0 ? (size_t)error->position : 0;
	const char *hint = "";
	int line, column;

	if (offset > len)
		offset = len;
	offset = token_begin(error->text, offset);
	config_pos_offset(original, offset, &line, &column);
	if (offset < len && (blanked[offset] == '}' || blanked[offset] == ']')) {
		size_t before = offset;

		while (before > 0 && strchr(" \t\r\n", blanked[before - 1]))
			before--;
		if (before > 0 && blanked[before - 1] == ',')
			hint = ": remove the comma before it";
	} else if (offset < len && blanked[offset] == '\'') {
		hint = ": strings stand in double quotes";
	}
	diag_add(diag, DIAG_ERROR, name, line, column, "not valid JSON: %s%s", error->text, hint);
}

/*
 * Reports every key that one object has twice, with the line of the first. jansson's own limit of depth (2048) bounds
 * the recursion.
 */
static void duplicate_errors(const struct config_pos *node, const char *name, struct diag *diag)
{
	json_t *seen = json_object();
	char quoted[CONFIG_QUOTE_SIZE];

	for (const struct config_pos *child = node->first; child; child = child->next) {
		if (child->key) {
			json_t *first = json_object_get(seen, child->key);

			config_quote(child->key, quoted, sizeof(quoted));
			if (first)
				diag_add(diag, DIAG_ERROR, name, child->key_line, child->key_column,
					 "key %s stands here a second time, first in line %d: remove one", quoted,
					 (int)json_integer_value(first));
			else
				json_object_set_new_nocheck(seen, child->key, json_integer(child->key_line));
		}
		if (child->first)
			duplicate_errors(child, name, diag);
	}
	json_decref(seen);
}

json_t *config_json_positions(const char *text, size_t len, const char *name, struct diag *diag,
			      struct config_pos **ret_positions)
{
	struct config_pos *positions = NULL;
	json_t *json = NULL;
	json_error_t error;
	size_t offset, n_errors = diag->n_errors;
	int line, column, err;
	char *blanked;

	blanked = malloc(len + 1);
	if (!blanked) {
		diag_add(diag, DIAG_ERROR, name, 0, 0, "out of memory for %zu bytes of text", len);
		return NULL;
	}
	if (len > 0)
		memcpy(blanked, text, len);
	blanked[len] = '\0';
	if (blank_comments(blanked, len, &offset)) {
		config_pos_offset(text, offset, &line, &column);
		diag_add(diag, DIAG_ERROR, name, line, column, "this comment has no end: \"*/\" is missing");
		goto out;
	}
	json = json_loadb(blanked, len, JSON_REJECT_DUPLICATES, &error);
	if (!json && json_error_code(&error) == json_error_duplicate_key) {
		/* Parses once more, to name all of them with both places. */
		json = json_loadb(blanked, len, 0, &error);
		if (json && config_pos_new(blanked, len, &positions) == 0)
			duplicate_errors(positions, name, diag);
		if (json && diag->n_errors == n_errors)
			diag_add(diag, DIAG_ERROR, name, 0, 0, "one object has a key twice: remove one");
		json_decref(json);
		if (json) {
			json = NULL;
			goto out;
		}
	}
	if (!json) {
		syntax_error(text, blanked, len, name, &error, diag);
		goto out;
	}
	if (!ret_positions)
		goto out;
	err = config_pos_new(blanked, len, &positions);
	if (err) {
		diag_add(diag, DIAG_ERROR, name, 0, 0, "cannot find the positions of its keys: %s", strerror(-err));
		json_decref(json);
		json = NULL;
		goto out;
	}
	*ret_positions = positions;
	positions = NULL;
out:
	config_pos_free(positions);
	free(blanked);
	return json;
}

json_t *config_json(const char *text, size_t len, const char *name, struct diag *diag)
{
	return config_json_positions(text, len, name, diag, NULL);
}

static int read_file(const char *file, bool any_kind, size_t max, struct diag *diag, char **ret_text, size_t *ret_len,
		     struct stat *ret_st)
{
	size_t len = 0, room = 0;
	char *text = NULL, *larger;
	ssize_t n;
	int fd, err;

	do {
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | (any_kind ? 0 : O_NONBLOCK));
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		goto out_errno;
	/* By descriptor: the name may name another file by now. */
	if (fstat(fd, ret_st) < 0)
		goto out_errno;
	/* read() has the better message about a directory */
	if (!any_kind && !S_ISREG(ret_st->st_mode) && !S_ISDIR(ret_st->st_mode)) {
		diag_add(diag, DIAG_ERROR, file, 0, 0, "cannot read: not a regular file");
		err = -EINVAL;
		goto out;
	}
	for (;;) {
		if (room - len < 2) {
			room = room ? room * 2 : 8192;
			larger = realloc(text, room);
			if (!larger) {
				errno = ENOMEM;
				goto out_errno;
			}
			text = larger;
		}
		n = read(fd, text + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto out_errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max) {
			diag_add(diag, DIAG_ERROR, file, 0, 0, "larger than %zu bytes: is it the right file?", max);
			err = -EFBIG;
			goto out;
		}
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	close(fd);
	return 0;
out_errno:
	err = -errno;
	diag_add(diag, DIAG_ERROR, file, 0, 0, "cannot read: %s", strerror(-err));
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

int config_read_file_stat(const char *file, size_t max, struct diag *diag, char **ret_text, size_t *ret_len,
			  struct stat *ret_st)
{
	return read_file(file, true, max, diag, ret_text, ret_len, ret_st);
}

int config_read_file(const char *file, size_t max, struct diag *diag, char **ret_text, size_t *ret_len)
{
	struct stat st;

	return read_file(file, false, max, diag, ret_text, ret_len, &st);
}

json_t *config_json_file(const char *file, struct diag *diag)
{
	json_t *json;
	char *text = NULL;
	size_t len = 0;

	if (config_read_file(file, JSON_FILE_MAX, diag, &text, &len))
		return NULL;
	json = config_json(text, len, file, diag);
	free(text);
	return json;
}
