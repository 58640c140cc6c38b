/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/request.c - see cli/web/request.h.
 */
#include "cli/web/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- commands ------------------------------------------------------------- */

static int word(struct request_command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int word(struct request_command *c, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (c->n + 1 == REQUEST_WORDS)
		return -EINVAL;
	va_start(ap, fmt);
	n = vsnprintf(c->text[c->n], REQUEST_TEXT, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= REQUEST_TEXT)
		return -EINVAL;
	c->argv[c->n] = c->text[c->n];
	c->argv[++c->n] = NULL;
	return 0;
}

static int words(struct request_command *c, const char *const *list)
{
	int err = 0;

	for (; *list && !err; list++)
		err = word(c, "%s", *list);
	return err;
}

/* No control characters: an id or a name that has one is not what a page asks for. */
static bool is_text(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if ((unsigned char)s[n] < 0x20 || s[n] == 0x7f)
			return false;
	return n && n < REQUEST_TEXT - 16;
}

static const char *value_of(const struct request_value *values, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(values[i].key, key) == 0)
			return values[i].value;
	return NULL;
}

/* Every value has a key that this answer knows, and is a text. */
static int check(const struct request_value *values, size_t n, const char *const *known, char *why, size_t room)
{
	for (size_t i = 0; i < n; i++) {
		const char *const *k = known;

		while (*k && strcmp(*k, values[i].key) != 0)
			k++;
		if (!*k || !values[i].value || !is_text(values[i].value)) {
			snprintf(why, room, *k ? "the value of '%.40s' is empty, too long, or has control characters" :
						 "this answer has no parameter '%.40s'", values[i].key);
			return -EINVAL;
		}
	}
	return 0;
}

/* The rest of the path: one name, "" is none. */
static int name_of(const char *path, const char *before, const char **ret)
{
	const size_t n = strlen(before);

	if (strncmp(path, before, n) != 0 || strchr(path + n, '/') || !is_text(path + n))
		return -ENOENT;
	*ret = path + n;
	return 0;
}

/* Passes each value on as the command's option of that name. */
static int pass(const struct request_value *v, size_t n, const char *const *keys, struct request_command *c)
{
	int err = 0;

	for (; *keys && !err; keys++)
		if (value_of(v, n, *keys))
			err = word(c, "--%s=%s", *keys, value_of(v, n, *keys));
	return err;
}

/* hosts and sweep have the same parameters. */
static int of_hosts(const char *command, const struct request_value *v, size_t n, struct request_command *c, char *why,
		    size_t room)
{
	static const char *const passed[] = { "host", "since", "until", NULL };
	int err = check(v, n, passed, why, room);

	if (!err)
		err = words(c, (const char *const[]){ command, "--json", NULL });
	return err ? err : pass(v, n, passed, c);
}

static int runs(const struct request_value *v, size_t n, struct request_command *c, char *why, size_t room)
{
	static const char *const passed[] = { "state", "engine", "pipeline", "user", "host", "job", "since", "until", NULL };
	static const char *const known[] = { "state", "engine", "pipeline", "user", "host", "job", "since", "until", "limit",
					     "all", NULL };
	const char *limit = value_of(v, n, "limit");
	int err = check(v, n, known, why, room);

	if (!err && limit && (strlen(limit) > 5 || strspn(limit, "0123456789") != strlen(limit) || *limit == '0')) {
		snprintf(why, room, "limit '%.40s' is not a number from 1 to 99999", limit);
		err = -EINVAL;
	}
	if (!err)
		err = words(c, (const char *const[]){ "runs", "--json", NULL });
	if (!err)
		err = word(c, "--limit=%s", limit ? limit : "200");
	if (!err)
		err = pass(v, n, passed, c);
	if (!err && value_of(v, n, "all"))
		err = word(c, "--all");
	c->status_of_failure = 500;
	return err;
}

static int diff(const struct request_value *v, size_t n, struct request_command *c, char *why, size_t room)
{
	const char *a = value_of(v, n, "a"), *b = value_of(v, n, "b");
	int err = check(v, n, (const char *const[]){ "a", "b", NULL }, why, room);

	if (!err && !b) {
		snprintf(why, room, "which runs? b=RUN, or a=RUN&b=RUN");
		err = -EINVAL;
	}
	return err ? err : words(c, (const char *const[]){ "diff", "--json", "--", a ? a : b, a ? b : NULL, NULL });
}

static int show(const char *id, const struct request_value *v, size_t n, struct request_command *c, char *why,
		size_t room)
{
	int err = check(v, n, (const char *const[]){ "summary", NULL }, why, room);

	return err ? err : words(c, (const char *const[]){ "show", "--json", n ? "--summary" : "--columns", "--", id, NULL });
}

static int tune(const char *id, const struct request_value *v, size_t n, struct request_command *c, char *why,
		size_t room)
{
	int err = check(v, n, (const char *const[]){ NULL }, why, room);

	return err ? err : words(c, (const char *const[]){ "tune", "--json", "--", id, NULL });
}

