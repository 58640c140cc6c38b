/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a listening socket for "ADDRESS:PORT".  It resolves no host names: a look-up may take long, and a name may have
 * several addresses.
 */
#include "sinks/prometheus/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int parse(const char *where, struct addrinfo **ret)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(where, ':'), *port;
	char *address;
	size_t n;
	int rc;

	if (!colon || colon == where || strspn(colon + 1, "0123456789") != strlen(colon + 1) || !colon[1] ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return -EINVAL;
	port = colon + 1;
	n = (size_t)(colon - where);
	if (where[0] == '[' && where[n - 1] == ']') {
		where++;
		n -= 2;
	} else if (memchr(where, ':', n)) {
		return -EINVAL; /* an IPv6 address without brackets: where the port begins is ambiguous */
	}
	address = strndup(where, n);
	if (!address)
		return -ENOMEM;
	rc = getaddrinfo(address, port, &hints, ret);
	free(address);
	return rc == 0 ? 0 : rc == EAI_MEMORY ? -ENOMEM : -EINVAL;
}

static void name_of(int fd, char *ret, size_t room)
{
	char address[INET6_ADDRSTRLEN] = "?";
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { 0 };
	socklen_t n = sizeof(a);

	if (getsockname(fd, &a.any, &n) == 0 && a.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a.v6.sin6_addr, address, sizeof(address));
		snprintf(ret, room, "[%s]:%u", address, ntohs(a.v6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a.v4.sin_addr, address, sizeof(address));
		snprintf(ret, room, "%s:%u", address, ntohs(a.v4.sin_port));
	}
}

bool listen_is_local(const char *name)
{
	return strncmp(name, "127.", 4) == 0 || strncmp(name, "[::1]:", 6) == 0;
}

static int parse_or_fail(struct skep_instance *i, const struct skep_host *host, const char *where,
			 struct addrinfo **ret)
{
	int err = parse(where, ret);

	if (err)
		host->fail(i, err,
			   "listen \"%s\": %s; "
			   "expected an address and a port, for example \"127.0.0.1:9477\" or \"[::1]:9477\"",
			   where, err == -ENOMEM ? "out of memory" : "not understood");
	return err;
}

int listen_check(struct skep_instance *i, const struct skep_host *host, const char *where)
{
	struct addrinfo *a = NULL;
	int err = parse_or_fail(i, host, where, &a);

	if (!err)
		freeaddrinfo(a);
	return err;
}

int listen_open(struct skep_instance *i, const struct skep_host *host, const char *where, char *ret_name, size_t room)
{
	struct addrinfo *a = NULL;
	int fd, on = 1, err = parse_or_fail(i, host, where, &a);

	if (err)
		return err;
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		err = host->fail(i, -errno, "listen \"%s\": no socket: %s", where, strerror(errno));
		goto out;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* connections of the previous skepd may linger */
	if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 64) != 0) {
		err = errno;
		err = host->fail(i, -err, "listen \"%s\": %s%s", where, strerror(err),
				 err == EADDRINUSE ? "; another program listens there: choose another port" : "");
		close(fd);
		goto out;
	}
	name_of(fd, ret_name, room);
	err = fd;
out:
	freeaddrinfo(a);
	return err;
}
