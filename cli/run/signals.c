/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/signals.c - the signals of `skep run`.
 *
 * A signalfd instead of handlers: no code runs in the middle of other code, and ssi_code separates the kernel's signals
 * from a process's signals.  A terminal signals its whole foreground process group with SI_KERNEL: a CMD in skep's
 * group has the signal already, and a CMD that has left the group gets it from skep.  kill(2) sets SI_USER: skep passes
 * such a signal on to CMD.
 */
#include "cli/run/signals.h"

#include <errno.h>
#include <skep/procfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * Signals that skep does not handle: the two that no program can catch, two that the terminal raises when skep itself
 * uses it from the background, and those of a fault of skep.
 */
static const int not_taken[] = {
	SIGKILL, SIGSTOP, SIGTTIN, SIGTTOU, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGURG,
};
/* Signals that the kernel sends for a terminal. All others from the kernel concern skep itself, such as SIGXCPU. */
static const int of_terminal[] = { SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGCONT, SIGWINCH };

static bool is_one_of(const int *numbers, size_t n, int number)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

void signals_inherit(struct signals_inherited *ret)
{
	struct sigaction action;

	sigemptyset(&ret->ignored);
	for (int number = 1; number < NSIG; number++) /* glibc reserves 32 and 33: EINVAL, never ignored */
		if (sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
		    action.sa_handler == SIG_IGN)
			sigaddset(&ret->ignored, number);
	pthread_sigmask(SIG_BLOCK, NULL, &ret->mask);
}

int signals_take(int *ret_fd)
{
	sigset_t set;
	int fd;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(not_taken) / sizeof(not_taken[0]); i++)
		sigdelset(&set, not_taken[i]);
	/*
	 * A caller may have left SIGCHLD ignored.  Then the kernel reaps children itself, and
	 * wait4() fails with ECHILD.
	 */
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -errno;
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) {
		close(fd);
		return -EINVAL;
	}
	*ret_fd = fd;
	return 0;
}

static const int ends[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

bool signals_ends(int number)
{
	return is_one_of(ends, sizeof(ends) / sizeof(ends[0]), number);
}

int signals_waiting(const struct signals_inherited *inherited)
{
	sigset_t waiting;

	if (sigpending(&waiting) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigismember(&waiting, ends[i]) == 1 && sigismember(&inherited->ignored, ends[i]) != 1 &&
		    sigismember(&inherited->mask, ends[i]) != 1)
			return ends[i];
	return 0;
}

void signals_give_back(const struct signals_inherited *inherited)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	for (int number = 1; number < NSIG; number++) {
		if (number == SIGKILL || number == SIGSTOP)
			continue;
		action.sa_handler = sigismember(&inherited->ignored, number) == 1 ? SIG_IGN : SIG_DFL;
		(void)sigaction(number, &action, NULL); /* 32 and 33: EINVAL, and exec resets them */
	}
	pthread_sigmask(SIG_SETMASK, &inherited->mask, NULL);
}

/* The parent of a process; 0 when it is gone. */
static pid_t parent_of(pid_t pid)
{
	char room[SKEP_PROCFILE_STAT];
	const char *at = skep_procfile_stat((uint32_t)pid, 4, room);

	return at ? (pid_t)strtol(at, NULL, 10) : 0;
}

/* The kernel has sent it: to skep's whole group; or to a session leader alone, when the terminal hangs up. */
static enum signals_to concern_of_terminal(int number, pid_t command)
{
	if (!is_one_of(of_terminal, sizeof(of_terminal) / sizeof(of_terminal[0]), number))
		return SIGNALS_TO_NOBODY;
	if ((number == SIGHUP || number == SIGCONT) && getsid(0) == getpid())
		return SIGNALS_TO_COMMAND;
	/* a session of its own: CMD has left the terminal */
	if (getpgid(command) == getpgrp() || getsid(command) != getsid(0))
		return SIGNALS_TO_NOBODY;
	return getpgid(command) == command ? SIGNALS_TO_GROUP : SIGNALS_TO_COMMAND;
}

enum signals_to signals_concern(const struct signalfd_siginfo *info, pid_t command)
{
	pid_t pid = (pid_t)info->ssi_pid;

	if (info->ssi_code > 0) /* SI_KERNEL and everything else that the kernel itself raises */
		return concern_of_terminal((int)info->ssi_signo, command);
	if (pid == getpid())
		return SIGNALS_TO_NOBODY;
	/* 0: the sender's pid namespace is not visible here. The bound ends a walk whose chain changes meanwhile. */
	for (unsigned depth = 0; pid > 1 && depth < 4096; depth++) {
		if (pid == command)
			return SIGNALS_TO_NOBODY;
		pid = parent_of(pid);
	}
	return SIGNALS_TO_COMMAND;
}

int signals_forward(const struct signalfd_siginfo *info, enum signals_to to, pid_t command)
{
	int number = (int)info->ssi_signo;

	if (to == SIGNALS_TO_COMMAND && info->ssi_code == SI_QUEUE) {
		union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

		/* RLIMIT_SIGPENDING may leave no room for a value: then the signal alone */
		if (sigqueue(command, number, value) == 0)
			return 0;
		if (errno != EAGAIN)
			return -errno;
	}
	return kill(to == SIGNALS_TO_GROUP ? -command : command, number) < 0 ? -errno : 0;
}

void signals_stop(int number)
{
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, number);
	/*
	 * Blocked until here: the terminal's SIGTSTP may wait for the signalfd as well, and both must stop us once.
	 * Not SIGSTOP: an orphaned process group must not stop, and the kernel knows whether ours is one.
	 */
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	raise(number);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool signals_is_pending(int number)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

void signals_die(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	fflush(NULL);
	/* No core dump of skep beside CMD's. A core_pattern that is a pipe ignores the limit. */
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	(void)kill(getpid(), number);
}
