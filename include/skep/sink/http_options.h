/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/http_options.h - the options that all HTTP sinks share: a struct to be a
 * member of the sink's state, and its rows for the sink's option table.
 *
 *	static const struct skep_option options[] = {
 *		HTTP_OPTION_URL(struct my_sink, http, "url", "where to send to"),
 *		HTTP_OPTIONS(struct my_sink, http, "gzip"),
 *		{ 0 },
 *	};
 */
#ifndef SKEP_SINK_HTTP_OPTIONS_H
#define SKEP_SINK_HTTP_OPTIONS_H

#include <skep/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct http_options {
	const char *url;
	const char **headers;
	const char *token_file;
	const char *username;
	const char *password_file;
	const char *ca_file;
	const char *cert_file;
	const char *key_file;
	bool insecure;
	const char *proxy;
	uint64_t timeout;
	uint64_t connect_timeout;
	const char *compression;
	uint64_t max_request;
};

#define HTTP_OPTION(struct_, member_, field_, name_, type_, flags_, default_, help_)                            \
	{ .name = (name_), .type = (type_), .flags = (flags_), .offset = offsetof(struct_, member_.field_), \
	  .default_value = (default_), .help = (help_) }

/* The URL has a name of its own in some sinks ("endpoint"), and need not be given in some. */
#define HTTP_OPTION_URL_FLAGS(struct_, member_, name_, flags_, default_, help_) \
	HTTP_OPTION(struct_, member_, url, name_, SKEP_O_STR, flags_, default_, help_)
#define HTTP_OPTION_URL(struct_, member_, name_, help_) \
	HTTP_OPTION_URL_FLAGS(struct_, member_, name_, SKEP_OPT_REQUIRED | SKEP_OPT_RELOADABLE, NULL, help_)

#define HTTP_OPTIONS(s_, m_, compression_)                                                                         \
	HTTP_OPTION(s_, m_, headers, "headers", SKEP_O_STRV, SKEP_OPT_RELOADABLE | SKEP_OPT_SECRET, NULL,          \
		    "further headers, [\"Name: value\"]; "                                                         \
		    "for a value env:NAME or file:PATH the sink reads the variable or the file"),                  \
	HTTP_OPTION(s_, m_, token_file, "token_file", SKEP_O_STR, SKEP_OPT_RELOADABLE, NULL,                       \
		    "file of a bearer token, or env:NAME; read again at a reload and when the receiver answers 401"), \
	HTTP_OPTION(s_, m_, username, "username", SKEP_O_STR, SKEP_OPT_RELOADABLE, NULL,                           \
		    "user for basic authentication"),                                                              \
	HTTP_OPTION(s_, m_, password_file, "password_file", SKEP_O_STR, SKEP_OPT_RELOADABLE, NULL,                 \
		    "file of that user's password, or env:NAME; read again like token_file"),                      \
	HTTP_OPTION(s_, m_, ca_file, "ca_file", SKEP_O_STR, SKEP_OPT_RELOADABLE, NULL,                             \
		    "certificates (PEM) with which the sink verifies the receiver's; not set: the system's"),      \
	HTTP_OPTION(s_, m_, cert_file, "cert_file", SKEP_O_STR, SKEP_OPT_RELOADABLE, NULL,                         \
		    "client certificate (PEM), for a receiver that asks for one"),                                 \
	HTTP_OPTION(s_, m_, key_file, "key_file", SKEP_O_STR, SKEP_OPT_RELOADABLE, NULL,                           \
		    "private key (PEM) of cert_file; not set: it is in cert_file"),                                \
	HTTP_OPTION(s_, m_, insecure, "insecure", SKEP_O_BOOL, SKEP_OPT_RELOADABLE, "false",                       \
		    "do not verify the receiver's certificate"),                                                   \
	HTTP_OPTION(s_, m_, proxy, "proxy", SKEP_O_STR, SKEP_OPT_RELOADABLE | SKEP_OPT_SECRET, NULL,               \
		    "URL of a proxy, or none; not set: http_proxy, HTTPS_PROXY and NO_PROXY of the environment"),  \
	HTTP_OPTION(s_, m_, timeout, "timeout", SKEP_O_TIME, SKEP_OPT_RELOADABLE, "30s",                           \
		    "longest time for a request, its answer included"),                                            \
	HTTP_OPTION(s_, m_, connect_timeout, "connect_timeout", SKEP_O_TIME, SKEP_OPT_RELOADABLE, "5s",            \
		    "longest time for name look-up, connection and TLS"),                                          \
	HTTP_OPTION(s_, m_, compression, "compression", SKEP_O_STR, SKEP_OPT_RELOADABLE, compression_,             \
		    "compression of the body: none, gzip or zstd"),                                                \
	HTTP_OPTION(s_, m_, max_request, "max_request", SKEP_O_SIZE, SKEP_OPT_RELOADABLE, "4MiB",                  \
		    "largest body before compression; the sink halves a batch with a larger body")

enum http_encoding {
	HTTP_PLAIN = 0,
	HTTP_GZIP,
	HTTP_ZSTD,
};

/*
 * Checks all options before the sink sends anything. 0, -EINVAL, or -ENOENT for a file of a secret that does not exist,
 * with the reason and the remedy in `why`.  url_name: the name of the URL's option.
 */
int skep_http_options_check(const struct http_options *, const char *url_name, char *why, size_t room);
enum http_encoding skep_http_encoding_of(const char *compression); /* compression: a checked value */
const char *skep_http_encoding_name(enum http_encoding);           /* name in Content-Encoding; NULL for HTTP_PLAIN */
/* Writes scheme://host:port of a URL, without user and password, for messages. */
void skep_http_url_where(const char *url, char *where, size_t room);

#ifdef __cplusplus
}
#endif

#endif
