/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set-associative cache from strings to ids, for the dictionary and the runs of a lake.
 */
#include "sinks/lake/idcache.h"

#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#define SETS    2048 /* a power of two */
#define WAYS    4
#define LONGEST 512 /* 8192 entries of this length would be 4 MiB: longer strings share one set */

struct entry {
	char *s;
	uint64_t hash;
	uint32_t n, used;
	int64_t id;
};

struct idcache {
	struct skep_hash_key key; /* a secret key: users choose names, and must not choose which ids the cache evicts */
	uint32_t clock;
	struct entry set[SETS + 1][WAYS]; /* the last one: of long strings */
	struct entry *last[IDCACHE_PLACES]; /* that a place had; may have become another string's since */
};

struct idcache *idcache_new(void)
{
	struct idcache *c = calloc(1, sizeof(*c));

	if (c)
		c->key = skep_hash_key_new();
	return c;
}

void idcache_clear(struct idcache *c)
{
	for (size_t i = 0; i < SETS + 1; i++) {
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

static struct entry *find(struct idcache *c, const char *s, size_t n)
{
	uint64_t h = skep_hash(&c->key, s, n);
	struct entry *set = c->set[n > LONGEST ? SETS : h % SETS];

	for (size_t w = 0; w < WAYS; w++)
		if (set[w].s && set[w].hash == h && set[w].n == n && memcmp(set[w].s, s, n) == 0)
			return &set[w];
	return NULL;
}

bool idcache_get_at(struct idcache *c, size_t place, const char *s, size_t n, int64_t *ret_id)
{
	struct entry *e = c->last[place];

	if (!e || !e->s || e->n != n || memcmp(e->s, s, n) != 0)
		e = find(c, s, n);
	if (!e)
		return false;
	c->last[place] = e;
	e->used = ++c->clock;
	*ret_id = e->id;
	return true;
}

bool idcache_get(struct idcache *c, const char *s, size_t n, int64_t *ret_id)
{
	return idcache_get_at(c, 0, s, n, ret_id);
}

void idcache_put(struct idcache *c, const char *s, size_t n, int64_t id)
{
	uint64_t h = skep_hash(&c->key, s, n);
	struct entry *set = c->set[n > LONGEST ? SETS : h % SETS], *oldest = set;
	char *copy = malloc(n ? n : 1);

	if (!copy)
		return;
	memcpy(copy, s, n);
	for (size_t w = 0; w < WAYS; w++) {
		if (!set[w].s) {
			oldest = &set[w];
			break;
		}
		/* compare distances, so that the clock may wrap */
		if (c->clock - set[w].used > c->clock - oldest->used)
			oldest = &set[w];
	}
	free(oldest->s);
	*oldest = (struct entry){ .s = copy, .hash = h, .n = (uint32_t)n, .used = ++c->clock, .id = id };
}
