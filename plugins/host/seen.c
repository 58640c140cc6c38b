/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/seen.c - the table, and the difference of counters.
 */
#include "seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16u

void seen_begin(struct seen *s)
{
	s->pass++;
	s->next = 0;
}

static int found(struct seen *s, uint32_t i, struct seen_entry **ret, bool *ret_fresh)
{
	struct seen_entry *e = &s->entry[i];

	if (e->pass == s->pass)
		return -EEXIST;
	e->pass = s->pass;
	s->next = i + 1;
	*ret = e;
	*ret_fresh = false;
	return 0;
}

int seen_find(struct seen *s, struct text name, struct seen_entry **ret, bool *ret_fresh)
{
	struct seen_entry *e;

	if (text_len(name) == 0 || text_len(name) >= SEEN_NAME)
		return -EINVAL;
	if (s->next < s->n && text_is(name, s->entry[s->next].name))
		return found(s, s->next, ret, ret_fresh);
	for (uint32_t i = 0; i < s->n; i++)
		if (text_is(name, s->entry[i].name))
			return found(s, i, ret, ret_fresh);
	if (s->n == SEEN_MOST)
		return -ENOSPC;
	if (s->n == s->room) {
		uint32_t room = s->room ? 2 * s->room : FIRST_ROOM;

		e = realloc(s->entry, room * sizeof(*e));
		if (!e)
			return -ENOMEM;
		s->entry = e;
		s->room = room;
	}
	e = &s->entry[s->n++];
	*e = (struct seen_entry){ .pass = s->pass };
	text_copy(name, e->name, sizeof(e->name));
	s->next = s->n;
	*ret = e;
	*ret_fresh = true;
	return 0;
}

void seen_end(struct seen *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->entry[i].pass == s->pass) {
			if (kept != i)
				s->entry[kept] = s->entry[i];
			kept++;
		}
	s->n = kept;
}

void seen_free(struct seen *s)
{
	free(s->entry);
	*s = (struct seen){ 0 };
}

uint64_t seen_delta(uint64_t before, uint64_t now)
{
	if (now >= before)
		return now - before;
	if (before <= UINT32_MAX && before - now > UINT32_MAX / 2)
		return UINT32_MAX - before + now + 1;
	return 0;
}
