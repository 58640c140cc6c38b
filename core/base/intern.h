/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/intern.h - keeps one copy of each string that many processes share (exe, cwd, cgroup, comm, tool), with
 * counted references.  Equal pointers mean equal strings.
 */
#ifndef SKEP_CORE_INTERN_H
#define SKEP_CORE_INTERN_H

#include <skep/record.h>
#include <string.h>

struct intern;

struct interned {
	struct interned *next;
	uint32_t hash, refs;
	uint32_t len, total; /* total > len: it was cut */
	uint64_t saved;      /* its number in the saved state (core/base/saved_as.h) */
	char text[];         /* len bytes and a NUL */
};

struct intern *intern_new(void); /* NULL: no memory */
struct intern *intern_free(struct intern *); /* drop every reference first: the strings are freed too */

/* Returns a reference to the string's one copy; NULL for an empty string, or without memory. */
const struct interned *intern_get(struct intern *, const struct skep_str *);
const struct interned *intern_text(struct intern *, const char *text);
const struct interned *intern_ref(const struct interned *); /* NULL is fine */
void intern_unref(struct intern *, const struct interned *); /* NULL is fine */
/*
 * Replaces *at by a reference to the text.  An empty text, or no memory, leaves *at as it is: an old text is better
 * than none.
 */
void intern_replace(struct intern *, const struct interned **at, const struct skep_str *text);
size_t intern_count(const struct intern *);

/* Borrowed. */
static inline struct skep_str text_str(const char *text)
{
	return (struct skep_str){ text, (uint32_t)strlen(text), (uint32_t)strlen(text) };
}

/* Borrowed; empty for NULL. */
static inline struct skep_str intern_str(const struct interned *s)
{
	struct skep_str str = { "", 0, 0 };

	if (s) {
		str.ptr = s->text;
		str.len = s->len;
		str.total = s->total;
	}
	return str;
}

#endif
