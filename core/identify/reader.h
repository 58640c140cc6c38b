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
 * Engines' files (core/identify/engine_file.h) have a reader of their own, with a keeper of its own: its worker
 * holds other privileges.  A skepd without these privileges uses the packaged unit skep-reader: skepd connects to
 * the unit's socket and sends the keeper's ends of the two sockets below.  The service manager starts one keeper for
 * each connection, and the keeper ends with the sockets.
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

#include "core/identify/engine_file.h"

/* The keeper, and the loop's ends of its sockets. */
struct reader_process {
	pid_t pid; /* 0: no keeper, or the keeper is a unit */
	const char *unit; /* path of the unit's socket; NULL: the program has forked the keeper, if any */
	int data, control;
	bool files; /* its worker reads engines' files, and nothing else */
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
/* The same as reader_fork() for a keeper whose worker reads engines' files ("skepd: file reader"). */
int reader_fork_files(const char *name, struct reader_process *ret);
/* The same with a keeper that a unit starts; reader_new() connects to the unit.  Borrows the path. */
int reader_of_unit(const char *path, struct reader_process *ret);
/*
 * The unit's side: waits for the first program of this process's user that connects to the listening socket, and
 * becomes its keeper.  Returns only with -errno: the socket cannot be used.
 */
int reader_serve(const char *name, int listener);
/* Ends both keepers and the worker, and closes the sockets. Does nothing without a keeper. */
void reader_end(struct reader_process *);

struct reader;

/* Beside SKEP_READ_*, and alone: reads /proc/PID/smaps_rollup, whose text is the answer's `cmdline`. */
#define READER_PSS (1u << 30)

/* Of the packaged unit: skep-reader.socket listens there. */
#define READER_SOCKET "/run/skep-reader.sock"

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
	bool alive;        /* of a unit: connected */
	bool ready;        /* a worker runs */
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
/*
 * The same for a file, of a reader whose process was forked by reader_fork_files(): cb gets the answer of
 * engine_file_read() as `cmdline`.  Users are treated as above.  -EMSGSIZE: the request has too many bytes;
 * -ENOENT: the unit has no socket.
 */
int reader_ask_file(struct reader *, void *owner, const struct engine_file *, skep_process_cb, void *arg);
/* Drops all callbacks of this owner. */
void reader_forget(struct reader *, const void *owner);
struct reader_stats reader_stats(const struct reader *);
/* Drops all callbacks. The loop frees the reader in its next turns. */
void reader_close(struct reader *);

/* Ticks of 25 ms that the reader may stay silent while requests wait; a test may set its own bound. */
#define READER_SILENT_TICKS 400u
extern unsigned reader_silent_ticks;
/* The reader connects to a unit at most once in this time; a test may set its own. */
#define READER_REACH_NS 5000000000u
extern uint64_t reader_reach_ns;

/*
 * For a program without a loop: waits for the answer until the reader's deadline, and replaces a stuck worker.
 * 0 with the text, which is valid until the next call; or -errno; -ETIMEDOUT: the target is stuck.
 */
int reader_sync_read(struct reader_process *, const struct skep_upid *, uint32_t what, struct skep_process_text *ret);

#endif
