/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/ingest.h - converts records to rows of a month's file, inside the caller's transaction.
 */
#ifndef SKEP_SINKS_LAKE_INGEST_H
#define SKEP_SINKS_LAKE_INGEST_H

#include <skep/sink/jsonw.h>

#include "sinks/lake/budget.h"
#include "sinks/lake/columns.h"
#include "sinks/lake/rollup.h"
#include "sinks/lake/usage.h"

struct ingest {
	const char *boot_id, *host; /* of the current batch, borrowed */
	int64_t offset;      /* of the record: realtime = boot time + offset */
	int64_t host_offset; /* of the batch, for sums about the host */
	int64_t clock_ns;    /* nearly the same, of the kinds of processes */
	struct rollup *by_run, *by_day;
	struct usage *by_hour;
	struct jsonw json;
	uint64_t written; /* approximate bytes that rows have added; the store resets it */
	struct budget budget;
	int64_t now_ns;              /* monotonic time of the current batch */
	bool full;                   /* the lake is full: store no row */
	enum budget_level level;     /* of the current record */
	bool cut;                    /* a text of the current record was cut */
	bool shortened;              /* one was cut, here or by the probe */
	/* records without a stored row, and rows with a cut text; the store resets refused */
	uint32_t refused, rows_cut;
	size_t n_bindings;
	struct binding **bindings;
};

int ingest_init(struct ingest *);
void ingest_free(struct ingest *); /* frees the members; the caller may use the struct again */

/* Returns how a stream's records become rows; computed once per stream pointer. NULL: no memory. */
const struct binding *ingest_binding(struct ingest *, const struct skep_stream *);
/* Returns the run of a record, from its field or else its context; len 0: no run. */
struct skep_str ingest_run(const struct binding *, const struct skep_record *);
/* Converts boot time to realtime; 0 stays 0. */
int64_t ingest_time(const struct ingest *, uint64_t boot_ns);

int ingest_record(struct ingest *, struct db *, const struct skep_record *);
/* Writes the sums. Call it after the last record, before the commit. */
int ingest_finish(struct ingest *, struct db *);
/* Drops the sums. Call it after a rollback. */
void ingest_abort(struct ingest *);

#endif
