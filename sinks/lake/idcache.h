/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/idcache.h - string to number, so that a string that repeats costs no
 * query.  Four places a set and no more: neither memory nor time depends on what
 * strings users can make up.
 */
#ifndef SKEP_SINKS_LAKE_IDCACHE_H
#define SKEP_SINKS_LAKE_IDCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idcache;

struct idcache *idcache_new(void); /* NULL: no memory */
struct idcache *idcache_free(struct idcache *);
void idcache_clear(struct idcache *);
bool idcache_get(struct idcache *, const char *s, size_t n, int64_t *ret_id);
/* Forgets another one when the set is full; does nothing for long strings or without memory. */
void idcache_put(struct idcache *, const char *s, size_t n, int64_t id);

#endif
