/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/create.c - see lake/create.h.
 */
#include "lake/create.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct creation {
	struct lake_http *http;
	const char *database;
	struct lake_created made;
	char *why;
	size_t room;
};

/* ret: NULL, or gets the answer, which the caller frees. */
static int ask(struct creation *c, const char *database, const char *sql, char **ret)
{
	char *reply = NULL;
	int err = lake_http_post(c->http, database, sql, &reply, c->why, c->room);

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
	struct creation *c = arg;

	return version == 0 ? ask(c, c->database, sql, NULL) : 0;
}

static int on_statement(void *arg, unsigned version, const char *sql)
{
	struct creation *c = arg;

	c->made.statements += version > 0;
	return version > 0 ? ask(c, c->database, sql, NULL) : 0;
}

/* Each statement but the last one may run again, after a call that failed. */
static int make_tables(struct creation *c)
{
	char sql[96];
	int err = clickhouse_statements(&c->made.server, on_statement, c);

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version SELECT toUInt32(%u), now()", c->made.version);
	return err ? err : ask(c, c->database, sql, NULL);
}

/* days: 0: none. */
static int set_ttl(struct creation *c, const char *table, const char *column, unsigned long days)
{
	char sql[256];
	int err;

	if (days)
		snprintf(sql, sizeof(sql),
			 "ALTER TABLE %s MODIFY TTL toDateTime(intDiv(%s, 1000000000)) + INTERVAL %lu DAY", table, column,
			 days);
	else
		snprintf(sql, sizeof(sql), "ALTER TABLE %s REMOVE TTL", table);
	err = ask(c, c->database, sql, NULL);
	return err && !days && strstr(c->why, "doesn't have any table TTL") ? 0 : err;
}

static int set_keep(struct creation *c, unsigned long days)
{
	static const char *const tables[][2] = {
		{ "proc", "start_ns" },   { "run", "start_ns" }, { "task", "start_ns" },
		{ "sample", "start_ns" }, { "loss", "time_ns" }, { "record", "time_ns" },
	};
	int err = 0;

	if (!clickhouse_server_since(&c->made.server, 19, 6)) {
		snprintf(c->why, c->room,
			 "--keep: ClickHouse %u.%u has no TTL; drop old months instead: "
			 "ALTER TABLE %s.proc DROP PARTITION 202601",
			 c->made.server.major, c->made.server.minor, c->database);
		return -ENOTSUP;
	}
	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = set_ttl(c, tables[i][0], tables[i][1], days);
	return err;
}

static int read_server(struct creation *c)
{
	char *reply = NULL;
	int err = ask(c, NULL, "SELECT version()", &reply);

	if (err)
		return err;
	if (sscanf(reply, "%u.%u", &c->made.server.major, &c->made.server.minor) != 2) {
		snprintf(c->why, c->room, "does not say what version it is: is that ClickHouse's HTTP interface?");
		err = -EPROTO;
	}
	free(reply);
	return err;
}

int lake_create(struct lake_http *http, const char *database, unsigned long keep, struct lake_created *ret, char *why,
		size_t room)
{
	struct creation c = {
		.http = http, .database = database, .why = why, .room = room,
		.made.version = clickhouse_schema_version(),
	};
	char sql[160], *reply = NULL;
	unsigned had;
	int err;

	if (!lake_is_database(database)) {
		snprintf(why, room, "no database has the name '%s'", database);
		return -EINVAL;
	}
	err = read_server(&c);
	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", database);
	if (!err)
		err = ask(&c, NULL, sql, NULL);
	if (!err)
		err = clickhouse_statements(&c.made.server, first_statement, &c);
	if (!err)
		err = ask(&c, database, "SELECT max(version) FROM schema_version", &reply);
	if (err)
		return err;
	had = (unsigned)strtoul(reply, NULL, 10);
	free(reply);
	if (had == 0) {
		err = make_tables(&c);
	} else if (had != c.made.version) {
		snprintf(why, room,
			 "the tables of database %s have schema version %u, this skep makes version %u: upgrade "
			 "skep, or give another --database",
			 database, had, c.made.version);
		err = -EINVAL;
	}
	if (!err && keep != LAKE_KEEP_AS_IS)
		err = set_keep(&c, keep);
	*ret = c.made;
	return err;
}

bool lake_is_database(const char *name)
{
	size_t n = 0;

	while (isalnum((unsigned char)name[n]) || name[n] == '_')
		n++;
	return n > 0 && n < 64 && !name[n];
}
