/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/ingest.h - from records to rows.
 */
#ifndef SKEP_SINKS_PROMETHEUS_INGEST_H
#define SKEP_SINKS_PROMETHEUS_INGEST_H

#include "sinks/common/jsonw.h"
#include "sinks/prometheus/store.h"

struct ingest {
	struct store *store;
	const char *const *streams; /* only these; NULL: all */
	bool with_run;              /* the run is a label */
	bool only_find;             /* values stay as they are: a batch that was added before, in another shape */
	struct jsonw labels;        /* room for one row's */
};

/*
 * Adds a record. The row that took it, or NULL: it is of no stream that becomes metrics, or there was no memory
 * (-ENOMEM in *ret_err, which is else untouched).
 */
struct row *ingest_record(struct ingest *, const struct skep_record *, uint64_t now_ns, int64_t realtime_ns, int *ret_err);
void ingest_free(struct ingest *);

#endif
