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

struct control_file {
	char *path;        /* NULL: no file */
	uint64_t dev, ino; /* of the file that skepd created */
	int64_t group;     /* id of the group skep, whose members may connect; -1: there is no such group */
};

/*
 * Listens on a socket at path, mode 0660, of group skep if the group exists.  Replaces the stale file of a previous
 * skepd.  0, and the caller closes *ret_fd; -EADDRINUSE: another skepd listens there; -errno.  On failure the reason
 * and the remedy are in why.
 */
int control_file_open(const char *path, struct control_file *ret, int *ret_fd, char *why, size_t why_size);
/* Removes the file if it is still the one that this skepd created: a successor keeps its own file. */
void control_file_close(struct control_file *);

struct control_peer {
	uint32_t uid, gid;
	int32_t pid;
};
/*
 * Reads the client's user by SO_PEERCRED and checks that it may connect: root, skepd's user, and members of group skep
 * (also by supplementary group).  0; -EACCES; or -errno of getsockopt.
 */
int control_peer_check(int fd, const struct control_file *, struct control_peer *ret);

#endif
