/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tokens, passwords and keys from files and from the environment, and blanks them in texts for logs.
 */
#include "sdk/sink/http_auth.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <skep/sink/secret_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http_auth *skep_http_auth_free(struct http_auth *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n; i++)
		skep_secret_blank(a->headers[i]);
	free(a->headers);
	for (size_t i = 0; i < a->n_secrets; i++)
		skep_secret_blank(a->secrets[i]);
	free(a->secrets);
	skep_secret_blank(a->username);
	skep_secret_blank(a->password);
	free(a);
	return NULL;
}

/* Reads a secret from its source, a path or env:NAME. */
static int secret_load(const char *source, char **ret, char *why, size_t room)
{
	char *text = NULL;
	int err;

	if (strncmp(source, "env:", 4) == 0) {
		const char *value = getenv(source + 4);

		if (!value || !*value) {
			snprintf(why, room, "%s: the environment has no such variable, or an empty one", source);
			return -ENOENT;
		}
		text = strdup(value);
		if (!text) {
			snprintf(why, room, "out of memory");
			return -ENOMEM;
		}
	} else {
		err = skep_secret_file_read(source, &text, why, room);
		if (err || !text)
			return err ? err : -EIO;
	}
	for (const unsigned char *c = (unsigned char *)text; *c; c++) {
		if ((*c < ' ' && *c != '\t') || *c == 0x7f) {
			snprintf(why, room, "%s: has a control character at byte %zu: one line is expected", source,
				 (size_t)((const char *)c - text));
			skep_secret_blank(text);
			return -EINVAL;
		}
	}
	*ret = text;
	return 0;
}

/* Replaces the source in "Name: env:KEY" or "Name: file:/path" by its value. */
static int header_load(const char *header, char **ret, char *why, size_t room)
{
	size_t name = strcspn(header, ":");
	const char *value = header + name + strspn(header + name, ": \t");
	char *secret = NULL, *text = NULL;
	int err = 0, n;

	if (strncmp(value, "env:", 4) == 0)
		err = secret_load(value, &secret, why, room);
	else if (strncmp(value, "file:", 5) == 0)
		err = secret_load(value + 5, &secret, why, room);
	if (err)
		return err;
	/* libcurl omits a header "Name:", but sends an empty header for "Name;" */
	n = *value ? asprintf(&text, "%.*s: %s", (int)name, header, secret ? secret : value)
		   : asprintf(&text, "%.*s;", (int)name, header);
	skep_secret_blank(secret);
	if (n < 0) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

/* Puts the option before the reason of an error. */
static int in_option(const char *option, int err, char *why, size_t room)
{
	char *reason = err ? strdup(why) : NULL;

	if (reason)
		snprintf(why, room, "%s: %s", option, reason);
	free(reason);
	return err;
}

static int bearer_load(const char *source, char **ret, char *why, size_t room)
{
	char *token = NULL, *text = NULL;
	int err = secret_load(source, &token, why, room), n;

	if (err)
		return err;
	n = asprintf(&text, "Authorization: Bearer %s", token);
	skep_secret_blank(token);
	if (n < 0) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

/* ---- secrets that no log shows ------------------------------------------------------------- */

/* A value that stands in the configuration itself may be no secret, and a short one occurs in many words. */
#define WRITTEN_LEAST 8

/* Adds a secret, and takes ownership of the text. */
static int keep_secret(struct http_auth *a, char *text)
{
	bool is_empty = text && !*text;
	char **secrets = text && !is_empty ? realloc(a->secrets, (a->n_secrets + 1) * sizeof(*secrets)) : NULL;

	if (!secrets) {
		skep_secret_blank(text);
		return is_empty ? 0 : -ENOMEM;
	}
	a->secrets = secrets;
	a->secrets[a->n_secrets++] = text;
	return 0;
}

/* Adds a header's value as a secret, and for "Bearer TOKEN" also the token alone. */
static int keep_header(struct http_auth *a, const char *header, const char *configured)
{
	const char *value = strchr(header, ':'), *last, *source = configured ? strchr(configured, ':') : NULL;
	bool is_written = source && strncmp(source + 1 + strspn(source + 1, " \t"), "env:", 4) != 0 &&
			  strncmp(source + 1 + strspn(source + 1, " \t"), "file:", 5) != 0;
	int err;

	if (!value)
		return 0;
	value += 1 + strspn(value + 1, " \t");
	last = strrchr(value, ' ');
	if (is_written && strlen(last ? last + 1 : value) < WRITTEN_LEAST)
		return 0;
	err = keep_secret(a, strdup(last ? last + 1 : value));
	return err || !last || strncasecmp(value, "Bearer ", 7) == 0 ? err : keep_secret(a, strdup(value));
}

/* Adds the header of basic authentication (RFC 7617: base64 of user:password) as a secret. */
static int keep_basic(struct http_auth *a, const char *user, const char *password)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *pair = NULL, *coded = NULL, *to;
	int n = asprintf(&pair, "%s:%s", user, password), err = -ENOMEM;

	if (n < 0)
		return -ENOMEM;
	to = coded = calloc(1, (size_t)n / 3 * 4 + 5);
	for (int i = 0; coded && i < n; i += 3) {
		unsigned bits = 0;

		for (int k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < n ? (unsigned char)pair[i + k] : 0);
		for (int k = 0; k < 4; k++)
			*to++ = i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63];
	}
	skep_secret_blank(pair);
	if (coded)
		err = keep_secret(a, coded);
	return err ? err : keep_secret(a, strdup(password));
}

