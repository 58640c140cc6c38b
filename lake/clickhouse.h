/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/clickhouse.h - the statements of clickhouse.sql for a server of a given version, for the sink clickhouse and
 * `skep lake`.
 */
#ifndef SKEP_LAKE_CLICKHOUSE_H
#define SKEP_LAKE_CLICKHOUSE_H

struct clickhouse_server {
	unsigned major, minor; /* 24.8 */
};

/*
 * Gets one statement, without its semicolon. version: the schema version of the statement; 0: run the statement each
 * time. A result other than 0 ends the walk.
 */
typedef int (*clickhouse_statement_cb)(void *arg, unsigned version, const char *sql);

/* Calls cb for each statement for the server, in order. 0, -ENOMEM, or the result of the callback. */
int clickhouse_statements(const struct clickhouse_server *, clickhouse_statement_cb, void *arg);
unsigned clickhouse_schema_version(void); /* the newest version in clickhouse.sql */
/* Has the server version major.minor or later? */
int clickhouse_server_since(const struct clickhouse_server *, unsigned major, unsigned minor);

#endif
