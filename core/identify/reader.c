/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader.c - the loop's side of core/identify/reader.h: queues requests, sends one batch at a
 * time to the worker, and handles processes that block the worker.
 *
 * The worker answers in order, so it works on the first request without an answer. When that request exceeds
 * its deadline, the keeper replaces the worker. Then the request fails, and the loop queues the rest of the
 * batch again.
 *
 * The reader counts the uids of a rootless container as their owner's: a user's range of 65,536 subordinate
 * uids is one user.
 *
 * Fairness: after a stuck process, requests for that user's processes wait until no other request waits. After
 * STUCK_MOST stuck processes the reader refuses that user's processes for a minute. So one user's thousand
 * stuck processes cost the other users three deadlines.
 */
#include "core/identify/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/fdpass.h"
#include "core/base/log.h"
#include "core/base/magic.h"
#include "core/identify/reader_message.h"

#define NS_PER_MS      1000000ull
#define TICK_MS	       25
/* Until the keeper checks the worker. A worker that sleeps at two checks, and has not run in between, is stuck. */
#define DEADLINE_NS    (125 * NS_PER_MS) /* a read takes about 10 us; a worker that waits for a CPU is not stuck */
#define DEADLINE_FILE_NS (1000 * NS_PER_MS) /* a file server may need twice that long */
#define DEADLINE_SHORT_NS (25 * NS_PER_MS) /* after STUCK_MANY within a minute, from many users */
#define STUCK_MOST     3u
#define STUCK_MANY     8u
#define FORGET_NS      (60000 * NS_PER_MS) /* how long a user stays suspect */
#define WAIT_MOST_NS   (5000 * NS_PER_MS)  /* in the queue, when stuck processes slow it down */
#define CHECKS_MOST    40u /* deadlines for a worker that only waits for a CPU */
#define QUEUE_MOST     65536u
#define SUSPECTS       64u
#define STUCK_KNOWN    256u
#define ANSWERS_A_TURN 64
#define UNIT	       "skep-reader"
#define SYNC_ENDED_MOST \
	2u /* reader_sync_read(): workers that may end at one request; the first worker sends READER_READY too */

struct ask {
	struct ask *next;
	void *owner;
	skep_process_cb cb; /* NULL: the owner has forgotten it */
	void *arg;
	struct skep_upid who;
	uint32_t uid, what;
	uint64_t asked_ns;
	bool tried; /* a worker has ended at this request */
	uint32_t file_len; /* 0: none */
	char file[];       /* a packed struct engine_file */
};

struct queue {
	struct ask *first, **end;
};

struct suspect {
	uint32_t uid;
	unsigned stuck; /* 0: free entry */
	uint64_t last_ns;
};

#define MAGIC_reader 0x4ead0e40u
struct reader {
	uint32_t magic;
	struct reader_process *process;
	reader_deliver deliver;
	uv_poll_t poll;
	uv_timer_t soon; /* sends the requests of this turn of the loop */
	uv_timer_t tick; /* runs while a batch is with the worker */
	unsigned handles;
	bool closing, ready, ordered; /* ready: a worker runs; ordered: the keeper has an order about it */
	bool silent; /* reader_ask() refuses all requests until a new worker runs */
	unsigned silent_ticks; /* since the worker's or keeper's last message */
	unsigned checks;
	uint64_t reached_ns; /* of a unit: when the reader has last tried to connect; 0: never */
	int reach_error;
	struct queue queue, suspects;
	size_t queued;
	uint32_t serial, batch_n, batch_at; /* at: index of the next answer */
	struct ask *batch[READER_BATCH];
	uint64_t progress_ns;
	struct suspect users[SUSPECTS];
	struct skep_upid stuck[STUCK_KNOWN];
	size_t stuck_at;
	unsigned stuck_lately;
	uint64_t stuck_ns;
	struct reader_stats stats;
	char answer[READER_ANSWER_MAX];
};

unsigned reader_silent_ticks = READER_SILENT_TICKS;
uint64_t reader_reach_ns = READER_REACH_NS;

/* ---- the keeper ------------------------------------------------------------------ */

