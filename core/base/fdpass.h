/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/fdpass.h - sends file descriptors with a message over a Unix socket (SCM_RIGHTS).
 */
#ifndef SKEP_CORE_FDPASS_H
#define SKEP_CORE_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

#define FDPASS_MOST 2 /* descriptors of one message */

/* Sends the message and a copy of each descriptor, without waiting.  size: at least 1.  0 or -errno. */
int fdpass_send(int to, const void *data, size_t size, const int *fds, size_t n);
/*
 * Receives a message and its n descriptors, which the caller closes, without waiting.  Returns the message's size; 0 at
 * the end of the connection; -EBADMSG for a message with another number of descriptors; -errno.
 */
ssize_t fdpass_receive(int from, void *ret_data, size_t size, int *ret_fds, size_t n);

#endif
