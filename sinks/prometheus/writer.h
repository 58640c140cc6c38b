/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/writer.h - encodes a batch as a remote-write request (version 0.1.0): protobuf, then snappy.
 *
 * The sink adds records to running sums, as for the page that a server scrapes.  The request holds the sums after the
 * records, at the records' own times.
 */
#ifndef SKEP_SINKS_PROMETHEUS_WRITER_H
#define SKEP_SINKS_PROMETHEUS_WRITER_H

#include "sinks/prometheus/ingest.h"

/* The values of a row after a record; several points of a row are in the order of time. */
struct point {
	struct row *row;
	struct point *next; /* next point of the row; set when all points are complete */
	int64_t time_ms;
	size_t values; /* index of its values */
	uint32_t records; /* number of records that it represents */
	bool zero;     /* a starting point: only counters, all 0 */
};

struct writer {
	struct store store;
	struct ingest ingest;
	const char *host;     /* a label; NULL: none */
	uint64_t max_age_ns;  /* the writer skips older records; 0: no limit */
	uint64_t step_ns;     /* least distance between two samples of a series */
	uint64_t batches;     /* number of batches so far; marks the rows of the current batch */
	char *base;           /* key, without "/0" ..., of the batch that was added last */

	struct point *points;
	size_t n_points, room;
	size_t *order; /* indices of points: row by row, each row in the order of time */
	size_t order_room;
	double *values; /* the values of all points, n_values of its plan for each */
	size_t n_values, values_room;
	struct jsonw series, message, request;

	uint32_t records, old; /* of the last batch: records with a sample, and records that were too old */
	uint64_t samples;
	size_t plain;          /* bytes before snappy */
	char *body;            /* of the last batch; reuses its memory */
	size_t len, body_room;
};

int writer_init(struct writer *, uint64_t max_series);
void writer_free(struct writer *);
/* Encodes a batch into body and len; len 0: nothing to send. Returns 0 or -ENOMEM. */
int writer_encode(struct writer *, const struct skep_batch *, uint64_t now_ns, int64_t realtime_ns, uint64_t expire_ns);
/*
 * Encodes a part of the points, from index `from` to `to` in that order. writer_part_records(): the records in the
 * part.
 */
int writer_part(struct writer *, size_t from, size_t to);
uint32_t writer_part_records(const struct writer *, size_t from, size_t to);

/* writer_series.c: appends all series of a row, with the times of its points from `first` on, to w->request. */
void writer_put_row(struct writer *, const struct point *first);

#endif