/* The loop's ends are the first ones. */
static int two_pairs(int ret_data[2], int ret_control[2])
{
	int err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_data) < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_control) == 0)
		return 0;
	err = -errno;
	close(ret_data[0]);
	close(ret_data[1]);
	return err;
}

static int fork_keeper(const char *name, enum reader_role role, struct reader_process *ret)
{
	int data[2] = { -1, -1 }, control[2] = { -1, -1 }, err = two_pairs(data, control);
	pid_t pid, parent = getpid();

	if (err < 0)
		return err;
	pid = fork();
	err = pid < 0 ? -errno : 0;
	if (pid == 0) {
		child_end_with(parent);
		close(data[0]);
		close(control[0]);
		reader_keep(name, data[1], control[1], role);
	}
	close(data[1]);
	close(control[1]);
	if (err) {
		close(data[0]);
		close(control[0]);
		return err;
	}
	*ret = (struct reader_process){
		.pid = pid, .data = data[0], .control = control[0], .files = role == READER_OF_FILES
	};
	return 0;
}

int reader_fork(const char *name, struct reader_process *ret)
{
	return fork_keeper(name, READER_OF_PROCESSES, ret);
}

int reader_fork_files(const char *name, struct reader_process *ret)
{
	return fork_keeper(name, READER_OF_FILES, ret);
}

int reader_fork_spare(const char *name, struct reader_process *p)
{
	struct reader_process spare = { 0 };
	int err = fork_keeper(name, READER_SPARE, &spare);

	if (err)
		return err;
	p->spare_pid = spare.pid;
	p->spare_data = spare.data;
	p->spare_control = spare.control;
	return 0;
}

int reader_of_unit(const char *path, struct reader_process *ret)
{
	int data[2] = { -1, -1 }, control[2] = { -1, -1 }, err = two_pairs(data, control);

	if (err < 0)
		return err;
	/* reach() puts connected sockets in the place of these two. */
	close(data[1]);
	close(control[1]);
	*ret = (struct reader_process){ .unit = path, .data = data[0], .control = control[0], .files = true };
	return 0;
}

/*
 * Connects to the unit without waiting: the service manager listens, and the keeper that it starts reads the message
 * later.  The new sockets get the descriptor numbers of the old ones.  0 or -errno.
 */
static int reach(struct reader_process *p)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int data[2] = { -1, -1 }, control[2] = { -1, -1 }, fd, err;

	if (strlen(p->unit) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	strcpy(to.sun_path, p->unit);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
	if (err == 0)
		err = two_pairs(data, control);
	if (err < 0)
		goto out;
	err = fdpass_send(fd, "", 1, (int[]){ data[1], control[1] }, 2);
	if (err == 0) {
		(void)dup3(data[0], p->data, O_CLOEXEC); /* cannot fail: both are open */
		(void)dup3(control[0], p->control, O_CLOEXEC);
	}
	for (int i = 0; i < 2; i++) {
		close(data[i]);
		close(control[i]);
	}
out:
	close(fd);
	return err;
}

