/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake.c - `skep lake init --clickhouse URL`: creates or upgrades the lake's tables in ClickHouse.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"
#include "cli/lake_http.h"
#include "lake/clickhouse.h"

#define KEEP_AS_IS ULONG_MAX

struct init {
	struct lake_http http;
	const char *database, *password_file, *print;
	unsigned long keep; /* days; KEEP_AS_IS */
	char *password;
	struct clickhouse_server server;
	unsigned had, done; /* versions of the schema */
	unsigned statements;
	char why[1024];
};

static const struct command_option words[] = {
	{ "init", .help = "make the lake's tables in ClickHouse, or bring them up to date" },
	{ 0 },
};

static const struct command_option options[] = {
	{ "clickhouse", .value = "URL", .help = "its HTTP interface, http://host:8123",
	  COMMAND_AT(struct init, http.url) },
	{ "database", .value = "NAME", .help = "skep makes it if it does not exist (default: skep)",
	  COMMAND_AT(struct init, database) },
	{ "keep", .value = "DAYS",
	  .help = "the server removes rows that are older (TTL, from 19.6 on); 0: keeps all; not given: as it is",
	  .max = 100000, COMMAND_AT(struct init, keep) },
	{ "user", .value = "NAME", .help = "a user who may CREATE, ALTER and INSERT (default: the server's default user)",
	  COMMAND_AT(struct init, http.user) },
	{ "password-file", .value = "FILE", .help = "of that user", COMMAND_AT(struct init, password_file) },
	{ "ca-file", .value = "FILE",
	  .help = "certificates (PEM) with which skep verifies the server's (default: the system's)",
	  COMMAND_AT(struct init, http.ca_file) },
	{ "print", .value = "VERSION",
	  .help = "print the statements for a server of that version, 24.8; nothing is sent",
	  COMMAND_AT(struct init, print) },
	{ 0 },
};

static int run_lake(int argc, char **argv);

const struct command cmd_lake = {
	.name = "lake",
	.summary = "make the lake's tables in ClickHouse, or bring them up to date",
	.words = words,
	.options = options,
	.notes =
		"Running it again changes nothing. The sink \"clickhouse\" fills the tables, see skep-clickhouse(7).\n",
	.most = -1,
	.run = run_lake,
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
	return ask(in, in->database, sql, NULL);
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

static int set_keep(struct init *in)
{
	static const char *const tables[][2] = {
		{ "proc", "start_ns" }, { "run", "start_ns" },   { "sample", "start_ns" },
		{ "loss", "time_ns" },  { "record", "time_ns" },
	};
	char sql[256];
	int err = 0;

	if (!clickhouse_server_since(&in->server, 19, 6)) {
		snprintf(
			in->why, sizeof(in->why),
			"--keep: ClickHouse %u.%u has no TTL; drop old months instead: ALTER TABLE %s.proc DROP PARTITION 202601",
			in->server.major, in->server.minor, in->database);
		return -ENOTSUP;
	}
	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (in->keep)
			snprintf(sql, sizeof(sql),
				 "ALTER TABLE %s MODIFY TTL toDateTime(intDiv(%s, 1000000000)) + INTERVAL %lu DAY",
				 tables[i][0], tables[i][1], in->keep);
		else
			snprintf(sql, sizeof(sql), "ALTER TABLE %s REMOVE TTL", tables[i][0]);
		err = ask(in, in->database, sql, NULL);
		if (err && !in->keep && strstr(in->why, "doesn't have any table TTL"))
			err = 0;
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
	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", in->database);
	if (!err)
		err = ask(in, NULL, sql, NULL);
	if (!err)
		err = clickhouse_statements(&in->server, first_statements, in);
	if (!err)
		err = ask_number(in, "SELECT max(version) FROM schema_version", &in->had);
	if (!err && in->had > clickhouse_schema_version()) {
		snprintf(in->why, sizeof(in->why),
			 "its tables have version %u; this skep knows up to %u: use a newer one", in->had,
			 clickhouse_schema_version());
		err = -EINVAL;
	}
	if (!err && in->had < 2)
		err = keep_rollups(in);
	if (!err)
		err = clickhouse_statements(&in->server, on_statement, in);
	if (!err && in->done)
		err = note_version(in, in->done);
	if (!err && in->keep != KEEP_AS_IS)
		err = set_keep(in);
	return err;
}

static int read_password(struct init *in)
{
	FILE *f = fopen(in->password_file, "re");
	size_t room = 0;
	ssize_t n;

	if (!f) {
		snprintf(in->why, sizeof(in->why), "%s: %s", in->password_file, strerror(errno));
		return -errno;
	}
	n = getline(&in->password, &room, f);
	fclose(f);
	if (n < 0)
		n = 0;
	while (n > 0 && isspace((unsigned char)in->password[n - 1]))
		in->password[--n] = '\0';
	if (n == 0) {
		snprintf(in->why, sizeof(in->why), "%s: is empty", in->password_file);
		return -EINVAL;
	}
	in->http.password = in->password;
	return 0;
}

static int cmd_lake_init(struct init *in)
{
	int err = in->password_file ? read_password(in) : 0;

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

static int print_schema(const struct init *in)
{
	struct clickhouse_server server;

	if (sscanf(in->print, "%u.%u", &server.major, &server.minor) != 2)
		return skep_usage("lake", "--print %s: expected a version of ClickHouse like 24.8", in->print);
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

static int run_lake(int argc, char **argv)
{
	struct init in = { .database = "skep", .keep = KEEP_AS_IS };
	int rc = command_parse(&cmd_lake, argc, argv, &in);

	if (rc >= 0)
		return rc;
	if (optind + 1 != argc || strcmp(argv[optind], "init") != 0)
		return skep_usage("lake", "expected: skep lake init --clickhouse URL");
	if (in.print)
		return print_schema(&in);
	if (!in.http.url || (strncmp(in.http.url, "http://", 7) != 0 && strncmp(in.http.url, "https://", 8) != 0))
		return skep_usage("lake", "--clickhouse %s: expected http://host:8123 or https://host:8443",
				  in.http.url ? in.http.url : "URL");
	if (!is_name(in.database))
		return skep_usage("lake", "--database %s: letters, digits and _ are expected", in.database);
	if (in.password_file && !in.http.user)
		return skep_usage("lake", "--password-file without --user");
	rc = cmd_lake_init(&in);
	if (in.password)
		explicit_bzero(in.password, strlen(in.password));
	free(in.password);
	return rc;
}
