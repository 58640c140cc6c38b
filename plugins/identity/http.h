/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/http.h - as much of HTTP/1.1 as a metadata service speaks.
 *
 * One request, one connection, one answer, all of it within a time and a size.  Anything else
 * than a well-formed answer is an error; redirects are answers like others and not followed.
 */
#ifndef SKEP_IDENTITY_HTTP_H
#define SKEP_IDENTITY_HTTP_H

#include <netinet/in.h>

#include "sdk/probe/text.h"

#define HTTP_MOST 16384u /* head and body */

struct http_reply {
	unsigned status;
	struct text body;
	bool google; /* "Metadata-Flavor: Google" */
};

/*
 * An answer in data[0..n), which decoding a chunked body changes; closed: there is no more.
 * 0; -EAGAIN: go on reading; -EBADMSG: not HTTP, or cut off.
 */
int http_parse(char *data, size_t n, bool closed, struct http_reply *ret);

/* "169.254.169.254:80"; the port may be left out. */
int http_endpoint(const char *text, struct sockaddr_in *ret);

struct http_request {
	struct sockaddr_in to;
	const char *host; /* for the header of that name */
	const char *method, *path;
	const char *header; /* "Name: value", NULL: none more */
	uint64_t within_ns; /* all of it */
};
/* Blocks. The reply lies in data. 0, or a negative errno: -ETIMEDOUT, -EFBIG, -EBADMSG, what connect says. */
int http_ask(const struct http_request *, char data[HTTP_MOST], struct http_reply *ret);

#endif
