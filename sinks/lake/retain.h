/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/retain.h - keeps the lake within its bounds of age and bytes: removes the oldest file whole, and keeps its
 * sums per day.  Only the sink's worker thread may call it.
 */
#ifndef SKEP_SINKS_LAKE_RETAIN_H
#define SKEP_SINKS_LAKE_RETAIN_H

#include "sinks/lake/db.h"

/*
 * The bounds of the lake; 0: no such bound.  A lake below its own bounds removes no file, however little space others
 * leave: any user who can fill the file system could erase history otherwise.
 */
struct retain_bounds {
	uint64_t max_bytes;
	uint64_t max_share; /* percent of the file system, for disks that are small for max_bytes */
	uint64_t max_age_ns;
	uint64_t min_free; /* the lake stores nothing while its file system has less free */
};

struct retain_state {
	uint64_t bytes, bound; /* bound 0: none */
	uint64_t next_bytes;   /* of the next file to remove */
	char next[48];         /* the name of that file; "": only the current file is left */
	bool full;             /* the lake is over its bound, and nothing can be removed */
	bool held;             /* the file system has less free than min_free */
	uint64_t free_bytes;   /* at that moment */
	uint64_t removed;      /* number of files that this call removed */
	bool sums_lost;        /* the sums per day of a removed file are lost */
};

#define RETAIN_LEAST   (UINT64_C(64) << 20)
#define RETAIN_SHARE   8 /* a month gets another file when its current file reaches this fraction of the bound */

/* Returns the largest size that the lake may have; 0: no bound. */
uint64_t retain_bound(const char *folder, const struct retain_bounds *);
/* False: the file system has less than min_free, *ret_free bytes. held: the last answer was false. */
bool retain_has_room(const char *folder, const struct retain_bounds *, bool held, uint64_t *ret_free);
/* Never removes `current`, the file that the sink writes. Returns 0 or an errno of db.h, with the reason in why. */
int retain(const char *folder, unsigned current, const struct retain_bounds *, struct db_why *,
	   struct retain_state *ret);

#endif
