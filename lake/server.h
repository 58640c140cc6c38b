/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/server.h - a ClickHouse server as a lake: its address, its tables' version, and answers to SQL.  Internal to
 * lake/.
 */
#ifndef SKEP_LAKE_SERVER_H
#define SKEP_LAKE_SERVER_H

#include "lake/rows.h"

struct server;

/* Reads the address (lake.h), connects, and checks the version of the tables. 0 or -errno. */
int server_open(const char *address, struct lake_why *, struct server **ret);
struct server *server_close(struct server *);

struct server_rows;

/* Asks.  The text has the values as ?1, ?2, ...; why: borrowed until the cursor is closed. 0 or -errno. */
int server_rows_open(struct server *, struct lake_why *, const char *sql, const struct lake_value *, size_t n,
		     struct server_rows **ret);
/* The bytes of all rows that are left, valid until the cursor is closed; each row ends with a newline. 0 or -errno. */
int server_rows_rest(struct server_rows *, const char **ret, size_t *ret_n);
/* A cursor over such bytes, which it frees, also when it fails.  NULL: no memory. 0 or -errno. */
int server_rows_of(struct server *, struct lake_why *, char *bytes, size_t n, struct server_rows **ret);
/* For a strange row, perhaps the beginning of an exception: says why, in the server's words if it sent any. -errno. */
int server_rows_strange(struct server_rows *, const char *cause);
/* Moves to the next row. 1; 0: the answer is whole; -errno: also when a value of the last row was no number. */
int server_rows_next(struct server_rows *);
struct server_rows *server_rows_close(struct server_rows *);
int64_t server_rows_number(struct server_rows *, int column);
double server_rows_real(struct server_rows *, int column);
/* A text of the row, NUL-terminated, valid until the next row. */
const char *server_rows_text(struct server_rows *, int column, size_t *ret_n);

#endif
