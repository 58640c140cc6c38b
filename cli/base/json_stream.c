/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/json_stream.c - see cli/base/json_stream.h.  jansson writes the texts and numbers whose form is not obvious.
 */
#include "cli/base/json_stream.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_out.h"

#define WRITE_SIZE 65536

struct json_columns {
	struct jsonw text; /* of the stream, meanwhile */
	int depth;         /* of the stream outside of the rows */
	size_t n, room, at, rows;
	bool in_column;    /* the stream writes column `at` - 1 */
	struct column {
		const char *key;
		struct jsonw text;
	} *list;
};

static void write_out(struct json_stream *s)
{
	if (!s->err)
		s->err = s->text.err;
	errno = 0;
	if (!s->err && s->text.len && fwrite(s->text.buf, 1, s->text.len, s->out) != s->text.len)
		s->err = errno ? -errno : -EIO;
	skep_jsonw_reset(&s->text);
}

static void new_line(struct json_stream *s)
{
	static const char spaces[] = "\n                                ";
	size_t n = 1 + 2 * (size_t)s->depth;

	skep_jsonw_raw(&s->text, spaces, n < sizeof(spaces) ? n : sizeof(spaces) - 1);
}

/* ---- columns -------------------------------------------------------------- */

static void fail(struct json_stream *s, int err)
{
	if (!s->err)
		s->err = err;
}

/* The text of the column goes back to its place. */
static void column_leave(struct json_columns *c, struct json_stream *s)
{
	if (c->in_column)
		c->list[c->at - 1].text = s->text;
	c->in_column = false;
}

