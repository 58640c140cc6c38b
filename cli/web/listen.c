/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/listen.c - see cli/web/listen.h.
 */
#include "cli/web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int parse(const char *where, union address *ret, socklen_t *ret_len)
{
	const char *colon = strrchr(where, ':');
	char text[INET6_ADDRSTRLEN];
	unsigned long port;
	size_t n;

	if (!colon || !colon[1] || strlen(colon + 1) > 5 || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return -EINVAL;
	port = strtoul(colon + 1, NULL, 10);
	n = (size_t)(colon - where);
	if (port > 65535 || n < 2)
		return -EINVAL;
	*ret = (union address){ 0 };
	if (where[0] == '[' && where[n - 1] == ']' && n - 2 < sizeof(text)) {
		snprintf(text, sizeof(text), "%.*s", (int)n - 2, where + 1);
		ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
		*ret_len = sizeof(ret->v6);
		return inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	if (n >= sizeof(text))
		return -EINVAL;
	snprintf(text, sizeof(text), "%.*s", (int)n, where);
	ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	*ret_len = sizeof(ret->v4);
	return inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

static void describe(int fd, struct listen_address *ret)
{
	char text[INET6_ADDRSTRLEN] = "?";
	union address a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) == 0 && a.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof(text));
		ret->local = IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
		ret->port = ntohs(a.v6.sin6_port);
		snprintf(ret->name, sizeof(ret->name), "[%s]:%u", text, ret->port);
	} else {
		inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof(text));
		ret->local = ntohl(a.v4.sin_addr.s_addr) >> 24 == 127;
		ret->port = ntohs(a.v4.sin_port);
		snprintf(ret->name, sizeof(ret->name), "%s:%u", text, ret->port);
	}
}

int listen_on(const char *where, struct listen_address *ret, char *why, size_t room)
{
	union address a;
	socklen_t len = 0;
	int fd, on = 1, err = parse(where, &a, &len);

	if (err) {
		snprintf(why, room, "'%s' is no address and port; expected for example 127.0.0.1:8080 or [::1]:8080", where);
		return err;
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, &a.any, len) == 0 && listen(fd, 64) == 0) {
			describe(fd, ret);
			return fd;
		}
	}
	err = -errno;
	snprintf(why, room, "cannot listen on %s: %s%s", where, strerror(-err),
		 err == -EADDRINUSE ? "; another program does: choose another port" : "");
	if (fd >= 0)
		close(fd);
	return err;
}
