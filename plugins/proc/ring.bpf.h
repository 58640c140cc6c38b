/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/ring.bpf.h - sends records to user space: the ring, the counters of sent and dropped records, and the
 * maps for totals and ends that found the ring full.
 */
#ifndef SKEP_PROC_RING_BPF_H
#define SKEP_PROC_RING_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "proc.h"

/* Set by user space before the load. */
const volatile __u64 wake_at = 1 << 20;      /* bytes waiting in the ring before the consumer is woken */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct proc_counters);
} counters SEC(".maps");

/* Totals that the ring could not take: drained later by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct proc_unsent_key);
	__type(value, struct proc_final);
} unsent SEC(".maps");

/* Ends that it could not take, likewise: for hosts that hide frees they are all that comes (exited()). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct proc_unsent_key);
	__type(value, struct proc_exit);
} unsent_exits SEC(".maps");

static __always_inline struct proc_counters *my_counters(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counters, &cpu);
}

#define COUNT(field_)                                      \
	do {                                               \
		struct proc_counters *c_ = my_counters();  \
		if (c_)                                    \
			__sync_fetch_and_add(&c_->field_, 1); \
	} while (0)

/* Wake-ups cost more than everything else together: only when the ring fills up; else a timer drains it. */
static __always_inline __u64 wake_flag(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/*
 * Half of the ring waits for skepd, which is away or behind.  A user whose programs have 32 KiB of arguments fills 4
 * MiB with 130 of them; everybody's records have room for longer when such arguments are cut.
 */
static __always_inline int crowded(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= 2 * wake_at;
}

/* len of 64 bits: of one of 32 the verifier of 5.10 forgets the bound as it is widened. */
static __always_inline int send_long(void *rec, __u64 len, __u32 type)
{
	int err = bpf_ringbuf_output(&ring, rec, len, wake_flag());
	struct proc_counters *c = my_counters();

	if (c && type < PROC_TYPES)
		__sync_fetch_and_add(err ? &c->dropped[type] : &c->sent[type], 1);
	return err;
}

static __always_inline int send(void *rec, __u32 len, __u32 type)
{
	return send_long(rec, len, type);
}

static __always_inline void head(struct proc_head *h, __u32 type, struct task_struct *leader)
{
	h->type = type;
	h->pid = leader->tgid;
	h->start_ns = leader->start_boottime;
	h->time_ns = bpf_ktime_get_boot_ns();
}

#endif
