/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader_process.c - the keeper and the worker of core/identify/reader.h.
 *
 * The worker only reads what the loop requests. The keeper replaces a worker that has ended, or that the loop
 * reports as stuck. A worker in an uninterruptible wait does not end on SIGKILL: the keeper leaves it behind,
 * at most ABANDONED_MAX times.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <skep/clock.h>
#include <skep/procfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/confine.h"
#include "core/base/fdpass.h"
#include "core/base/log.h"
#include "core/identify/engine_file.h"
#include "core/identify/reader.h"
#include "core/identify/reader_message.h"

#define ABANDONED_MAX 8u
#define DEATH_MS      200 /* how long the keeper waits for a killed worker before it leaves the worker behind */

/* ---- the worker ----------------------------------------------------------------- */

/* Field 22: start time in USER_HZ ticks, rounded down from start_boottime (fs/proc/array.c). */
static bool same_process(uint32_t pid, uint64_t start_ns)
{
	char room[SKEP_PROCFILE_STAT];
	const char *at = skep_procfile_stat(pid, 22, room);

	if (!at)
		return false;
	return start_ns == 0 || strtoull(at, NULL, 10) == skep_start_ticks(start_ns);
}

/* Writes the whole answer to one request; returns its length. */
static size_t answer_one(const struct reader_batch *batch, uint32_t at, char *ret)
{
	const struct reader_request *r = &batch->at[at];
	struct reader_answer a = { .kind = READER_TEXT, .serial = batch->serial, .at = at };
	char *text = ret + sizeof(a);
	ssize_t n = 0;

	if (r->what == READER_PSS)
		n = skep_procfile_read(r->pid, "smaps_rollup", text, READER_CMDLINE_MAX);
	else if (r->what & SKEP_READ_CMDLINE)
		n = skep_procfile_read(r->pid, "cmdline", text, READER_CMDLINE_MAX);
	if (n > 0)
		a.cmdline_len = (uint32_t)n;
	else
		a.error = (int32_t)n;
	if (r->what & SKEP_READ_ENVIRON) {
		n = skep_procfile_read(r->pid, "environ", text + a.cmdline_len, READER_ENVIRON_MAX);
		if (n > 0)
			a.environ_len = (uint32_t)n; /* without the right to read environ: no environment */
	}
	/* Checked after both reads: /proc finds processes by pid, and the pid may be a new process's. */
	if (!same_process(r->pid, r->start_ns)) {
		a.error = -ESRCH;
		a.cmdline_len = a.environ_len = 0;
	}
	memcpy(ret, &a, sizeof(a));
	return sizeof(a) + a.cmdline_len + a.environ_len;
}

/* Writes the answer to a request for a file, which follows the batch's one request. */
static size_t answer_file(const struct reader_batch *batch, const char *message, size_t size, char *ret)
{
	struct reader_answer a = { .kind = READER_TEXT, .serial = batch->serial };
	struct engine_file file;
	ssize_t n = engine_file_unpack(message, size, &file);

	if (n == 0)
		n = engine_file_read(&file, ret + sizeof(a));
	if (n < 0)
		a.error = (int32_t)n;
	else
		a.cmdline_len = (uint32_t)n;
	memcpy(ret, &a, sizeof(a));
	return sizeof(a) + a.cmdline_len;
}

__attribute__((noreturn)) static void work(int data, bool files)
{
	static char answer[READER_ANSWER_MAX];
	static struct {
		struct reader_batch batch;
		char file[ENGINE_FILE_REQUEST];
	} message;
	const struct reader_batch *batch = &message.batch;

	for (;;) {
		ssize_t n = recv(data, &message, files ? sizeof(message) : sizeof(message.batch), 0);
		size_t begin = offsetof(struct reader_batch, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n >= (ssize_t)begin && batch->n <= READER_BATCH)
			begin += batch->n * sizeof(batch->at[0]);
		if (n < (ssize_t)begin || batch->n > READER_BATCH || (files && batch->n != 1))
			_exit(0); /* the program has closed its end, or sent an invalid batch */
		for (uint32_t i = 0; i < batch->n; i++) {
			const char *file = (const char *)&message + begin;
			size_t len = files ? answer_file(batch, file, (size_t)n - begin, answer)
					   : answer_one(batch, i, answer);

			/* Linux drops it with each change of the file-system user (commit_creds). */
			if (files)
				prctl(PR_SET_PDEATHSIG, SIGKILL);

			while (send(data, answer, len, MSG_NOSIGNAL) < 0)
				if (errno != EINTR)
					_exit(0);
			explicit_bzero(answer, len); /* an environment may hold secrets */
		}
	}
}

