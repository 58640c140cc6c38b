/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake_http.h - HTTP requests for `skep lake`, by libcurl.  skep loads libcurl only for these requests: no other
 * command should wait for its twenty libraries, or need them.
 */
#ifndef SKEP_CLI_LAKE_HTTP_H
#define SKEP_CLI_LAKE_HTTP_H

#include <stddef.h>

struct lake_http {
	const char *url;
	const char *user, *password; /* NULL: none */
	const char *ca_file;         /* NULL: the system's */
	void *library;               /* private */
};

/* 0 or a negative errno, why filled in. */
int lake_http_open(struct lake_http *, char *why, size_t room);
void lake_http_close(struct lake_http *);
/*
 * POSTs a text to url (with database as its parameter, unless that is NULL).  0: the answer is *ret, which the caller
 * frees; a negative errno, with the server's error text in why.
 */
int lake_http_post(struct lake_http *, const char *database, const char *text, char **ret, char *why, size_t room);

#endif
