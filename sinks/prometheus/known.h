/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/known.h - what is said of streams that this sink knows by name.  Of all
 * others, their field tables say enough.
 */
#ifndef SKEP_SINKS_PROMETHEUS_KNOWN_H
#define SKEP_SINKS_PROMETHEUS_KNOWN_H

#include <skep/record.h>

#define KNOWN_SKIP 1u     /* a record for each process, connection ...: another stream has the sums */
#define KNOWN_SUM 2u      /* gauges of records of the same time add up: they differ in what is no label */
#define KNOWN_UP_DOWN 4u  /* a delta may be negative: the sum is a gauge */
#define KNOWN_NO_VALUES 8u /* only the count */
#define KNOWN_INFO 16u    /* the count is a gauge, always 1 */
#define KNOWN_NOT_RUNS 32u /* records about a run have their sum in those about the host */

struct known_stream {
	const char *stream;
	const char *prefix; /* in place of the stream's name in metrics' names; NULL: that */
	unsigned flags;     /* KNOWN_* */
	const char *labels; /* "attribute=label attribute ...": which of its attributes are labels */
	const char *count;  /* a metric that counts its records, its whole name; NULL: none */
	const char *count_help;
	const char *skip;   /* " field field ": of no use as metrics; NULL: none */
};

/* NULL: not known. */
const struct known_stream *known_stream(const char *name);

#endif
