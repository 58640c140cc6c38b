/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/writer.h - a batch as a remote-write request (version 0.1.0): protobuf, then snappy.
 *
 * Records are added to running sums, as for the page that is scraped; the request has what these are after
 * them, at the records' own times.
 */
#ifndef SKEP_SINKS_PROMETHEUS_WRITER_H
#define SKEP_SINKS_PROMETHEUS_WRITER_H

#include "sinks/prometheus/ingest.h"

/* What a row was after a record; several of a row are in the order of time. */
struct point {
	struct row *row;
	struct point *next; /* of the row; set when all are there */
	int64_t time_ms;
	size_t values; /* where they begin */
	uint32_t records; /* that it stands for */
	bool zero;     /* where its counters begin: nothing but those */
};

struct writer {
	struct store store;
	struct ingest ingest;
	const char *host;     /* label; NULL: none */
	uint64_t max_age_ns;  /* records that are older are left out; 0: none is */
	uint64_t step_ns;     /* samples of a series are at least so far apart */
	uint64_t batches;     /* seen; marks rows that are in this one */
	char *base;           /* key, without "/0" ..., of the batch that was added last */

	struct point *points;
	size_t n_points, room;
	size_t *order; /* of points: row by row, each in the order of time */
	size_t order_room;
	double *values; /* of points, n_values of their row's plan each */
	size_t n_values, values_room;
	struct jsonw series, message, request;

	uint32_t records, old; /* of the last batch: that have a sample, that were too old */
	uint64_t samples;
	size_t plain;          /* bytes before snappy */
	char *body;            /* of the last batch; its memory is kept */
	size_t len, body_room;
};

int writer_init(struct writer *, uint64_t max_series);
void writer_free(struct writer *);
/* Fills body and len; len 0: nothing is to be sent. 0 or -ENOMEM. */
int writer_encode(struct writer *, const struct skep_batch *, uint64_t now_ns, int64_t realtime_ns, uint64_t expire_ns);
/* The same of a part of its points, in that order, from 0 to n_points; and how many records these stand for. */
int writer_part(struct writer *, size_t from, size_t to);
uint32_t writer_part_records(const struct writer *, size_t from, size_t to);

/* writer_series.c: all series of a row, at the times of its points from this one on, to the end of w->request. */
void writer_put_row(struct writer *, const struct point *first);

#endif
