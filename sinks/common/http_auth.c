/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens, passwords and keys from files and from the environment.
 */
#include "sinks/common/http_auth.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_MOST 65536 /* of a file: a header must fit what servers take, 8 KiB as a rule */

static void *blank(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return NULL;
}

struct http_auth *http_auth_free(struct http_auth *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n; i++)
		blank(a->headers[i]);
	free(a->headers);
	blank(a->username);
	blank(a->password);
	free(a);
	return NULL;
}

static int read_all(int fd, char *text, size_t room, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n;

	while (len < room && (n = read(fd, text + len, room - len)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}

/* The first line that the file has; newlines and spaces at its end are an editor's. */
static int from_file(const char *path, char **ret, char *why, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0) {
		err = -errno;
		snprintf(why, room, "%s: %s", path, strerror(-err));
		return err;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		snprintf(why, room, "%s: not a regular file", path);
		err = -EINVAL;
		goto out;
	}
	text = calloc(1, SECRET_MOST + 1);
	err = text ? read_all(fd, text, SECRET_MOST, &len) : -ENOMEM;
	if (err) {
		snprintf(why, room, "%s: %s", path, strerror(-err));
		goto out;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	err = len && strlen(text) == len ? 0 : -EINVAL;
	if (err)
		snprintf(why, room, "%s: %s", path, len ? "has a NUL byte in it" : "is empty");
out:
	close(fd);
	if (err) {
		blank(text);
		return err;
	}
	*ret = text;
	return 0;
}

/* source: a path or env:NAME. */
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
		err = from_file(source, &text, why, room);
		if (err || !text)
			return err ? err : -EIO;
	}
	for (const unsigned char *c = (unsigned char *)text; *c; c++) {
		if ((*c < ' ' && *c != '\t') || *c == 0x7f) {
			snprintf(why, room, "%s: has a control character at byte %zu: one line is expected", source,
				 (size_t)((const char *)c - text));
			blank(text);
			return -EINVAL;
		}
	}
	*ret = text;
	return 0;
}

/* "Name: env:KEY" and "Name: file:/path" become "Name: value". */
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
	/* libcurl leaves out a header "Name:", and sends an empty one for "Name;" */
	n = *value ? asprintf(&text, "%.*s: %s", (int)name, header, secret ? secret : value)
		   : asprintf(&text, "%.*s;", (int)name, header);
	blank(secret);
	if (n < 0) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

static int bearer_load(const char *source, char **ret, char *why, size_t room)
{
	char *token = NULL, *text = NULL;
	int err = secret_load(source, &token, why, room), n;

	if (err)
		return err;
	n = asprintf(&text, "Authorization: Bearer %s", token);
	blank(token);
	if (n < 0) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

int http_auth_load(const struct http_options *o, struct http_auth **ret, char *why, size_t room)
{
	struct http_auth *a = calloc(1, sizeof(*a));
	size_t most = 1;
	int err = 0;

	for (size_t i = 0; o->headers && o->headers[i]; i++)
		most++;
	if (a)
		a->headers = calloc(most, sizeof(a->headers[0]));
	if (!a || !a->headers) {
		http_auth_free(a);
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; !err && i < most - 1; i++) {
		err = header_load(o->headers[i], &a->headers[a->n], why, room);
		if (!err)
			a->n++;
	}
	if (!err && o->token_file) {
		err = bearer_load(o->token_file, &a->headers[a->n], why, room);
		if (!err)
			a->n++;
	}
	if (!err && o->username) {
		a->username = strdup(o->username);
		if (o->password_file)
			err = secret_load(o->password_file, &a->password, why, room);
		else
			a->password = strdup("");
		if (!err && (!a->username || !a->password)) {
			snprintf(why, room, "out of memory");
			err = -ENOMEM;
		}
	}
	if (err) {
		http_auth_free(a);
		return err;
	}
	*ret = a;
	return 0;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool http_auth_equal(const struct http_auth *a, const struct http_auth *b)
{
	if (a->n != b->n || !same(a->username, b->username) || !same(a->password, b->password))
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->headers[i], b->headers[i]) != 0)
			return false;
	return true;
}

bool http_auth_has(const struct http_auth *a, const char *name)
{
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < a->n; i++)
		if (strncasecmp(a->headers[i], name, n) == 0 && (a->headers[i][n] == ':' || a->headers[i][n] == ';'))
			return true;
	return false;
}
