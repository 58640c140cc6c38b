/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/attempts.c - a table of counts, by the hash of a task's text.
 */
#include "core/process/attempts.h"

#include <errno.h>
#include <inttypes.h>
#include <skep/hash.h>
#include <stdio.h>
#include <stdlib.h>

struct slot {
	uint64_t hash; /* 0: free */
	uint32_t count;
};

struct attempts {
	struct skep_hash_key key; /* users choose the texts */
	size_t n, room;           /* room: a power of two, at least twice n */
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
	struct slot *slot;

	if (2 * (a->n + 1) > a->room && !grow(a))
		return NULL;
	slot = slot_of(a, hash);
	if (slot->hash)
		return slot;
	if (a->n == ATTEMPTS_MOST)
		return NULL;
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
	return slot ? ++slot->count : 0;
}

uint32_t attempts_of(const struct attempts *a, const struct skep_str *text)
{
	return a && a->room ? slot_of(a, skep_hash(&a->key, text->ptr, text->len) | 1)->count : 0;
}

void attempts_clear(struct attempts *a, const struct skep_str *text)
{
	if (a && a->room)
		slot_of(a, skep_hash(&a->key, text->ptr, text->len) | 1)->count = 0;
}

size_t attempts_count(const struct attempts *a)
{
	return a ? a->n : 0;
}

/* "KEY,KEY;HASH,COUNT;HASH,COUNT;", all hexadecimal. */
int attempts_word(const struct attempts *a, size_t most, char **ret)
{
	size_t size = 0;
	char *word = NULL;
	FILE *file = open_memstream(&word, &size);

	if (!file)
		return -ENOMEM;
	fprintf(file, "%" PRIx64 ",%" PRIx64 ";", a->key.k0, a->key.k1);
	for (size_t i = 0; i < a->room && most > 0; i++) {
		if (!a->slots[i].hash)
			continue;
		fprintf(file, "%" PRIx64 ",%" PRIx32 ";", a->slots[i].hash, a->slots[i].count);
		most--;
	}
	if (fclose(file) != 0) {
		free(word);
		return -ENOMEM;
	}
	*ret = word;
	return 0;
}

/* Reads "A,B;" and moves on.  false: there is no such pair. */
static bool read_pair(const char **at, uint64_t *ret_a, uint64_t *ret_b)
{
	char *end;
	uint64_t a = strtoull(*at, &end, 16), b;

	if (end == *at || *end != ',')
		return false;
	*at = end + 1;
	b = strtoull(*at, &end, 16);
	if (end == *at || *end != ';')
		return false;
	*at = end + 1;
	*ret_a = a;
	*ret_b = b;
	return true;
}

int attempts_read(struct attempts **at, const char *word)
{
	struct attempts *a = calloc(1, sizeof(*a));
	uint64_t hash, count;

	if (!a)
		return -ENOMEM;
	if (!read_pair(&word, &a->key.k0, &a->key.k1)) {
		attempts_free(a);
		return -EBADMSG;
	}
	while (read_pair(&word, &hash, &count)) {
		struct slot *slot = hash && count <= UINT32_MAX ? slot_for(a, hash) : NULL;

		if (slot)
			slot->count = (uint32_t)count;
	}
	attempts_free(*at);
	*at = a;
	return 0;
}

struct attempts *attempts_free(struct attempts *a)
{
	if (a)
		free(a->slots);
	free(a);
	return NULL;
}
