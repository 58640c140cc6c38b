/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader.h - reads arguments and environments of other processes, in a process of its own.
 *
 * /proc/PID/cmdline and environ wait for the target's mmap_lock (access_remote_vm, mm/memory.c), and any user can hold
 * the lock of a process of his for ever: by a mapped file of a FUSE server that does not answer.  So the loop never
 * reads them. A worker does, which is killed and replaced when one target holds it up.  The keeper makes the workers:
 * it was forked before the program had threads or secrets, because a fork of the daemon would copy both, and skepd
 * executes nothing.
 *
 * A second keeper, the spare, was forked at the same time and waits: it takes over when the first is killed.
 *
 *     loop --- batches of requests, answers (SOCK_SEQPACKET) --- worker
 *      '------ "is it stuck? kill it" (SOCK_SEQPACKET) --------- keeper, the worker's parent
 */
#ifndef SKEP_CORE_READER_H
#define SKEP_CORE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <skep/plugin.h>
#include <uv.h>

/* The keeper, and the loop's ends of its sockets. */
struct reader_process {
	pid_t pid; /* 0: there is none */
	int data, control;
	pid_t spare_pid; /* 0: there is none */
	int spare_data, spare_control;
	uint32_t serial; /* reader_sync_read(): of the last batch, and how many targets were stuck */
	unsigned stuck;
};

/* Only while the program has one thread.  name: of the program, for ps ("skepd: reader").  0 or -errno. */
int reader_fork(const char *name, struct reader_process *ret);
/* The same for the spare; after reader_fork(). */
int reader_fork_spare(const char *name, struct reader_process *);
/* Ends the keepers, with them the worker, and closes the sockets.  Fine with none. */
void reader_end(struct reader_process *);

struct reader;

/* Calls the plugin's callback. */
typedef void (*reader_deliver)(void *owner, skep_process_cb, void *arg, const struct skep_process_text *);

struct reader_stats {
	uint64_t asked;    /* processes */
	uint64_t stuck;    /* that held the worker up: killed for it */
	/* not read at all: their owner has had several stuck ones, the queue was full, or there is no reader */
	uint64_t refused;
	uint64_t replaced; /* workers */
	bool alive;
};

/* The process is borrowed, it outlives the reader. */
int reader_new(uv_loop_t *, struct reader_process *, reader_deliver, struct reader **ret);
/*
 * 0: cb is called once, from the loop, unless reader_forget() comes first.  uid: who owns the process; one whose
 * processes get stuck is served after all others, and then not at all for a while.  -EBUSY, -EPIPE: not to be read now;
 * -ENOMEM.
 */
int reader_ask(struct reader *, void *owner, const struct skep_upid *, uint32_t uid, uint32_t what, skep_process_cb,
	       void *arg);
/* No callback of that owner any more. */
void reader_forget(struct reader *, const void *owner);
struct reader_stats reader_stats(const struct reader *);
/* No callback any more.  Its memory goes when the loop has run. */
void reader_close(struct reader *);

/* How long a reader may send nothing while it is asked, in ticks of 25 ms; a test's own bound. */
#define READER_SILENT_TICKS 400u
extern unsigned reader_silent_ticks;

/*
 * For a program without a loop: waits for the answer, at most for reader's deadline, and replaces a stuck worker.
 * 0 with the text, which is valid until the next call; or -errno, -ETIMEDOUT: it is stuck.
 */
int reader_sync_read(struct reader_process *, const struct skep_upid *, uint32_t what, struct skep_process_text *ret);

#endif
