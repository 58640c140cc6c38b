/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/oom.bpf.h - the hook on a victim of the out-of-memory killer: which process, and which limit was hit.
 */
#ifndef SKEP_PROC_OOM_BPF_H
#define SKEP_PROC_OOM_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/path.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "pending_forks.bpf.h"
#include "ring.bpf.h"
#include "task.bpf.h"

/* Set by user space before the load. */
const volatile __u32 page_shift = 12;

#define OOM_LEVELS 64 /* of memory cgroups, up from the victim's own */

struct oom_buffer {
	struct skep_walk walk;
	__u64 level; /* address of a page_counter, on the way up */
	struct proc_oom oom;
	char data[8192];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oom_buffer);
} oom_buffers SEC(".maps");

static __always_inline struct oom_buffer *oom_buffer(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&oom_buffers, &zero);
}

/* Looks at one level: 1: it is full, or none is above it. Not static: see judge_exec. */
__noinline int oom_level(void)
{
	struct oom_buffer *b = oom_buffer();
	struct page_counter *pc;
	struct mem_cgroup *memcg;
	struct kernfs_node *kn;
	unsigned long max;
	long usage;

	if (!b || !b->level)
		return 1;
	pc = (void *)b->level;
	max = BPF_CORE_READ(pc, max);
	usage = BPF_CORE_READ(pc, usage.counter);
	/*
	 * The kernel charges in batches of up to 64 pages (MEMCG_CHARGE_BATCH), so a full level may have up to
	 * 63 free pages.
	 */
	if (max >= (~0ul >> 1) >> page_shift || usage + 64 < (long)max) {
		b->level = (__u64)BPF_CORE_READ(pc, parent);
		return 0;
	}
	memcg = (void *)pc - bpf_core_field_offset(struct mem_cgroup, memory);
	kn = BPF_CORE_READ(memcg, css.cgroup, kn);
	b->oom.limit_pages = max;
	b->oom.usage_pages = usage;
	b->oom.peak_pages = BPF_CORE_READ(pc, watermark);
	b->oom.cgroup_id = BPF_CORE_READ(kn, id);
	b->walk.dentry = (__u64)kn;
	return 1;
}

/* Not static: see judge_exec. */
__noinline int oom_cgroup_step(void)
{
	struct oom_buffer *b = oom_buffer();

	return b && b->walk.dentry ? cgroup_up(&b->walk, b->data, 4096) : 1;
}

/*
 * Finds the limit that was hit: the first full level on the way up from the victim's own memory cgroup, which is below
 * that level (mm/memcontrol.c, mem_cgroup_oom_synchronize).
 */
static __always_inline void oom(struct task_struct *task, __u32 pid, __u64 start_ns)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = NULL;
	struct oom_buffer *b = oom_buffer();
	struct css_set *set;
	__u32 len;

	if (!b) {
		COUNT(no_buffer);
		return;
	}
	__builtin_memset(&b->oom, 0, sizeof(b->oom));
	b->oom.h.type = PROC_OOM;
	b->oom.h.pid = pid;
	b->oom.h.start_ns = start_ns;
	b->oom.h.time_ns = bpf_ktime_get_boot_ns();

	set = BPF_CORE_READ(task, cgroups);
	bpf_core_read(&css, sizeof(css), &set->subsys[memory & 15]);
	b->level = css ? (__u64)css - bpf_core_field_offset(struct mem_cgroup, css) +
				 bpf_core_field_offset(struct mem_cgroup, memory)
		       : 0;
	b->walk.off = 0;
	b->walk.dentry = 0;
	b->walk.cut = 0;
	for (int i = 0; i < OOM_LEVELS; i++)
		if (oom_level())
			break;
	for (int i = 0; i < PROC_CGROUP_DEPTH; i++)
		if (oom_cgroup_step())
			break;
	b->oom.cgroup_cut = b->walk.cut;
	len = b->oom.cgroup_len = b->walk.off;
	if (len > sizeof(b->data))
		len = sizeof(b->data);
	send(&b->oom, sizeof(b->oom) + len, PROC_OOM);
}

/* mark_victim(task, uid): since 6.9 */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_victim_task, struct task_struct *task)
{
	if (excluded(task->tgid))
		return 0;
	pending_fork_send(task->tgid);
	/* rare: the helpers cost less than the verifier for a pointer that it trusts (SKEP_UNTRUSTED) */
	oom(task, task->tgid, BPF_CORE_READ(task, group_leader, start_boottime));
	return 0;
}

/*
 * mark_victim(int pid): before 6.9. The pid may be a thread's; user space finds the process. The search for the limit
 * begins at the cgroup of the allocating task, which is below the same limit.
 */
SEC("tp_btf/mark_victim")
int on_victim_pid(__u64 *ctx)
{
	pending_fork_send((__u32)ctx[0]);
	oom((void *)bpf_get_current_task(), (__u32)ctx[0], 0);
	return 0;
}

#endif
