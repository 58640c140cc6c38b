/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/bisect.h - searches a refused request for the samples that the receiver refuses.
 *
 * Prometheus (2.42, 2.53 and 3.5 were tried) refuses a whole request because of one bad sample: out of order, out of
 * bounds, or with another value than it has for that time.  It answers 400 without naming the sample.  Other receivers
 * (Mimir, Thanos) store the rest.  So the sink sends the request in halves, and refused halves in halves again, down to
 * the bad samples.  A sample that the receiver has already changes nothing.
 */
#ifndef SKEP_SINKS_PROMETHEUS_BISECT_H
#define SKEP_SINKS_PROMETHEUS_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most requests for one batch: beyond it the sink counts a refused part as refused as a whole. */
#define BISECT_REQUESTS 256

struct bisect {
	size_t from, to; /* the part in flight */
	unsigned requests, n;
	struct {
		size_t from, to;
	} todo[sizeof(size_t) * 8 + 1]; /* halves of halves: each split adds at most one */
};

/* True when the answer is about single samples, so that a later attempt would fail as well. */
bool bisect_applies(uint32_t status, const char *body);

/* Begins with the whole request of n points. */
static inline void bisect_begin(struct bisect *h, size_t n)
{
	h->from = 0;
	h->to = n;
	h->requests = 1;
	h->n = 0;
}

/* Makes the next part current; false: no part is left. */
static inline bool bisect_next(struct bisect *h)
{
	if (!h->n)
		return false;
	h->n--;
	h->from = h->todo[h->n].from;
	h->to = h->todo[h->n].to;
	h->requests++;
	return true;
}

/*
 * Splits the refused part: its earlier half is next, then the other.  False: the part is a single point, or
 * BISECT_REQUESTS is reached.
 */
static inline bool bisect_split(struct bisect *h)
{
	size_t middle = h->from + (h->to - h->from) / 2;

	if (middle == h->from || h->requests + h->n + 2 > BISECT_REQUESTS)
		return false;
	h->todo[h->n].from = middle;
	h->todo[h->n++].to = h->to;
	h->todo[h->n].from = h->from;
	h->todo[h->n++].to = middle;
	return true;
}

#endif
