/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/arena.c - an arena: allocations from large blocks, freed together.
 */
#include "lake/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

static void *alloc(struct arena *a, size_t n, size_t align)
{
	struct arena_block *b = a->blocks;
	size_t size = BLOCK;
	void *p;

	if (n > SIZE_MAX / 2)
		return NULL;
	if (b)
		b->used = (b->used + align - 1) & ~(align - 1);
	if (!b || b->size < b->used || b->size - b->used < n) {
		if (n > size)
			size = n;
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		b->next = a->blocks;
		b->used = 0;
		b->size = size;
		a->blocks = b;
	}
	p = memset(b->data + b->used, 0, n);
	b->used += n;
	return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
	return alloc(a, n, _Alignof(max_align_t));
}

char *arena_copy(struct arena *a, const void *s, size_t n)
{
	char *p = alloc(a, n + 1, 1);

	if (p && n)
		memcpy(p, s, n);
	return p;
}

void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
}
