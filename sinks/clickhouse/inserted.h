/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/inserted.h - which tables have inserted the rows of a batch already, while others refused theirs.
 *
 * Parts of such a batch have tokens of their own, by which no server recognises those rows.  ReplacingMergeTree makes
 * equal rows one.  Until then a query without FINAL counts them twice, and a site's own materialised view does so for
 * good.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_INSERTED_H
#define SKEP_SINKS_CLICKHOUSE_INSERTED_H

#include <stdbool.h>
#include <stdint.h>

#define INSERTED 64

struct inserted {
	struct {
		char *key;
		unsigned tables; /* a bit for each */
		uint64_t used;   /* the entry with the least recent look-up makes room; 0: free */
	} at[INSERTED];
	uint64_t clock;
};

/* The tables noted for the batch that `key` is a part of.  whole: also for the batch `key` itself. */
unsigned inserted_find(struct inserted *, const char *key, bool whole);
void inserted_note(struct inserted *, const char *key, unsigned tables); /* without memory: notes nothing */
void inserted_forget(struct inserted *);                                 /* frees every entry */

#endif
