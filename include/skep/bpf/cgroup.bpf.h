/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/cgroup.bpf.h - the cgroup that a task's records name, kernel side.
 *
 * Include this header after kernel.bpf.h.  Before the load, user space sets rodata->scope_cgroup_v1 to the result of
 * skep_scope_cgroup_v1() (skep/scope.h).
 */
#ifndef SKEP_BPF_CGROUP_BPF_H
#define SKEP_BPF_CGROUP_BPF_H

/* 1: records name a task's cgroup of the v1 memory controller; 0: its cgroup of cgroup v2. Set by user space. */
const volatile __u32 scope_cgroup_v1;

/* Uses plain loads; the verifier must know the pointer as a task_struct. */
static __always_inline struct kernfs_node *skep_cgroup_node(struct task_struct *p)
{
	struct css_set *set = p->cgroups;
	struct cgroup_subsys_state *css;

	if (!scope_cgroup_v1)
		return set->dfl_cgrp->kn;
	/*
	 * A plain load needs a constant index.  libbpf puts the constant in at load time, so the verifier sees one
	 * case only and never reaches an index that this kernel lacks.
	 */
	switch (bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id)) {
#define SKEP_CSS(i_)                   \
	case i_:                       \
		css = set->subsys[i_]; \
		break;
	SKEP_CSS(0) SKEP_CSS(1) SKEP_CSS(2) SKEP_CSS(3) SKEP_CSS(4) SKEP_CSS(5) SKEP_CSS(6) SKEP_CSS(7)
	SKEP_CSS(8) SKEP_CSS(9) SKEP_CSS(10) SKEP_CSS(11) SKEP_CSS(12) SKEP_CSS(13) SKEP_CSS(14) SKEP_CSS(15)
#undef SKEP_CSS
	default:
		return NULL;
	}
	return css->cgroup->kn;
}

static __always_inline __u64 skep_cgroup_of(struct task_struct *p)
{
	return skep_cgroup_node(p)->id;
}

/* The same for any address of a task: uses helper calls. */
static __always_inline struct kernfs_node *skep_cgroup_node_untyped(struct task_struct *p)
{
	struct css_set *set = BPF_CORE_READ(p, cgroups);
	struct cgroup_subsys_state *css = NULL;

	if (!scope_cgroup_v1)
		return BPF_CORE_READ(set, dfl_cgrp, kn);
	bpf_core_read(&css, sizeof(css), &set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) & 15]);
	return BPF_CORE_READ(css, cgroup, kn);
}

static __always_inline __u64 skep_cgroup_of_untyped(struct task_struct *p)
{
	return BPF_CORE_READ(skep_cgroup_node_untyped(p), id);
}

#endif