static int column_add(struct json_columns *c, const char *key)
{
	if (c->n == c->room) {
		const size_t room = c->room ? 2 * c->room : 64;
		struct column *grown = realloc(c->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->list = grown;
		c->room = room;
	}
	c->list[c->n++] = (struct column){ .key = key };
	return 0;
}

/* The next member of a row: what follows is written to its column. */
static void column_enter(struct json_stream *s, const char *key)
{
	struct json_columns *c = s->columns;
	int err = 0;

	column_leave(c, s);
	if (c->at == c->n)
		err = c->rows ? -EINVAL : column_add(c, key);
	else if (strcmp(c->list[c->at].key, key) != 0)
		err = -EINVAL;
	if (err) {
		fail(s, err);
		return;
	}
	s->text = c->list[c->at++].text;
	c->list[c->at - 1].text = (struct jsonw){ 0 };
	c->in_column = true;
	if (c->rows)
		jsonw_lit(&s->text, ",");
}

static bool at_row(const struct json_stream *s)
{
	return s->columns && s->depth == s->columns->depth;
}

static void row_close(struct json_stream *s)
{
	struct json_columns *c = s->columns;

	column_leave(c, s);
	s->text = (struct jsonw){ 0 };
	if (c->at != c->n)
		fail(s, -EINVAL);
	c->at = 0;
	c->rows++;
}

/* ---- members -------------------------------------------------------------- */

static void begin(struct json_stream *s, const char *key)
{
	if (s->columns && s->depth == s->columns->depth + 1) {
		column_enter(s, key);
		return;
	}
	if (!s->columns && s->text.len > WRITE_SIZE)
		write_out(s);
	if (s->begun)
		jsonw_lit(&s->text, ",");
	if (s->depth && !s->columns)
		new_line(s);
	s->begun = true;
	if (!key)
		return;
	skep_jsonw_string(&s->text, key, strlen(key));
	jsonw_lit(&s->text, ": ");
}

void json_stream_open(struct json_stream *s, const char *key, char bracket)
{
	if (!at_row(s)) {
		begin(s, key);
		skep_jsonw_raw(&s->text, &bracket, 1);
	}
	s->depth++;
	s->begun = false;
}

void json_stream_close(struct json_stream *s, char bracket)
{
	s->depth--;
	if (at_row(s)) {
		row_close(s);
		return;
	}
	if (s->begun && !s->columns)
		new_line(s);
	skep_jsonw_raw(&s->text, &bracket, 1);
	s->begun = true;
}

void json_stream_columns_open(struct json_stream *s, const char *key)
{
	struct json_columns *c = calloc(1, sizeof(*c));

	json_stream_open(s, key, '{');
	if (!c) {
		fail(s, -ENOMEM);
		return;
	}
	write_out(s);
	c->text = s->text;
	c->depth = s->depth;
	s->text = (struct jsonw){ 0 };
	s->columns = c;
}

void json_stream_columns_close(struct json_stream *s)
{
	struct json_columns *c = s->columns;

	if (c) {
		s->columns = NULL;
		column_leave(c, s);
		s->text = c->text;
		s->begun = false;
		for (size_t i = 0; i < c->n; i++) {
			struct jsonw *text = &c->list[i].text;

			begin(s, c->list[i].key);
			jsonw_lit(&s->text, "[");
			write_out(s);
			fail(s, text->err);
			if (!s->err && text->len && fwrite(text->buf, 1, text->len, s->out) != text->len)
				fail(s, errno ? -errno : -EIO);
			skep_jsonw_free(text);
			jsonw_lit(&s->text, "]");
		}
		free(c->list);
		free(c);
	}
	json_stream_close(s, '}');
}

void json_stream_null(struct json_stream *s, const char *key)
{
	begin(s, key);
	jsonw_lit(&s->text, "null");
}

void json_stream_bool(struct json_stream *s, const char *key, bool value)
{
	begin(s, key);
	if (value)
		jsonw_lit(&s->text, "true");
	else
		jsonw_lit(&s->text, "false");
}

void json_stream_signed(struct json_stream *s, const char *key, int64_t value)
{
	begin(s, key);
	skep_jsonw_i64(&s->text, value);
}

void json_stream_number(struct json_stream *s, const char *key, uint64_t value)
{
	json_stream_signed(s, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void value_in_column(struct json_stream *s, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY) : NULL;

	if (text)
		skep_jsonw_raw(&s->text, text, strlen(text));
	else
		fail(s, -ENOMEM);
	free(text);
	json_decref(value);
}

void json_stream_value(struct json_stream *s, const char *key, json_t *value)
{
	begin(s, key);
	if (s->columns) {
		value_in_column(s, value);
		return;
	}
	write_out(s);
	if (s->err)
		json_decref(value);
	else
		s->err = json_out_part(value, 2 * s->depth, s->out);
}

void json_stream_real(struct json_stream *s, const char *key, double value)
{
	/* a whole number: its integer and ".0" are jansson's text, made faster */
	if (fabs(value) >= 1e15 || floor(value) < value || signbit(value) || isnan(value)) {
		json_stream_value(s, key, json_real(value));
		return;
	}
	json_stream_signed(s, key, (int64_t)value);
	jsonw_lit(&s->text, ".0");
}

void json_stream_string(struct json_stream *s, const char *key, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	if (!value) {
		json_stream_null(s, key);
	} else if (skep_jsonw_plain(value, n) == n) {
		begin(s, key);
		skep_jsonw_string(&s->text, value, n);
	} else {
		json_stream_value(s, key, json_out_string(value));
	}
}

void json_stream_time(struct json_stream *s, const char *key, uint64_t ns)
{
	if (!ns) {
		json_stream_null(s, key);
	} else if (ns > INT64_MAX) {
		json_stream_value(s, key, json_out_time(ns));
	} else {
		begin(s, key);
		skep_jsonw_time(&s->text, (int64_t)ns);
	}
}

int json_stream_end(struct json_stream *s)
{
	jsonw_lit(&s->text, "\n");
	write_out(s);
	skep_jsonw_free(&s->text);
	if (!s->err && fflush(s->out) != 0)
		s->err = errno ? -errno : -EIO;
	return s->err;
}
