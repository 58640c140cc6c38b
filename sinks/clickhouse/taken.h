/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/clickhouse/taken.h - batches of which some tables have their rows, while others refused theirs.  Halves of such
 * a batch have tokens of their own, by which no server knows those rows again.  ReplacingMergeTree makes them one;
 * until then a query without FINAL, and a site's own materialised view for good, would count them twice.
 */
#ifndef SKEP_SINKS_CLICKHOUSE_TAKEN_H
#define SKEP_SINKS_CLICKHOUSE_TAKEN_H

#include <stdbool.h>
#include <stdint.h>

#define TAKEN 64

struct taken {
	struct {
		char *key;
		unsigned tables; /* a bit for each */
		uint64_t used;   /* the one that was not asked for longest makes room; 0: free */
	} at[TAKEN];
	uint64_t clock;
};

/* What was noted of that batch, or of one that it is a part of.  whole: also of itself. */
unsigned taken_find(struct taken *, const char *key, bool whole);
void taken_note(struct taken *, const char *key, unsigned tables); /* without memory it is not known */
void taken_forget(struct taken *);                                 /* all; frees what it holds */

#endif
