/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/hist.bpf.h - the slot of a value in a struct skep_hist (record.h), kernel side.
 *
 * The buckets are those of an OpenTelemetry exponential histogram of scale 2: four buckets for each doubling, and the
 * upper bound belongs to the bucket.  The code needs neither a loop nor a table: it shifts the value into
 * (2^31, 2^32] and compares it with 2^31.25, 2^31.5 and 2^31.75.  The shift drops low bits of values above 2^32
 * (4 s).  So a value that differs from a bound by less than 1 part in 2^31 may get the slot on the bound's other side.
 */
#ifndef SKEP_BPF_HIST_BPF_H
#define SKEP_BPF_HIST_BPF_H

#define SKEP_HIST_SLOTS 192u

/*
 * 1: a < b; both below 2^63.  Without a branch: clang makes a branch of a comparison, and the verifier follows every
 * combination of branches.  clang also knows that this difference is a comparison, unless it does not see `b`.
 */
static __always_inline __u64 skep_hist_less(__u64 a, __u64 b)
{
	asm volatile("" : "+r"(b));
	return (a - b) >> 63;
}

/* Shifts `v` right by `by`, if a higher bit is set; returns by how many. */
static __always_inline __u32 skep_high_step(__u64 *v, __u32 by)
{
	__u32 step = (__u32)skep_hist_less(0, *v >> by) * by;

	*v >>= step;
	return step;
}

/* Position of the highest set bit; v > 0. */
static __always_inline __u32 skep_high_bit(__u64 v)
{
	__u32 bit = skep_high_step(&v, 32);

	bit += skep_high_step(&v, 16);
	bit += skep_high_step(&v, 8);
	bit += skep_high_step(&v, 4);
	bit += skep_high_step(&v, 2);
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
	slot = 2 + bit * 4;
	slot += (__u32)skep_hist_less(2553802833u, m);
	slot += (__u32)skep_hist_less(3037000499u, m);
	slot += (__u32)skep_hist_less(3611622602u, m);
	return slot < SKEP_HIST_SLOTS ? slot : SKEP_HIST_SLOTS - 1;
}

#endif
