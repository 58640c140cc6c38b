/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/init.c - `skep lake init --clickhouse URL`: creates the lake's tables in ClickHouse.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/skep.h"
#include "cli/lake/options.h"
#include "lake/clickhouse.h"
#include "lake/http.h"

struct init {
	struct lake_http http;
	const char *database, *password_file;
	unsigned long keep; /* days; LAKE_KEEP_AS_IS */
	char *password;
	struct clickhouse_server server;
	unsigned had; /* version of the schema; 0: no tables */
	unsigned statements;
	char why[1024];
};

static int ask(struct init *in, const char *database, const char *sql, char **ret)
{
	char *reply = NULL;
	int err = lake_http_post(&in->http, database, sql, &reply, in->why, sizeof(in->why));

	if (err)
		return err;
	if (ret)
		*ret = reply;
	else
		free(reply);
	return 0;
}

/* Statements of version 0 come first and always run: they make the table that has the version. */
static int first_statement(void *arg, unsigned version, const char *sql)
{
	struct init *in = arg;

	return version == 0 ? ask(in, in->database, sql, NULL) : 0;
}

static int on_statement(void *arg, unsigned version, const char *sql)
{
	struct init *in = arg;

	in->statements += version > 0;
	return version > 0 ? ask(in, in->database, sql, NULL) : 0;
}

/* Each statement but the last one may run again, after an init that failed. */
static int make_tables(struct init *in)
{
	char sql[96];
	int err = clickhouse_statements(&in->server, on_statement, in);

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version SELECT toUInt32(%u), now()", clickhouse_schema_version());
	return err ? err : ask(in, in->database, sql, NULL);
}

static int print_statement(void *arg, unsigned version, const char *sql)
{
	(void)arg;
	(void)version;
	printf("%.*s;\n", (int)strlen(sql) - (sql[0] && sql[strlen(sql) - 1] == '\n'), sql);
	return 0;
}

/* days: 0: none. */
static int set_ttl(struct init *in, const char *table, const char *column, unsigned long days)
{
	char sql[256];
	int err;

	if (days)
		snprintf(sql, sizeof(sql),
			 "ALTER TABLE %s MODIFY TTL toDateTime(intDiv(%s, 1000000000)) + INTERVAL %lu DAY", table, column,
			 days);
	else
		snprintf(sql, sizeof(sql), "ALTER TABLE %s REMOVE TTL", table);
	err = ask(in, in->database, sql, NULL);
	return err && !days && strstr(in->why, "doesn't have any table TTL") ? 0 : err;
}

static int set_keep(struct init *in)
{
	static const char *const tables[][2] = {
		{ "proc", "start_ns" },   { "run", "start_ns" }, { "task", "start_ns" },
		{ "sample", "start_ns" }, { "loss", "time_ns" }, { "record", "time_ns" },
	};
	int err = 0;

	if (!clickhouse_server_since(&in->server, 19, 6)) {
		snprintf(
			in->why, sizeof(in->why),
			"--keep: ClickHouse %u.%u has no TTL; drop old months instead: "
			"ALTER TABLE %s.proc DROP PARTITION 202601",
			in->server.major, in->server.minor, in->database);
		return -ENOTSUP;
	}
	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++) {
		err = set_ttl(in, tables[i][0], tables[i][1], in->keep);
	}
	return err;
}

static int init_server(struct init *in)
{
	char sql[160], *reply = NULL;
	int err = ask(in, NULL, "SELECT version()", &reply);

	if (err)
		return err;
	if (sscanf(reply, "%u.%u", &in->server.major, &in->server.minor) != 2) {
		snprintf(in->why, sizeof(in->why),
			 "does not say what version it is: is that ClickHouse's HTTP interface?");
		err = -EPROTO;
	}
	free(reply);
	reply = NULL;
	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", in->database);
	if (!err)
		err = ask(in, NULL, sql, NULL);
	if (!err)
		err = clickhouse_statements(&in->server, first_statement, in);
	if (!err)
		err = ask(in, in->database, "SELECT max(version) FROM schema_version", &reply);
	if (err)
		return err;
	in->had = (unsigned)strtoul(reply, NULL, 10);
	free(reply);
	if (in->had == 0) {
		err = make_tables(in);
	} else if (in->had != clickhouse_schema_version()) {
		snprintf(in->why, sizeof(in->why),
			 "the tables of database %s have schema version %u, this skep makes version %u: upgrade skep, or "
			 "give another --database",
			 in->database, in->had, clickhouse_schema_version());
		err = -EINVAL;
	}
	if (!err && in->keep != LAKE_KEEP_AS_IS)
		err = set_keep(in);
	return err;
}

static int init(struct init *in)
{
	int err = in->password_file
			  ? lake_http_password(in->password_file, &in->password, in->why, sizeof(in->why))
			  : 0;

	in->http.password = in->password;
	if (err)
		return skep_fail("lake init", SKEP_EXIT_RUNTIME, "%s", in->why);
	err = lake_http_open(&in->http, in->why, sizeof(in->why));
	if (err)
		return skep_fail("lake init", SKEP_EXIT_RUNTIME, "%s", in->why);
	err = init_server(in);
	lake_http_close(&in->http);
	if (err)
		return skep_fail("lake init", SKEP_EXIT_RUNTIME, "%s: %s", in->http.url,
				 in->why[0] ? in->why : strerror(-err));
	if (in->statements)
		printf("ClickHouse %u.%u: database %s, schema version %u, %u statements\n", in->server.major,
		       in->server.minor, in->database, clickhouse_schema_version(), in->statements);
	else
		printf("ClickHouse %u.%u: database %s has schema version %u already\n", in->server.major,
		       in->server.minor, in->database, in->had);
	return SKEP_EXIT_OK;
}

static int print_schema(const char *version)
{
	struct clickhouse_server server;

	if (sscanf(version, "%u.%u", &server.major, &server.minor) != 2)
		return skep_usage("lake", "--print %s: expected a version of ClickHouse like 24.8", version);
	return clickhouse_statements(&server, print_statement, NULL)
		       ? skep_fail("lake", SKEP_EXIT_RUNTIME, "out of memory")
		       : SKEP_EXIT_OK;
}

static bool is_name(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n > 0 && n < 64 && !s[n];
}

int lake_command_init(const struct lake_options *o)
{
	struct init in = {
		.http = o->http, .database = o->database, .password_file = o->password_file, .keep = o->keep
	};
	int rc;

	if (o->print)
		return print_schema(o->print);
	if (!in.http.url || (strncmp(in.http.url, "http://", 7) != 0 && strncmp(in.http.url, "https://", 8) != 0))
		return skep_usage("lake", "--clickhouse %s: expected http://host:8123 or https://host:8443",
				  in.http.url ? in.http.url : "URL");
	if (!is_name(in.database))
		return skep_usage("lake", "--database %s: letters, digits and _ are expected", in.database);
	if (in.password_file && !in.http.user)
		return skep_usage("lake", "--password-file without --user");
	rc = init(&in);
	if (in.password)
		explicit_bzero(in.password, strlen(in.password));
	free(in.password);
	return rc;
}
