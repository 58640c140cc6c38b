/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the settings of each signal from the options and the environment.
 */
#include "sinks/otlp/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_ENDPOINT "http://localhost:4318"

/* Reads OTEL_EXPORTER_OTLP_TRACES_X, else OTEL_EXPORTER_OTLP_X; an empty variable counts as unset. */
static const char *variable(enum signal s, const char *what, bool *ret_of_signal)
{
	static const char *const upper[SIGNALS] = {
		[SIGNAL_TRACES] = "TRACES", [SIGNAL_METRICS] = "METRICS", [SIGNAL_LOGS] = "LOGS"
	};
	char name[96];
	const char *v;

	snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s_%s", upper[s], what);
	v = secure_getenv(name);
	if (ret_of_signal)
		*ret_of_signal = v && *v;
	if (v && *v)
		return v;
	snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", what);
	v = secure_getenv(name);
	return v && *v ? v : NULL;
}

static const char *keep(struct signal_settings *s, char *text)
{
	if (text)
		s->texts[s->n_texts++] = text;
	return text;
}

static char *with_path(const char *base, enum signal s)
{
	size_t n = strlen(base);
	char *url;

	while (n > 0 && base[n - 1] == '/')
		n--;
	return asprintf(&url, "%.*s/v1/%s", (int)n, base, signal_names[s]) < 0 ? NULL : url;
}

static int find_url(const struct settings *o, enum signal s, struct signal_settings *ret, char *why, size_t room)
{
	const char *protocol = variable(s, "PROTOCOL", NULL), *endpoint;
	bool whole = false;

	if (o->endpoints[s] && *o->endpoints[s]) {
		ret->http.url = keep(ret, strdup(o->endpoints[s]));
	} else if (o->http.url && *o->http.url) {
		ret->http.url = keep(ret, with_path(o->http.url, s));
	} else {
		endpoint = variable(s, "ENDPOINT", &whole);
		/* The protocol variable belongs to this endpoint, which would not understand http/protobuf. */
		if (endpoint && protocol && strcmp(protocol, "http/protobuf") != 0) {
			snprintf(
				why, room,
				"OTEL_EXPORTER_OTLP_PROTOCOL is \"%s\", and this sink speaks http/protobuf: "
				"set endpoint to one that does (port 4318 at most receivers)",
				protocol);
			return -EINVAL;
		}
		if (!endpoint)
			endpoint = DEFAULT_ENDPOINT;
		ret->http.url = keep(ret, whole ? strdup(endpoint) : with_path(endpoint, s));
	}
	return ret->http.url ? 0 : -ENOMEM;
}

