/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/saturate.h - sums that stop at the largest number of SQLite, and of most readers of JSON.
 *
 * SQLite's own sum() ends a query with an error above 2^63, so one impossible value in one run's row ended every
 * listing.  lake_is_saturated() (lake.h) says if a number of an answer has reached the limit.
 */
#ifndef SKEP_LAKE_SATURATE_H
#define SKEP_LAKE_SATURATE_H

#include <sqlite3.h>
#include <stdint.h>

#define LAKE_SUM_MOST INT64_MAX

/* n: at most INT64_MAX, as every number of the lake. */
static inline void lake_add(uint64_t *sum, uint64_t n)
{
	*sum = n < LAKE_SUM_MOST - *sum ? *sum + n : LAKE_SUM_MOST;
}

/* ClickHouse's sum() begins again at 0 above 2^64. x_: of an unsigned column. */
#define LAKE_SUM_CLICKHOUSE(x_) "if(sum(toFloat64(" x_ ")) < 9.2e18, sum(" x_ "), toUInt64(9223372036854775807))"

/* Replaces sum() on this connection. Returns SQLite's result code. */
int lake_saturate(sqlite3 *);

#endif
