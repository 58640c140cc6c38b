/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/facet.h - what other probes know of a process: their numbers, gathered by their
 * semantics and appended to the process record as "<stream>.<field>".
 */
#ifndef SKEP_CORE_FACET_H
#define SKEP_CORE_FACET_H

#include <skep/record.h>

struct facets;       /* which there are */
struct facet_values; /* those of one process */

struct facets *facets_new(void);
struct facets *facets_free(struct facets *); /* and the streams that facets_build made */

/*
 * Every stream of role FACET, once; in records from the next facets_build on.  They are never taken back: what was a
 * column stays one.  0, -EEXIST (another stream of that name), -ENOMEM.
 */
int facets_add(struct facets *, const struct skep_stream *);
/* The records that facets are appended to. */
enum facet_table { FACETS_OF_IMAGE, FACETS_OF_SAMPLE, FACET_TABLES };

/*
 * base's fields and then the facets'.  Owned by the facets, and kept as long as they are: records that were made
 * before facets were added still point to the older one.  The same as before where nothing was added.  0 or -ENOMEM.
 */
int facets_build(struct facets *, enum facet_table, const struct skep_stream *base, const struct skep_stream **ret);

/* What record_size the next facets_build will give. */
uint32_t facets_record_size(const struct facets *, const struct skep_stream *base);

/* One record; allocates *values at the process's first. 0, -ENOMEM, or -ENOENT: not a stream that was added. */
int facets_record(const struct facets *, const struct skep_stream *, const void *rec, struct facet_values **values);
/*
 * What came since the last facets_take, written into a record of the image table: images of
 * one process add up to its total.  values NULL: zeroes.
 */
void facets_take(const struct facets *, struct facet_values *values, void *record);
/*
 * What came since the last facets_sample or facets_take, written into a record of the
 * sample table (gauges: the largest since the image began): samples of an image add up
 * to what facets_take gives.  Returns whether anything did.
 */
bool facets_sample(const struct facets *, struct facet_values *values, void *record);
/* What is kept of a process, column by column as bits, and back (core/process/saved.h). */
#define FACET_KEPT 3
void facets_kept(const struct facets *, const struct facet_values *,
		 void (*cb)(void *arg, const char *column, const uint64_t bits[FACET_KEPT]), void *arg);
/* 0, -ENOENT: no such column now, -ENOMEM. */
int facets_restore(const struct facets *, struct facet_values **values, const char *column,
		   const uint64_t bits[FACET_KEPT]);
struct facet_values *facet_values_free(struct facet_values *);

#endif
