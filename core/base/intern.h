/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/intern.h - one copy of each string that many processes have in common (exe, cwd,
 * cgroup, comm, tool): counted references, pointer equality is string equality.
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
	char text[];         /* len bytes and a NUL */
};

struct intern *intern_new(void); /* NULL: no memory */
struct intern *intern_free(struct intern *); /* every reference must be gone, or goes with it */

/* A reference to the string's one copy; NULL for an empty string and when memory ran out. */
const struct interned *intern_get(struct intern *, const struct skep_str *);
const struct interned *intern_text(struct intern *, const char *text);
const struct interned *intern_ref(const struct interned *); /* NULL is fine */
void intern_unref(struct intern *, const struct interned *); /* NULL is fine */
/*
 * *at becomes a reference to the text, unless that is empty; without memory it stays as it is: an older text is better
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
