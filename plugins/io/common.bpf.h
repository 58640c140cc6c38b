/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/common.bpf.h - included by every part of the probe's kernel side: the counters, and the identity of the
 * current task.
 */
#ifndef SKEP_IO_COMMON_BPF_H
#define SKEP_IO_COMMON_BPF_H

#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "block.bpf.h"
#include "io.h"

/* Set by user space before the load. */
const volatile __u32 cgroup_v1_memory; /* 1: a process's cgroup is the v1 memory controller's, 0: cgroup v2's */

/* One element for each CPU, by its number; user space maps the array. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct io_counters);
} counters SEC(".maps");

#define ADD(field_, n_) __sync_fetch_and_add(&(field_), n_)

#define COUNT(field_)                                                    \
	do {                                                             \
		__u32 cpu_ = bpf_get_smp_processor_id();                 \
		struct io_counters *c_ = bpf_map_lookup_elem(&counters, &cpu_); \
		if (c_)                                                  \
			ADD(c_->field_, 1);                              \
	} while (0)

struct who {
	__u64 start_ns, cgroup_id;
	__u32 flags;
};

static __always_inline __u64 memory_cgroup(struct css_set *set)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = NULL;

	bpf_core_read(&css, sizeof(css), &set->subsys[memory & 15]);
	return BPF_CORE_READ(css, cgroup, kn, id);
}

/* The same with plain loads.  libbpf makes the index a constant, from the enum of the kernel. */
static __always_inline __u64 memory_cgroup_typed(struct css_set *set)
{
	__u64 memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = set->subsys[memory];
	struct cgroup *cgrp = css->cgroup;
	struct kernfs_node *kn = cgrp->kn;

	return kn->id;
}

/* Reads the current task with plain loads: 5.11 and later. */
static __always_inline void who_of_typed(struct who *w, struct task_struct *t)
{
	struct task_struct *leader, *its;
	struct css_set *set;

	w->flags = t->flags;
	if (w->flags & PF_KTHREAD)
		return;
	its = SKEP_UNTRUSTED(task_struct, t);
	leader = its->group_leader;
	set = its->cgroups;
	w->start_ns = leader->start_boottime;
	if (cgroup_v1_memory) {
		w->cgroup_id = memory_cgroup_typed(set);
	} else {
		struct cgroup *cgrp = set->dfl_cgrp;
		struct kernfs_node *kn = cgrp->kn;

		w->cgroup_id = kn->id;
	}
}

/* Reads the current task with helper calls: the verifier of 5.10 does not know the type of the current task. */
static __always_inline void who_of_untyped(struct who *w, struct task_struct *t)
{
	w->flags = BPF_CORE_READ(t, flags);
	if (w->flags & PF_KTHREAD)
		return;
	w->start_ns = BPF_CORE_READ(t, group_leader, start_boottime);
	w->cgroup_id = cgroup_v1_memory ? memory_cgroup(BPF_CORE_READ(t, cgroups)) :
					  BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
}

static __always_inline void who_is_it(struct who *w)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		who_of_typed(w, bpf_get_current_task_btf());
	else
		who_of_untyped(w, (void *)bpf_get_current_task());
}

#endif
