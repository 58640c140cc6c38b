/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/server_rows.c - asks a ClickHouse server, and reads its answer row by row in the format TabSeparated: each
 * version of the server writes all types of our columns in the same way, and a row that is cut has no end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lake/server_priv.h"

struct cell {
	char *text; /* in bytes, NUL-terminated */
	size_t n;
};

struct server_rows {
	struct server *server;
	struct lake_why *why;
	char *sql;
	struct lake_http_reply *reply;
	char *bytes;
	size_t at, n, room; /* unread: from at to n */
	struct cell *cells;
	size_t n_cells, cell_room;
	size_t n_rows;
	bool bad; /* a value was no number */
};

static int nomem(struct server_rows *r)
{
	lake_say(r->why, "out of memory");
	return -ENOMEM;
}

/* ---- the question ------------------------------------------------------------------ */

static void put_text(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		fprintf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
	fputc('\'', out);
}

static void put_value(FILE *out, const struct lake_value *v)
{
	if (v->type == LAKE_V_NUMBER) {
		fprintf(out, "%lld", (long long)v->number);
	} else if (v->type == LAKE_V_TEXTS) {
		for (int64_t i = 0; i < v->number; i++) {
			fputs(i ? ", " : "", out);
			put_text(out, v->list[i]);
		}
	} else if (v->type == LAKE_V_NULL || !v->text) {
		fputs("NULL", out);
	} else {
		put_text(out, v->text);
	}
}

