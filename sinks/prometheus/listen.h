/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/listen.h - opens a listening socket for "ADDRESS:PORT".
 */
#ifndef SKEP_SINKS_PROMETHEUS_LISTEN_H
#define SKEP_SINKS_PROMETHEUS_LISTEN_H

#include <skep/plugin.h>

/* Opens nothing. 0, or the result of host->fail() for a text that is no address and port. Any thread. */
int listen_check(struct skep_instance *, const struct skep_host *, const char *where);
/* Returns the socket, or the result of host->fail(). ret_name (room bytes): its real address, also for port 0. */
int listen_open(struct skep_instance *, const struct skep_host *, const char *where, char *ret_name, size_t room);
/* True when only this machine can reach the address. */
bool listen_is_local(const char *name);

#endif
