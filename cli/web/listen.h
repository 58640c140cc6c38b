/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/listen.h - a socket that listens on "ADDRESS:PORT", numbers only.
 */
#ifndef SKEP_CLI_WEB_LISTEN_H
#define SKEP_CLI_WEB_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

struct listen_address {
	bool local;    /* only this machine reaches it */
	unsigned port;
	char name[64]; /* "127.0.0.1:8080" */
};

/* Returns the socket, or -errno with the reason in why; -EINVAL: not understood. Port 0: a free one. */
int listen_on(const char *where, struct listen_address *ret, char *why, size_t room);

#endif
