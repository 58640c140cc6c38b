/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/stream_metrics.h - metrics and labels of the streams that this sink knows by name.  All other
 * streams get theirs from their field tables.
 */
#ifndef SKEP_SINKS_PROMETHEUS_STREAM_METRICS_H
#define SKEP_SINKS_PROMETHEUS_STREAM_METRICS_H

#include <skep/record.h>

#define METRICS_SKIP      1u  /* a record for each process, connection ...: another stream has the sums */
#define METRICS_SUM       2u  /* gauges of records of the same time add up: they differ in attributes without labels */
#define METRICS_UP_DOWN   4u  /* a delta may be negative: the sum is a gauge */
#define METRICS_NO_VALUES 8u  /* only the count */
#define METRICS_INFO      16u /* the count is a gauge, always 1 */
#define METRICS_NOT_RUNS  32u /* records about a run have their sum in those about the host */

struct stream_metrics {
	const char *stream;
	const char *prefix; /* in place of the stream's name in metrics' names; NULL: that */
	unsigned flags;     /* METRICS_* */
	const char *labels; /* "attribute=label attribute ...": which of its attributes are labels */
	const char *count;  /* a metric that counts its records, its whole name; NULL: none */
	const char *count_help;
	const char *skip; /* " field field ": of no use as metrics; NULL: none */
};

/* NULL: not known. */
const struct stream_metrics *stream_metrics_find(const char *name);

#endif
