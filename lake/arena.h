/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/arena.h - an arena for the strings and lists of one answer: one call frees them all.
 */
#ifndef SKEP_LAKE_ARENA_H
#define SKEP_LAKE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *blocks;
};

void *arena_alloc(struct arena *, size_t n); /* zeroed, aligned for any type; NULL: no memory */
/* Copies n bytes and adds a NUL. NULL: no memory. */
char *arena_copy(struct arena *, const void *s, size_t n);
void arena_free(struct arena *); /* frees the arena's memory, not the struct */

#endif
