/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set-associative cache of string to number.
 */
#include "sinks/lake/idcache.h"

#include <stdlib.h>
#include <string.h>

#define SETS    2048 /* a power of two */
#define WAYS    4
#define LONGEST 512 /* 8192 entries of that would be 4 MiB */

struct entry {
	char *s;
	uint64_t hash;
	uint32_t n, used;
	int64_t id;
};

struct idcache {
	uint32_t clock;
	struct entry set[SETS][WAYS];
};

struct idcache *idcache_new(void)
{
	return calloc(1, sizeof(struct idcache));
}

void idcache_clear(struct idcache *c)
{
	for (size_t i = 0; i < SETS; i++) {
		for (size_t w = 0; w < WAYS; w++) {
			free(c->set[i][w].s);
			c->set[i][w] = (struct entry){ 0 };
		}
	}
}

struct idcache *idcache_free(struct idcache *c)
{
	if (c)
		idcache_clear(c);
	free(c);
	return NULL;
}

/* FNV-1a; a set holds four whatever the strings are, so nothing is gained by a keyed hash. */
static uint64_t hash_of(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h ^ h >> 32;
}

bool idcache_get(struct idcache *c, const char *s, size_t n, int64_t *ret_id)
{
	uint64_t h = hash_of(s, n);
	struct entry *set = c->set[h % SETS];

	for (size_t w = 0; w < WAYS; w++) {
		if (!set[w].s || set[w].hash != h || set[w].n != n || memcmp(set[w].s, s, n) != 0)
			continue;
		set[w].used = ++c->clock;
		*ret_id = set[w].id;
		return true;
	}
	return false;
}

void idcache_put(struct idcache *c, const char *s, size_t n, int64_t id)
{
	uint64_t h = hash_of(s, n);
	struct entry *set = c->set[h % SETS], *oldest = set;
	char *copy;

	if (n > LONGEST)
		return;
	copy = malloc(n ? n : 1);
	if (!copy)
		return;
	memcpy(copy, s, n);
	for (size_t w = 0; w < WAYS; w++) {
		if (!set[w].s) {
			oldest = &set[w];
			break;
		}
		/* by distance, so that the clock may wrap */
		if (c->clock - set[w].used > c->clock - oldest->used)
			oldest = &set[w];
	}
	free(oldest->s);
	*oldest = (struct entry){ .s = copy, .hash = h, .n = (uint32_t)n, .used = ++c->clock, .id = id };
}
