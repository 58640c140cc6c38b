/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/statvfs_thread.h - a thread that asks file systems for their space, and may never come back.
 *
 * statvfs() on a mount whose server is gone can hang for ever, and neither a time-out nor a
 * signal ends it.  So it is asked by a thread that can be left behind: what the thread touches
 * is its own (this struct, with a reference of each side), and when it comes back after all it
 * frees that and ends.  The host's work() will not do, since it holds up stop().
 */
#ifndef SKEP_HOST_STATVFS_THREAD_H
#define SKEP_HOST_STATVFS_THREAD_H

#include <sys/statvfs.h>

#include "mounts.h"

struct statvfs_request {
	char path[2 * MOUNT_PATH];
	uint32_t major, minor;
	/* the answer */
	int err; /* 0, or a negative errno */
	uint64_t at_ns; /* CLOCK_BOOTTIME */
	struct statvfs space;
};

struct statvfs_thread;

typedef int (*statvfs_call)(const char *path, struct statvfs *ret);

int statvfs_thread_new(statvfs_call, struct statvfs_thread **ret);
/* To be filled in between rounds: the questions, and how many there may be. */
struct statvfs_request *statvfs_thread_requests(struct statvfs_thread *);
/* Ask n of them. */
void statvfs_thread_begin(struct statvfs_thread *, uint32_t n);
/* Is a round under way? Then how many are answered, and since when the next one is being asked. */
bool statvfs_thread_busy(struct statvfs_thread *, uint32_t *ret_answered, uint64_t *ret_since_ns);
/* The thread ends when its present question is answered; statvfs_thread_busy() tells when. */
void statvfs_thread_abandon(struct statvfs_thread *);
/* Ends the thread; waits for it only where it is not asking. NULL is fine. */
void statvfs_thread_end(struct statvfs_thread *);

#endif
