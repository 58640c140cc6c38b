/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/kept.bpf.h - a kernel side that stays while skepd is restarted, and stops recording when nobody has come by for
 * a long time (skep/kept.h).  Include it after kernel.bpf.h.
 *
 * skep_asleep() is a load, for hooks that are called often.  skep_unattended() also looks at the clock, and
 * belongs into one that is called now and then.
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

static __always_inline struct skep_kept *skep_kept(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&kept, &zero);
}

static __always_inline int skep_asleep(void)
{
	struct skep_kept *k = skep_kept();

	return k && k->asleep;
}

/* now: bpf_ktime_get_ns(), where the program has it already. */
static __always_inline int skep_unattended_at(__u64 now)
{
	struct skep_kept *k = skep_kept();

	if (!k)
		return 0;
	if (!k->asleep && k->until_ns && now > k->until_ns)
		k->asleep = 1;
	return k->asleep;
}

static __always_inline int skep_unattended(void)
{
	return skep_unattended_at(bpf_ktime_get_ns());
}

#endif
