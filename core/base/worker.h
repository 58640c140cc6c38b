/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/worker.h - a few threads that belong to one user: a plugin's instance, or a cache that asks slow sources.
 *
 * libuv's pool has four threads for everything in the process.  Four calls that hang (a file system whose server is
 * gone) stop every other user of the pool for ever.  Here a call that hangs occupies a thread of its own user, and
 * that thread can be left behind.
 */
#ifndef SKEP_CORE_WORKER_H
#define SKEP_CORE_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define WORKER_THREADS 4u /* of one user, at the most */

struct workers;

struct worker_job {
	struct worker_job *next;
	void (*work)(struct worker_job *); /* on a thread */
	void (*done)(struct worker_job *); /* on the loop; frees the job */
	/* instead of done, on any thread, after workers_close; NULL where none is left by then */
	void (*gone)(struct worker_job *);
	uint64_t began_ns;                 /* the worker's own; uv_hrtime() */
};

/* name: of the threads, for ps and gdb; the kernel keeps 15 bytes of it.  0 or -errno.  No thread starts yet. */
int workers_new(uv_loop_t *, const char *name, struct workers **ret);
/*
 * Loop thread.  Starts a thread where all are busy and there are fewer than WORKER_THREADS; a thread that finds no job
 * for 20 s ends.  0, or -errno where there is no thread and none starts: the job is the caller's again.  The loop stays
 * alive until every job is done.
 */
int workers_post(struct workers *, struct worker_job *);
/* For how long the oldest of the calls under way has not returned; 0: none is under way. */
uint64_t workers_oldest_ns(struct workers *);
/*
 * Waits for no thread: the memory goes with the last of them, in a later turn of the loop.  Jobs that are not done by
 * then need gone().  Returns NULL; NULL is fine.
 */
struct workers *workers_close(struct workers *);

#endif
