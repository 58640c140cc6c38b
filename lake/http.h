/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/http.h - HTTP requests to a ClickHouse server, by libcurl.  skep loads libcurl only for these requests: no other
 * command should wait for its twenty libraries, or need them.
 */
#ifndef SKEP_LAKE_HTTP_H
#define SKEP_LAKE_HTTP_H

#include <stddef.h>

struct lake_http {
	const char *url;
	const char *user, *password; /* NULL: none */
	const char *ca_file;         /* NULL: the system's */
	unsigned timeout_s;          /* without a byte from the server; 0: 60 */
	void *library, *connections; /* private */
};

/* The first line of a file, without blanks at its end; the caller frees it. 0, or a negative errno, why filled in. */
int lake_http_password(const char *file, char **ret, char *why, size_t room);
/* 0 or a negative errno, why filled in. */
int lake_http_open(struct lake_http *, char *why, size_t room);
void lake_http_close(struct lake_http *);
/*
 * POSTs a text to url (with database as its parameter, unless that is NULL).  0: the answer is *ret, which the caller
 * frees; a negative errno, with the server's error text in why.
 */
int lake_http_post(struct lake_http *, const char *database, const char *text, char **ret, char *why, size_t room);

/*
 * The same for a question that wants FORMAT TabSeparated, and the caller reads the answer in pieces.
 * wait_end_of_query lets the server send nothing before the query has ended, so that a query that fails has no answer.
 * The text must live until lake_http_end.
 */
struct lake_http_reply;
int lake_http_begin(struct lake_http *, const char *database, const char *text, struct lake_http_reply **ret,
		    char *why, size_t room);
/*
 * Waits for the next bytes, which are valid until the next call.  1; 0: the answer has ended and is whole.  -EPROTO:
 * the server answers with an error, perhaps behind rows and a 200, or another program answers; -ETIMEDOUT; -EPIPE: the
 * answer broke off; -ECONNREFUSED: no connection; else -errno.
 */
int lake_http_read(struct lake_http_reply *, const char **ret, size_t *ret_n, char *why, size_t room);
struct lake_http_reply *lake_http_end(struct lake_http_reply *); /* NULL is fine; returns NULL */
/* text: the end of an answer. Returns the exception that it ends with, else NULL. */
const char *lake_http_exception(const char *text);

#endif
