/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_socket.h - creates, protects and removes the control socket's file, and checks which users may
 * connect.
 */
#ifndef SKEP_CORE_CONTROL_SOCKET_H
#define SKEP_CORE_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_GROUP "skep"
#define CONTROL_FOR_MEMBERS \
	"only root, the user that skepd runs as, and members of group " CONTROL_GROUP " may; " \
	"sudo usermod -aG " CONTROL_GROUP " NAME, and log in again"

struct control_file {
	char *path;        /* NULL: no file */
	uint64_t dev, ino; /* of the file that skepd created */
	int64_t group;     /* id of the group skep, whose members may connect; -1: there is no such group */
};

/*
 * Listens on a socket at path: mode 0660, of group skep if the group exists; mode 0666 for all users.  Replaces the
 * stale file of a previous skepd.  0, and the caller closes *ret_fd; -EADDRINUSE: another skepd listens there; -errno.
 * On failure the reason and the remedy are in why.
 */
int control_file_open(const char *path, bool all, struct control_file *ret, int *ret_fd, char *why,
		      size_t why_size);
/* Removes the file only if this skepd created it: a successor keeps its own file. */
void control_file_close(struct control_file *);

struct control_peer {
	uint32_t uid, gid;
	int32_t pid;
	bool member; /* root, skepd's user, or in group skep, also by a supplementary group */
};
/* Reads the client's user by SO_PEERCRED, and its groups.  0, or -errno of getsockopt. */
int control_peer_check(int fd, const struct control_file *, struct control_peer *ret);
/* Is the client in skepd's namespace of this kind, "pid" or "cgroup"? true as well if skepd may not look. */
bool control_peer_shares(const struct control_peer *, const char *kind);

#endif