/* ---- the keeper ----------------------------------------------------------------- */

struct keeper {
	const char *name;
	int data, control;
	bool files;
	pid_t worker; /* 0: none */
	bool ordered; /* an order killed the previous worker */
	uint64_t runs; /* runs_of() the worker at the last check; UINT64_MAX: not checked yet */
	int life;     /* a pipe whose other end only the worker holds: it closes when the worker ends */
	pid_t abandoned[ABANDONED_MAX];
	size_t n_abandoned;
};

static void worker_new(struct keeper *k)
{
	const struct reader_answer ready = { .kind = READER_READY, .at = k->ordered };
	pid_t keeper = getpid();
	int life[2];

	k->worker = 0;
	if (pipe2(life, O_CLOEXEC) < 0)
		return; /* the keeper's loop tries again in a moment */
	k->worker = fork();
	if (k->worker == 0) {
		close(life[0]);
		close(k->control);
		child_end_with(keeper);
		child_set_title(k->name, k->files ? "file reader" : "reader");
		work(k->data, k->files);
	}
	close(life[1]);
	if (k->worker < 0) {
		close(life[0]);
		k->worker = 0;
		return;
	}
	k->life = life[0];
	k->runs = UINT64_MAX;
	k->ordered = false;
	while (send(k->data, &ready, sizeof(ready), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/*
 * Handles a worker that has ended, or that ends within DEATH_MS. Discards its unread batches, which the loop
 * sends again. Discards unread orders too: they were for this worker, not for the next.
 */
static void worker_gone(struct keeper *k)
{
	struct pollfd life = { .fd = k->life, .events = POLLIN };
	uint32_t order;
	char one;

	if (poll(&life, 1, DEATH_MS) == 1) {
		while (waitpid(k->worker, NULL, 0) < 0 && errno == EINTR)
			;
	} else {
		/* has room: with a full list the keeper starts no worker */
		k->abandoned[k->n_abandoned++] = k->worker;
	}
	close(k->life);
	k->worker = 0;
	while (recv(k->data, &one, sizeof(one), MSG_DONTWAIT) > 0)
		;
	while (recv(k->control, &order, sizeof(order), MSG_DONTWAIT) > 0)
		;
}

/* How often the process has got a CPU; 0: this kernel does not count that. */
static uint64_t runs_of(pid_t pid)
{
	char text[96];
	unsigned long long runs;
	ssize_t n = skep_procfile_read((uint32_t)pid, "schedstat", text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%*s %*s %llu", &runs) == 1 ? runs : 0;
}

/*
 * true: the worker sleeps, as at the check before, and has not run since. A worker without a CPU is only slow, and so
 * is one that waits for its own pages on a busy machine. One that ends at this moment (Z, X) ends for another reason.
 */
static bool is_stuck(struct keeper *k)
{
	char room[SKEP_PROCFILE_STAT];
	const char *state = skep_procfile_stat((uint32_t)k->worker, 3, room);
	uint64_t before = k->runs;

	if (state && strchr("RZX", *state))
		return false;
	k->runs = runs_of(k->worker);
	return k->runs == before;
}

static void obey(struct keeper *k, uint32_t order)
{
	struct pollfd life = { .fd = k->life, .events = POLLIN };

	if (k->worker == 0)
		return;
	if (poll(&life, 1, 0) != 1) { /* else the worker has ended for another reason */
		if (order != READER_KILL && !is_stuck(k))
			return;
		k->ordered = kill(k->worker, SIGKILL) == 0;
	}
	worker_gone(k);
}

static void reap(struct keeper *k)
{
	for (size_t i = 0; i < k->n_abandoned;)
		if (waitpid(k->abandoned[i], NULL, WNOHANG) != 0)
			k->abandoned[i] = k->abandoned[--k->n_abandoned];
		else
			i++;
}

/* Drops the program's files, signals and privileges.  A unit of its own ends by SIGTERM. */
static void let_go(int *data, int *control, enum reader_role role)
{
	bool files = role == READER_OF_FILES || role == READER_UNIT;
	int ends[2] = { *data, *control }, err;

	child_signals(role == READER_UNIT);
	confine_memory();
	err = files ? confine_file_reader() : confine_reader();
	if (err < 0)
		log_warning("the %s reader cannot drop capabilities: %s; it keeps all that it has",
			    files ? "file" : "argument", strerror(-err));
	child_keep_files(ends, 2);
	*data = ends[0];
	*control = ends[1];
}

/* Waits until the first keeper has ended. */
static void wait_as_spare(const char *name, int control)
{
	uint32_t order;
	ssize_t n;

	child_set_title(name, "spare");
	do
		n = recv(control, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(order) || order != READER_TAKE_OVER)
		_exit(0); /* the program has ended */
}

void reader_keep(const char *name, int data, int control, enum reader_role role)
{
	struct keeper k = { .name = name, .files = role == READER_OF_FILES || role == READER_UNIT };

	let_go(&data, &control, role);
	k.data = data;
	k.control = control;
	if (role == READER_SPARE)
		wait_as_spare(name, control);
	child_set_title(name, k.files ? "file keeper" : "keeper");
	worker_new(&k);
	for (;;) {
		struct pollfd at[2] = { { .fd = k.control, .events = POLLIN },
					{ .fd = k.worker ? k.life : -1, .events = POLLIN } };
		uint32_t order;

		if (poll(at, 2, k.worker ? -1 : 100) < 0 && errno != EINTR)
			_exit(1);
		if (at[0].revents) {
			ssize_t n = recv(k.control, &order, sizeof(order), MSG_DONTWAIT);

			if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
				break; /* the program has ended */
			if (n == (ssize_t)sizeof(order))
				obey(&k, order);
		} else if (at[1].revents) {
			worker_gone(&k);
			poll(NULL, 0, 50); /* limits the rate when workers end at once, again and again */
		}
		reap(&k);
		if (k.worker == 0 && k.n_abandoned < ABANDONED_MAX)
			worker_new(&k);
	}
	if (k.worker) {
		kill(k.worker, SIGKILL);
		worker_gone(&k);
	}
	_exit(0);
}

/* ---- the unit -------------------------------------------------------------------- */

/* Receives the keeper's ends of both sockets within a second.  0 or -errno. */
static int receive_ends(int fd, int ret_ends[2])
{
	struct pollfd at = { .fd = fd, .events = POLLIN };
	ssize_t n;
	char one;

	if (poll(&at, 1, 1000) != 1)
		return -ETIMEDOUT;
	n = fdpass_receive(fd, &one, sizeof(one), ret_ends, 2);
	return n > 0 ? 0 : n < 0 ? (int)n : -EBADMSG;
}

int reader_serve(const char *name, int listener)
{
	struct pollfd at = { .fd = listener, .events = POLLIN };
	int ends[2] = { -1, -1 };

	for (;;) {
		struct ucred peer = { .uid = (uid_t)-1 };
		socklen_t len = sizeof(peer);
		int fd, err = 0;

		/* The service manager's socket may be non-blocking. */
		if (poll(&at, 1, -1) < 0 && errno != EINTR)
			return -errno;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return -errno;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
			log_warning("refused pid %d of uid %u: only skepd's user %u may connect", (int)peer.pid,
				    (unsigned)peer.uid, (unsigned)geteuid());
		else
			err = receive_ends(fd, ends);
		close(fd);
		if (err < 0)
			log_warning("refused pid %d: it sent no pair of sockets: %s", (int)peer.pid, strerror(-err));
		if (ends[0] >= 0)
			reader_keep(name, ends[0], ends[1], READER_UNIT); /* closes the listening socket, too */
	}
}
