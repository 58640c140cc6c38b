/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/witness.c - see cli/run/witness.h.
 */
#include "cli/run/witness.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/child.h"

#define ANSWER_MS 1000 /* a witness that was stopped or killed has not seen it */
#define NONE      -1   /* no sender */

static void __attribute__((noreturn)) testify(int fd)
{
	const struct timespec at_once = { 0, 0 };
	unsigned char number;
	sigset_t one;
	siginfo_t info;
	pid_t sender;

	while (read(fd, &number, sizeof(number)) == 1) {
		sigemptyset(&one);
		sigaddset(&one, number);
		sender = sigtimedwait(&one, &info, &at_once) > 0 ? info.si_pid : NONE;
		if (write(fd, &sender, sizeof(sender)) != sizeof(sender))
			break;
	}
	_exit(0);
}

void witness_start(struct witness *ret)
{
	pid_t parent = getpid();
	sigset_t all, before;
	int pair[2];

	*ret = (struct witness){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	ret->pid = fork();
	if (ret->pid == 0) {
		child_end_with(parent);
		child_keep_files(&pair[1], 1);
		/* A name without "skep": `killall skep` is for skep alone, which passes the signal on. */
		child_set_title("witness", "signals");
		testify(pair[1]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(pair[1]);
	if (ret->pid > 0)
		ret->fd = pair[0];
	else
		close(pair[0]);
}

void witness_end(struct witness *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

bool witness_saw(const struct witness *w, int number, pid_t sender)
{
	struct pollfd answer = { .fd = w->fd, .events = POLLIN };
	unsigned char asked = (unsigned char)number;
	pid_t found = NONE;

	return w->fd >= 0 && send(w->fd, &asked, sizeof(asked), MSG_NOSIGNAL) == 1 &&
	       poll(&answer, 1, ANSWER_MS) == 1 &&
	       recv(w->fd, &found, sizeof(found), 0) == sizeof(found) && found == sender;
}
