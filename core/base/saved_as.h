/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/saved_as.h - how the saved state (core/process/saved.h) names an object, for the objects themselves.
 */
#ifndef SKEP_CORE_SAVED_AS_H
#define SKEP_CORE_SAVED_AS_H

#include <stdint.h>
#include <stdlib.h>

struct saved_as {
	uint64_t number; /* 0: the state has never had it */
	uint64_t hash;   /* of its item there */
};

/* Numbers of objects that are no more, for the next chunk. */
struct saved_forgotten {
	uint64_t *numbers;
	size_t n, room;
};

/* Without memory the next skepd restores the object, and ends it when no process claims it. */
static inline void saved_forget(struct saved_forgotten *f, const struct saved_as *as)
{
	if (!f || !as->number)
		return;
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		uint64_t *numbers = realloc(f->numbers, room * sizeof(*numbers));

		if (!numbers)
			return;
		f->numbers = numbers;
		f->room = room;
	}
	f->numbers[f->n++] = as->number;
}

#endif