/* Adds USER:PASSWORD@ of a proxy's URL as secrets. */
static int keep_proxy(struct http_auth *a, const char *proxy)
{
	const char *at = strstr(proxy, "://"), *end;
	char *user = NULL, *password = NULL;
	int err = 0;

	at = at ? at + 3 : proxy;
	end = memrchr(at, '@', strcspn(at, "/?#"));
	if (!end)
		return 0;
	user = strndup(at, (size_t)(end - at));
	password = user ? strchr(user, ':') : NULL;
	if (password) {
		*password++ = '\0';
		err = keep_secret(a, strdup(password)); /* first the form in the URL, which has %40 for @ */
		password = curl_easy_unescape(NULL, password, 0, NULL);
	}
	if (!err && password)
		err = keep_basic(a, user, password);
	curl_free(password);
	skep_secret_blank(user);
	return err;
}

static int longest_first(const void *a, const void *b)
{
	size_t m = strlen(*(char *const *)a), n = strlen(*(char *const *)b);

	return (m < n) - (m > n);
}

static int collect_secrets(struct http_auth *a, const struct http_options *o)
{
	size_t n_configured = 0;
	int err = 0;

	while (o->headers && o->headers[n_configured])
		n_configured++;
	for (size_t i = 0; !err && i < a->n; i++)
		err = keep_header(a, a->headers[i], i < n_configured ? o->headers[i] : NULL);
	if (!err && a->password && *a->password)
		err = keep_basic(a, a->username, a->password);
	if (!err && o->proxy)
		err = keep_proxy(a, o->proxy);
	if (a->n_secrets)
		qsort(a->secrets, a->n_secrets, sizeof(*a->secrets), longest_first);
	return err;
}

void skep_http_auth_blank(const struct http_auth *a, char *text, size_t len)
{
	for (size_t i = 0; a && len && i < a->n_secrets; i++) {
		size_t n = strlen(a->secrets[i]);
		char *at = text;

		while ((at = memmem(at, len - (size_t)(at - text), a->secrets[i], n)) != NULL) {
			memset(at, '*', n);
			at += n;
		}
	}
}

int skep_http_auth_load(const struct http_options *o, struct http_auth **ret, char *why, size_t room)
{
	struct http_auth *a = calloc(1, sizeof(*a));
	size_t most = 1;
	int err = 0;

	for (size_t i = 0; o->headers && o->headers[i]; i++)
		most++;
	if (a)
		a->headers = calloc(most, sizeof(a->headers[0]));
	if (!a || !a->headers) {
		skep_http_auth_free(a);
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; !err && i < most - 1; i++) {
		err = in_option("headers", header_load(o->headers[i], &a->headers[a->n], why, room), why, room);
		if (!err)
			a->n++;
	}
	if (!err && o->token_file) {
		err = in_option("token_file", bearer_load(o->token_file, &a->headers[a->n], why, room), why, room);
		if (!err)
			a->n++;
	}
	if (!err && o->username) {
		a->username = strdup(o->username);
		if (o->password_file)
			err = in_option("password_file", secret_load(o->password_file, &a->password, why, room), why,
					room);
		else
			a->password = strdup("");
		if (!err && (!a->username || !a->password)) {
			snprintf(why, room, "out of memory");
			err = -ENOMEM;
		}
	}
	if (!err && collect_secrets(a, o) != 0) {
		snprintf(why, room, "out of memory");
		err = -ENOMEM;
	}
	if (err) {
		skep_http_auth_free(a);
		return err;
	}
	*ret = a;
	return 0;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool skep_http_auth_equal(const struct http_auth *a, const struct http_auth *b)
{
	if (a->n != b->n || !same(a->username, b->username) || !same(a->password, b->password))
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->headers[i], b->headers[i]) != 0)
			return false;
	return true;
}

bool skep_http_auth_has(const struct http_auth *a, const char *name)
{
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < a->n; i++)
		if (strncasecmp(a->headers[i], name, n) == 0 && (a->headers[i][n] == ':' || a->headers[i][n] == ';'))
			return true;
	return false;
}