/* Waits for a process that ends by itself; kills it after a second. */
static void wait_for(pid_t pid)
{
	pid_t done = 0;

	for (int i = 0; i < 100 && (done = waitpid(pid, NULL, WNOHANG)) == 0; i++)
		poll(NULL, 0, 10);
	if (done == 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

/*
 * Replaces the first keeper by the spare. The spare's sockets get the descriptor numbers of the first keeper's
 * sockets. false: no spare, or the spare has ended too.
 */
static bool use_spare(struct reader_process *p)
{
	const uint32_t order = READER_TAKE_OVER;
	bool used = p->spare_pid > 0 &&
		    send(p->spare_control, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(order);

	if (!used)
		return false;
	(void)dup3(p->spare_data, p->data, O_CLOEXEC); /* cannot fail: both are open */
	(void)dup3(p->spare_control, p->control, O_CLOEXEC);
	close(p->spare_data);
	close(p->spare_control);
	wait_for(p->pid); /* it has closed its sockets, so it is ending */
	p->pid = p->spare_pid;
	p->spare_pid = 0;
	return true;
}

void reader_end(struct reader_process *p)
{
	if (p->spare_pid > 0) {
		close(p->spare_data);
		close(p->spare_control);
		wait_for(p->spare_pid);
	}
	p->spare_pid = 0;
	if (p->pid <= 0 && !p->unit)
		return;
	/* The keeper sees the closed sockets, ends its worker, waits for it, and ends. */
	close(p->data);
	close(p->control);
	if (p->pid > 0)
		wait_for(p->pid);
	p->pid = 0;
	p->unit = NULL;
}

/* ---- queues ---------------------------------------------------------------------- */

static void put_last(struct reader *r, struct queue *q, struct ask *a)
{
	a->next = NULL;
	*q->end = a;
	q->end = &a->next;
	r->queued++;
}

static void put_first(struct reader *r, struct queue *q, struct ask *a)
{
	a->next = q->first;
	q->first = a;
	if (!a->next)
		q->end = &a->next;
	r->queued++;
}

static struct ask *take_first(struct reader *r, struct queue *q)
{
	struct ask *a = q->first;

	if (!a)
		return NULL;
	q->first = a->next;
	if (!q->first)
		q->end = &q->first;
	r->queued--;
	return a;
}

static void finish(struct reader *r, struct ask *a, const struct skep_process_text *text)
{
	if (a->cb)
		r->deliver(a->owner, a->cb, a->arg, text);
	free(a);
}

static void fail(struct reader *r, struct ask *a, int error)
{
	const struct skep_process_text none = { .size = sizeof(none), .error = error };

	r->stats.refused += error == -EBUSY || error == -EPIPE;
	finish(r, a, &none);
}

/* ---- suspect users --------------------------------------------------------------- */

/*
 * The user who created the outermost user namespace of the process, as seen from here; else uid. /etc/subuid
 * has the same data, but only for local users. Takes no lock of the process's memory.
 */
static uint32_t owner_of(uint32_t pid, uint32_t uid)
{
	char path[32];
	int fd, parent;
	uid_t owner;

	snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return uid;
	/* NS_GET_PARENT, NS_GET_OWNER_UID: Linux 4.9, 4.11. The kernel refuses the parent of our own namespace. */
	while ((parent = ioctl(fd, NS_GET_PARENT)) >= 0) {
		/* A namespace that root created (nspawn, dockerd) may hold users of all kinds. */
		if (ioctl(fd, NS_GET_OWNER_UID, &owner) == 0 && owner != 0)
			uid = owner;
		close(fd);
		fd = parent;
	}
	close(fd);
	return uid;
}

/* Looks up the owner only while some user is suspect: the look-up costs 5 system calls. */
static uint32_t user_of(const struct reader *r, uint32_t pid, uint32_t uid, uint64_t now)
{
	return r->stats.stuck && now - r->stuck_ns < FORGET_NS ? owner_of(pid, uid) : uid;
}

static const struct suspect *suspect_of(const struct reader *r, uint32_t uid, uint64_t now)
{
	for (size_t i = 0; i < SUSPECTS; i++)
		if (r->users[i].stuck && r->users[i].uid == uid && now - r->users[i].last_ns < FORGET_NS)
			return &r->users[i];
	return NULL;
}

/*
 * Never gives up on root. A stuck root process is an accident, and root's other processes are daemons that
 * operators need to see.
 */
static bool gave_up(const struct reader *r, uint32_t uid, uint64_t now)
{
	const struct suspect *s = uid ? suspect_of(r, uid, now) : NULL;

	return s && s->stuck >= STUCK_MOST;
}

static void remember(struct reader *r, struct ask *a, uint64_t now)
{
	struct suspect *s = &r->users[0];

	a->uid = owner_of(a->who.pid, a->uid);
	for (size_t i = 0; i < SUSPECTS; i++) {
		if (r->users[i].stuck && r->users[i].uid == a->uid) {
			s = &r->users[i];
			break;
		}
		if (r->users[i].last_ns < s->last_ns)
			s = &r->users[i]; /* a free entry, else the oldest */
	}
	if (s->uid != a->uid || now - s->last_ns >= FORGET_NS)
		*s = (struct suspect){ .uid = a->uid };
	s->stuck++;
	s->last_ns = now;
	r->stuck_lately = now - r->stuck_ns < FORGET_NS ? r->stuck_lately + 1 : 1;
	r->stuck_ns = now;
	r->stats.stuck++;
	if (a->file_len) {
		log_because(SKEP_LOG_WARNING, "reader", "stuck_file",
			    "a file of an engine of uid %u cannot be read: its file system does not answer; "
			    "the task keeps the name that its command shows",
			    a->uid);
		return;
	}
	r->stuck[r->stuck_at++ % STUCK_KNOWN] = a->who;
	log_because(
		SKEP_LOG_WARNING, "reader", "stuck",
		"process %u of uid %u cannot be read: it holds the lock of its memory (a mapped file of a server that does not answer?); "
		"recorded without its arguments",
		a->who.pid, a->uid);
}

static bool known_stuck(const struct reader *r, const struct skep_upid *who)
{
	size_t n = r->stuck_at < STUCK_KNOWN ? r->stuck_at : STUCK_KNOWN;

	for (size_t i = 0; i < n; i++)
		if (r->stuck[i].pid == who->pid && r->stuck[i].start_ns == who->start_ns)
			return true;
	return false;
}

/* ---- batches --------------------------------------------------------------------- */

static void queue_again(struct reader *r, struct ask *a, uint64_t now)
{
	if (suspect_of(r, a->uid, now))
		put_last(r, &r->suspects, a);
	else
		put_first(r, &r->queue, a);
}

/* The worker has ended: takes its batch back. It was working on the first request without an answer. */
static void take_back(struct reader *r, bool was_stuck)
{
	uint64_t now = uv_hrtime();
	uint32_t n = r->batch_n, at = r->batch_at;
	struct ask *a;

	r->batch_n = r->batch_at = 0;
	r->ordered = false;
	if (at == n)
		return;
	a = r->batch[at];
	if (was_stuck)
		remember(r, a, now);
	while (n-- > at + 1) /* from the end, so that the front of the queue keeps its order */
		queue_again(r, r->batch[n], now);
	if (was_stuck)
		fail(r, a, -ETIMEDOUT);
	else if (a->tried)
		fail(r, a, -EIO);
	else
		a->tried = true, queue_again(r, a, now);
}

static void on_readable(uv_poll_t *poll, int status, int events);
static void send_batch(struct reader *r);

/* Connects to the unit, unless the last try was a moment ago.  false: not connected. */
static bool reach_unit(struct reader *r)
{
	uint64_t now = uv_hrtime();
	int before = r->reach_error;

	if (r->reached_ns && now - r->reached_ns < reader_reach_ns)
		return false;
	r->reached_ns = now;
	r->reach_error = reach(r->process);
	if (r->reach_error == 0) {
		r->stats.alive = true;
		r->silent = false;
		uv_poll_start(&r->poll, UV_READABLE, on_readable);
	} else if (r->reach_error != before) {
		/* As in a container, or from a tarball: skepd only does less. */
		log_at(r->reach_error == -ENOENT ? SKEP_LOG_NOTICE : SKEP_LOG_WARNING, "reader",
		       "engines' files are not read: %s: %s, and skepd lacks CAP_SETUID and CAP_SETGID; tasks are called what "
		       "their commands show, and skep show of a user reads that user's files; remedy: systemctl start " UNIT ".socket",
		       r->process->unit, strerror(-r->reach_error));
	}
	return r->reach_error == 0;
}

/*
 * The keeper was killed: the spare takes over. Without a spare the reader ends for good, because a fork now
 * would copy all of the daemon's memory. The service manager starts a unit's keeper again.
 */
static void dead(struct reader *r)
{
	struct ask *a;

	if (!r->stats.alive)
		return;
	r->ready = false;
	uv_poll_stop(&r->poll); /* before its descriptor becomes another socket */
	if (use_spare(r->process)) {
		uv_poll_start(&r->poll, UV_READABLE, on_readable);
		log_warning(
			"the argument reader has ended (killed for want of memory?); its spare takes over, the last "
			"one until skepd is restarted");
		r->stats.replaced++;
		r->silent = false;
		take_back(r, false);
		send_batch(r); /* sent when the new worker is ready; until then the tick counts */
		return;
	}
	r->stats.alive = false;
	uv_timer_stop(&r->tick);
	take_back(r, false);
	if (r->process->unit) {
		if (reach_unit(r)) { /* the service manager starts the next keeper, as after an upgrade */
			r->stats.replaced++;
			send_batch(r);
			return;
		}
		log_because(SKEP_LOG_WARNING, "reader", "unit",
			    UNIT ".service has ended; tasks keep the names that their commands show until it starts again; "
				 "see: systemctl status " UNIT);
	} else if (r->process->files) {
		log_error("the reader of engines' files has ended; tasks keep the names that their commands show until "
			  "skepd is restarted");
	} else {
		log_error(
			"the argument reader has ended; a process that skepd did not see start is recorded without its "
			"arguments until skepd is restarted");
	}
	while ((a = take_first(r, &r->queue)) || (a = take_first(r, &r->suspects)))
		fail(r, a, -EPIPE);
}

static bool too_late(const struct reader *r, const struct ask *a, uint64_t now)
{
	return r->stuck_ns > a->asked_ns && now - a->asked_ns > WAIT_MOST_NS;
}

/* Takes the next request to send. Frees forgotten requests and fails refused or late ones on the way. */
static struct ask *next_ask(struct reader *r, struct queue *q, uint64_t now)
{
	struct ask *a;

	while ((a = take_first(r, q))) {
		a->uid = user_of(r, a->who.pid, a->uid, now);
		if (!a->cb)
			free(a);
		else if (gave_up(r, a->uid, now) || too_late(r, a, now))
			fail(r, a, -EBUSY);
		else
			return a;
	}
	return NULL;
}

static void send_batch(struct reader *r)
{
	struct reader_batch batch = { .n = 0 };
	struct iovec parts[2] = { { &batch, 0 }, { NULL, 0 } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	uint64_t now = uv_hrtime();
	uint32_t n = 0;

	if (!r->stats.alive || r->closing)
		return;
	if (!uv_is_active((uv_handle_t *)&r->tick)) {
		r->silent_ticks = 0;
		uv_timer_start(&r->tick, r->tick.timer_cb, TICK_MS, TICK_MS);
	}
	if (!r->ready || r->batch_n)
		return;
	while (n < (r->process->files ? 1 : READER_BATCH) && (r->batch[n] = next_ask(r, &r->queue, now)))
		n++;
	if (n == 0 && (r->batch[0] = next_ask(r, &r->suspects, now)))
		n = 1; /* alone: new requests of other users go before the next suspect */
	if (n == 0 || r->closing) {
		uv_timer_stop(&r->tick);
		return;
	}
	batch.serial = ++r->serial;
	batch.n = n;
	for (uint32_t i = 0; i < n; i++)
		batch.at[i] = (struct reader_request) { .start_ns = r->batch[i]->who.start_ns,
							.pid = r->batch[i]->who.pid,
							.what = r->batch[i]->what };
	parts[0].iov_len = offsetof(struct reader_batch, at) + n * sizeof(batch.at[0]);
	parts[1] = (struct iovec){ r->batch[0]->file, r->batch[0]->file_len };
	r->batch_n = n;
	r->batch_at = 0;
	r->progress_ns = now;
	r->checks = 0;
	/*
	 * The socket has room, because at most one batch is in progress. If send fails all the same, the
	 * deadline notices.
	 */
	(void)sendmsg(r->process->data, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- answers --------------------------------------------------------------------- */

/* false: the message does not answer the current request. */
static bool text_of(const char *message, size_t size, uint32_t serial, uint32_t at, struct skep_process_text *ret)
{
	struct reader_answer a;

	memcpy(&a, message, sizeof(a));
	if (a.serial != serial || a.at != at || a.cmdline_len > READER_CMDLINE_MAX ||
	    a.environ_len > READER_ENVIRON_MAX || sizeof(a) + a.cmdline_len + a.environ_len != size)
		return false;
	message += sizeof(a);
	*ret = (struct skep_process_text) {
		.size = sizeof(*ret),
		.error = a.error > 0 || a.error < -4095 ? -EIO : a.error,
		/* full: the file may be longer */
		.cmdline = { message, a.cmdline_len, a.cmdline_len + (a.cmdline_len == READER_CMDLINE_MAX) },
		.environ = { message + a.cmdline_len, a.environ_len,
			     a.environ_len + (a.environ_len == READER_ENVIRON_MAX) },
	};
	return true;
}

static void answered(struct reader *r, size_t size)
{
	struct skep_process_text text;
	struct reader_answer a;

	memcpy(&a, r->answer, sizeof(a));
	r->silent_ticks = 0;
	if (a.kind == READER_READY) {
		r->stats.replaced += r->ready;
		r->ready = true;
		r->silent = false;
		take_back(r, r->ordered && a.at);
	} else if (r->batch_at < r->batch_n && text_of(r->answer, size, r->serial, r->batch_at, &text)) {
		r->progress_ns = uv_hrtime();
		r->ordered = false;
		r->checks = 0;
		finish(r, r->batch[r->batch_at++], &text);
		if (r->batch_at == r->batch_n)
			r->batch_n = r->batch_at = 0;
	}
	explicit_bzero(r->answer, size); /* an environment may hold secrets */
	send_batch(r);
}

/* Handles at most `most` messages; false: no more messages now. */
static bool receive(struct reader *r, int most)
{
	while (most-- > 0 && r->stats.alive && !r->closing) {
		ssize_t n = recv(r->process->data, r->answer, sizeof(r->answer), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			dead(r);
			return false;
		}
		if (n >= (ssize_t)sizeof(struct reader_answer))
			answered(r, (size_t)n);
	}
	return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status; /* the read reports the error */
	(void)events;
	receive(poll->data, ANSWERS_A_TURN);
}

/*
 * The keeper cannot fork, has left ABANDONED_MAX workers behind, or was stopped. Fails all requests: the proc
 * probe starts no sweep while a request has no answer.
 */
static void give_up(struct reader *r)
{
	char name[32] = UNIT ".service";
	struct ask *a;

	if (!r->process->unit)
		snprintf(name, sizeof(name), "pid %d", (int)r->process->pid);
	r->silent = true;
	uv_timer_stop(&r->tick);
	log_because(SKEP_LOG_WARNING, "reader", "silent",
		    "the %s reader (%s) does not answer: it is stopped or cannot fork; %s until it answers",
		    r->process->files ? "file" : "argument", name,
		    r->process->files ? "tasks keep the names that their commands show"
				      : "a process that skepd did not see start is recorded without its arguments");
	while (r->batch_at < r->batch_n)
		fail(r, r->batch[r->batch_at++], -EBUSY);
	r->batch_n = r->batch_at = 0;
	while ((a = take_first(r, &r->queue)) || (a = take_first(r, &r->suspects)))
		fail(r, a, -EBUSY);
}

static void on_soon(uv_timer_t *timer)
{
	send_batch(timer->data);
}

static void on_tick(uv_timer_t *timer)
{
	struct reader *r = MAGIC_OBJECT(reader, timer->data);
	bool many = r->stuck_lately >= STUCK_MANY && uv_hrtime() - r->stuck_ns < FORGET_NS;
	uint64_t deadline = r->process->files ? DEADLINE_FILE_NS : many ? DEADLINE_SHORT_NS : DEADLINE_NS;
	uint32_t order;

	/* Answers that arrived while the loop was busy come first. */
	if (receive(r, ANSWERS_A_TURN) || !uv_is_active((uv_handle_t *)timer))
		return;
	/* Counts ticks, not time: a suspended machine or a frozen cgroup had no time to answer. */
	if (++r->silent_ticks >= reader_silent_ticks) {
		give_up(r);
		return;
	}
	if (r->batch_n == 0 || uv_hrtime() - r->progress_ns < deadline)
		return;
	order = ++r->checks > CHECKS_MOST ? READER_KILL : READER_CHECK;
	r->ordered = true;
	r->progress_ns = uv_hrtime(); /* the keeper has the same deadline */
	if (send(r->process->control, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EPIPE)
		dead(r);
}

/* ---- life ------------------------------------------------------------------------ */

int reader_new(uv_loop_t *loop, struct reader_process *process, reader_deliver deliver, struct reader **ret)
{
	struct reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->magic = MAGIC_reader;
	r->process = process;
	r->deliver = deliver;
	r->queue.end = &r->queue.first;
	r->suspects.end = &r->suspects.first;
	r->stats.alive = !process->unit;
	err = uv_poll_init(loop, &r->poll, process->data);
	if (err < 0) {
		free(r);
		return err;
	}
	uv_timer_init(loop, &r->soon); /* these two calls cannot fail */
	uv_timer_init(loop, &r->tick);
	r->tick.timer_cb = on_tick;
	r->poll.data = r->soon.data = r->tick.data = r;
	r->handles = 3;
	/* cannot fail for a descriptor that uv_poll_init accepted */
	if (process->unit)
		reach_unit(r);
	else
		uv_poll_start(&r->poll, UV_READABLE, on_readable);
	*ret = r;
	return 0;
}

/* 0, or the error of a request that the reader refuses. */
static int admit(struct reader *r, const struct skep_upid *who, uint32_t uid, uint64_t now)
{
	r->stats.asked++;
	if (!r->stats.alive && r->process->unit && !r->closing)
		reach_unit(r);
	if (r->stats.alive && !r->silent && r->queued < QUEUE_MOST && !known_stuck(r, who) && !gave_up(r, uid, now))
		return 0;
	r->stats.refused++;
	return r->stats.alive ? -EBUSY : r->reach_error == -ENOENT ? -ENOENT : -EPIPE;
}

static void queue_new(struct reader *r, struct ask *a)
{
	put_last(r, suspect_of(r, a->uid, a->asked_ns) ? &r->suspects : &r->queue, a);
	if (!r->batch_n && !uv_is_active((uv_handle_t *)&r->soon))
		uv_timer_start(&r->soon, on_soon, 0, 0);
}

int reader_ask(struct reader *r, void *owner, const struct skep_upid *who, uint32_t uid, uint32_t what,
	       skep_process_cb cb, void *arg)
{
	uint64_t now = uv_hrtime();
	struct ask *a;
	int err;

	if (!cb || who->pid == 0 || what == 0 ||
	    ((what & ~(SKEP_READ_CMDLINE | SKEP_READ_ENVIRON)) && what != READER_PSS) ||
	    r->process->files)
		return -EINVAL;
	uid = user_of(r, who->pid, uid, now);
	err = admit(r, who, uid, now);
	if (err)
		return err;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct ask) {
		.owner = owner, .cb = cb, .arg = arg, .who = *who, .uid = uid, .what = what, .asked_ns = now
	};
	queue_new(r, a);
	return 0;
}

int reader_ask_file(struct reader *r, void *owner, const struct engine_file *file, skep_process_cb cb, void *arg)
{
	const struct skep_upid who = { .pid = file->pid };
	uint64_t now = uv_hrtime();
	uint32_t uid = user_of(r, file->pid, file->uid, now);
	char packed[ENGINE_FILE_REQUEST];
	struct ask *a;
	ssize_t len;
	int err;

	if (!cb || !r->process->files)
		return -EINVAL;
	err = admit(r, &who, uid, now);
	if (err)
		return err;
	len = engine_file_pack(file, packed, sizeof(packed));
	if (len < 0)
		return (int)len;
	a = malloc(sizeof(*a) + (size_t)len);
	if (!a)
		return -ENOMEM;
	*a = (struct ask) {
		.owner = owner, .cb = cb, .arg = arg, .who = who, .uid = uid, .what = READER_FILE, .asked_ns = now
	};
	a->file_len = (uint32_t)len;
	memcpy(a->file, packed, (size_t)len);
	queue_new(r, a);
	return 0;
}

static void forget(struct ask *a, const void *owner)
{
	for (; a; a = a->next)
		if (!owner || a->owner == owner)
			a->cb = NULL;
}

void reader_forget(struct reader *r, const void *owner)
{
	forget(r->queue.first, owner);
	forget(r->suspects.first, owner);
	for (uint32_t i = r->batch_at; i < r->batch_n; i++)
		if (!owner || r->batch[i]->owner == owner)
			r->batch[i]->cb = NULL;
}

struct reader_stats reader_stats(const struct reader *r)
{
	struct reader_stats stats = r->stats;

	stats.ready = r->ready && !r->silent;
	return stats;
}

static void on_closed(uv_handle_t *handle)
{
	struct reader *r = MAGIC_OBJECT(reader, handle->data);

	if (--r->handles == 0)
		free(r);
}

void reader_close(struct reader *r)
{
	struct ask *a;

	if (!r || r->closing)
		return;
	r->closing = true;
	for (uint32_t i = r->batch_at; i < r->batch_n; i++)
		free(r->batch[i]);
	while ((a = take_first(r, &r->queue)) || (a = take_first(r, &r->suspects)))
		free(a);
	uv_close((uv_handle_t *)&r->poll, on_closed);
	uv_close((uv_handle_t *)&r->soon, on_closed);
	uv_close((uv_handle_t *)&r->tick, on_closed);
}

/* ---- without a loop -------------------------------------------------------------- */

/* Returns a message's size; 0 after the timeout; -EPIPE. */
static ssize_t wait_message(const struct reader_process *p, char *ret, int timeout_ms)
{
	struct pollfd at = { .fd = p->data, .events = POLLIN };
	ssize_t n;

	if (poll(&at, 1, timeout_ms) != 1)
		return 0;
	n = recv(p->data, ret, READER_ANSWER_MAX, MSG_DONTWAIT);
	return n >= (ssize_t)sizeof(struct reader_answer) ? n : -EPIPE;
}

static int sync_send(const struct reader_process *p, const struct reader_batch *batch)
{
	return send(p->data, batch, offsetof(struct reader_batch, at) + sizeof(batch->at[0]), MSG_NOSIGNAL) < 0 ? -EPIPE
														: 0;
}

int reader_sync_read(struct reader_process *p, const struct skep_upid *who, uint32_t what,
		     struct skep_process_text *ret)
{
	static char room[READER_ANSWER_MAX];
	const struct reader_batch batch = { .serial = ++p->serial,
					    .n = 1,
					    .at = { { who->start_ns, who->pid, what } } };
	uint32_t order = READER_CHECK;
	bool ordered = false;
	unsigned ended = 0;
	struct reader_answer a;

	if (p->pid <= 0)
		return -EPIPE;
	while (recv(p->data, room, sizeof(room), MSG_DONTWAIT) > 0)
		; /* answers to earlier requests, and from earlier workers */
	if (sync_send(p, &batch) < 0)
		return -EPIPE;
	for (unsigned tries = 0; tries < 2 * CHECKS_MOST;) {
		ssize_t n = wait_message(p, room,
					 (int)((p->stuck < STUCK_MANY ? DEADLINE_NS : DEADLINE_SHORT_NS) / NS_PER_MS));

		if (n < 0)
			return (int)n;
		if (n == 0) {
			order = ++tries > CHECKS_MOST ? READER_KILL : READER_CHECK;
			ordered = true;
			if (send(p->control, &order, sizeof(order), MSG_NOSIGNAL) < 0)
				return -EPIPE;
			continue;
		}
		memcpy(&a, room, sizeof(a));
		if (a.kind == READER_READY && ordered && a.at) {
			p->stuck++;
			return -ETIMEDOUT;
		}
		/*
		 * The worker ended for another reason, or this is the first worker. A repeated answer has an
		 * old serial.
		 */
		if (a.kind == READER_READY) {
			if (++ended > SYNC_ENDED_MOST)
				return -EIO;
			ordered = false;
			if (sync_send(p, &batch) < 0)
				return -EPIPE;
		}
		if (a.kind == READER_TEXT && text_of(room, (size_t)n, p->serial, 0, ret))
			return ret->error;
	}
	return -ETIMEDOUT;
}
