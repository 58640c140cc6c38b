/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/attempts.c - a table of counts, by the hash of a task's text.
 */
#include "core/process/attempts.h"

#include <errno.h>
#include <skep/hash.h>
#include <stdlib.h>

struct slot {
	uint64_t hash; /* 0: free */
	uint32_t count;
	bool changed;  /* since attempts_saved() */
};

struct attempts {
	struct skep_hash_key key; /* users choose the texts */
	size_t n, room;           /* room: a power of two, at least twice n */
	bool changed;             /* a slot is */
	struct slot *slots;
};

static struct slot *slot_of(const struct attempts *a, uint64_t hash)
{
	size_t i = (size_t)hash & (a->room - 1);

	while (a->slots[i].hash && a->slots[i].hash != hash)
		i = (i + 1) & (a->room - 1);
	return &a->slots[i];
}

static bool grow(struct attempts *a)
{
	struct attempts larger = { .room = a->room ? 2 * a->room : 16 };

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < a->room; i++)
		if (a->slots[i].hash)
			*slot_of(&larger, a->slots[i].hash) = a->slots[i];
	free(a->slots);
	a->slots = larger.slots;
	a->room = larger.room;
	return true;
}

/* The slot of the hash, with room for it.  NULL: too many tasks, no memory. */
static struct slot *slot_for(struct attempts *a, uint64_t hash)
{
	struct slot *slot = a->room ? slot_of(a, hash) : NULL;

	if (slot && slot->hash)
		return slot;
	if (a->n == ATTEMPTS_MOST || (2 * (a->n + 1) > a->room && !grow(a)))
		return NULL;
	slot = slot_of(a, hash);
	slot->hash = hash;
	a->n++;
	return slot;
}

uint32_t attempts_next(struct attempts **at, const struct skep_str *text)
{
	struct attempts *a = *at;
	struct slot *slot;

	if (!a) {
		*at = a = calloc(1, sizeof(*a));
		if (!a)
			return 0;
		a->key = skep_hash_key_new();
	}
	slot = slot_for(a, skep_hash(&a->key, text->ptr, text->len) | 1);
	if (!slot)
		return 0;
	slot->changed = a->changed = true;
	return ++slot->count;
}

uint32_t attempts_of(const struct attempts *a, const struct skep_str *text)
{
	return a && a->room ? slot_of(a, skep_hash(&a->key, text->ptr, text->len) | 1)->count : 0;
}

void attempts_clear(struct attempts *a, const struct skep_str *text)
{
	struct slot *slot = a && a->room ? slot_of(a, skep_hash(&a->key, text->ptr, text->len) | 1) : NULL;

	if (!slot || !slot->count)
		return;
	slot->count = 0;
	slot->changed = a->changed = true;
}

void attempts_key(const struct attempts *a, uint64_t ret[2])
{
	ret[0] = a ? a->key.k0 : 0;
	ret[1] = a ? a->key.k1 : 0;
}

void attempts_changed(const struct attempts *a, bool all, void (*cb)(void *arg, uint64_t text, uint32_t count),
		      void *arg)
{
	for (size_t i = 0; a && (a->changed || all) && i < a->room; i++)
		if (a->slots[i].hash && (a->slots[i].changed || all))
			cb(arg, a->slots[i].hash, a->slots[i].count);
}

void attempts_saved(struct attempts *a)
{
	for (size_t i = 0; a && a->changed && i < a->room; i++)
		a->slots[i].changed = false;
	if (a)
		a->changed = false;
}

int attempts_restore(struct attempts **at, const uint64_t key[2], uint64_t text, uint32_t count)
{
	struct attempts *a = *at ? *at : calloc(1, sizeof(*a));
	struct slot *slot;

	if (!a)
		return -ENOMEM;
	*at = a;
	a->key = (struct skep_hash_key){ key[0], key[1] };
	slot = slot_for(a, text | 1);
	if (slot)
		slot->count = count;
	return 0;
}

struct attempts *attempts_free(struct attempts *a)
{
	if (a)
		free(a->slots);
	free(a);
	return NULL;
}
