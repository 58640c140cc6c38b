/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/hist.h - reads a struct skep_hist: bounds of its buckets, count, quantiles.
 * Pure functions, for any thread of plugins, sinks and readers; inline, as each is a few lines.  Link libm.
 */
#ifndef SKEP_HIST_H
#define SKEP_HIST_H

#include <math.h>
#include <skep/record.h>

/* Lower bound of slot k, exclusive; slot 0 holds only the value 0, slot 1 only 1. */
static inline double skep_hist_lower(uint32_t k)
{
	return k < 2 ? (double)k : exp2((double)(k - 2) / 4);
}

/* Upper bound of slot k, inclusive. */
static inline double skep_hist_upper(uint32_t k)
{
	return k < 2 ? (double)k : exp2((double)(k - 1) / 4);
}

static inline uint64_t skep_hist_count(const struct skep_hist *h)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < h->n; k++)
		n += h->slots[k];
	return n;
}

/*
 * The quantile q (0 to 1), interpolated linearly within its bucket, which is 19 % wide. 0: no values.
 */
static inline double skep_hist_quantile(const struct skep_hist *h, double q)
{
	double want = q * (double)skep_hist_count(h), seen = 0;

	for (uint32_t k = 0; k < h->n; k++) {
		double in = (double)h->slots[k];

		if (in > 0 && seen + in >= want)
			return skep_hist_lower(k) + (skep_hist_upper(k) - skep_hist_lower(k)) * (want - seen) / in;
		seen += in;
	}
	return 0;
}

/* The slot of a value, as in skep/bpf/hist.bpf.h. */
static inline uint32_t skep_hist_slot_of(uint64_t v)
{
	uint32_t bit, slot;
	uint64_t m;

	if (v < 2)
		return (uint32_t)v;
	bit = 63u - (uint32_t)__builtin_clzll(v - 1);
	m = bit > 31 ? v >> (bit - 31) : v << (31 - bit);
	slot = 2 + bit * 4 + (m > 2553802833u) + (m > 3037000499u) + (m > 3611622602u);
	return slot < SKEP_HIST_SLOTS ? slot : SKEP_HIST_SLOTS - 1;
}

#endif
