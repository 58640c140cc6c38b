/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/arena.h - memory for an answer's strings and lists: given out bit by bit, freed
 * at once.
 */
#ifndef SKEP_LAKE_ARENA_H
#define SKEP_LAKE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *blocks;
};

void *arena_alloc(struct arena *, size_t n); /* zeroed, aligned for any type; NULL: no memory */
/* A NUL-terminated copy of n bytes. */
char *arena_copy(struct arena *, const void *s, size_t n);
void arena_free(struct arena *); /* what it holds */

#endif
