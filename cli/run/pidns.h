/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/pidns.h - the pid by which the kernel reports CMD, where skep runs in a pid namespace of its own: a
 * container.
 */
#ifndef SKEP_CLI_PIDNS_H
#define SKEP_CLI_PIDNS_H

#include <stdint.h>

/*
 * Makes what pidns_self() needs: a descriptor with close-on-exec.  *ret: -1 in the initial pid namespace, where our
 * pids are the kernel's.  0 or -errno.
 */
int pidns_open(int *ret);
/* *ret: the caller's pid in the initial pid namespace.  0 or -errno.  Async-signal-safe. */
int pidns_self(int fd, uint32_t *ret);

#endif
