/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/opening.h - opens a sink's file or folder on a thread of the sink.
 *
 * A file system whose server is gone (NFS, FUSE) keeps each program that opens a file there until the server is back.
 * start() runs on the loop, so start() waits for the thread for OPENING_WAIT_NS and then goes on without it.
 */
#ifndef SKEP_SINK_OPENING_H
#define SKEP_SINK_OPENING_H

#include <skep/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPENING_WAIT_NS 2000000000ull

/* The sink fills in the first group before skep_opening_start(). */
struct opening {
	const struct skep_host *host;
	const char *path;
	int (*open)(void *arg); /* on the thread: 0 or -errno */
	void *arg;
	const char *why; /* open() writes there why it failed */

	int err;
	bool late;        /* loop thread: start() did not wait for open(), which has not returned yet */
	bool over;        /* atomic: open() has returned */
};

/*
 * In start().  The result of open(), said by host->fail(), where open() returns in time.  Else 0: the sink runs, and
 * skep_opening_holds() until open() returns.  If open() fails then, the sink has to open with the next batch.
 */
int skep_opening_start(struct opening *, struct skep_instance *);
/* In submit().  True: open() has not returned; the batch is answered with SKEP_BATCH_HOLD. */
bool skep_opening_holds(const struct opening *, struct skep_instance *, const struct skep_batch *);

#ifdef __cplusplus
}
#endif

#endif
