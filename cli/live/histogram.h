/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/histogram.h - a distribution (struct skep_hist) as text: bars, median, tail.
 */
#ifndef SKEP_CLI_HISTOGRAM_H
#define SKEP_CLI_HISTOGRAM_H

#include <jansson.h>
#include <skep/hist.h>

#include "cli/base/human.h"
#include "cli/base/paint.h"

struct histogram {
	uint64_t slots[SKEP_HIST_SLOTS];
	uint64_t sum;
};

/*
 * Adds a histogram of a record's JSON (count, sum, zero_count, offset, counts). 0; -EINVAL: another scale, or not a
 * histogram.
 */
int histogram_add(struct histogram *, const json_t *);
uint64_t histogram_count(const struct histogram *);
/* "p50 4.1 µs  p90 33 µs  p99 1.2 ms  mean 12 µs", in the unit ("ns", "By", another one). */
void histogram_summary(const struct histogram *, const char *unit, const struct paint *, char *ret, size_t size);
/* Prints a row for each bucket from the first to the last with values; if these are many, for each doubling. */
void histogram_print(const struct histogram *, const char *unit, const struct paint *, size_t indent);
/* A value in that unit. */
const char *histogram_value(double value, const char *unit, unsigned flags, char buf[HUMAN_SIZE]);

#endif