/* --lake comes first: what follows "--" is no option. It may be longer than a word of a request. */
static void insert_lake(struct request_command *c, const char *lake)
{
	memmove(&c->argv[3], &c->argv[1], c->n * sizeof(c->argv[0]));
	c->argv[1] = "--lake";
	c->argv[2] = lake;
	c->n += 2;
}

int request_route(const char *path, const struct request_value *v, size_t n, const char *lake,
		  struct request_command *ret, char *why, size_t room)
{
	const char *id;
	int err;

	*ret = (struct request_command){ .status_of_failure = 404 };
	snprintf(why, room, "a value is too long");
	if (strcmp(path, "/api/runs") == 0) {
		err = runs(v, n, ret, why, room);
	} else if (strcmp(path, "/api/hosts") == 0 || strcmp(path, "/api/sweep") == 0) {
		err = of_hosts(path + strlen("/api/"), v, n, ret, why, room);
	} else if (strcmp(path, "/api/diff") == 0) {
		err = diff(v, n, ret, why, room);
	} else if (strcmp(path, "/api/status") == 0 || strcmp(path, "/api/rules") == 0) {
		ret->status_of_failure = 503;
		ret->of_skepd = true;
		return words(ret, (const char *const[]){ path + strlen("/api/"), "--json", NULL });
	} else if (name_of(path, "/api/run/", &id) == 0) {
		err = show(id, v, n, ret, why, room);
	} else if (name_of(path, "/api/tune/", &id) == 0) {
		err = tune(id, v, n, ret, why, room);
	} else {
		return -ENOENT;
	}
	if (!err && lake && ret->n + 3 > REQUEST_WORDS)
		return -EINVAL;
	if (!err && lake)
		insert_lake(ret, lake);
	return err;
}

/* ---- who asks ------------------------------------------------------------- */

/* The host of "host:port", "[address]:port" or "host"; false: none of them. */
static bool host_name(const char *host, char name[REQUEST_TEXT])
{
	const bool bracket = *host == '[';
	const char *end = bracket ? strchr(host, ']') : strrchr(host, ':');
	const char *begin = bracket ? host + 1 : host, *port;

	if (!end && !bracket)
		end = host + strlen(host);
	if (!end || end == begin || end - begin >= REQUEST_TEXT)
		return false;
	memcpy(name, begin, (size_t)(end - begin));
	name[end - begin] = '\0';
	port = bracket ? end + 1 : end;
	return !*port || (*port == ':' && strlen(port) <= 6 && strspn(port + 1, "0123456789") == strlen(port + 1));
}

bool request_host(const char *host, const char *const *names)
{
	struct in6_addr address;
	char name[REQUEST_TEXT];

	if (!host || !host_name(host, name))
		return false;
	if (inet_pton(*host == '[' ? AF_INET6 : AF_INET, name, &address) == 1)
		return true;
	if (*host == '[')
		return false;
	if (strcasecmp(name, "localhost") == 0)
		return true;
	for (; names && *names; names++)
		if (strcasecmp(name, *names) == 0)
			return true;
	return false;
}

bool request_origin(const char *origin, const char *fetch_site, const char *host, bool tls, bool page)
{
	const char *scheme = tls ? "https://" : "http://";
	const size_t n = strlen(scheme);

	if (origin && (strncmp(origin, scheme, n) != 0 || !host || strcasecmp(origin + n, host) != 0))
		return false;
	if (!fetch_site || page)
		return true;
	return strcmp(fetch_site, "same-origin") == 0 || strcmp(fetch_site, "none") == 0;
}

bool request_token_equal(const char *given, const char *token)
{
	unsigned char differ = 0;

	if (!given || strlen(given) != REQUEST_TOKEN)
		return false;
	for (size_t i = 0; i < REQUEST_TOKEN; i++)
		differ |= (unsigned char)(given[i] ^ token[i]);
	return differ == 0;
}

const char *request_below(const char *path, const char *folder)
{
	char given[REQUEST_TOKEN + 1];

	if (strlen(path) < REQUEST_TOKEN + 2 || path[0] != '/' || path[REQUEST_TOKEN + 1] != '/')
		return NULL;
	memcpy(given, path + 1, REQUEST_TOKEN);
	given[REQUEST_TOKEN] = '\0';
	return request_token_equal(given, folder) ? path + REQUEST_TOKEN + 1 : NULL;
}

bool request_token(const char *cookie, const char *name, const char *authorization, const char *token)
{
	const size_t n = strlen(name);
	char given[REQUEST_TOKEN + 1];

	if (authorization && strncmp(authorization, "Bearer ", 7) == 0)
		return request_token_equal(authorization + 7, token);
	for (const char *at = cookie; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		if (strncmp(at, name, n) != 0 || at[n] != '=' || strcspn(at + n + 1, "; ") != REQUEST_TOKEN)
			continue;
		memcpy(given, at + n + 1, REQUEST_TOKEN);
		given[REQUEST_TOKEN] = '\0';
		if (request_token_equal(given, token))
			return true;
	}
	return false;
}
