/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/create.h - creates the lake's tables in a ClickHouse server. Any thread.
 */
#ifndef SKEP_LAKE_CREATE_H
#define SKEP_LAKE_CREATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lake/clickhouse.h"
#include "lake/http.h"

#define LAKE_KEEP_AS_IS ULONG_MAX

struct lake_created {
	struct clickhouse_server server;
	unsigned version;    /* of the schema */
	unsigned statements; /* that made the tables; 0: the database had them */
};

bool lake_is_database(const char *name); /* may a database have this name? */

/*
 * Creates the database and its tables unless it has them; a call after one that failed continues.  keep: days after
 * which the server deletes rows, 0: never, LAKE_KEEP_AS_IS: as it is set.  http: open.  0, or a negative errno with the
 * reason in why; -ENOTSUP: the server is too old for keep; -EINVAL: its tables have another version.
 */
int lake_create(struct lake_http *http, const char *database, unsigned long keep, struct lake_created *ret, char *why,
		size_t room);

#endif
