/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_when.c - reads a condition from a JSON string, and maps an error in the condition to its
 * position in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/rules/rules_priv.h"

void when_clear(struct when *w)
{
	free(w->text);
	*w = (struct when){ 0 };
}

bool when_read(const struct datanode *node, struct when *ret)
{
	struct when w = { 0 };
	struct datanode line;
	size_t n = json_array_size(node->json);

	if (json_is_true(node->json)) {
		*ret = w;
		return true;
	}
	if (!json_is_array(node->json)) {
		const char *text = json_string_value(node->json);
		char is[CONFIG_QUOTE_SIZE];

		config_describe(node->json, is, sizeof(is));
		if (!text) {
			datanode_error(
				node,
				"is %s: "
				"give a condition such as \"user = 'root'\", a list of its lines, or true for always",
				is);
			return false;
		}
		w.len = json_string_length(node->json);
		w.text = strdup(text);
		if (!w.text)
			datanode_error(node, "no memory for this condition");
		*ret = w;
		return w.text != NULL;
	}
	for (size_t i = 0; i < n; i++) {
		const char *text;
		char *longer;
		size_t len;

		datanode_at(node, i, &line);
		text = datanode_string(&line);
		len = text ? strlen(text) : 0;
		longer = text ? realloc(w.text, w.len + len + 2) : NULL;
		if (!longer) {
			if (text)
				datanode_error(node, "no memory for this condition");
			when_clear(&w);
			return false;
		}
		w.text = longer;
		memcpy(w.text + w.len, text, len);
		w.len += len;
		w.text[w.len++] = '\n';
	}
	if (!w.text) {
		datanode_error(node, "is an empty list: write the condition, or true for always");
		return false;
	}
	w.text[--w.len] = '\0';
	*ret = w;
	return true;
}

/* ---- where it stands in the file ---------------------------------------------------- */

/* The byte offset of a line and a column (in characters). */
static size_t byte_of(const char *text, size_t len, int line, int column)
{
	size_t at = 0;

	for (int i = 1; i < line; i++) {
		const char *newline = memchr(text + at, '\n', len - at);

		if (!newline)
			return len;
		at = (size_t)(newline - text) + 1;
	}
	for (int i = 1; i < column && at < len; i++)
		for (at++; at < len && ((unsigned char)text[at] & 0xc0) == 0x80; at++)
			;
	return at;
}

static unsigned hex4(const char *s)
{
	char digits[5] = { s[0], s[1], s[2], s[3], '\0' };

	return (unsigned)strtoul(digits, NULL, 16);
}

/*
 * Finds the byte of the file that byte `want` of the string comes from; at: the opening quote. jansson has
 * already accepted the string, so its escapes are valid.
 */
static size_t raw_of(const char *text, size_t len, size_t at, size_t want)
{
	size_t n = 0;

	for (at++; at < len && n < want && text[at] != '"';) {
		unsigned code;

		if (text[at] != '\\') {
			at++;
			n++;
		} else if (at + 5 >= len || text[at + 1] != 'u') {
			at += 2;
			n++;
		} else {
			code = hex4(text + at + 2);
			if (code >= 0xd800 && code < 0xdc00) { /* a surrogate pair */
				at += 12;
				n += 4;
			} else {
				at += 6;
				n += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
			}
		}
	}
	return at < len ? at : len;
}

/* Shows [at, at + length) of the text below the error that was added last. */
static void show(struct diag_entry *e, const char *text, size_t len, size_t at, size_t length)
{
	struct filter_error place = { .line = 1, .length = (uint32_t)(length ? length : 1) };
	size_t begin = 0, size = 4 * FILTER_SHOWN + 16;

	for (size_t i = 0; i < at; i++)
		if (text[i] == '\n') {
			place.line++;
			begin = i + 1;
		}
	place.column = (uint32_t)(at - begin) + 1;
	/*
	 * without memory the error is reported without its source line
	 *
	 */
	e->shown = malloc(size);
	if (e->shown)
		filter_error_show(&place, text, len, e->shown, size);
}

void when_error(const struct datanode *node, const struct filter_error *error, const char *text, size_t len)
{
	const struct datanode *string = node;
	struct datanode line;
	struct config_pos place;
	size_t want = error->at, begin, end, n = node->diag->n;
	int row, column;

	for (size_t i = 0; json_is_array(node->json) && i < json_array_size(node->json); i++) {
		datanode_at(node, i, &line);
		string = &line;
		if (want <= json_string_length(line.json))
			break;
		want -= json_string_length(line.json) + 1;
	}
	if (!string->pos) {
		datanode_error(node, "%s", error->what);
		return;
	}
	begin = byte_of(text, len, string->pos->line, string->pos->column);
	end = raw_of(text, len, begin, want + error->length);
	begin = raw_of(text, len, begin, want);
	config_pos_offset(text, begin, &row, &column);
	place = (struct config_pos){ .line = row, .column = column };
	line = *node;
	line.pos = &place;
	datanode_error(&line, "%s", error->what);
	if (node->diag->n > n)
		show(&node->diag->entries[n], text, len, begin, end > begin ? end - begin : 1);
}

void when_show(struct diag *diag, size_t from, const char *text, size_t len)
{
	for (size_t i = from; i < diag->n; i++) {
		struct diag_entry *e = &diag->entries[i];

		if (e->line > 0 && e->column > 0 && !e->shown)
			show(e, text, len, byte_of(text, len, e->line, e->column), 1);
	}
}
