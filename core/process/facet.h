/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/facet.h - facets: the numbers that other probes report about a process.  The tracker gathers them by
 * their semantics and appends them to the process record as "<stream>.<field>".
 */
#ifndef SKEP_CORE_FACET_H
#define SKEP_CORE_FACET_H

#include <skep/record.h>

struct facets;       /* the columns of all facet streams */
struct facet_values; /* the columns' values of one process */

struct facets *facets_new(void);
struct facets *facets_free(struct facets *); /* and the streams that facets_build made */

/*
 * Adds the numeric fields of a stream of role FACET as columns; a stream that is already there changes nothing.
 * Records get the columns with the next facets_build().  No column is ever removed.  0, -EEXIST (another stream has
 * this name), -ENOMEM.
 */
int facets_add(struct facets *, const struct skep_stream *);
/* The records that get facet columns. */
enum facet_table { FACETS_OF_IMAGE, FACETS_OF_SAMPLE, FACET_TABLES };

/*
 * Gives the stream of a record: base's fields, then the facet columns.  The facets own the stream until facets_free(),
 * because records that were made before an addition still point to the older stream.  Gives the same stream as before
 * if no column was added.  0 or -ENOMEM.
 */
int facets_build(struct facets *, enum facet_table, const struct skep_stream *base, const struct skep_stream **ret);

/* The record_size of the stream that the next facets_build() will give. */
uint32_t facets_record_size(const struct facets *, const struct skep_stream *base);

/*
 * Adds a facet record to the process's values; the first record of a stream allocates their memory.  0, -ENOMEM, or
 * -ENOENT: no column belongs to this stream.
 */
int facets_record(const struct facets *, const struct skep_stream *, const void *rec, struct facet_values **values);
/*
 * Writes the values of the current image into a record of the image table, and begins the next image: the images of one
 * process add up to its total.  values NULL: zeroes.
 */
void facets_take(const struct facets *, struct facet_values *values, void *record);
/*
 * Writes the sums since the last facets_sample() or facets_take() into a record of the sample table (gauges: the
 * largest value since the image began).  The samples of an image add up to the values of facets_take().  Returns
 * whether anything but gauges was added.
 */
bool facets_sample(const struct facets *, struct facet_values *values, void *record);
/* The number of the column "<stream>.<field>"; UINT32_MAX: no probe has it. */
uint32_t facets_find(const struct facets *, const char *name);
/* The value of a column of whole numbers for the current image so far; values NULL, or no such column: 0. */
uint64_t facets_value(const struct facets *, const struct facet_values *values, uint32_t column);
/* The name of that column, borrowed; NULL: there are not so many. */
const char *facets_column(const struct facets *, uint32_t column);
/* What the current image has of a column of whole numbers that add up; values NULL: 0. */
uint64_t facets_number(const struct facet_values *, uint32_t column);
/*
 * Saves the values of a process for the next skepd (core/process/saved.h): calls cb for each column that is not zero,
 * with its values as bits.
 */
#define FACET_KEPT 3
void facets_kept(const struct facet_values *,
		 void (*cb)(void *arg, uint32_t column, const uint64_t bits[FACET_KEPT]), void *arg);
/* Restores a saved column.  0, -ENOENT: no probe has this column now, -ENOMEM. */
int facets_restore(const struct facets *, struct facet_values **values, const char *column,
		   const uint64_t bits[FACET_KEPT]);
struct facet_values *facet_values_free(struct facet_values *);

#endif
