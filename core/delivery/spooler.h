/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/spooler.h - the thread that owns the spool's file.  Jobs run there one after the other, in order of
 * their posting, and come back to the loop: nothing that waits for a disk runs on the loop.
 */
#ifndef SKEP_CORE_SPOOLER_H
#define SKEP_CORE_SPOOLER_H

#include <uv.h>

#include "spool/code.h"
#include "spool/db.h"

struct spooler;

struct spooler_job {
	struct spooler_job *next;
	/* On the thread. db is NULL while there is no file that can be used. */
	void (*work)(struct spooler_job *, struct spool_db *db, struct spool_code *);
	void (*done)(struct spooler_job *); /* on the loop; frees the job */
};

/*
 * Opens or makes the file, in the caller's thread.  One that is damaged is put aside and a new one made, which is
 * logged.  Other errors: -errno, why.
 */
int spooler_new(uv_loop_t *, const char *path, const struct spool_limits *, struct spooler **ret, char *why,
		size_t why_size);
/* The file, before spooler_start and nowhere else. */
struct spool_db *spooler_db(struct spooler *);
int spooler_start(struct spooler *);
void spooler_post(struct spooler *, struct spooler_job *);
size_t spooler_under_way(const struct spooler *); /* jobs that have not come back */
/*
 * From a job's work, after -EBADMSG: the file is put aside and a new one made, in which ids go on.  The
 * new one; NULL: that did not work either.
 */
struct spool_db *spooler_replace(struct spooler *);
unsigned spooler_replaced(const struct spooler *); /* how often that was */
/* When no job is under way: ends the thread, closes the file. done: when all is freed. */
void spooler_close(struct spooler *, void (*done)(void *arg), void *arg);

#endif
