/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/table.c - a table that fits its content and the terminal.
 */
#include "cli/base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"

#define FLEX_LEAST 8

struct cell {
	char *text;
	enum ink ink;
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	struct cell *cells;
	size_t n, room;
	bool failed;
};

struct table *table_new(const struct table_column *columns, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->columns = columns;
	t->n_columns = n;
	return t;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t);
	return NULL;
}

void table_cell(struct table *t, enum ink ink, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	if (t->failed)
		return;
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 64;
		struct cell *cells = reallocarray(t->cells, room, sizeof(*cells));

		if (!cells) {
			t->failed = true;
			return;
		}
		t->cells = cells;
		t->room = room;
	}
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->failed = true;
		return;
	}
	t->cells[t->n++] = (struct cell) { .text = text, .ink = ink };
}

static size_t column_width(const struct table *t, size_t c)
{
	size_t width = t->columns[c].title ? text_width(t->columns[c].title) : 0;

	for (size_t i = c; i < t->n; i += t->n_columns) {
		size_t w = text_width(t->cells[i].text);

		if (w > width)
			width = w;
	}
	return width;
}

size_t table_width(const struct table *t, size_t gap, size_t flex)
{
	size_t total = t->n_columns ? (t->n_columns - 1) * gap : 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		size_t w = column_width(t, c);

		total += t->columns[c].flex && w > flex ? flex : w;
	}
	return total;
}

static int print_cell(const struct paint *p, const struct table_column *column, enum ink ink, const char *text,
		      size_t width, bool last)
{
	char *cut = text_cut(text, width, p->unicode);
	size_t pad;

	if (!cut)
		return -ENOMEM;
	pad = width - text_width(cut);
	if (!column->left)
		fprintf(p->out, "%*s", (int)pad, "");
	paint(p, *cut ? ink : INK_NONE, "%s", cut);
	if (column->left && !last)
		fprintf(p->out, "%*s", (int)pad, "");
	free(cut);
	return 0;
}

int table_print(const struct table *t, const struct paint *p, size_t indent, size_t gap)
{
	size_t *widths, rest, used = indent, flex = t->n_columns;
	bool titles = false;
	int rc = 0;

	if (t->failed)
		return -ENOMEM;
	widths = calloc(t->n_columns + 1, sizeof(*widths));
	if (!widths)
		return -ENOMEM;
	for (size_t c = 0; c < t->n_columns; c++) {
		widths[c] = column_width(t, c);
		if (t->columns[c].flex)
			flex = c;
		else
			used += widths[c];
		titles |= t->columns[c].title != NULL;
		used += c ? gap : 0;
	}
	if (flex < t->n_columns) {
		rest = p->width > used + FLEX_LEAST ? p->width - used : FLEX_LEAST;
		if (widths[flex] > rest)
			widths[flex] = rest;
	}
	for (size_t i = 0; titles && i < t->n_columns && rc == 0; i++) {
		fprintf(p->out, "%*s", (int)(i ? gap : indent), "");
		rc = print_cell(p, &t->columns[i], INK_DIM, t->columns[i].title ? t->columns[i].title : "", widths[i],
				i + 1 == t->n_columns);
	}
	if (titles)
		fputc('\n', p->out);
	for (size_t i = 0; t->n_columns && i < t->n && rc == 0; i++) {
		size_t c = i % t->n_columns;

		fprintf(p->out, "%*s", (int)(c ? gap : indent), "");
		rc = print_cell(p, &t->columns[c], t->cells[i].ink, t->cells[i].text, widths[c], c + 1 == t->n_columns);
		if (c + 1 == t->n_columns)
			fputc('\n', p->out);
	}
	free(widths);
	return rc;
}
