/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/request.h - which requests skep web answers, and by which command of skep.  Only texts in and out: no I/O.
 */
#ifndef SKEP_CLI_WEB_REQUEST_H
#define SKEP_CLI_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define REQUEST_WORDS 24  /* of a command line */
#define REQUEST_TEXT  256 /* bytes of a value, its NUL included: more is refused */
#define REQUEST_TOKEN 32  /* hexadecimal digits of a token, and of the folder of the pages */

/* A value of the query, decoded. */
struct request_value {
	const char *key, *value;
};

/* A command line of skep, without the program: {"show", "--json", "--columns", "--", ID, NULL}. */
struct request_command {
	const char *argv[REQUEST_WORDS];
	char text[REQUEST_WORDS][REQUEST_TEXT]; /* what argv points into */
	size_t n;
	int status_of_failure; /* of HTTP, when the command exits with 1 */
	bool of_skepd;         /* skepd answers, not the lake */
};

/*
 * path: decoded, "/api/run/ID".  lake: of --lake, NULL: none.  0; -ENOENT: no such answer; -EINVAL: a value is not
 * understood, with the reason in why.
 */
int request_route(const char *path, const struct request_value *, size_t n, const char *lake,
		  struct request_command *ret, char *why, size_t room);

/*
 * Is this Host an address of numbers, "localhost", or one of these names (NULL-terminated)?  A page of a foreign site
 * whose name resolves to this machine (DNS rebinding) sends the foreign name.  host: NULL: no such header.
 */
bool request_host(const char *host, const char *const *names);
/*
 * Does the request come from our own page, or from no page?  Each may be NULL: the browser sent no such header.
 * page: a request for the page itself, to which other sites may have a link.
 */
bool request_origin(const char *origin, const char *fetch_site, const char *host, bool tls, bool page);
/*
 * "/api/runs" of "/FOLDER/api/runs", a part of path; NULL: path is not below this folder.  folder: REQUEST_TOKEN digits.
 * Compares in constant time: a server that knew the folder could lead a browser to its own folder of that name, and
 * would receive the cookie.
 */
const char *request_below(const char *path, const char *folder);
/* Compares in constant time. token: REQUEST_TOKEN digits. given: NULL: none. */
bool request_token_equal(const char *given, const char *token);
/* Is the token in this Cookie header under this name, or in this Authorization header ("Bearer TOKEN")? */
bool request_token(const char *cookie, const char *name, const char *authorization, const char *token);

#endif
