/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/ring.bpf.h - sends records to user space: the ring, and counters, also of dropped records.
 */
#ifndef SKEP_NET_RING_BPF_H
#define SKEP_NET_RING_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "net.h"

/* Set by user space before the load. */
const volatile __u64 wake_at = 1 << 18;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct net_counters);
} counters SEC(".maps");

static __always_inline struct net_counters *my_counters(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counters, &cpu);
}

static __always_inline void add(__u64 *to, __u64 n)
{
	__sync_fetch_and_add(to, n);
}

#define COUNT(field_)                                     \
	do {                                              \
		struct net_counters *c_ = my_counters();  \
		if (c_)                                   \
			add(&c_->field_, 1);              \
	} while (0)

static __always_inline int send(void *rec, __u32 len)
{
	__u64 flag = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;

	return bpf_ringbuf_output(&ring, rec, len, flag);
}

#endif
