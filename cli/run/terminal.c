/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/terminal.c - the terminal's owner.
 *
 * A shell makes a process group for each job and gives it the terminal.  Without skep, CMD leads that group, and its
 * setpgid(0, 0) changes nothing.  With skep, skep leads the group: the same call moves CMD into a group of its own, in
 * the background of the terminal.  Ctrl-C then misses CMD, and the terminal stops a child of CMD that reads from it.
 * timeout(1) makes this call as its first act.
 *
 * Two designs can mend that.  skep could always start CMD in a new group with the terminal, as a shell does.  But then
 * `skep run -- a | less` takes the terminal from less, the Ctrl-C that ends a script reaches CMD alone, and kill -9 of
 * the job leaves CMD alive.  Hence the other design: CMD starts in skep's group, where the shell and the terminal reach
 * it as without skep.  skep acts only when CMD leaves that group to lead its own, and only where the call would have
 * changed nothing without skep: skep leads its group.  In a script skep does not lead, and CMD loses the terminal
 * there with skep as without it.
 *
 * The kernel does not report that CMD has left, so skep looks: soon after CMD's start, then less and less often.  A
 * process that has read from the terminal meanwhile was stopped, hence the SIGCONT.
 */
#include "cli/run/terminal.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <skep/procfile.h>
#include <stdlib.h>
#include <unistd.h>

void terminal_open(struct terminal *ret, pid_t ours)
{
	ret->ours = ours;
	ret->group = getpgrp();
	ret->leads = ret->group == getpid();
	ret->fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

void terminal_close(struct terminal *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

bool terminal_may_follow(const struct terminal *t)
{
	return t->fd >= 0 && t->leads;
}

bool terminal_is_of(const struct terminal *t, pid_t group)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) == group;
}

/* From the background this call raises SIGTTOU, which would stop skep. */
static bool give(const struct terminal *t, pid_t group)
{
	sigset_t ttou, before;
	bool given;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ttou, &before);
	given = tcsetpgrp(t->fd, group) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return given;
}

/* Is there another process in skep's group, such as the pager of `skep run -- timeout 9 a | less`? */
static bool shared(const struct terminal *t)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool found = false;
	pid_t pid;

	if (!processes)
		return true;
	while (!found && (entry = readdir(processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		found = pid != getpid() && pid != t->ours && getpgid(pid) == t->group;
	}
	closedir(processes);
	return found;
}

bool terminal_follow(const struct terminal *t, pid_t command)
{
	if (!terminal_may_follow(t) || getpgid(command) != command || !terminal_is_of(t, t->group) || shared(t))
		return false;
	if (!give(t, command))
		return false;
	(void)kill(-command, SIGCONT); /* some have perhaps asked for the terminal too early */
	return true;
}

void terminal_take_back(const struct terminal *t, pid_t command)
{
	if (terminal_may_follow(t) && terminal_is_of(t, command))
		(void)give(t, t->group);
}
