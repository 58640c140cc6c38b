/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/copy.h - copies one user's runs into a file of its own, in the lake's form.  skepd hands such a copy to a user
 * who may not read the lake (core/control/copier.h).
 *
 * A copy of one run has what `skep show` reads.  Of processes of other users in that run (sudo, set-uid programs) it
 * has the figures, and neither arguments nor paths nor other probes' values.  A copy of all runs has what `skep runs`
 * reads: no process.  No copy has the sums over all users (rollup_day).
 */
#ifndef SKEP_LAKE_COPY_H
#define SKEP_LAKE_COPY_H

#include "lake/lake.h"

#define LAKE_COPY_BYTES  (UINT64_C(512) << 20)
#define LAKE_COPY_MEMORY (UINT64_C(16) << 20)

struct lake_copy {
	uint64_t uid;
	const char *run;    /* one of this user's runs, named as for lake_report(); NULL: all of them */
	uint64_t since_ns;  /* with run NULL: only runs that began then or later; 0: any time */
	/*
	 * A copy takes at most a quarter of the free space beyond keep_free: the lake's sink removes its oldest files
	 * when less than that is free.  Where this is less than LAKE_COPY_MEMORY, the copy is so large at most, in
	 * memory.
	 */
	uint64_t max_bytes, keep_free;
	int (*cancelled)(void *arg); /* SQLite calls it again and again: not 0 ends the copying */
	void *arg;
};

/*
 * Makes a copy in a file without a name, in the lake's folder or in memory.  *ret_left_out: the oldest runs, for which
 * there was no room.  0, and the caller closes *ret_fd; -ENOENT, -EEXIST as lake_report(); -EFBIG: the one run is
 * larger; -ECANCELED; -errno.
 */
int lake_copy(struct lake *, const struct lake_copy *, int *ret_fd, uint64_t *ret_left_out, char *why, size_t why_size);
/* A new file without a name in that folder, mode 0600. Its descriptor, or -errno. */
int lake_copy_file(const char *folder);
/* Opens a copy as a lake. Owns fd, on failure too. 0 or -ENOMEM. */
int lake_open_copy(int fd, struct lake **ret);

#endif
