/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the options of an HTTP sink before the sink sends anything.
 */

#include <ctype.h>
#include <errno.h>
#include <skep/sink/http_options.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define NS_PER_MS 1000000u
#define REQUEST_MOST (64u << 20) /* a request is in memory as a whole, and twice while the sink compresses it */

const char *skep_http_encoding_name(enum http_encoding e)
{
	return e == HTTP_GZIP ? "gzip" : e == HTTP_ZSTD ? "zstd" : NULL;
}

enum http_encoding skep_http_encoding_of(const char *compression)
{
	if (compression && strcmp(compression, "gzip") == 0)
		return HTTP_GZIP;
	return compression && strcmp(compression, "zstd") == 0 ? HTTP_ZSTD : HTTP_PLAIN;
}

void skep_http_url_where(const char *url, char *where, size_t room)
{
	const char *host = strstr(url, "://"), *end, *at;

	host = host ? host + 3 : url;
	end = host + strcspn(host, "/?#");
	for (at = end; at > host && at[-1] != '@'; at--)
		;
	snprintf(where, room, "%.*s%.*s", (int)(host - url), url, (int)(end - at), at);
}

static int check_url(const char *url, const char *name, char *why, size_t room)
{
	char where[256];
	const char *host;

	if (!url || !*url) {
		snprintf(why, room, "%s is empty; give it a URL like https://host:port/path", name);
		return -EINVAL;
	}
	skep_http_url_where(url, where, sizeof(where));
	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0) {
		snprintf(why, room, "%s \"%s\": expected http://... or https://...", name, where);
		return -EINVAL;
	}
	host = strstr(url, "://") + 3;
	if (memchr(host, '@', strcspn(host, "/?#"))) {
		/* logs and messages print a URL, and would print a password in it */
		snprintf(why, room, "%s \"%s\" has a user and password in it; use username and password_file", name,
			 where);
		return -EINVAL;
	}
	if (!strcspn(host, "/?#:")) {
		snprintf(why, room, "%s \"%s\" has no host", name, where);
		return -EINVAL;
	}
	for (const char *c = url; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '#') {
			snprintf(why, room, "%s \"%s\": byte %zu is %s; write it as %%%02X", name, where,
				 (size_t)(c - url), *c == '#' ? "a #" : "a space or a control character",
				 (unsigned char)*c);
			return -EINVAL;
		}
	}
	return 0;
}

/* Checks a header. Its messages never print the value, which may be a key. */
static int check_header(const char *header, size_t number, char *why, size_t room)
{
	static const char *const ours[] = { "Content-Length", "Content-Encoding", "Transfer-Encoding", "Expect" };
	size_t name = 0;

	while (isalnum((unsigned char)header[name]) || (header[name] && strchr("!#$%&'*+-.^_`|~", header[name])))
		name++;
	if (!name || header[name] != ':') {
		snprintf(why, room, "headers: number %zu is not \"Name: value\"", number);
		return -EINVAL;
	}
	for (const char *c = header + name; *c; c++) {
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) {
			snprintf(why, room, "headers: number %zu (%.*s) has a control character in its value", number,
				 (int)name, header);
			return -EINVAL;
		}
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strlen(ours[i]) == name && strncasecmp(header, ours[i], name) == 0) {
			snprintf(why, room, "headers: number %zu: %s follows from the body; leave it out", number,
				 ours[i]);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_proxy(const char *proxy, char *why, size_t room)
{
	static const char *const schemes[] = { "http://",    "https://",  "socks4://",
					       "socks4a://", "socks5://", "socks5h://" };

	if (!proxy || strcmp(proxy, "none") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncasecmp(proxy, schemes[i], strlen(schemes[i])) == 0)
			return 0;
	snprintf(why, room, "proxy: expected none, or a URL that begins with http://, https:// or socks5h://");
	return -EINVAL;
}

/* A file that this user may not read is no error: skepd -t often runs as another user than skepd. */
static int check_file(const char *option, const char *path, char *why, size_t room)
{
	struct stat st;

	if (!path || strncmp(path, "env:", 4) == 0 || stat(path, &st) == 0 || errno != ENOENT)
		return 0;
	snprintf(why, room, "%s: %s: %s", option, path, strerror(ENOENT));
	return -ENOENT;
}

static int say(char *why, size_t room, const char *text)
{
	snprintf(why, room, "%s", text);
	return -EINVAL;
}

int skep_http_options_check(const struct http_options *o, const char *url_name, char *why, size_t room)
{
	const struct {
		const char *option, *path;
	} files[] = {
		{ "token_file", o->token_file }, { "password_file", o->password_file }, { "ca_file", o->ca_file },
		{ "cert_file", o->cert_file },	 { "key_file", o->key_file },
	};
	int err = check_url(o->url, url_name, why, room);

	for (size_t i = 0; !err && o->headers && o->headers[i]; i++)
		err = check_header(o->headers[i], i + 1, why, room);
	if (!err)
		err = check_proxy(o->proxy, why, room);
	if (err)
		return err;
	if (o->username && strchr(o->username, ':'))
		return say(why, room, "username has a ':' in it, which basic authentication cannot say");
	if (o->password_file && !o->username)
		return say(why, room, "password_file without username");
	if (o->username && o->token_file)
		return say(why, room, "username and token_file: a request has one way to authenticate; leave one out");
	if (o->key_file && !o->cert_file)
		return say(why, room, "key_file without cert_file");
	if (o->timeout < NS_PER_MS || o->connect_timeout < NS_PER_MS)
		return say(why, room, "timeout and connect_timeout are at least 1ms");
	if (o->compression && !skep_http_encoding_of(o->compression) && strcmp(o->compression, "none") != 0) {
		snprintf(why, room, "compression \"%s\": expected none, gzip or zstd", o->compression);
		return -EINVAL;
	}
	if (o->max_request < 1024 || o->max_request > REQUEST_MOST) {
		snprintf(why, room, "max_request %llu: expected 1KiB to 64MiB", (unsigned long long)o->max_request);
		return -EINVAL;
	}
	for (size_t i = 0; !err && i < sizeof(files) / sizeof(files[0]); i++)
		err = check_file(files[i].option, files[i].path, why, room);
	return err;
}
