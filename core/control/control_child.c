/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_child.c - is a process a child of the client that names it?
 *
 * The kernel may reuse a pid between two reads of /proc.  This file opens the pidfd first and polls it last: as long as
 * its process has not ended, no other process had this pid in between.
 */
#include <errno.h>
#include <poll.h>
#include <skep/procfile.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/control/control_priv.h"

/* Reads the process's parent and start time: fields 4 and 22. */
static int read_stat(uint32_t pid, unsigned *ret_parent, unsigned long long *ret_ticks)
{
	char room[SKEP_PROCFILE_STAT];
	const char *at = skep_procfile_stat(pid, 4, room);

	if (!at)
		return -ESRCH;
	return sscanf(at, "%u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", ret_parent,
		      ret_ticks) == 2 ? 0 : -EBADMSG;
}

static int read_uid(uint32_t pid, unsigned *ret_uid)
{
	char text[4096];
	ssize_t n = skep_procfile_read(pid, "status", text, sizeof(text) - 1);
	const char *at;

	if (n < 0)
		return (int)n;
	text[n] = '\0';
	at = strstr(text, "\nUid:");
	return at && sscanf(at, "\nUid: %*u %u", ret_uid) == 1 ? 0 : -EBADMSG;
}

bool control_child_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

int control_child_open(const struct control_peer *peer, uint32_t pid, struct control_child *ret,
		       char why[CONTROL_WHY_SIZE])
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0), err = fd < 0 ? -errno : 0;
	unsigned parent = 0, uid = 0;
	unsigned long long ticks = 0;

	if (err == 0)
		err = read_stat(pid, &parent, &ticks);
	if (err == 0)
		err = read_uid(pid, &uid);
	if (err == 0 && control_child_ended(fd))
		err = -ESRCH;
	if (err < 0) {
		snprintf(why, CONTROL_WHY_SIZE, "cannot look at process %u: %s", pid, strerror(-err));
	} else if (parent != (unsigned)peer->pid || uid != peer->uid) {
		snprintf(
			why, CONTROL_WHY_SIZE,
			"process %u is not a child of process %d that runs as uid %u: "
			"a run begins with a child of the client",
			pid, peer->pid, peer->uid);
		err = -EACCES;
	}
	if (err < 0) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	*ret = (struct control_child){ .pidfd = fd, .ticks = ticks };
	return 0;
}
