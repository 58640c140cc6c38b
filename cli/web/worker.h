/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/worker.h - runs a command of skep and keeps its output.  Each answer has a process of its own: it may take
 * long and much memory, or read a damaged file.  So the server can end it, and no two threads share a lake.  It ends
 * with the thread that waits for it.  Any thread.
 */
#ifndef SKEP_CLI_WEB_WORKER_H
#define SKEP_CLI_WEB_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_MOST      4   /* at once; further ones wait */
#define WORKER_SECONDS   60  /* an answer takes at most so long */
#define WORKER_FILE_MAX  (1u << 30)
#define WORKER_WHY       1024
#define WORKER_TAG       24

struct worker_answer {
	int status;          /* exit status of the command; 128 + signal */
	int fd;              /* a file with the command's output; the caller closes it */
	off_t size;
	int64_t took_ms;     /* the command alone, without the wait for its turn; also when it failed or was ended */
	char why[WORKER_WHY]; /* its messages, without the program's name */
};

/*
 * argv: the command line without the program.  client: ends the command when this socket is closed by its peer.
 * 0; -EBUSY: too many at once; -ETIMEDOUT; -EPIPE: the client left; -ECANCELED: worker_cancel(); -errno.
 */
int worker_run(const char *const *argv, int client, struct worker_answer *ret);
/* Ends all commands; a command that begins later ends at once. */
void worker_cancel(void);
bool worker_cancelled(void);

/* Is it an answer, although the command complained? */
bool worker_whole(const struct worker_answer *);
/* Why there is no answer: for one that is not whole, and for an error of worker_run(). */
const char *worker_reason(const struct worker_answer *);
const char *worker_error(int err);
/* Two answers with equal bytes have equal tags: "\"0123456789abcdef\"". */
void worker_tag(const struct worker_answer *, char tag[WORKER_TAG]);
#define WORKER_HASH UINT64_C(0xcbf29ce484222325) /* to begin with */
uint64_t worker_hash(uint64_t hash, const void *bytes, size_t n); /* FNV-1a: goes on with more bytes */
int64_t worker_now_ms(void); /* CLOCK_MONOTONIC */
/* Replaces what no header and no event may have by blanks. */
void worker_one_line(char *text);

#endif
