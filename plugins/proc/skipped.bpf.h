/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/skipped.bpf.h - lets a hook's second program find the events that the kernel skipped for the first.
 *
 * A kernel that calls programs with preemption on (load.c) may put another task on the CPU in the middle of a program.
 * The kernel then skips the program for every other task there until the first task continues, so the program misses
 * their forks, execs and exits. On such a kernel each of these hooks has a second program. The kernel calls it after
 * the first, and it handles the events that the first has not seen.
 */
#ifndef SKEP_PROC_SKIPPED_BPF_H
#define SKEP_PROC_SKIPPED_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "proc.h"
#include "ring.bpf.h"

const volatile __u32 preempted; /* set by user space before the load */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* an entry lives from the first program to the second, else to its task's free */
	__type(key, __u64);
	__type(value, __u8);
} seen_events SEC(".maps");

static __always_inline __u64 event_of(struct task_struct *p, __u32 type)
{
	return (__u64)type << 32 | (__u32)p->pid;
}

static __always_inline void seen(struct task_struct *p, __u32 type)
{
	__u64 key = event_of(p, type);
	__u8 one = 1;

	if (preempted)
		bpf_map_update_elem(&seen_events, &key, &one, BPF_ANY);
}

static __always_inline int seen_by_first(struct task_struct *p, __u32 type)
{
	__u64 key = event_of(p, type);
	struct proc_counters *c;

	if (bpf_map_delete_elem(&seen_events, &key) == 0)
		return 1;
	c = my_counters();
	if (c && type < PROC_TYPES)
		__sync_fetch_and_add(&c->recovered[type], 1);
	return 0;
}

/*
 * A task is freed.  Where the kernel skipped a second program, the entry is still there: such entries would fill the
 * map, and then the second programs would handle every event again.
 */
static __always_inline void seen_forget(struct task_struct *p)
{
	static const enum proc_type types[] = { PROC_FORK, PROC_EXEC, PROC_EXIT };

	if (!preempted)
		return;
#pragma unroll
	for (int i = 0; i < 3; i++) {
		__u64 key = event_of(p, types[i]);

		bpf_map_delete_elem(&seen_events, &key);
	}
}

#endif
