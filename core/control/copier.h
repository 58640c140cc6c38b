/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/copier.h - copies users' own runs from the lake, in processes of their own.
 *
 * A user who may not read the lake asks skepd for a copy of the user's own runs.  A copy reads and writes up to 512
 * MiB, which the loop must not do.  skepd forks the copier before it has threads or secrets, as the keepers of
 * core/identify/reader.h.  The copier holds no capability, and forks a worker for each copy: two at once, one for each
 * user.  The worker gets the client's connection, writes one line of JSON, then the bytes of the copy, and ends.  The
 * worker ends as well after COPIER_MAKE_S of copying, after COPIER_SEND_S of sending, after COPIER_STALL_S without a
 * byte read, and when the client is gone.  The copy is a file without a name, so nothing is left of it then.  After a
 * worker its place rests as long as the worker used a CPU: copies take one CPU at most.
 */
#ifndef SKEP_CORE_COPIER_H
#define SKEP_CORE_COPIER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/control/control_request.h"

#define COPIER_AT_ONCE 2u
#define COPIER_MAKE_S  30
#define COPIER_SEND_S  30
#define COPIER_STALL_S 5

struct copier {
	pid_t pid; /* 0: none */
	int fd;
};

struct copier_order {
	uint64_t since_ns;
	uint64_t keep_free; /* space that the copy leaves free on the lake's disk */
	uint32_t uid;
	char run[CONTROL_NAME_MOST + 1]; /* "": all of the user's runs */
	char lake[PATH_MAX];
};

/*
 * Makes the copy: a descriptor that the caller closes, and how many runs found no room.  SQLite calls cancelled.
 * 0 or -errno, with the reason in why.
 */
typedef int (*copier_make)(const struct copier_order *, int (*cancelled)(void *), void *arg, int *ret_fd,
			   uint64_t *ret_left_out, char *why, size_t why_size);

/* Forks the copier. Call only while the program has one thread. name: the program's, for ps ("skepd: copier"). */
int copier_fork(const char *name, copier_make, struct copier *ret);
/* Ends the copier and its workers. Does nothing without a copier. */
void copier_end(struct copier *);
/*
 * Gives a copy of the descriptor to the copier, which answers the client.  0; -EAGAIN: the copier has orders enough;
 * -EPIPE: it has ended; -errno.
 */
int copier_send(struct copier *, const struct copier_order *, int client);

#endif
