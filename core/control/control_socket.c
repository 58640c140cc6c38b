/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_socket.c - the socket's file and its peers.
 *
 * Two daemons that start at the same time must not both replace the stale file of a third daemon.  So skepd locks the
 * folder from the check of the file until it listens.  flock(2) on the folder itself leaves no lock file behind.
 */
#include "core/control/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 64
#define GROUP_MOST (4u << 20)
#define LOCK_TRIES 50
#define LOCK_WAIT_NS 20000000

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13; C libraries before 2.27 do not name it */
#endif

/* -1: there is no such group. Only at start: the lookup may wait for a directory server. */
static int64_t group_id(void)
{
	struct group group, *found = NULL;
	int64_t id = -1;
	int err = ERANGE;

	/* the entry's size depends on its list of members */
	for (size_t size = 4096; err == ERANGE && size <= GROUP_MOST; size *= 4) {
		char *buf = malloc(size);

		err = buf ? getgrnam_r(CONTROL_GROUP, &group, buf, size, &found) : ENOMEM;
		if (err == 0 && found)
			id = (int64_t)group.gr_gid;
		free(buf);
	}
	return id;
}

/* Opens the folder of path, and creates a missing one (/run is empty after a boot). Returns its fd or -errno. */
static int folder_open(const char *path, int64_t group, char *why, size_t why_size)
{
	char *copy = strdup(path);
	int fd = -ENOMEM;

	if (!copy) {
		snprintf(why, why_size, "out of memory");
		return fd;
	}
	/* Every user may reach the sockets: each has the mode that says which users may connect. */
	if (mkdir(dirname(copy), 0750) == 0 &&
	    ((group >= 0 && chown(copy, (uid_t)-1, (gid_t)group) < 0) || chmod(copy, 0755) < 0))
		fd = -errno;
	else if ((fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		fd = -errno;
	if (fd < 0)
		snprintf(why, why_size, "the folder %s: %s; create it, or set control.socket to another path", copy,
			 strerror(-fd));
	free(copy);
	return fd;
}

/* Waits at most 1 s: any process that can read the folder could hold the lock and keep skepd from starting. */
static void folder_lock(int fd)
{
	const struct timespec wait = { 0, LOCK_WAIT_NS };

	for (int i = 0; i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
		nanosleep(&wait, NULL);
}

static int address(const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, len + 1);
	return 0;
}

/* Does a process listen there? Removes the file if none does. */
static int make_room(const struct sockaddr_un *at, char *why, size_t why_size)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(at->sun_path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		err = -errno;
		snprintf(why, why_size, "%s: %s", at->sun_path, strerror(-err));
		return err;
	}
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(
			why, why_size,
			"%s exists and is not a socket; remove it, or set control.socket to another path",
			at->sun_path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		err = -errno;
		snprintf(why, why_size, "cannot create a socket: %s", strerror(-err));
		return err;
	}
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno == EAGAIN || errno == EINPROGRESS)
		err = -EADDRINUSE; /* EAGAIN: the daemon listens, but its backlog is full */
	else if (errno != ECONNREFUSED && errno != ENOENT)
		err = -errno;
	close(fd);
	if (err == -EADDRINUSE)
		snprintf(why, why_size,
			 "another skepd listens at %s; stop it, or set control.socket to another path",
			 at->sun_path);
	else if (err < 0)
		snprintf(why, why_size, "cannot tell whether another skepd listens at %s: %s", at->sun_path,
			 strerror(-err));
	else if (unlink(at->sun_path) < 0 && errno != ENOENT) {
		err = -errno;
		snprintf(why, why_size, "cannot remove the stale socket %s of a previous skepd: %s", at->sun_path,
			 strerror(-err));
	}
	return err;
}

static int bind_listen(const struct sockaddr_un *at, mode_t mode, struct control_file *file, int *ret_fd)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	mode_t mask;
	int err;

	if (fd < 0)
		return -errno;
	mask = umask(0177); /* no other user connects before the chown and chmod below; skepd has no other thread yet */
	err = bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ? -errno : 0;
	umask(mask);
	if (err < 0) {
		close(fd);
		return err;
	}
	if ((file->group >= 0 && lchown(at->sun_path, (uid_t)-1, (gid_t)file->group) < 0 && errno != EPERM) ||
	    chmod(at->sun_path, mode) < 0 || listen(fd, BACKLOG) < 0 || lstat(at->sun_path, &st) < 0) {
		err = -errno;
		close(fd);
		unlink(at->sun_path);
		return err;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	*ret_fd = fd;
	return 0;
}

int control_file_open(const char *path, bool all, struct control_file *ret, int *ret_fd, char *why,
		      size_t why_size)
{
	struct control_file file = { .path = strdup(path), .group = all ? -1 : group_id() };
	struct sockaddr_un at;
	int folder = -1, err = file.path ? address(path, &at) : -ENOMEM;

	if (err < 0) {
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		goto out;
	}
	folder = folder_open(path, file.group, why, why_size);
	err = folder < 0 ? folder : 0;
	if (err < 0)
		goto out;
	folder_lock(folder);
	err = make_room(&at, why, why_size);
	if (err < 0)
		goto out;
	err = bind_listen(&at, all ? 0666 : 0660, &file, ret_fd);
	if (err < 0)
		snprintf(why, why_size, "cannot listen at %s: %s", path, strerror(-err));
out:
	if (folder >= 0)
		close(folder);
	if (err < 0)
		free(file.path);
	else
		*ret = file;
	return err;
}

void control_file_close(struct control_file *file)
{
	struct stat st;

	if (file->path && lstat(file->path, &st) == 0 && st.st_dev == file->dev && st.st_ino == file->ino)
		unlink(file->path);
	free(file->path);
	file->path = NULL;
}

/* Checks supplementary groups too: SO_PEERCRED has only the primary group. */
static bool in_group(int fd, uint32_t gid, int64_t group)
{
	gid_t none, *groups = NULL;
	socklen_t size = 0;
	bool found = false;

	if (group < 0)
		return false;
	if (gid == (uint32_t)group)
		return true;
	/* ERANGE returns the size; ENOPROTOOPT before 4.13, where only the primary group counts */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &none, &size) < 0 && errno == ERANGE && size > 0)
		groups = malloc(size);
	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0)
		for (size_t i = 0; i < size / sizeof(*groups); i++)
			found |= groups[i] == (gid_t)group;
	free(groups);
	return found;
}

int control_peer_check(int fd, const struct control_file *file, struct control_peer *ret)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	*ret = (struct control_peer){ .uid = cred.uid, .gid = cred.gid, .pid = cred.pid };
	ret->member = cred.uid == 0 || cred.uid == geteuid() || in_group(fd, cred.gid, file->group);
	return 0;
}

bool control_peer_shares(const struct control_peer *peer, const char *kind)
{
	char path[64], ours[64], theirs[64];
	ssize_t n, m;

	if (peer->pid == 0) /* SO_PEERCRED of a process that skepd's pid namespace does not have */
		return strcmp(kind, "pid") != 0;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	n = readlink(path, ours, sizeof(ours));
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)peer->pid, kind);
	m = readlink(path, theirs, sizeof(theirs));
	return n < 0 || m < 0 || (n == m && memcmp(ours, theirs, (size_t)n) == 0);
}
