/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/spooler.h - the thread that owns the spool's file.  It runs jobs one after the other, in the order of
 * their posting.  `done` of each job then runs on the loop: no code that waits for a disk runs on the loop.
 */
#ifndef SKEP_CORE_SPOOLER_H
#define SKEP_CORE_SPOOLER_H

#include <uv.h>

#include "spool/code.h"
#include "spool/db.h"

struct spooler;

struct spooler_job {
	struct spooler_job *next;
	/* Runs on the spool's thread. db is NULL while the spool has no usable file. */
	void (*work)(struct spooler_job *, struct spool_db *db, struct spool_code *);
	void (*done)(struct spooler_job *); /* on the loop; frees the job */
};

/*
 * Opens or creates the file, in the caller's thread.  Renames a damaged file, creates a new one and logs that.
 * Other errors: -errno, and the cause in why.
 */
int spooler_new(uv_loop_t *, const char *path, const struct spool_limits *, struct spooler **ret, char *why,
		size_t why_size);
/* Returns the file. Only before spooler_start: afterwards the file belongs to the thread. */
struct spool_db *spooler_db(struct spooler *);
int spooler_start(struct spooler *);
void spooler_post(struct spooler *, struct spooler_job *);
size_t spooler_under_way(const struct spooler *); /* posted jobs whose `done` has not been called */
/*
 * For a job's work, after -EBADMSG: renames the damaged file and creates a new one, whose ids continue.  Returns the
 * new file; NULL: that failed too.
 */
struct spool_db *spooler_replace(struct spooler *);
unsigned spooler_replaced(const struct spooler *); /* number of calls of spooler_replace; any thread */
/* Only when no job is under way: ends the thread and closes the file, frees all, then calls done on the loop. */
void spooler_close(struct spooler *, void (*done)(void *arg), void *arg);

#endif
