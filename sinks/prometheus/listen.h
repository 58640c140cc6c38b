/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/listen.h - a listening socket from "ADDRESS:PORT".
 */
#ifndef SKEP_SINKS_PROMETHEUS_LISTEN_H
#define SKEP_SINKS_PROMETHEUS_LISTEN_H

#include <skep/plugin.h>

/* The socket, or what host->fail() returned. ret_name (room bytes): where it listens really, for a port 0. */
int listen_open(struct skep_instance *, const struct skep_host *, const char *where, char *ret_name, size_t room);
/* Is it an address that only this machine reaches? */
bool listen_is_local(const char *name);

#endif
