/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/ingest.h - adds records to the rows of the store.
 */
#ifndef SKEP_SINKS_PROMETHEUS_INGEST_H
#define SKEP_SINKS_PROMETHEUS_INGEST_H

#include <skep/sink/jsonw.h>

#include "sinks/prometheus/store.h"

struct ingest {
	struct store *store;
	const char *const *streams; /* only these streams; NULL: all */
	bool with_run;              /* the run is a label */
	bool only_find;             /* keep all values: the store has counted the batch already, in another split */
	const char *boot_id;        /* boot id of the machine now */
	char other_boot[40];        /* the last other boot id among the batches; "": none */
	int64_t other_shift;        /* add it to that boot's time for this boot's time; negative: before this boot */
	int64_t shift;              /* of the current batch: 0 or other_shift */
	struct jsonw labels;        /* buffer for the labels of one row */
};

/*
 * Call this before the records of each batch.  Levels of an earlier boot, which the spool still held, then do not
 * replace the levels of this boot.
 */
void ingest_batch(struct ingest *, const struct skep_batch *);
/*
 * Adds a record and returns its row.  NULL: the record's stream has no metrics, or no memory is left (-ENOMEM in
 * *ret_err, which is otherwise unchanged).
 */
struct row *ingest_record(struct ingest *, const struct skep_record *, uint64_t now_ns, int64_t realtime_ns,
			  int *ret_err);
void ingest_free(struct ingest *);

#endif
