/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/show.c - shows the user an error in an expression: the line, and a mark below the wrong part.
 */
#include <stdio.h>
#include <string.h>

#include "filters/expr.h"

#define BEFORE 40u /* bytes of a long line that are shown before the error */

struct delivery {
	char *to;
	size_t size, used;
};

static void put(struct delivery *o, char c)
{
	if (o->used + 1 < o->size)
		o->to[o->used] = c;
	o->used++;
}

static void dots(struct delivery *o, bool cut)
{
	for (int i = 0; cut && i < 3; i++)
		put(o, '.');
}

/* Columns count bytes, but a terminal shows characters: the continuation bytes of UTF-8 take no column. */
static bool begins(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* Chooses the part [*from, *to) of a line of n bytes to show; the part contains byte `at`. */
static void window(const char *line, size_t n, size_t at, size_t *from, size_t *to)
{
	*from = 0;
	*to = n;
	if (n <= FILTER_SHOWN)
		return;
	if (at > FILTER_SHOWN - BEFORE)
		*from = at - BEFORE;
	if (*to > *from + FILTER_SHOWN)
		*to = *from + FILTER_SHOWN;
	while (*from < at && !begins(line[*from]))
		++*from;
	while (*to < n && !begins(line[*to]))
		++*to;
}

int filter_error_show(const struct filter_error *e, const char *text, size_t len, char *to, size_t size)
{
	struct delivery o = { to, size, 0 };
	const char *line = text, *end = text + len, *stop;
	size_t n, at = e->column ? e->column - 1 : 0, first, last;

	for (uint32_t i = 1; i < e->line && line < end; i++) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		line = newline ? newline + 1 : end;
	}
	stop = memchr(line, '\n', (size_t)(end - line));
	n = (size_t)((stop ? stop : end) - line);
	if (at > n)
		at = n;
	window(line, n, at, &first, &last);
	dots(&o, first > 0);
	for (size_t i = first; i < last; i++)
		put(&o, ((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f ? '?' : line[i]);
	dots(&o, last < n);
	put(&o, '\n');
	for (int i = 0; first > 0 && i < 3; i++)
		put(&o, ' ');
	for (size_t i = first; i < at; i++)
		if (begins(line[i]))
			put(&o, line[i] == '\t' ? '\t' : ' ');
	put(&o, '^');
	/* the wrong part may continue on the next line */
	for (size_t i = at + 1; i < at + e->length && i < last; i++)
		if (begins(line[i]))
			put(&o, '~');
	if (size)
		o.to[o.used < size ? o.used : size - 1] = '\0';
	return (int)o.used;
}
