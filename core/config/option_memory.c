/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_memory.c - a list of blocks. Lists are short: a search walks them.
 */
#include "core/config/option_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct options_memory {
	void **blocks;
	size_t n;
};

struct options_memory *options_memory_new(void)
{
	return calloc(1, sizeof(struct options_memory));
}

struct options_memory *options_memory_free(struct options_memory *memory)
{
	if (!memory)
		return NULL;
	for (size_t i = 0; i < memory->n; i++)
		free(memory->blocks[i]);
	free(memory->blocks);
	free(memory);
	return NULL;
}

/* Removes the block from the list. False: the list does not have it. */
static bool list_remove(struct options_memory *memory, const void *block)
{
	for (size_t i = 0; block && i < memory->n; i++)
		if (memory->blocks[i] == block) {
			memory->blocks[i] = memory->blocks[--memory->n];
			return true;
		}
	return false;
}

int options_memory_reserve(struct options_memory *memory, const struct options_memory *next)
{
	void **blocks = reallocarray(memory->blocks, memory->n + next->n + 1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	memory->blocks = blocks;
	return 0;
}

void options_memory_move(struct options_memory *from, const void *block, struct options_memory *to)
{
	if (list_remove(from, block))
		to->blocks[to->n++] = (void *)(uintptr_t)block;
}

void options_memory_drop(struct options_memory *memory, const void *block)
{
	if (list_remove(memory, block))
		free((void *)(uintptr_t)block);
}

void *options_memory_take(struct options_memory *memory, void *block)
{
	void **blocks;

	if (!block)
		return NULL;
	blocks = reallocarray(memory->blocks, memory->n + 1, sizeof(*blocks));
	if (!blocks) {
		free(block);
		return NULL;
	}
	memory->blocks = blocks;
	blocks[memory->n++] = block;
	return block;
}
