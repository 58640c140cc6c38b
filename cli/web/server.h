/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/server.h - serves the pages and the answers by HTTP, with libmicrohttpd.
 *
 * One thread accepts connections and ends old ones; libmicrohttpd has a thread for each connection.
 */
#ifndef SKEP_CLI_WEB_SERVER_H
#define SKEP_CLI_WEB_SERVER_H

#include <stddef.h>

#define SERVER_CONNECTIONS 32    /* the server closes further ones */
#define SERVER_REQUEST_MAX 16384 /* bytes of a request's head */
#define SERVER_IDLE_S      10    /* a connection ends after this time without a byte */
#define SERVER_TOTAL_S     150   /* and after this time in all; with the token, after this time without a byte */

struct server_options {
	int fd;                   /* listens */
	int reader;               /* a pipe or socket: the server ends when its peer has closed it; -1: none */
	const char *token;        /* REQUEST_TOKEN digits */
	const char *folder;       /* of the pages, REQUEST_TOKEN digits: the path of the cookie */
	const char *const *names; /* of this machine, in the header Host; NULL-terminated */
	const char *lake;         /* for --lake of the commands; NULL: none */
	const char *lake_folder;  /* of the lake that the commands read; NULL: none, or not known */
	const char *certificate, *key; /* PEM texts; NULL: no TLS */
};

/* Serves until `until` (a file descriptor) is readable, or the reader has left. 0; -errno with the reason in why. */
int server_run(const struct server_options *, int until, char *why, size_t room);

#endif
