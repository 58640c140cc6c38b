/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/device_table.c - rows by name, and the difference of counters.
 */
#include "device_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16u

void device_table_begin(struct device_table *s)
{
	s->pass++;
	s->next = 0;
}

static int found(struct device_table *s, uint32_t i, struct device **ret, bool *ret_fresh)
{
	struct device *e = &s->entry[i];

	if (e->pass == s->pass)
		return -EEXIST;
	e->pass = s->pass;
	s->next = i + 1;
	*ret = e;
	*ret_fresh = false;
	return 0;
}

int device_table_find(struct device_table *s, struct text name, struct device **ret, bool *ret_fresh)
{
	struct device *e;

	if (skep_text_len(name) == 0 || skep_text_len(name) >= DEVICE_NAME)
		return -EINVAL;
	if (s->next < s->n && skep_text_is(name, s->entry[s->next].name))
		return found(s, s->next, ret, ret_fresh);
	for (uint32_t i = 0; i < s->n; i++)
		if (skep_text_is(name, s->entry[i].name))
			return found(s, i, ret, ret_fresh);
	if (s->n == DEVICE_MOST)
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
	*e = (struct device){ .pass = s->pass };
	skep_text_copy(name, e->name, sizeof(e->name));
	s->next = s->n;
	*ret = e;
	*ret_fresh = true;
	return 0;
}

void device_table_end(struct device_table *s)
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

void device_table_free(struct device_table *s)
{
	free(s->entry);
	*s = (struct device_table){ 0 };
}

uint64_t counter_delta(uint64_t before, uint64_t now)
{
	if (now >= before)
		return now - before;
	if (before <= UINT32_MAX && before - now > UINT32_MAX / 2)
		return UINT32_MAX - before + now + 1;
	return 0;
}
