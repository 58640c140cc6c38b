/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/reader_process.c - the keeper and the worker of core/identify/reader.h.
 *
 * The worker only reads what the loop requests. The keeper replaces a worker that has ended, or that the loop
 * reports as stuck. A worker in an uninterruptible wait does not end on SIGKILL: the keeper leaves it behind,
 * at most ABANDONED_MAX times.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <skep/procfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/confine.h"
#include "core/base/log.h"
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
	return start_ns == 0 || strtoull(at, NULL, 10) == start_ns / (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Writes the whole answer to one request; returns its length. */
static size_t answer_one(const struct reader_batch *batch, uint32_t at, char *ret)
{
	const struct reader_request *r = &batch->at[at];
	struct reader_answer a = { .kind = READER_TEXT, .serial = batch->serial, .at = at };
	char *text = ret + sizeof(a);
	ssize_t n = 0;

	if (r->what & SKEP_READ_CMDLINE)
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

__attribute__((noreturn)) static void work(int data)
{
	static char answer[READER_ANSWER_MAX];
	static struct reader_batch batch;

	for (;;) {
		ssize_t n = recv(data, &batch, sizeof(batch), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)offsetof(struct reader_batch, at) || batch.n > READER_BATCH ||
		    (size_t)n < offsetof(struct reader_batch, at) + batch.n * sizeof(batch.at[0]))
			_exit(0); /* the program has closed its end, or sent an invalid batch */
		for (uint32_t i = 0; i < batch.n; i++) {
			size_t len = answer_one(&batch, i, answer);

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
	pid_t worker; /* 0: none */
	bool ordered; /* an order killed the previous worker */
	int life;     /* a pipe whose other end only the worker holds: it closes when the worker ends */
	pid_t abandoned[ABANDONED_MAX];
	size_t n_abandoned;
};

/* Sets the title that ps and top show. The kernel reports where the arguments lie (fields 48 and 49 of stat). */
static void set_title(const char *program, const char *role)
{
	char room[SKEP_PROCFILE_STAT], title[64];
	const char *at = skep_procfile_stat(0, 48, room);
	unsigned long from = 0, to = 0;
	size_t len;

	snprintf(title, sizeof(title), "%s: %s", program, role);
	prctl(PR_SET_NAME, title);
	if (!at || sscanf(at, "%lu %lu", &from, &to) != 2 || from == 0 || to <= from)
		return;
	len = strlen(title) < to - from - 1 ? strlen(title) : to - from - 1;
	memset((void *)from, 0, to - from); /* NOLINT(performance-no-int-to-ptr): the kernel returns a number */
	memcpy((void *)from, title, len);   /* NOLINT(performance-no-int-to-ptr) */
}

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
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != keeper)
			_exit(0);
		set_title(k->name, "reader");
		work(k->data);
	}
	close(life[1]);
	if (k->worker < 0) {
		close(life[0]);
		k->worker = 0;
		return;
	}
	k->life = life[0];
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

/* true: the worker sleeps, so that only an event or a signal ends the wait. A worker without a CPU is only slow. */
static bool is_stuck(pid_t pid)
{
	char room[SKEP_PROCFILE_STAT];
	const char *state = skep_procfile_stat((uint32_t)pid, 3, room);

	return !state || *state != 'R';
}

static void obey(struct keeper *k, uint32_t order)
{
	struct pollfd life = { .fd = k->life, .events = POLLIN };

	if (k->worker == 0)
		return;
	if (poll(&life, 1, 0) != 1) { /* else the worker has ended for another reason */
		if (order != READER_KILL && !is_stuck(k->worker))
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

/* Drops the program's files, signals and privileges. The sockets may have any number above 2. */
static void let_go(int *data, int *control)
{
	static const int quiet[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGPIPE };
	sigset_t none;
	int null = open("/dev/null", O_RDWR), err;

	/*
	 * A new process group: Ctrl-Z stops the program's whole group, and a SIGCONT to the program alone would
	 * leave this process stopped.
	 */
	setpgid(0, 0);
	/*
	 * A service manager sends SIGTERM to every process of the unit; this process must end only when the
	 * program ends it.
	 */
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		signal(quiet[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Duplicates both to 10 and above first: neither may be where the other goes. */
	*data = fcntl(*data, F_DUPFD_CLOEXEC, 10);
	*control = fcntl(*control, F_DUPFD_CLOEXEC, 10);
	if (*data < 0 || *control < 0 || null < 0)
		_exit(1);
	confine_memory();
	err = confine_reader();
	if (err < 0) /* before stderr closes */
		log_warning(
			"the argument reader cannot drop capabilities: %s; it keeps all that it has",
			strerror(-err));
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	/* forked at the program's start, so few descriptors are open */
	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
		if (fd != *data && fd != *control)
			close(fd);
}

/* Waits until the first keeper has ended. */
static void wait_as_spare(const char *name, int control)
{
	uint32_t order;
	ssize_t n;

	set_title(name, "spare");
	do
		n = recv(control, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(order) || order != READER_TAKE_OVER)
		_exit(0); /* the program has ended */
}

void reader_keep(const char *name, int data, int control, bool spare)
{
	struct keeper k = { .name = name };

	let_go(&data, &control);
	k.data = data;
	k.control = control;
	if (spare)
		wait_as_spare(name, control);
	set_title(name, "keeper");
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
