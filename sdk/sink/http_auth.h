/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/http_auth.h - what a request proves who we are with, and the other headers that
 * are configured, once their files and environment variables have been read.
 */
#ifndef SKEP_SINK_HTTP_AUTH_H
#define SKEP_SINK_HTTP_AUTH_H

#include <skep/sink/http_options.h>

struct http_auth {
	size_t n;
	char **headers; /* "Name: value", Authorization with the token among them */
	char *username, *password; /* NULL: no basic authentication */
	size_t n_secrets;
	char **secrets; /* secrets that a receiver may quote, in the forms that the sink sends; the longest first */
};

/*
 * Reads all that the options name. Any thread. 0, or a negative errno with the reason, which has no
 * secret in it, in `why`. skep_http_auth_free() it.
 */
int skep_http_auth_load(const struct http_options *, struct http_auth **ret, char *why, size_t room);
/* Overwrites the secrets and frees them; NULL is fine; returns NULL. */
struct http_auth *skep_http_auth_free(struct http_auth *);
/* Overwrites each secret in a receiver's text by as many '*'. NULL is fine. */
void skep_http_auth_blank(const struct http_auth *, char *text, size_t len);
bool skep_http_auth_equal(const struct http_auth *, const struct http_auth *);
/* Is a header of that name ("Name" or "Name: value") among them? */
bool skep_http_auth_has(const struct http_auth *, const char *name);

#endif
