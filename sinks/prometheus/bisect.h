/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/bisect.h - which part of a request comes next, while the samples are looked for that a receiver
 * refuses.
 *
 * Prometheus (2.42, 2.53 and 3.5 have been tried) takes nothing of a request that has one sample out of order, out of
 * bounds or of a time that it has another value of, and answers 400 without saying which.  Others (Mimir, Thanos) take
 * the rest.  So the halves are sent, and halves of those that are refused, down to what is to blame: what a receiver
 * has already, it takes again as no change.
 */
#ifndef SKEP_SINKS_PROMETHEUS_BISECT_H
#define SKEP_SINKS_PROMETHEUS_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one batch: beyond it what is refused is refused as it is. */
#define BISECT_REQUESTS 256

struct bisect {
	size_t from, to; /* the part that is under way */
	unsigned requests, n;
	struct {
		size_t from, to;
	} todo[sizeof(size_t) * 8 + 1]; /* halves of halves: one more at each step */
};

/* Is the answer about single samples, which another time does not mend? */
bool bisect_applies(uint32_t status, const char *body);

/* All of it, n parts, first. */
static inline void bisect_begin(struct bisect *h, size_t n)
{
	h->from = 0;
	h->to = n;
	h->requests = 1;
	h->n = 0;
}

/* The next part is under way; false: that was all. */
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
 * What is under way was refused: its halves are next, the earlier one first. false: it cannot be halved, or it has been
 * enough.
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
