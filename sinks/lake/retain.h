/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/retain.h - keeps the lake within its bounds of age and bytes: removes the oldest file whole, and keeps its
 * sums per day.  Only the sink's worker thread may call it.
 */
#ifndef SKEP_SINKS_LAKE_RETAIN_H
#define SKEP_SINKS_LAKE_RETAIN_H

#include "sinks/lake/db.h"

/* The bounds of the lake; 0: no such bound. */
struct retain_bounds {
	uint64_t max_bytes;
	uint64_t min_free; /* bytes that stay free on the lake's file system */
	uint64_t max_age_ns;
};

struct retain_state {
	uint64_t bytes, bound; /* bound 0: none */
	uint64_t next_bytes;   /* of the next file to remove */
	char next[48];         /* the name of that file; "": only the current file is left */
	bool full;             /* the lake is over its bound, and nothing can be removed */
	uint64_t removed;      /* number of files that this call removed */
	bool sums_lost;        /* the sums per day of a removed file are lost */
};

#define RETAIN_LEAST   (UINT64_C(64) << 20)
#define RETAIN_SHARE   8 /* a month gets another file when its current file reaches this fraction of max_bytes */

/* Never removes `current`, the file that the sink writes. Returns 0 or an errno of db.h, with the reason in why. */
int retain(const char *folder, unsigned current, const struct retain_bounds *, struct db_why *,
	   struct retain_state *ret);

#endif
