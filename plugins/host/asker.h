/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/asker.h - a thread that asks file systems for their space, and may never come back.
 *
 * statvfs() on a mount whose server is gone can hang for ever, and neither a time-out nor a
 * signal ends it.  So it is asked by a thread that can be left behind: what the thread touches
 * is its own (this struct, with a reference of each side), and when it comes back after all it
 * frees that and ends.  The host's work() will not do, since it holds up stop().
 */
#ifndef SKEP_HOST_ASKER_H
#define SKEP_HOST_ASKER_H

#include <sys/statvfs.h>

#include "mounts.h"

struct question {
	char path[2 * MOUNT_PATH];
	uint32_t major, minor;
	/* the answer */
	int err; /* 0, or a negative errno */
	uint64_t at_ns; /* CLOCK_BOOTTIME */
	struct statvfs space;
};

struct asker;

typedef int (*asker_call)(const char *path, struct statvfs *ret);

int asker_new(asker_call, struct asker **ret);
/* To be filled in between rounds: the questions, and how many there may be. */
struct question *asker_questions(struct asker *);
/* Ask n of them. */
void asker_go(struct asker *, uint32_t n);
/* Is a round under way? Then how many are answered, and since when the next one is being asked. */
bool asker_busy(struct asker *, uint32_t *ret_answered, uint64_t *ret_since_ns);
/* The thread ends when its present question is answered; asker_busy() tells when. */
void asker_give_up(struct asker *);
/* Ends the thread; waits for it only where it is not asking. NULL is fine. */
void asker_leave(struct asker *);

#endif
