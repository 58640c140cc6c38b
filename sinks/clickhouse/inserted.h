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
		uint64_t used;   /* the one that was not asked for longest makes room; 0: free */
	} at[INSERTED];
	uint64_t clock;
};

/* What was noted of that batch, or of one that it is a part of.  whole: also of itself. */
unsigned inserted_find(struct inserted *, const char *key, bool whole);
void inserted_note(struct inserted *, const char *key, unsigned tables); /* without memory it is not known */
void inserted_forget(struct inserted *);                                 /* all; frees what it holds */

#endif
