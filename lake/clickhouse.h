/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/clickhouse.h - the statements of clickhouse.sql for a server of some version.
 */
#ifndef SKEP_LAKE_CLICKHOUSE_H
#define SKEP_LAKE_CLICKHOUSE_H

struct clickhouse_server {
	unsigned major, minor; /* 24.8 */
};

/* One statement, without its semicolon. version: of the schema, 0: to be run each time. Not 0: ends the walk. */
typedef int (*clickhouse_statement_cb)(void *arg, unsigned version, const char *sql);

/* Those for that server, in order. 0, -ENOMEM, or what the callback returned. */
int clickhouse_statements(const struct clickhouse_server *, clickhouse_statement_cb, void *arg);
unsigned clickhouse_schema_version(void); /* the newest that there is */
/* Is it major.minor or later? */
int clickhouse_server_since(const struct clickhouse_server *, unsigned major, unsigned minor);

#endif
