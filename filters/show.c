/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/show.c - an error in an expression, for people: the line, and where in it.
 */
#include <stdio.h>
#include <string.h>

#include "filters/expr.h"

struct out {
	char *to;
	size_t size, used;
};

static void put(struct out *o, char c)
{
	if (o->used + 1 < o->size)
		o->to[o->used] = c;
	o->used++;
}

/* Columns are bytes, what a terminal shows are characters: bytes that go on with one take no place. */
static bool begins(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

int filter_error_show(const struct filter_error *e, const char *text, size_t len, char *to, size_t size)
{
	struct out o = { to, size, 0 };
	const char *at = text, *end = text + len, *stop;

	for (uint32_t line = 1; line < e->line && at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline ? newline + 1 : end;
	}
	stop = memchr(at, '\n', (size_t)(end - at));
	stop = stop ? stop : end;
	for (const char *c = at; c < stop; c++)
		put(&o, (unsigned char)*c < ' ' && *c != '\t' ? '?' : *c);
	put(&o, '\n');
	for (uint32_t i = 1; i < e->column; i++)
		if (at + i - 1 >= stop || begins(at[i - 1]))
			put(&o, at + i - 1 < stop && at[i - 1] == '\t' ? '\t' : ' ');
	put(&o, '^');
	/* what is wrong may go on in the next line */
	for (uint32_t i = 1; i < e->length && at + e->column - 1 + i < stop; i++)
		if (begins(at[e->column - 1 + i]))
			put(&o, '~');
	if (size)
		o.to[o.used < size ? o.used : size - 1] = '\0';
	return (int)o.used;
}
