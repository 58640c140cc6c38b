/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/statvfs_thread.h - a thread that calls statvfs(), and may never return.
 *
 * statvfs() on a mount whose server is gone can hang for ever, and neither a timeout nor a signal ends the call.  So
 * the probe must be able to abandon the thread. The thread touches only struct statvfs_thread; if the call returns
 * after all, the abandoned thread frees that struct and ends.  The plugin host's work() does not fit: it delays
 * stop().
 */
#ifndef SKEP_HOST_STATVFS_THREAD_H
#define SKEP_HOST_STATVFS_THREAD_H

#include <sys/statvfs.h>

#include "mounts.h"

struct statvfs_request {
	char path[2 * MOUNT_PATH];
	uint32_t major, minor;
	/* the result */
	int err; /* 0, or a negative errno */
	uint64_t at_ns; /* CLOCK_BOOTTIME */
	struct statvfs space;
};

struct statvfs_thread;

typedef int (*statvfs_call)(const char *path, struct statvfs *ret);

int statvfs_thread_new(statvfs_call, struct statvfs_thread **ret);
/* MOUNT_MOST requests, which the caller fills in between rounds. */
struct statvfs_request *statvfs_thread_requests(struct statvfs_thread *);
/* Starts a round of the first n requests. */
void statvfs_thread_begin(struct statvfs_thread *, uint32_t n);
/* A round is running. ret: results so far, and when the thread began the request after them. */
bool statvfs_thread_busy(struct statvfs_thread *, uint32_t *ret_answered, uint64_t *ret_since_ns);
/* The thread ends when its current call returns; statvfs_thread_busy() is false from then on. */
void statvfs_thread_abandon(struct statvfs_thread *);
/* Ends the thread. Waits for it only if no call is running. NULL is fine. */
void statvfs_thread_end(struct statvfs_thread *);

#endif
