/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/worker.h - a few threads that belong to one user: a plugin's instance, or a cache that asks slow sources.
 *
 * libuv's pool has four threads for the whole process.  Four calls that hang (a file system whose server is gone) would
 * stop every other user of the pool for ever.  Here a call that hangs occupies a thread of its own user, and the user
 * can abandon this thread.
 */
#ifndef SKEP_CORE_WORKER_H
#define SKEP_CORE_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define WORKER_THREADS 4u /* the most threads of one user */

struct workers;

struct worker_job {
	struct worker_job *next;
	void (*work)(struct worker_job *); /* runs on a worker thread */
	void (*done)(struct worker_job *); /* runs on the loop; frees the job */
	/* instead of done after workers_close(), on any thread; NULL if no job is left by then */
	void (*gone)(struct worker_job *);
	uint64_t began_ns;                 /* set by the worker; uv_hrtime() */
};

/* name: of the threads, for ps and gdb; the kernel keeps 15 bytes of it.  0 or -errno.  Starts no thread yet. */
int workers_new(uv_loop_t *, const char *name, struct workers **ret);
/*
 * Loop thread.  Starts a thread if all are busy and there are fewer than WORKER_THREADS.  A thread without a job for 20
 * s ends.  0, or -errno if there is no thread and none starts: then the caller owns the job again.  The loop stays
 * alive until every job is done.
 */
int workers_post(struct workers *, struct worker_job *);
/* How long the oldest unfinished call has run; 0: no call is under way. */
uint64_t workers_oldest_ns(struct workers *);
/*
 * Does not wait for threads: the memory stays until the last thread has ended and the loop has closed its handle.  Jobs
 * that are not done by then need gone().  Returns NULL; NULL is fine.
 */
struct workers *workers_close(struct workers *);

#endif