/* Puts the values in place of ?1 to ?9: the servers that skep knows have no parameters of queries before 19.14. */
static char *sql_of(const char *sql, const struct lake_value *values, size_t n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (; *sql; sql++) {
		if (*sql == '?' && sql[1] >= '1' && sql[1] <= '9' && (size_t)(sql[1] - '1') < n) {
			put_value(out, &values[sql[1] - '1']);
			sql++;
		} else {
			fputc(*sql, out);
		}
	}
	fputs(" FORMAT TabSeparated", out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

int server_rows_open(struct server *s, struct lake_why *why, const char *sql, const struct lake_value *values, size_t n,
		     struct server_rows **ret)
{
	struct server_rows *r = calloc(1, sizeof(*r));
	char cause[1024];
	int err;

	if (r)
		r->sql = sql_of(sql, values, n);
	if (!r || !r->sql) {
		free(r);
		lake_say(why, "out of memory");
		return -ENOMEM;
	}
	r->server = s;
	r->why = why;
	err = lake_http_begin(&s->http, s->database, r->sql, &r->reply, cause, sizeof(cause));
	if (err) {
		server_rows_close(r);
		return server_error(s, why, err, cause);
	}
	*ret = r;
	return 0;
}

int server_rows_of(struct server *s, struct lake_why *why, char *bytes, size_t n, struct server_rows **ret)
{
	struct server_rows *r = bytes ? calloc(1, sizeof(*r)) : NULL;

	if (!r) {
		free(bytes);
		lake_say(why, "out of memory");
		return -ENOMEM;
	}
	*r = (struct server_rows){ .server = s, .why = why, .bytes = bytes, .n = n, .room = n };
	*ret = r;
	return 0;
}

struct server_rows *server_rows_close(struct server_rows *r)
{
	if (!r)
		return NULL;
	lake_http_end(r->reply);
	free(r->sql);
	free(r->bytes);
	free(r->cells);
	free(r);
	return NULL;
}

/* ---- the answer -------------------------------------------------------------------- */

/* Gets more of the answer. 1; 0: it has ended; -errno. */
static int more(struct server_rows *r)
{
	const char *bytes = NULL;
	char cause[1024], *grown;
	size_t n = 0, room = r->room ? r->room : 65536;
	int err = r->reply ? lake_http_read(r->reply, &bytes, &n, cause, sizeof(cause)) : 0;

	if (err < 0)
		return server_error(r->server, r->why, err, cause);
	if (!err)
		return 0;
	if (r->at) {
		memmove(r->bytes, r->bytes + r->at, r->n - r->at);
		r->n -= r->at;
		r->at = 0;
	}
	while (room < r->n + n)
		room *= 2;
	if (room > r->room) {
		grown = realloc(r->bytes, room);
		if (!grown)
			return nomem(r);
		r->bytes = grown;
		r->room = room;
	}
	memcpy(r->bytes + r->n, bytes, n);
	r->n += n;
	return 1;
}

int server_rows_rest(struct server_rows *r, const char **ret, size_t *ret_n)
{
	int err;

	while ((err = more(r)) > 0)
		;
	if (!err && r->n > r->at && r->bytes[r->n - 1] != '\n')
		err = server_error(r->server, r->why, -EPIPE, "its answer ends in the middle of a row");
	*ret = r->bytes ? r->bytes + r->at : "";
	*ret_n = r->n - r->at;
	return err;
}

static char unescaped(char c)
{
	switch (c) {
	case 'b': return '\b';
	case 'f': return '\f';
	case 'n': return '\n';
	case 'r': return '\r';
	case 't': return '\t';
	case '0': return '\0';
	default: return c; /* \\ and \' */
	}
}

/* Cuts a row into its cells: replaces escapes, in place, and ends each cell with a NUL. */
static int split(struct server_rows *r, char *row, char *end)
{
	r->n_cells = 0;
	for (char *from = row;; from++) {
		char *to = from;
		struct cell cell = { .text = from };

		if (r->n_cells == r->cell_room) {
			size_t room = r->cell_room ? 2 * r->cell_room : 64;
			struct cell *grown = reallocarray(r->cells, room, sizeof(*grown));

			if (!grown)
				return nomem(r);
			r->cells = grown;
			r->cell_room = room;
		}
		if (end - from >= 2 && from[0] == '\\' && from[1] == 'N') /* NULL */
			from += 2;
		for (; from < end && *from != '\t'; from++, to++) {
			if (*from == '\\' && from + 1 < end)
				*to = unescaped(*++from);
			else
				*to = *from;
		}
		*to = '\0'; /* in place of the tab, or before it */
		cell.n = (size_t)(to - cell.text);
		r->cells[r->n_cells++] = cell;
		if (from == end)
			return 0;
	}
}

int server_rows_strange(struct server_rows *r, const char *cause)
{
	int err;

	do
		r->at = r->n;
	while ((err = more(r)) > 0);
	return err ? err : server_error(r->server, r->why, -EPROTO, cause);
}

int server_rows_next(struct server_rows *r)
{
	const size_t had = r->n_cells;
	size_t seen = 0;
	char *row, *end;
	int err;

	if (r->bad)
		return server_rows_strange(r, "its answer has a text where a number belongs");
	while (!(end = r->n > r->at + seen ? memchr(r->bytes + r->at + seen, '\n', r->n - r->at - seen) : NULL)) {
		seen = r->n - r->at;
		err = more(r);
		if (err > 0)
			continue;
		if (!err && seen)
			return server_error(r->server, r->why, -EPIPE, "its answer ends in the middle of a row");
		return err;
	}
	row = r->bytes + r->at;
	r->at = (size_t)(end - r->bytes) + 1;
	err = split(r, row, end);
	if (err)
		return err;
	if (r->n_rows++ && r->n_cells != had)
		return server_rows_strange(r, "its answer has a row with other columns than the first");
	return 1;
}

const char *server_rows_text(struct server_rows *r, int column, size_t *ret_n)
{
	const bool there = (size_t)column < r->n_cells;

	r->bad |= !there;
	*ret_n = there ? r->cells[column].n : 0;
	return there ? r->cells[column].text : "";
}

int64_t server_rows_number(struct server_rows *r, int column)
{
	size_t n;
	const char *text = server_rows_text(r, column, &n);
	char *end;
	int64_t value = strtoll(text, &end, 10); /* above 2^63: INT64_MAX, as a sum of SQLite's (saturate.h) */

	r->bad |= *end != '\0'; /* NULL is an empty text, and 0 */
	return value;
}

double server_rows_real(struct server_rows *r, int column)
{
	size_t n;
	char *end;
	double value = strtod(server_rows_text(r, column, &n), &end);

	r->bad |= *end != '\0';
	return value;
}
