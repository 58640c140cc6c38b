/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/option_memory.h - the blocks that hold the strings and lists of a state's options.
 */
#ifndef SKEP_CORE_OPTION_MEMORY_H
#define SKEP_CORE_OPTION_MEMORY_H

struct options_memory;

struct options_memory *options_memory_new(void); /* NULL: no memory */
struct options_memory *options_memory_free(struct options_memory *);
/* Takes the block, on failure too. Returns the block; NULL: no memory, or the block is NULL. */
void *options_memory_take(struct options_memory *, void *block);
/* Makes room in `memory` for all blocks of `next`, so that moving cannot fail: 0 or -ENOMEM. */
int options_memory_reserve(struct options_memory *memory, const struct options_memory *next);
/* NULL, and a block of another owner, are fine. */
void options_memory_move(struct options_memory *from, const void *block, struct options_memory *to);
void options_memory_drop(struct options_memory *, const void *block); /* frees it */

#endif
