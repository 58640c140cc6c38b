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
const volatile __u64 wake_at = 1 << 20;      /* a ring with this many unread bytes wakes its reader */

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

/* Totals that found the ring full: user space drains them later. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct proc_unsent_key);
	__type(value, struct proc_final);
} unsent SEC(".maps");

/* Ends that found the ring full. On a machine that misses free events only the end reports totals (exited()). */
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

/*
 * A wake-up costs more than all the rest: only wake_at unread bytes wake the reader, else a timer drains the ring. On a
 * busy machine the reader takes a while to run: until then only each further sixteenth of wake_at wakes it again.
 * len: of the record to come, which takes up to 15 bytes more.
 */
static __always_inline __u64 wake_flag(__u64 len)
{
	__u64 unread = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA), step = wake_at / 16; /* a power of two */

	return unread >= wake_at && (unread & (step - 1)) + len + 15 >= step ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/*
 * Is half of the ring full, because no skepd reads or skepd is slow? 130 programs with 32 KiB of arguments each fill
 * 4 MiB. While the ring is crowded, exec records carry fewer arguments, so that more processes find room in it.
 */
static __always_inline int crowded(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= 2 * wake_at;
}

/* len has 64 bits: the verifier of 5.10 forgets the bound of a 32-bit length when it widens it. */
static __always_inline int send_long(void *rec, __u64 len, __u32 type)
{
	int err = bpf_ringbuf_output(&ring, rec, len, wake_flag(len));
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
