/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/kept.bpf.h - lets a pinned kernel side record while skepd restarts, and stops it when no skepd has read for
 * a long time (skep/kept.h).  Include this header after kernel.bpf.h.
 *
 * skep_asleep() costs a load: call it in hooks that run often.  skep_unattended() also reads the clock: call it in a
 * hook that runs now and then.  When the time has expired, both count the event by its kind, so that the next skepd
 * reports it as lost.
 */
#ifndef SKEP_BPF_KEPT_BPF_H
#define SKEP_BPF_KEPT_BPF_H

#include <skep/kept.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct skep_kept);
} kept SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct skep_unattended);
} unattended SEC(".maps");

static __always_inline struct skep_kept *skep_kept(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&kept, &zero);
}

static __always_inline int skep_unrecorded(const struct skep_kept *k, __u32 kind)
{
	struct skep_unattended *u;
	__u32 zero = 0;

	if (k->asleep != SKEP_KEPT_EXPIRED)
		return 1;
	u = bpf_map_lookup_elem(&unattended, &zero);
	if (u)
		__sync_fetch_and_add(&u->n[kind], 1);
	return 1;
}

/* 1: the hook must not record. kind: the plugin's number for this kind of event, or SKEP_KEPT_UNCOUNTED. */
static __always_inline int skep_asleep(__u32 kind)
{
	const struct skep_kept *k = skep_kept();

	return k && k->asleep ? skep_unrecorded(k, kind) : 0;
}

/* For a program that has the time already. now: bpf_ktime_get_ns(). */
static __always_inline int skep_unattended_at(__u64 now, __u32 kind)
{
	struct skep_kept *k = skep_kept();

	if (!k)
		return 0;
	if (!k->asleep && k->until_ns && now > k->until_ns)
		k->asleep = SKEP_KEPT_EXPIRED;
	return k->asleep ? skep_unrecorded(k, kind) : 0;
}

static __always_inline int skep_unattended(__u32 kind)
{
	return skep_unattended_at(bpf_ktime_get_ns(), kind);
}

#endif
