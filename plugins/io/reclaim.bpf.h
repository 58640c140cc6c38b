/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/reclaim.bpf.h - counts and times direct reclaim by tasks: for the host, and for their cgroup's limit.
 */
#ifndef SKEP_IO_RECLAIM_BPF_H
#define SKEP_IO_RECLAIM_BPF_H

#include "owners.bpf.h"

/* Start of the reclaim of each task that reclaims now, by thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} reclaiming SEC(".maps");

static __always_inline int reclaim_begins(void)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	__u32 tid = (__u32)id;
	struct who w = {};

	if (skep_asleep(IO_UNATTENDED_PROCESS))
		return 0;
	who_is_it(&w);
	if (w.flags & PF_KTHREAD || excluded(id >> 32))
		return 0;
	now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&reclaiming, &tid, &now, BPF_ANY))
		COUNT(reclaims_full);
	return 0;
}

static __always_inline int reclaim_ends(__u32 kind)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid(), took, *since;
	struct io_process *p;
	__u32 tid = (__u32)id;

	since = bpf_map_lookup_elem(&reclaiming, &tid);
	if (!since)
		return 0;
	took = bpf_ktime_get_ns() - *since;
	bpf_map_delete_elem(&reclaiming, &tid);
	/* rare: the helpers cost less than the verifier for a pointer that it trusts (SKEP_UNTRUSTED) */
	p = process_of(id >> 32, BPF_CORE_READ(t, group_leader, start_boottime));
	if (p) {
		ADD(p->reclaims[kind], 1);
		ADD(p->reclaim_ns[kind], took);
	}
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int on_reclaim_begin(void *ctx)
{
	return reclaim_begins();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int on_reclaim_end(void *ctx)
{
	return reclaim_ends(IO_RECLAIM_HOST);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_memcg_reclaim_begin(void *ctx)
{
	return reclaim_begins();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int on_memcg_reclaim_end(void *ctx)
{
	return reclaim_ends(IO_RECLAIM_CGROUP);
}

#endif
