/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/server.c - connects to the ClickHouse server that an address names, and says why it cannot answer.
 *
 * The address is what users of ClickHouse write for clickhouse-client and for drivers, but its port is that of the HTTP
 * interface, as for the sink: skep has no code for the native protocol.  A password in the address would be seen by
 * every user in `ps`, and stay in the shell's history: the address names a file, or the environment has it.
 */
#include "lake/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lake/clickhouse.h"
#include "lake/server_priv.h"

static const char form[] = "clickhouse://[USER@]HOST[:PORT][/DATABASE][?secure=1&password_file=FILE&ca_file=FILE&timeout=SECONDS]";

bool lake_is_address(const char *path)
{
	return strncmp(path, "clickhouse://", 13) == 0 || strncmp(path, "clickhouses://", 14) == 0;
}

/* ---- the address ------------------------------------------------------------------ */

static int hex(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *digit = c ? strchr(digits, c) : NULL;

	return digit ? (int)(digit - digits) % 16 : -1;
}

/* Replaces each %41 in the text by its byte; false: what follows a % is no byte. */
static bool decode(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		int byte = (unsigned char)*text;

		if (byte == '%') {
			int high = hex(text[1]), low = high < 0 ? -1 : hex(text[2]);

			byte = 16 * high + low;
			if (low < 0 || !byte)
				return false;
			text += 2;
		}
		*to = (char)byte;
	}
	*to = '\0';
	return true;
}

static int refuse(const struct server *s, struct lake_why *why, const char *what, const char *of)
{
	lake_say(why, "lake %s: %s%s; write %s", s->address, what, of, form);
	return -EINVAL;
}

static int read_parameter(struct server *s, char *name, struct lake_why *why)
{
	char *value = strchr(name, '='), *end;
	unsigned long n;

	if (value)
		*value++ = '\0';
	if (value && !decode(value))
		return refuse(s, why, "% without two hexadecimal digits in ", name);
	if (strcmp(name, "secure") == 0) {
		s->tls = !value || strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0;
		if (!s->tls && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0)
			return refuse(s, why, "secure is neither 0 nor 1", "");
	} else if (value && strcmp(name, "password_file") == 0) {
		s->password_file = value;
	} else if (value && strcmp(name, "ca_file") == 0) {
		s->http.ca_file = value;
	} else if (value && strcmp(name, "timeout") == 0) {
		n = strtoul(value, &end, 10);
		if (*end || end == value || !n || n > 86400)
			return refuse(s, why, "timeout is no number of seconds", "");
		s->http.timeout_s = (unsigned)n;
	} else {
		return refuse(s, why, "no such parameter: ", name);
	}
	return 0;
}

/* Reads "[USER@]HOST[:PORT]", and makes the URL of it. */
static int read_host(struct server *s, char *host, struct lake_why *why)
{
	char *at = strrchr(host, '@'), *colon, *bracket, *end = NULL;
	unsigned long port = s->tls ? 8443 : 8123;

	if (at) {
		*at = '\0';
		s->http.user = host;
		if (strchr(host, ':')) {
			lake_say(why, "the lake's address has a password, which every user sees in ps; set "
				      "$SKEP_CLICKHOUSE_PASSWORD, or add ?password_file=FILE");
			return -EINVAL;
		}
		if (!*host || !decode(host))
			return refuse(s, why, "no user before the @", "");
		host = at + 1;
	}
	bracket = *host == '[' ? strchr(host, ']') : NULL; /* IPv6 */
	colon = strchr(bracket ? bracket : host, ':');
	if (colon) {
		*colon = '\0';
		port = strtoul(colon + 1, &end, 10);
		if (*end || end == colon + 1 || !port || port > 65535)
			return refuse(s, why, "no port: ", colon + 1);
	}
	if (!*host || strcspn(host, "/?#%\\ ") != strlen(host))
		return refuse(s, why, "no host", "");
	if (asprintf(&s->url, "http%s://%s:%lu/", s->tls ? "s" : "", host, port) < 0) {
		s->url = NULL;
		lake_say(why, "out of memory");
		return -ENOMEM;
	}
	s->http.url = s->url;
	return 0;
}

static int read_address(struct server *s, struct lake_why *why)
{
	char *host = strstr(s->text, "://") + 3, *parameters = strchr(host, '?'), *database, *next;
	int err = 0;

	s->tls = s->text[strlen("clickhouse")] == 's';
	if (parameters)
		*parameters++ = '\0';
	for (; !err && parameters && *parameters; parameters = next) {
		next = strchr(parameters, '&');
		if (next)
			*next++ = '\0';
		err = read_parameter(s, parameters, why);
	}
	if (err)
		return err;
	database = strchr(host, '/');
	if (database)
		*database++ = '\0';
	s->database = database && *database ? database : "skep";
	if (database && (!decode(database) || strchr(database, '/')))
		return refuse(s, why, "no database: ", database);
	return read_host(s, host, why);
}

