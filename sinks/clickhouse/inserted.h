/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/inserted.h - which tables have the rows of a batch already, while the server refused the rows for
 * other tables.
 *
 * The parts of such a batch have tokens of their own, so the server does not recognise the rows.  ReplacingMergeTree
 * merges equal rows into one.  Until then a query without FINAL counts the rows twice, and a site's own materialised
 * view does so for ever.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_INSERTED_H
#define SKEP_SINKS_CLICKHOUSE_INSERTED_H

#include <stdbool.h>
#include <stdint.h>

#define INSERTED 64

struct inserted {
	struct {
		char *key;
		unsigned tables; /* a bit for each table */
		uint64_t used;   /* a full table drops the entry with the least recent look-up; 0: free */
	} at[INSERTED];
	uint64_t clock;
};

/* Returns the tables noted for the batch that `key` is a part of.  whole: include notes for `key` itself. */
unsigned inserted_find(struct inserted *, const char *key, bool whole);
void inserted_note(struct inserted *, const char *key, unsigned tables); /* does nothing when no memory is left */
void inserted_forget(struct inserted *);                                 /* frees every entry */

#endif
