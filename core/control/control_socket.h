/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_socket.h - the control socket's file: made, guarded, removed; and who may
 * talk through it.
 */
#ifndef SKEP_CORE_CONTROL_SOCKET_H
#define SKEP_CORE_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_GROUP "skep"

struct control_file {
	char *path;        /* NULL: there is none */
	uint64_t dev, ino; /* of the file that we made */
	int64_t group;     /* of those who may connect; -1: there is no such group */
};

/*
 * A listening socket at path, mode 0660, of group skep where there is one.  The file of a
 * daemon that is gone is replaced.  0; -EADDRINUSE: a live one listens there; -errno;
 * on failure with the reason and the remedy in why.
 */
int control_file_open(const char *path, struct control_file *ret, int *ret_fd, char *why, size_t why_size);
/* The file is removed if it is still ours: a daemon that took our place keeps its own. */
void control_file_close(struct control_file *);

struct control_peer {
	uint32_t uid, gid;
	int32_t pid;
};
/*
 * Who is at the other end, by SO_PEERCRED; may it ask?  root, our own user, members of
 * group skep (also by supplementary group).  0; -EACCES; or -errno if the kernel does not say.
 */
int control_peer_check(int fd, const struct control_file *, struct control_peer *ret);

#endif
