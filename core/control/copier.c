/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/copier.c - the copier and its workers; see copier.h.
 */
#include "core/control/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/confine.h"
#include "core/base/fdpass.h"
#include "core/base/log.h"

struct worker {
	pid_t pid; /* 0: free */
	uint32_t uid;
	uint64_t rest_ms; /* a free place rests until then */
};

/* ---- orders ------------------------------------------------------------------------------ */

int copier_send(struct copier *c, const struct copier_order *order, int client)
{
	int err = fdpass_send(c->fd, order, sizeof(*order), &client, 1);

	return err == -ECONNRESET ? -EPIPE : err;
}

/* 1: an order, and the caller closes *ret_client; 0: the program has ended; -errno. */
static int receive(int fd, struct copier_order *ret, int *ret_client)
{
	ssize_t n = fdpass_receive(fd, ret, sizeof(*ret), ret_client, 1);

	if (n <= 0)
		return (int)n;
	if (n == (ssize_t)sizeof(*ret))
		return 1;
	close(*ret_client);
	return -EBADMSG;
}

/* ---- a worker -------------------------------------------------------------------------- */

struct bound {
	int client;
	uint64_t end_ms;
};

static uint64_t now_ms(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool is_gone(int client)
{
	struct pollfd p = { .fd = client };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static int cancelled(void *arg)
{
	const struct bound *b = arg;

	return now_ms() >= b->end_ms || is_gone(b->client);
}

/* The socket's own limit (SO_SNDTIMEO) bounds each wait for the client. */
static bool put(int client, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(client, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* Owns the value; NULL: no memory. */
static bool put_line(int client, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	bool good = text && put(client, text, strlen(text)) && put(client, "\n", 1);

	free(text);
	json_decref(value);
	return good;
}

static void refuse(int client, const char *code, const char *why)
{
	(void)put_line(client, json_pack("{s:b, s:s, s:s}", "ok", 0, "code", code, "error", why));
}

static const char *code_of(int err)
{
	return err == -ENOENT || err == -EEXIST ? "not_found" : "failed";
}

static void answer(int client, const struct copier_order *order, copier_make make)
{
	static char bytes[256 << 10];
	struct bound b = { .client = client, .end_ms = now_ms() + COPIER_MAKE_S * 1000ull };
	char why[640] = "";
	uint64_t left_out = 0;
	struct stat st = { 0 };
	int fd = -1, err;
	ssize_t n;

	err = make(order, cancelled, &b, &fd, &left_out, why, sizeof(why));
	if (err == 0 && fstat(fd, &st) < 0) {
		err = -errno;
		snprintf(why, sizeof(why), "fstat: %s", strerror(errno));
	}
	if (err == -ECANCELED)
		snprintf(why, sizeof(why), "the copy was not made within %d s; ask for one run, or for newer runs (--since)",
			 COPIER_MAKE_S);
	if (err < 0) {
		refuse(client, code_of(err), why);
		return;
	}
	alarm(COPIER_SEND_S);
	if (!put_line(client, json_pack("{s:b, s:s, s:I, s:I}", "ok", 1, "request", "lake_copy", "bytes",
					(json_int_t)st.st_size, "left_out", (json_int_t)left_out)) ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0 && put(client, bytes, (size_t)n))
		;
}

__attribute__((noreturn)) static void work(const char *name, int client, const struct copier_order *order,
					   copier_make make)
{
	const struct timeval stall = { .tv_sec = COPIER_STALL_S };
	int flags = fcntl(client, F_GETFL);

	child_set_title(name, "copy");
	/* The alarm's default action ends a worker that a lock or a disk holds up. */
	signal(SIGALRM, SIG_DFL);
	alarm(COPIER_MAKE_S + 5);
	/* The loop has left this connection: its mode is the worker's now. */
	if (flags < 0 || fcntl(client, F_SETFL, flags & ~O_NONBLOCK) < 0 ||
	    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall)) < 0)
		_exit(1);
	answer(client, order, make);
	_exit(0);
}

/* ---- the copier -------------------------------------------------------------------------- */

static uint64_t cpu_ms(const struct rusage *r)
{
	return ((uint64_t)r->ru_utime.tv_sec + (uint64_t)r->ru_stime.tv_sec) * 1000 +
	       ((uint64_t)r->ru_utime.tv_usec + (uint64_t)r->ru_stime.tv_usec) / 1000;
}

/* The unit's system-call filter lets skepd set no nice value: rests bound the CPU time instead. */
static unsigned reap(struct worker w[COPIER_AT_ONCE])
{
	struct rusage used = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < COPIER_AT_ONCE; i++) {
		if (w[i].pid > 0 && wait4(w[i].pid, NULL, WNOHANG, &used) != 0) {
			w[i].pid = 0;
			w[i].rest_ms = now_ms() + cpu_ms(&used);
		}
		n += w[i].pid > 0;
	}
	return n;
}

static void obey(const char *name, int fd, struct worker w[COPIER_AT_ONCE], const struct copier_order *order,
		 int client, copier_make make)
{
	struct worker *room = NULL;
	pid_t copier = getpid();
	bool has_one = false;

	reap(w);
	for (unsigned i = 0; i < COPIER_AT_ONCE; i++) {
		if (w[i].pid == 0 && now_ms() >= w[i].rest_ms)
			room = &w[i];
		else if (w[i].pid > 0 && w[i].uid == order->uid)
			has_one = true;
	}
	if (has_one || !room) {
		refuse(client, "busy", has_one ? "skepd makes a copy for this user already; try again when it is done"
					       : "skepd makes copies for other users; try again");
		return;
	}
	room->pid = fork();
	room->uid = order->uid;
	if (room->pid == 0) {
		close(fd);
		child_end_with(copier);
		work(name, client, order, make);
	}
	if (room->pid < 0) {
		room->pid = 0;
		refuse(client, "failed", "skepd cannot start a process that makes the copy");
	}
}

/* Drops the program's files, signals and privileges. */
static void let_go(int *fd)
{
	int err;

	child_signals(false);
	confine_memory();
	err = confine_all();
	if (err < 0)
		log_warning("the copier of users' runs cannot drop capabilities: %s; it keeps all that it has",
			    strerror(-err));
	child_keep_files(fd, 1);
}

__attribute__((noreturn)) static void keep(const char *name, int fd, copier_make make)
{
	static struct copier_order order;
	struct worker w[COPIER_AT_ONCE] = { { 0 } };
	int client = -1, got = 1;

	let_go(&fd);
	child_set_title(name, "copier");
	while (got != 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, reap(w) > 0 ? 200 : -1) <= 0)
			continue;
		got = receive(fd, &order, &client);
		if (got != 1)
			continue;
		obey(name, fd, w, &order, client, make);
		close(client);
	}
	for (unsigned i = 0; i < COPIER_AT_ONCE; i++)
		if (w[i].pid > 0)
			kill(w[i].pid, SIGKILL);
	_exit(0);
}

int copier_fork(const char *name, copier_make make, struct copier *ret)
{
	pid_t pid, parent = getpid();
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	err = pid < 0 ? -errno : 0;
	if (pid == 0) {
		child_end_with(parent);
		close(ends[0]);
		keep(name, ends[1], make);
	}
	close(ends[1]);
	if (err < 0)
		close(ends[0]);
	else
		*ret = (struct copier){ .pid = pid, .fd = ends[0] };
	return err;
}

void copier_end(struct copier *c)
{
	if (c->pid <= 0)
		return;
	close(c->fd); /* the copier sees it, kills its workers, and ends */
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}
