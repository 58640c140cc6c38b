/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/cgroup.bpf.h - the cgroup that names a task in its records, kernel side.
 *
 * Include it after kernel.bpf.h; before the load set rodata->scope_cgroup_v1 to what
 * skep_scope_cgroup_v1() of skep/scope.h says.
 */
#ifndef SKEP_BPF_CGROUP_BPF_H
#define SKEP_BPF_CGROUP_BPF_H

/* 1: of the v1 memory controller's hierarchy, 0: of cgroup v2; set by user space */
const volatile __u32 scope_cgroup_v1;

/* By plain loads: of a task that the verifier knows for one. */
static __always_inline __u64 skep_cgroup_of(struct task_struct *p)
{
	struct css_set *set = p->cgroups;
	struct cgroup_subsys_state *css;

	if (!scope_cgroup_v1)
		return set->dfl_cgrp->kn->id;
	/*
	 * Plain loads need the index in the instruction.  Here it is a number that libbpf puts in,
	 * so the verifier sees one case only.  Indices that this kernel lacks are never reached.
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
		return 0;
	}
	return css->cgroup->kn->id;
}

/* The same of any task, by helper calls. */
static __always_inline __u64 skep_cgroup_of_untyped(struct task_struct *p)
{
	struct css_set *set = BPF_CORE_READ(p, cgroups);
	struct cgroup_subsys_state *css = NULL;

	if (!scope_cgroup_v1)
		return BPF_CORE_READ(set, dfl_cgrp, kn, id);
	bpf_core_read(&css, sizeof(css), &set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) & 15]);
	return BPF_CORE_READ(css, cgroup, kn, id);
}

#endif
