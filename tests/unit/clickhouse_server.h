/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/clickhouse_server.h - a ClickHouse for a test program: Debian's clickhouse-server, which the first test of
 * the program starts, or the server that SKEP_TEST_CLICKHOUSE names.
 */
#ifndef SKEP_TESTS_CLICKHOUSE_SERVER_H
#define SKEP_TESTS_CLICKHOUSE_SERVER_H

#include <stdbool.h>

#include "lake/http.h"

extern char clickhouse_url[64]; /* "": none here */
extern struct lake_http clickhouse_http;

/* Set-up and tear-down of a group of tests. */
int clickhouse_begin(void **state);
int clickhouse_end(void **state);
/* Skips the test if there is no server. */
void clickhouse_need(void);
/* Did this program start the server? Then it has the user "ann" with the password "right". */
bool clickhouse_is_own(void);
/* Returns the answer without its last newline; valid until the next call. */
const char *clickhouse_ask(const char *sql);
/* Runs `skep lake init`; more: NULL, or one more option and its value. Returns the exit status. */
int clickhouse_lake_init(const char *database, const char *more, const char *value);
/* Makes an empty database with the lake's tables. */
void clickhouse_fresh(const char *database);

#endif
