/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/child.c - the first steps of a forked process.
 */
#include "core/base/child.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <skep/procfile.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES_FROM 10 /* above the standard files, and above where the caller's files may be */
#define FILES_MOST 1024u /* the program forks at its start, when few files are open */

void child_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

void child_signals(bool ends_by_term)
{
	static const int quiet[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGPIPE };
	sigset_t none;

	/*
	 * A new process group: Ctrl-Z stops the program's whole group, and a SIGCONT to the program alone would leave
	 * this process stopped.
	 */
	setpgid(0, 0);
	/* A service manager sends SIGTERM to every process of the unit; only the program may end this process. */
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		signal(quiet[i], ends_by_term && quiet[i] == SIGTERM ? SIG_DFL : SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A sandbox may refuse close_range(), which Linux has had since 5.9: 1,000 calls of close() then. */
static void close_range_of(unsigned from, unsigned end)
{
	if (from >= end || syscall(SYS_close_range, from, end - 1, 0) == 0)
		return;
	for (unsigned fd = from; fd < end && fd < FILES_MOST; fd++)
		close((int)fd);
}

static void close_all_but(const int *files, size_t n)
{
	unsigned from = STDERR_FILENO + 1;

	for (;;) {
		unsigned next = UINT_MAX; /* the next file to keep */

		for (size_t i = 0; i < n; i++)
			if ((unsigned)files[i] >= from && (unsigned)files[i] < next)
				next = (unsigned)files[i];
		close_range_of(from, next);
		if (next == UINT_MAX)
			return;
		from = next + 1;
	}
}

void child_keep_files(int *files, size_t n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		_exit(1);
	for (size_t i = 0; i < n; i++) {
		files[i] = fcntl(files[i], F_DUPFD_CLOEXEC, FILES_FROM);
		if (files[i] < 0)
			_exit(1);
	}
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close_all_but(files, n);
}

/* The kernel reports where the arguments lie (fields 48 and 49 of stat). */
void child_set_title(const char *program, const char *role)
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
