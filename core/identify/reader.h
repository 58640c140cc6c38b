/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader.h - reads arguments and environments of other processes, in a process of its own.
 *
 * A read of /proc/PID/cmdline or environ waits for the target's mmap_lock (access_remote_vm, mm/memory.c). Any
 * user can hold the lock of their own process for ever: by a mapped file of a FUSE server that does not answer.
 * So the loop never reads these files. A worker process reads them. The keeper forks the workers; it kills and
 * replaces a worker that one target blocks. The program forks the keeper before it has threads or secrets: a
 * later fork would copy both. An exec instead is no choice, because skepd executes nothing.
 *
 * A second keeper, the spare, is forked at the same time and waits: it takes over when the first keeper is
 * killed.
 *
 *    loop --- batches of requests, answers (SOCK_SEQPACKET) --- worker
 *     '------ "is it stuck? kill it" (SOCK_SEQPACKET) --------- keeper, the worker's parent
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
	pid_t pid; /* 0: no keeper */
	int data, control;
	pid_t spare_pid; /* 0: no spare */
	int spare_data, spare_control;
	uint32_t serial; /* for reader_sync_read(): serial of the last batch, and the number of stuck targets */
	unsigned stuck;
};

/*
 * Forks the keeper. Call only while the program has one thread. name: the program's, for ps ("skepd: reader").
 * 0 or -errno.
 */
int reader_fork(const char *name, struct reader_process *ret);
/* Forks the spare keeper; call after reader_fork(). */
int reader_fork_spare(const char *name, struct reader_process *);
/* Ends both keepers and the worker, and closes the sockets. Does nothing without a keeper. */
void reader_end(struct reader_process *);

struct reader;

/* Calls the plugin's callback. */
typedef void (*reader_deliver)(void *owner, skep_process_cb, void *arg, const struct skep_process_text *);

struct reader_stats {
	uint64_t asked;    /* requests, one per process */
	uint64_t stuck;    /* requests that blocked a worker, which the keeper then killed */
	/*
	 * requests without a read: several processes of their user were stuck, the queue was full, or the
	 * reader has ended
	 */
	uint64_t refused;
	uint64_t replaced; /* replaced workers */
	bool alive;
};

/* Borrows the process, which must outlive the reader. */
int reader_new(uv_loop_t *, struct reader_process *, reader_deliver, struct reader **ret);
/*
 * Requests a read. 0: the loop calls cb once, unless reader_forget() comes first. uid: the owner of the
 * process. Once processes of a user are stuck, the reader serves that user after all others, and later not at
 * all for a while. -EBUSY, -EPIPE: no read now; -ENOMEM.
 */
int reader_ask(struct reader *, void *owner, const struct skep_upid *, uint32_t uid, uint32_t what, skep_process_cb,
	       void *arg);
/* Drops all callbacks of this owner. */
void reader_forget(struct reader *, const void *owner);
struct reader_stats reader_stats(const struct reader *);
/* Drops all callbacks. The loop frees the reader in its next turns. */
void reader_close(struct reader *);

/* Ticks of 25 ms that the reader may stay silent while requests wait; a test may set its own bound. */
#define READER_SILENT_TICKS 400u
extern unsigned reader_silent_ticks;

/*
 * For a program without a loop: waits for the answer until the reader's deadline, and replaces a stuck worker.
 * 0 with the text, which is valid until the next call; or -errno; -ETIMEDOUT: the target is stuck.
 */
int reader_sync_read(struct reader_process *, const struct skep_upid *, uint32_t what, struct skep_process_text *ret);

#endif
