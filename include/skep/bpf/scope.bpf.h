/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/scope.bpf.h - which attachments of a detail a task is in, kernel side.
 *
 * Include it after kernel.bpf.h.  Before the load set rodata->scope_cgroup_v1 (skep/scope.h:
 * skep_scope_cgroup_v1()) and what verdict.bpf.h asks for; then write bss->scopes by
 * skep_scopes_add() and skep_scopes_remove().  `matched` is working memory of the caller's in a
 * map's value, which nobody else writes meanwhile: in a register the verifier would follow each
 * of its 2^16 values.  What comes out are slots of all kinds: & scopes.of_kind[KIND].
 */
#ifndef SKEP_BPF_SCOPE_BPF_H
#define SKEP_BPF_SCOPE_BPF_H

#include <skep/bpf/verdict.bpf.h>
#include <skep/scope.h>

const volatile __u32 scope_cgroup_v1; /* 1: a cgroup is one of the v1 memory controller's, 0: of cgroup v2; set by user space */

struct skep_scopes scopes;

/* The cgroup that names a task in its records, by plain loads: of a task that the verifier knows for one. */
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

static __always_inline void skep_scope_look(__u64 pid, __u64 start_ns, __u64 cgroup_id, __u64 *matched)
{
	__u32 of_pid = scopes.of_pid, of_cgroup = scopes.of_cgroup;

	*matched = 0;
#pragma unroll
	for (__u32 i = 0; i < SKEP_SCOPE_SLOTS; i++) {
		__u32 bit = 1u << i;

		if (of_pid & bit && scopes.value[i] == pid && (!scopes.start_ns[i] || scopes.start_ns[i] == start_ns))
			*matched |= bit;
		if (of_cgroup & bit && scopes.value[i] == cgroup_id)
			*matched |= bit;
	}
}

static __noinline __attribute__((unused)) int skep_scope_look_task(struct task_struct *p, __u64 *matched)
{
	struct task_struct *leader = p->group_leader;

	skep_scope_look(p->tgid, leader->start_boottime, scopes.of_cgroup ? skep_cgroup_of(p) : 0, matched);
	return 0;
}

static __noinline __attribute__((unused)) int skep_scope_look_current(__u64 *matched)
{
	struct task_struct *p = (void *)bpf_get_current_task();

	skep_scope_look(bpf_get_current_pid_tgid() >> 32, BPF_CORE_READ(p, group_leader, start_boottime),
			scopes.of_cgroup ? skep_cgroup_of_untyped(p) : 0, matched);
	return 0;
}

static __noinline __attribute__((unused)) int skep_scope_look_values(__u64 pid, __u64 start_ns, __u64 cgroup_id, __u64 *matched)
{
	skep_scope_look(pid, start_ns, cgroup_id, matched);
	return 0;
}

/* Processes and cgroups are asked for only while an attachment is for one; by verdict it is one load. */
#define SKEP_SLOTS(byte_, look_, matched_)                                                \
	({                                                                                \
		__u32 slots_ = scopes.of_byte[byte_];                                     \
		if ((scopes.of_pid | scopes.of_cgroup) && (byte_) != VERDICT_EXCLUDED) { \
			look_;                                                            \
			slots_ |= *(matched_);                                            \
		}                                                                         \
		slots_;                                                                   \
	})

/* A task that the verifier knows for one: an argument of tp_btf, the iterator's. */
static __always_inline __u32 skep_slots_of(struct task_struct *p, __u64 *matched)
{
	__u8 byte = verdict_of(p->tgid);

	return SKEP_SLOTS(byte, skep_scope_look_task(p, matched), matched);
}

/* The one that runs. */
static __always_inline __u32 skep_slots_of_current(__u64 *matched)
{
	__u8 byte = verdict_of(bpf_get_current_pid_tgid() >> 32);

	return SKEP_SLOTS(byte, skep_scope_look_current(matched), matched);
}

/* One of whom only that is known (0: not); byte: its verdict. */
static __always_inline __u32 skep_slots_of_values(__u8 byte, __u64 pid, __u64 start_ns, __u64 cgroup_id, __u64 *matched)
{
	return SKEP_SLOTS(byte, skep_scope_look_values(pid, start_ns, cgroup_id, matched), matched);
}

#endif
