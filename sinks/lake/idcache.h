/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/idcache.h - a cache from strings to ids, so that a repeated string costs no query.  A set has four entries
 * and no more: the strings that users invent change neither its memory nor its time.
 */
#ifndef SKEP_SINKS_LAKE_IDCACHE_H
#define SKEP_SINKS_LAKE_IDCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDCACHE_PLACES 64

struct idcache;

struct idcache *idcache_new(void); /* NULL: no memory */
struct idcache *idcache_free(struct idcache *);
void idcache_clear(struct idcache *);
bool idcache_get(struct idcache *, const char *s, size_t n, int64_t *ret_id);
/* The same for a caller whose places (columns) mostly have the string that they had last. place < IDCACHE_PLACES. */
bool idcache_get_at(struct idcache *, size_t place, const char *s, size_t n, int64_t *ret_id);
/* Evicts the oldest entry of a full set: of strings over 512 bytes it has four. Does nothing when no memory is left. */
void idcache_put(struct idcache *, const char *s, size_t n, int64_t id);

#endif
