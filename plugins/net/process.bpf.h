/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/net/process.bpf.h - the table of processes: the amounts that each has sent and received, in the storage of
 * its task or, by pid and start time, in a hash map.
 */
#ifndef SKEP_NET_PROCESS_BPF_H
#define SKEP_NET_PROCESS_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "net.h"
#include "ring.bpf.h"

/* Set by user space before the load. */
const volatile __u32 use_task_storage; /* task storage: since 6.2 (load.c says why) */

/* The storage of process leaders; the kernel frees it with the task. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_process);
} callers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct net_process_key);
	__type(value, struct net_process);
} processes SEC(".maps");

/* 0: `processes` is empty, and was so always. Not static: it is pinned with the map. */
__u32 processes_used;

/* since 5.11 */
struct task_struct___storage {
	void *bpf_storage;
} __attribute__((preserve_access_index));

/* false: the current task is a kernel thread. */
static __always_inline int current_key(struct net_process_key *key)
{
	struct task_struct *t = (void *)bpf_get_current_task();

	if (BPF_CORE_READ(t, flags) & PF_KTHREAD)
		return 0;
	key->pid = bpf_get_current_pid_tgid() >> 32;
	key->start_ns = BPF_CORE_READ(t, group_leader, start_boottime);
	key->reserved = 0;
	return 1;
}

static const struct net_process no_process;

static __always_inline struct net_process *process_of(__u64 start_ns, __u32 pid)
{
	struct net_process_key key = { .start_ns = start_ns, .pid = pid };
	struct net_process *p = bpf_map_lookup_elem(&processes, &key);

	if (p)
		return p;
	processes_used = 1; /* before the entry is in the map */
	bpf_map_update_elem(&processes, &key, &no_process, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&processes, &key);
	if (!p)
		COUNT(processes_full);
	return p;
}

/* The counters of the current process. */
static __always_inline struct net_process *my_process(void)
{
	struct net_process_key key = {};

	if (use_task_storage) {
		struct task_struct *t = bpf_get_current_task_btf();
		struct net_process *p =
			bpf_task_storage_get(&callers, t->group_leader, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

		if (p)
			return p;
		/* no memory, or another program on this CPU uses the storage */
	}
	if (!current_key(&key))
		return NULL;
	return process_of(key.start_ns, key.pid);
}

#endif
