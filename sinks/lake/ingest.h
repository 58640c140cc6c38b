/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/lake/ingest.h - records into rows of a month's file, inside the caller's
 * transaction.
 */
#ifndef SKEP_SINKS_LAKE_INGEST_H
#define SKEP_SINKS_LAKE_INGEST_H

#include <skep/sink/jsonw.h>

#include "sinks/lake/budget.h"
#include "sinks/lake/columns.h"
#include "sinks/lake/rollup.h"

struct ingest {
	const char *boot_id; /* of the batch under way, borrowed */
	int64_t offset;      /* realtime = boot time + this */
	struct rollup *by_run, *by_day;
	struct jsonw json;
	uint64_t written; /* bytes that rows have added, about; the store sets it back */
	struct budget budget;
	int64_t now_ns;              /* monotonic, of the batch at hand */
	bool full;                   /* the lake is: no row is stored */
	enum budget_level level;     /* of the record at hand */
	bool cut;                    /* and one of its texts was cut */
	/* records of which no row was stored, rows with a text cut: the store sets them back */
	uint32_t refused, rows_cut;
	size_t n_bindings;
	struct binding **bindings;
};

int ingest_init(struct ingest *);
void ingest_free(struct ingest *); /* frees the members; the struct may be used again */

/* How this stream's records go in; found once per stream pointer. NULL: no memory. */
const struct binding *ingest_binding(struct ingest *, const struct skep_stream *);
/* The run that a record belongs to: its field, else its context; len 0: none. */
struct skep_str ingest_run(const struct binding *, const struct skep_record *);
/* Boot time to realtime; 0 stays 0. */
int64_t ingest_time(const struct ingest *, uint64_t boot_ns);

int ingest_record(struct ingest *, struct db *, const struct skep_record *);
/* After the last record, before commit. */
int ingest_finish(struct ingest *, struct db *);
/* After a rollback. */
void ingest_abort(struct ingest *);

#endif
