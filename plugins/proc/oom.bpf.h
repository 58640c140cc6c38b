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

struct oom_buffer {
	struct skep_walk walk;
	struct proc_oom oom;
	char data[8192];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oom_buffer);
} oom_buffers SEC(".maps");

/*
 * Finds the limit that was hit: the first full level on the way up from the victim's own memory cgroup, which is below
 * that level (mm/memcontrol.c, mem_cgroup_oom_synchronize).
 */
static __always_inline void oom(struct task_struct *task, __u32 pid, __u64 start_ns)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = NULL;
	struct page_counter *pc;
	struct oom_buffer *b;
	struct css_set *set;
	__u32 zero = 0, len;

	b = bpf_map_lookup_elem(&oom_buffers, &zero);
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
	pc = css ? (void *)css - bpf_core_field_offset(struct mem_cgroup, css) +
			     bpf_core_field_offset(struct mem_cgroup, memory)
		 : NULL;
	for (int i = 0; i < 24 && pc; i++) {
		unsigned long max = BPF_CORE_READ(pc, max);
		long usage = BPF_CORE_READ(pc, usage.counter);

		/*
		 * The kernel charges in batches of up to 64 pages (MEMCG_CHARGE_BATCH), so a full level may have up to
		 * 63 free pages.
		 */
		if (max < (~0ul >> 1) >> page_shift && usage + 64 >= (long)max) {
			struct mem_cgroup *memcg = (void *)pc - bpf_core_field_offset(struct mem_cgroup, memory);
			struct kernfs_node *kn = BPF_CORE_READ(memcg, css.cgroup, kn);

			b->oom.limit_pages = max;
			b->oom.usage_pages = usage;
			b->oom.peak_pages = BPF_CORE_READ(pc, watermark);
			b->oom.cgroup_id = BPF_CORE_READ(kn, id);
			b->walk.off = 0;
			b->walk.dentry = (__u64)kn;
			put_cgroup(&b->walk, b->data, 4096);
			b->oom.cgroup_len = b->walk.off;
			break;
		}
		pc = BPF_CORE_READ(pc, parent);
	}
	len = b->oom.cgroup_len;
	if (len > sizeof(b->data))
		len = sizeof(b->data);
	send(&b->oom, sizeof(b->oom) + len, PROC_OOM);
}

/* mark_victim(task, uid): since 6.9 */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_victim_task, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	if (excluded(task->tgid))
		return 0;
	pending_fork_send(task->tgid);
	oom(task, task->tgid, leader->start_boottime);
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
