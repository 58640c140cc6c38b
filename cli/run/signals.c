/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/signals.c - the signals of `skep run`.
 *
 * A signalfd instead of handlers: no code runs in the middle of other code, and ssi_code separates
 * the kernel's signals from a process's signals.  A terminal signals its whole foreground process
 * group with SI_KERNEL, so CMD has the signal already.  kill(2) sets SI_USER: skep passes such a
 * signal on to CMD if it was sent to skep alone.
 */
#include "cli/run/signals.h"

#include <errno.h>
#include <skep/procfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Signals that skep does not handle: the two that no program can catch, job control, signals that a fault of skep
 * raises, and SIGCHLD (a pidfd reports CMD's end).
 */
static const int not_taken[] = {
	SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS,
	SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,  SIGABRT, SIGCHLD, SIGURG,
};

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

int signals_take(bool stops, int *ret_fd)
{
	sigset_t set;
	int fd;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(not_taken) / sizeof(not_taken[0]); i++)
		sigdelset(&set, not_taken[i]);
	if (stops)
		sigaddset(&set, SIGTSTP);
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
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i] == number)
			return true;
	return false;
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

bool signals_concern(const struct signalfd_siginfo *info, pid_t command)
{
	pid_t pid = (pid_t)info->ssi_pid;

	if (info->ssi_code > 0) /* SI_KERNEL and everything else that the kernel itself raises */
		return false;
	if (pid == getpid())
		return false;
	/* 0: the sender's pid namespace is not visible here. The bound ends a walk whose chain changes meanwhile. */
	for (unsigned depth = 0; pid > 1 && depth < 4096; depth++) {
		if (pid == command)
			return false;
		pid = parent_of(pid);
	}
	return true;
}

int signals_forward(const struct signalfd_siginfo *info, pid_t command)
{
	int number = (int)info->ssi_signo;

	if (info->ssi_code == SI_QUEUE) {
		union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

		return sigqueue(command, number, value) < 0 ? -errno : 0;
	}
	return kill(command, number) < 0 ? -errno : 0;
}

void signals_stop(void)
{
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, &before);
	/* Not SIGSTOP: an orphaned process group must not stop, and the kernel knows whether ours is one. */
	raise(SIGTSTP);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
