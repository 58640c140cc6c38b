/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/stream_metrics.h - metrics and labels of the streams that this sink knows by name.  The metrics of
 * all other streams follow from their field tables.
 */
#ifndef SKEP_SINKS_PROMETHEUS_STREAM_METRICS_H
#define SKEP_SINKS_PROMETHEUS_STREAM_METRICS_H

#include <skep/record.h>

#define METRICS_SKIP      1u  /* a record per process, connection ...: another stream reports the sums */
#define METRICS_SUM       2u  /* adds up gauges of records of the same time */
#define METRICS_UP_DOWN   4u  /* a delta may be negative: the sum is a gauge */
#define METRICS_NO_VALUES 8u  /* only the count of records */
#define METRICS_INFO      16u /* the count is a gauge, always 1, with the labels of the latest record */
#define METRICS_NO_CONTEXT 64u /* no labels of the process that the record is about */
#define METRICS_NOT_RUNS  32u /* skips records about a run: the records about the host include their values */

struct stream_metrics {
	const char *stream;
	const char *prefix; /* replaces the stream's name in metrics' names; NULL: the stream's name */
	unsigned flags;     /* METRICS_* */
	const char *labels; /* "attribute=label attribute ...": the attributes that become labels */
	const char *count;  /* full name of a metric that counts the records; NULL: none */
	const char *count_help;
	const char *skip; /* " field field ": fields that make no metric; NULL: none */
};

/* Returns the entry of a stream, or NULL. */
const struct stream_metrics *stream_metrics_find(const char *name);

#endif
