/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/ingest.h - from records to rows.
 */
#ifndef SKEP_SINKS_PROMETHEUS_INGEST_H
#define SKEP_SINKS_PROMETHEUS_INGEST_H

#include <skep/sink/jsonw.h>

#include "sinks/prometheus/store.h"

struct ingest {
	struct store *store;
	const char *const *streams; /* only these; NULL: all */
	bool with_run;              /* the run is a label */
	bool only_find;             /* values stay as they are: a batch that was added before, in another shape */
	const char *boot_id;        /* of the host as it runs now */
	char other_boot[40];        /* the last other boot that records came of; "": none */
	int64_t other_shift;        /* its boot time plus this is ours: negative, before this boot began */
	int64_t shift;              /* of the batch under way: 0, or other_shift */
	struct jsonw labels;        /* room for one row's */
};

/*
 * Before the records of each batch: levels of an earlier boot, which the spool still had, do not replace those of this
 * one.
 */
void ingest_batch(struct ingest *, const struct skep_batch *);
/*
 * Adds a record. The row that took it, or NULL: it is of no stream that becomes metrics, or there was no memory
 * (-ENOMEM in *ret_err, which is else untouched).
 */
struct row *ingest_record(struct ingest *, const struct skep_record *, uint64_t now_ns, int64_t realtime_ns,
			  int *ret_err);
void ingest_free(struct ingest *);

#endif