static int find_password(struct server *s, struct lake_why *why)
{
	const char *given = getenv("SKEP_CLICKHOUSE_PASSWORD");
	int err;

	if (s->password_file) {
		err = lake_http_password(s->password_file, &s->password, why->text, why->size);
		s->http.password = s->password;
		return err;
	}
	s->http.password = given && *given ? given : NULL;
	return 0;
}

/* ---- errors ------------------------------------------------------------------------ */

/* Codes of ClickHouse (src/Common/ErrorCodes.cpp), which has never changed one. */
static const struct {
	unsigned code;
	const char *remedy;
} codes[] = {
	{ 16, "name another database, whose tables `skep lake init` has made" }, /* NO_SUCH_COLUMN_IN_TABLE */
	{ 47, "name another database, whose tables `skep lake init` has made" }, /* UNKNOWN_IDENTIFIER */
	{ 60, "name the right database in the address, or make the tables with `skep lake init`" }, /* UNKNOWN_TABLE */
	{ 81, "name the right database in the address, or make it with `skep lake init`" }, /* UNKNOWN_DATABASE */
	{ 159, "the server's max_execution_time is too short for this question" }, /* TIMEOUT_EXCEEDED */
	{ 160, "the server's limits of speed stop this question" },                /* TOO_SLOW */
	{ 192, "mend the user and the password" },                                 /* UNKNOWN_USER */
	{ 193, "mend the user and the password" },                                 /* WRONG_PASSWORD */
	{ 194, "set $SKEP_CLICKHOUSE_PASSWORD, or add ?password_file=FILE" },      /* REQUIRED_PASSWORD */
	{ 195, "the server does not let this user in from this host" },            /* IP_ADDRESS_NOT_ALLOWED */
	{ 202, "the server is busy; try again" },              /* TOO_MANY_SIMULTANEOUS_QUERIES */
	{ 241, "the server's max_memory_usage is too small for this question" }, /* MEMORY_LIMIT_EXCEEDED */
	{ 291, "the user needs SELECT on this database" }, /* DATABASE_ACCESS_DENIED */
	{ 497, "the user needs SELECT on this database" }, /* ACCESS_DENIED */
	{ 516, "mend the user and the password" },         /* AUTHENTICATION_FAILED */
};

static const char *remedy_of(int err, const char *cause)
{
	const char *code = strstr(cause, "Code: ");
	unsigned n = code ? (unsigned)strtoul(code + 6, NULL, 10) : 0;

	switch (err) {
	case -ECONNREFUSED:
		return "is the server running, and is this the port of its HTTP interface (8123, with TLS 8443, not 9000)?";
	case -ETIMEDOUT:
		return "the server is busy or hangs: try again, or wait longer with ?timeout=SECONDS";
	case -EPIPE:
		return "try again; the server's log may say more";
	default:
		break;
	}
	for (size_t i = 0; n && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == n)
			return codes[i].remedy;
	return err == -EPROTO ? "is that ClickHouse's HTTP interface?" : NULL;
}

int server_error(const struct server *s, struct lake_why *why, int err, const char *cause)
{
	const char *remedy = remedy_of(err, cause);

	lake_say(why, "ClickHouse %s, database %s: %s%s%s", s->url, s->database, cause, remedy ? "; " : "",
		 remedy ? remedy : "");
	return err;
}

/* ---- the version of the tables ---------------------------------------------------- */

static int check_version(struct server *s, struct lake_why *why)
{
	const unsigned own = clickhouse_schema_version();
	struct server_rows *rows = NULL;
	int64_t version = 0;
	int err = server_rows_open(s, why, "SELECT max(version) FROM schema_version", NULL, 0, &rows);

	if (err)
		return err;
	while ((err = server_rows_next(rows)) > 0)
		version = server_rows_number(rows, 0);
	server_rows_close(rows);
	if (err || version == own)
		return err;
	if (version < own)
		lake_say(why, "ClickHouse %s: the tables of database %s have schema version %lld, this skep reads %u; "
			      "make new ones: skep lake init --clickhouse %s --database %s",
			 s->url, s->database, (long long)version, own, s->url, s->database);
	else
		lake_say(why, "ClickHouse %s: the tables of database %s have schema version %lld, this skep reads %u; "
			      "upgrade skep", s->url, s->database, (long long)version, own);
	return -ENOTSUP;
}

int server_open(const char *address, struct lake_why *why, struct server **ret)
{
	struct server *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	lake_say(why, "out of memory");
	if (!s)
		return -ENOMEM;
	s->address = address;
	s->text = strdup(address);
	if (s->text)
		err = read_address(s, why);
	if (!err)
		err = find_password(s, why);
	if (!err)
		err = lake_http_open(&s->http, why->text, why->size);
	if (!err)
		err = check_version(s, why);
	s->address = NULL;
	if (err) {
		server_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	lake_http_close(&s->http);
	free(s->password);
	free(s->url);
	free(s->text);
	free(s);
	return NULL;
}
