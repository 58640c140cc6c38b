/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/init.c - `skep lake init --clickhouse URL`: creates or upgrades the lake's tables in ClickHouse.
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
	unsigned had, done; /* versions of the schema */
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

static int ask_number(struct init *in, const char *sql, unsigned *ret)
{
	char *reply;
	int err = ask(in, in->database, sql, &reply);

	if (err)
		return err;
	*ret = (unsigned)strtoul(reply, NULL, 10);
	free(reply);
	return 0;
}

static int note_version(struct init *in, unsigned version)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version SELECT toUInt32(%u), now()", version);
	return ask(in, in->database, sql, NULL);
}

/* Statements of version 0 come first and always run: they read the version of the tables. */
static int on_statement(void *arg, unsigned version, const char *sql)
{
	struct init *in = arg;
	int err;

	if (version == 0)
		return ask(in, in->database, sql, NULL);
	if (version <= in->had)
		return 0;
	if (in->done && in->done != version) {
		err = note_version(in, in->done);
		if (err)
			return err;
	}
	in->done = version;
	in->statements++;
	err = ask(in, in->database, sql, NULL);
	/* an init that failed in this version has added the column already */
	return err && strstr(in->why, "column with this name already exists") ? 0 : err;
}

static int print_statement(void *arg, unsigned version, const char *sql)
{
	(void)arg;
	(void)version;
	printf("%.*s;\n", (int)strlen(sql) - (sql[0] && sql[strlen(sql) - 1] == '\n'), sql);
	return 0;
}

static int first_statements(void *arg, unsigned version, const char *sql)
{
	return version == 0 ? ask(arg, ((struct init *)arg)->database, sql, NULL) : 0;
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

/*
 * The roll-ups of version 1 are tables from ClickHouse 22.3 on.  They may have sums of rows that a TTL has removed from
 * proc since, so version 2 does not drop them: they get another name.  An init that failed after this finds no such
 * table.
 */
static int keep_rollups(struct init *in)
{
	static const char *const names[] = { "rollup_run_tool", "rollup_day" };
	unsigned n = 0;
	char sql[256];
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(
			sql, sizeof(sql),
			"SELECT count() FROM system.tables WHERE database = '%s' AND name = '%s' AND engine LIKE '%%MergeTree'",
			in->database, names[i]);
		err = ask_number(in, sql, &n);
		if (err || !n)
			continue;
		/* drop the view that fills the table: else each insert into proc fails after the rename */
		snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS %s_mv", names[i]);
		err = ask(in, in->database, sql, NULL);
		snprintf(sql, sizeof(sql), "RENAME TABLE %s TO %s_v1", names[i], names[i]);
		if (!err)
			err = ask(in, in->database, sql, NULL);
	}
	return err;
}

/*
 * The days of the TTL on the table of runs, which version 4 makes anew; 0: none.  After an init that failed while it
 * moved the rows, only the earlier table, run_v3, has the TTL.
 */
static int ttl_of_runs(struct init *in, unsigned *ret)
{
	char sql[320];

	if (!clickhouse_server_since(&in->server, 19, 6))
		return 0; /* no TTL */
	snprintf(sql, sizeof(sql),
		 "SELECT max(toUInt32OrZero(extract(engine_full, 'toIntervalDay\\\\((\\\\d+)\\\\)'))) FROM system.tables "
		 "WHERE database = '%s' AND name IN ('run', 'run_v3')",
		 in->database);
	return ask_number(in, sql, ret);
}

static int init_server(struct init *in)
{
	char sql[160], *reply = NULL;
	unsigned ttl = 0;
	int err = ask(in, NULL, "SELECT version()", &reply);

	if (err)
		return err;
	if (sscanf(reply, "%u.%u", &in->server.major, &in->server.minor) != 2) {
		snprintf(in->why, sizeof(in->why),
			 "does not say what version it is: is that ClickHouse's HTTP interface?");
		err = -EPROTO;
	}
	free(reply);
	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", in->database);
	if (!err)
		err = ask(in, NULL, sql, NULL);
	if (!err)
		err = clickhouse_statements(&in->server, first_statements, in);
	if (!err)
		err = ask_number(in, "SELECT max(version) FROM schema_version", &in->had);
	if (!err && in->had > clickhouse_schema_version()) {
		snprintf(in->why, sizeof(in->why),
			 "its tables have version %u; this skep knows up to %u: use a newer skep", in->had,
			 clickhouse_schema_version());
		err = -EINVAL;
	}
	if (!err && in->had < 2)
		err = keep_rollups(in);
	if (!err && in->had > 0 && in->had < 4)
		err = ttl_of_runs(in, &ttl);
	if (!err)
		err = clickhouse_statements(&in->server, on_statement, in);
	if (!err && ttl && in->keep == LAKE_KEEP_AS_IS)
		err = set_ttl(in, "run", "start_ns", ttl);
	if (!err && in->done)
		err = note_version(in, in->done);
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
	if (in->done)
		printf("ClickHouse %u.%u: database %s, schema version %u (was %u), %u statements\n", in->server.major,
		       in->server.minor, in->database, in->done, in->had, in->statements);
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
