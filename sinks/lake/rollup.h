/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/rollup.h - sums per (run, tool) and per (day, pipeline, tool) over a batch.
 * A group then costs one statement per batch and not one per row.
 */
#ifndef SKEP_SINKS_LAKE_ROLLUP_H
#define SKEP_SINKS_LAKE_ROLLUP_H

#include "sinks/lake/db.h"

/* In the order of the parameters 4..16 of the statements. */
enum rollup_sum {
	ROLLUP_PROCESSES,
	ROLLUP_IMAGES,
	ROLLUP_CALLS,
	ROLLUP_FORKS,
	ROLLUP_FAILURES,
	ROLLUP_CPU,
	ROLLUP_WALL,
	ROLLUP_RUN_DELAY,
	ROLLUP_RCHAR,
	ROLLUP_WCHAR,
	ROLLUP_READ,
	ROLLUP_WRITE,
	ROLLUP_RSS_MAX, /* a maximum, not a sum */
	ROLLUP_SUMS,
};

struct rollup;

/*
 * which: DB_ROLLUP_TOOL or DB_ROLLUP_DAY; also: the sums of which go to this table too, or DB_STATEMENTS. NULL: no
 * memory.
 */
struct rollup *rollup_new(enum db_statement which, enum db_statement also);
struct rollup *rollup_free(struct rollup *);
void rollup_clear(struct rollup *);
/* Writes the groups to the file when the table is full. */
int rollup_add(struct rollup *, struct db *, const int64_t key[3], const int64_t sum[ROLLUP_SUMS]);
int rollup_flush(struct rollup *, struct db *);

#endif
