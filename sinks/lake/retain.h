/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/retain.h - keeps the lake within its bounds of age and bytes: removes the oldest file, whole, and
 * keeps its sums per day.  The sink's worker thread only.
 */
#ifndef SKEP_SINKS_LAKE_RETAIN_H
#define SKEP_SINKS_LAKE_RETAIN_H

#include "sinks/lake/db.h"

/* 0: no such bound. */
struct retain_bounds {
	uint64_t max_bytes;
	uint64_t min_free; /* of its file system */
	uint64_t max_age_ns;
};

struct retain_state {
	uint64_t bytes, bound; /* bound 0: none */
	uint64_t next_bytes;   /* of the file that goes next */
	char next[48];         /* its name; "": there is only the file that is being written */
	bool full;             /* over the bound, and nothing can be removed */
	uint64_t removed;      /* files, by this call */
	bool sums_lost;        /* the sums per day of one of them could not be kept */
};

#define RETAIN_LEAST   (UINT64_C(64) << 20)
#define RETAIN_SHARE   8 /* a file that has this part of max_bytes is followed by another */

/* `current` is the file that is being written: it stays. 0, or as db.h has it with the reason in why. */
int retain(const char *folder, unsigned current, const struct retain_bounds *, struct db_why *,
	   struct retain_state *ret);

#endif
