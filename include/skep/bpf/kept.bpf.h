/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/kept.bpf.h - a kernel side that stays while skepd is restarted, and stops recording when nobody has come by
 * for a long time (skep/kept.h).  Include it after kernel.bpf.h.
 *
 * skep_asleep() is a load, for hooks that are called often.  skep_unattended() also looks at the clock, and
 * belongs into one that is called now and then.  Both count the event under its kind when the time is over, so that
 * the next skepd reports it as lost.
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

/* kind: one of the plugin's, or SKEP_KEPT_UNCOUNTED. */
static __always_inline int skep_asleep(__u32 kind)
{
	const struct skep_kept *k = skep_kept();

	return k && k->asleep ? skep_unrecorded(k, kind) : 0;
}

/* now: bpf_ktime_get_ns(), where the program has it already. */
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
