/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/levels.h - the values of a BPF hash at the last read, by a key of 16 bytes: they turn counters that only
 * grow into differences.  And reading such a map.
 */
#ifndef SKEP_IO_LEVELS_H
#define SKEP_IO_LEVELS_H

#include <skep/hash.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEVELS_MAX 32 /* numbers in a value */
#define LEVELS_EXTRA 8

/* Has the kernel what skepd reported of an entry, for the next skepd? */
enum level_saved {
	LEVEL_UNREPORTED = 0, /* skepd has reported nothing */
	LEVEL_SAVED,
	LEVEL_UNSAVED,     /* no: the map had no room */
};

struct level {
	uint64_t key[2];
	uint16_t used;
	uint16_t saved; /* the owner's: enum level_saved */
	uint32_t idle; /* the owner's: passes without a change */
	uint64_t last[LEVELS_MAX];
	uint64_t extra[LEVELS_EXTRA]; /* the owner's */
};

struct levels {
	struct level *at;
	size_t n, room; /* room: a power of two */
	struct skep_hash_key key; /* chosen with the first entry */
};

/* Finds or makes the entry of that key of 16 bytes.  NULL: no memory.  Entries move when others come or go. */
struct level *levels_get(struct levels *, const void *key);
void levels_remove(struct levels *, const struct level *);
void levels_free(struct levels *);

#endif
