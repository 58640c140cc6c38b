/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/http.h - one HTTP/1.1 request to a metadata service.
 *
 * One connection carries one request and its answer, within a deadline and HTTP_MOST bytes.  A malformed answer is an
 * error. A redirect is an answer like others: the client does not follow it.
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
 * Parses the answer in data[0..n), and decodes a chunked body in place.  closed: the server has closed the connection.
 * 0; -EAGAIN: the answer is incomplete; -EBADMSG: it is not HTTP, or cut off.
 */
int http_parse(char *data, size_t n, bool closed, struct http_reply *ret);

/* "169.254.169.254:80"; without a port: 80. -EINVAL: malformed. */
int http_endpoint(const char *text, struct sockaddr_in *ret);

struct http_request {
	struct sockaddr_in to;
	const char *host; /* value of the header Host */
	const char *method, *path;
	const char *header; /* "Name: value", NULL: no further header */
	uint64_t within_ns; /* deadline of the whole request */
};
/* Blocks. ret points into data. 0, or a negative errno: -ETIMEDOUT, -EFBIG, -EBADMSG, errors of connect(). */
int http_ask(const struct http_request *, char data[HTTP_MOST], struct http_reply *ret);

#endif
