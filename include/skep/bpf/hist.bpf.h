/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/hist.bpf.h - the slot of a value in a struct skep_hist (record.h), kernel side.
 *
 * Buckets are those of an OpenTelemetry exponential histogram of scale 2: four to each
 * doubling, the upper bound belongs to the bucket.  No loop, no table: which quarter of
 * its doubling a value lies in is found by three comparisons with 2^31.25, 2^31.5 and
 * 2^31.75 after it has been shifted to lie in (2^31, 2^32]; so above 2^32 (4 s) a value
 * within a part in 2^31 of a bound may land on its other side.
 */
#ifndef SKEP_BPF_HIST_BPF_H
#define SKEP_BPF_HIST_BPF_H

#define SKEP_HIST_SLOTS 192u

/* Position of the highest set bit; v > 0. */
static __always_inline __u32 skep_high_bit(__u64 v)
{
	__u32 bit = 0;

	if (v >> 32) {
		v >>= 32;
		bit += 32;
	}
	if (v >> 16) {
		v >>= 16;
		bit += 16;
	}
	if (v >> 8) {
		v >>= 8;
		bit += 8;
	}
	if (v >> 4) {
		v >>= 4;
		bit += 4;
	}
	if (v >> 2) {
		v >>= 2;
		bit += 2;
	}
	return bit + (__u32)(v >> 1);
}

static __always_inline __u32 skep_hist_slot(__u64 v)
{
	__u32 bit, slot;
	__u64 m;

	if (v < 2)
		return (__u32)v;
	bit = skep_high_bit(v - 1); /* 2^bit < v <= 2^(bit + 1) */
	m = bit > 31 ? v >> (bit - 31) : v << (31 - bit);
	slot = 2 + bit * 4 + (m > 2553802833u) + (m > 3037000499u) + (m > 3611622602u);
	return slot < SKEP_HIST_SLOTS ? slot : SKEP_HIST_SLOTS - 1;
}

#endif