/* Decodes "%20" and the like in a value of a list in the environment. */
static void percent_decode(char *text)
{
	char *out = text;

	for (; *text; text++) {
		char hex[3] = { text[0] == '%' ? text[1] : '\0', '\0', '\0' }, *end;
		unsigned long v;

		if (hex[0])
			hex[1] = text[2];
		v = hex[1] ? strtoul(hex, &end, 16) : 0;
		if (hex[1] && end == hex + 2 && v >= 0x20) {
			*out++ = (char)v;
			text += 2;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

int settings_each_pair(const char *list, int (*cb)(void *arg, const char *name, const char *value), void *arg)
{
	char *copy = strdup(list), *save = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (char *pair = copy ? strtok_r(copy, ",", &save) : NULL; pair && !err; pair = strtok_r(NULL, ",", &save)) {
		char *equals = strchr(pair, '=');
		size_t n;

		while (*pair == ' ' || *pair == '\t')
			pair++;
		if (!equals || equals <= pair)
			continue; /* the specification ignores such pairs */
		*equals = '\0';
		for (n = strlen(pair); n > 0 && (pair[n - 1] == ' ' || pair[n - 1] == '\t'); n--)
			pair[n - 1] = '\0';
		percent_decode(equals + 1);
		err = cb(arg, pair, equals + 1);
	}
	free(copy);
	return err;
}

static int add_header(struct signal_settings *s, char *line)
{
	char **more;
	size_t n = 0;

	while (s->headers && s->headers[n])
		n++;
	more = line ? reallocarray(s->headers, n + 2, sizeof(*more)) : NULL;
	if (!more) {
		free(line);
		return -ENOMEM;
	}
	more[n] = line;
	more[n + 1] = NULL;
	s->headers = more;
	return 0;
}

static int header_of_pair(void *arg, const char *name, const char *value)
{
	char *line;

	return add_header(arg, asprintf(&line, "%s: %s", name, value) < 0 ? NULL : line);
}

static int find_headers(const struct settings *o, enum signal s, struct signal_settings *ret)
{
	const char *list = variable(s, "HEADERS", NULL);
	int err = 0;

	if (o->http.headers)
		for (const char **h = o->http.headers; *h && !err; h++)
			err = add_header(ret, strdup(*h));
	else if (list)
		err = settings_each_pair(list, header_of_pair, ret);
	ret->http.headers = (const char **)ret->headers;
	return err;
}

static int find_text(const char *option, const char *from_environment, struct signal_settings *s, const char **ret)
{
	const char *v = option ? option : from_environment;

	*ret = v ? keep(s, strdup(v)) : NULL;
	return v && !*ret ? -ENOMEM : 0;
}

static uint64_t timeout_of(const struct settings *o, enum signal s)
{
	const char *ms = variable(s, "TIMEOUT", NULL);
	unsigned long long v;
	char *end;

	if (!ms || o->http.timeout != SETTINGS_TIMEOUT)
		return o->http.timeout;
	errno = 0;
	v = strtoull(ms, &end, 10);
	return errno || *end || v == 0 || v > 3600000 ? o->http.timeout : v * 1000000;
}

int settings_signal(const struct settings *o, enum signal s, struct signal_settings *ret, char *why, size_t room)
{
	struct signal_settings r = { .http = o->http };
	int err = find_url(o, s, &r, why, room);

	if (!err)
		err = find_headers(o, s, &r);
	if (!err)
		err = find_text(o->http.ca_file, variable(s, "CERTIFICATE", NULL), &r, &r.http.ca_file);
	if (!err)
		err = find_text(o->http.cert_file, variable(s, "CLIENT_CERTIFICATE", NULL), &r, &r.http.cert_file);
	if (!err)
		err = find_text(o->http.key_file, variable(s, "CLIENT_KEY", NULL), &r, &r.http.key_file);
	if (!err)
		err = find_text(o->http.compression, variable(s, "COMPRESSION", NULL), &r, &r.http.compression);
	if (!err && !r.http.compression)
		r.http.compression = "gzip";
	if (!err)
		err = find_text(o->http.token_file, NULL, &r, &r.http.token_file);
	if (!err)
		err = find_text(o->http.password_file, NULL, &r, &r.http.password_file);
	if (!err)
		err = find_text(o->http.username, NULL, &r, &r.http.username);
	if (!err)
		err = find_text(o->http.proxy, NULL, &r, &r.http.proxy);
	r.http.timeout = timeout_of(o, s);
	if (err) {
		if (err == -ENOMEM)
			snprintf(why, room, "out of memory");
		settings_signal_clear(&r);
		return err;
	}
	*ret = r;
	return 0;
}

void settings_signal_clear(struct signal_settings *s)
{
	for (unsigned i = 0; i < s->n_texts; i++)
		free(s->texts[i]);
	for (char **h = s->headers; h && *h; h++)
		free(*h);
	free(s->headers);
	*s = (struct signal_settings){ 0 };
}

int settings_wanted(const struct settings *o, bool ret[SIGNALS], char *why, size_t room)
{
	for (int s = 0; s < SIGNALS; s++)
		ret[s] = !o->signals;
	for (const char **name = o->signals; name && *name; name++) {
		int s = 0;

		while (s < SIGNALS && strcmp(*name, signal_names[s]) != 0)
			s++;
		if (s == SIGNALS) {
			snprintf(why, room, "signals \"%s\": expected traces, metrics or logs", *name);
			return -EINVAL;
		}
		ret[s] = true;
	}
	return 0;
}
