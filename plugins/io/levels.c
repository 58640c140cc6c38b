/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/levels.c - see levels.h.
 *
 * Open addressing, linear, at most three quarters full.  A removal moves back the entries that had to step over it, so
 * no tombstones pile up.
 */
#include "levels.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t home_of(const struct levels *t, const uint64_t key[2], size_t room)
{
	return (size_t)skep_hash(&t->key, key, 2 * sizeof(key[0])) & (room - 1);
}

static bool grow(struct levels *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	struct level *bigger = calloc(room, sizeof(*bigger));

	if (!bigger)
		return false;
	if (t->room == 0)
		t->key = skep_hash_key_new();
	for (size_t i = 0; i < t->room; i++) {
		size_t at;

		if (!t->at[i].used)
			continue;
		at = home_of(t, t->at[i].key, room);
		while (bigger[at].used)
			at = (at + 1) & (room - 1);
		bigger[at] = t->at[i];
	}
	free(t->at);
	t->at = bigger;
	t->room = room;
	return true;
}

struct level *levels_get(struct levels *t, const void *bytes)
{
	uint64_t key[2]; /* keys of the maps may be unaligned */
	size_t at;

	memcpy(key, bytes, sizeof(key));
	if (t->n * 4 >= t->room * 3 && !grow(t))
		return NULL;
	at = home_of(t, key, t->room);
	while (t->at[at].used && (t->at[at].key[0] != key[0] || t->at[at].key[1] != key[1]))
		at = (at + 1) & (t->room - 1);
	if (!t->at[at].used) {
		t->at[at] = (struct level){ .key = { key[0], key[1] }, .used = 1 };
		t->n++;
	}
	return &t->at[at];
}

void levels_remove(struct levels *t, const struct level *gone)
{
	size_t hole = (size_t)(gone - t->at), at = hole;

	for (;;) {
		at = (at + 1) & (t->room - 1);
		if (!t->at[at].used)
			break;
		/* an entry may step back into the hole when its home does not lie after the hole */
		if (((at - home_of(t, t->at[at].key, t->room)) & (t->room - 1)) >= ((at - hole) & (t->room - 1))) {
			t->at[hole] = t->at[at];
			hole = at;
		}
	}
	t->at[hole].used = 0;
	t->n--;
}

void levels_free(struct levels *t)
{
	free(t->at);
	*t = (struct levels){ 0 };
}
