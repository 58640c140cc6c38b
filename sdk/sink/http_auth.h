/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/http_auth.h - the credentials of requests and their other configured headers, read from files and
 * environment variables.
 */
#ifndef SKEP_SINK_HTTP_AUTH_H
#define SKEP_SINK_HTTP_AUTH_H

#include <skep/sink/http_options.h>

struct http_auth {
	size_t n;
	char **headers; /* "Name: value", including Authorization with the token */
	char *username, *password; /* NULL: no basic authentication */
	size_t n_secrets;
	char **secrets; /* secrets that a receiver may quote, in the forms that the sink sends; the longest first */
};

/*
 * Reads all secrets that the options name, on any thread.  Returns 0, or a negative errno with a reason in `why` that
 * contains no secret.  The caller frees *ret with skep_http_auth_free().
 */
int skep_http_auth_load(const struct http_options *, struct http_auth **ret, char *why, size_t room);
/* Overwrites and frees the secrets; accepts NULL; returns NULL. */
struct http_auth *skep_http_auth_free(struct http_auth *);
/* Overwrites each secret in a receiver's text by as many '*'; accepts NULL. */
void skep_http_auth_blank(const struct http_auth *, char *text, size_t len);
bool skep_http_auth_equal(const struct http_auth *, const struct http_auth *);
/* True when the headers include one of that name ("Name" or "Name: value"). */
bool skep_http_auth_has(const struct http_auth *, const char *name);

#endif
