/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/scope.bpf.h - which attachments of a detail a task is in, kernel side.
 *
 * Include it after kernel.bpf.h.  Before the load do what cgroup.bpf.h and verdict.bpf.h ask for;
 * then write bss->scopes by skep_scopes_add() and skep_scopes_remove().  `matched` is working memory
 * of the caller's in a map's value, which nobody else writes meanwhile: in a register the verifier
 * would follow each of its 2^16 values.  What comes out are slots of all kinds: & scopes.of_kind[KIND].
 */
#ifndef SKEP_BPF_SCOPE_BPF_H
#define SKEP_BPF_SCOPE_BPF_H

#include <skep/bpf/cgroup.bpf.h>
#include <skep/bpf/verdict.bpf.h>
#include <skep/scope.h>

struct skep_scopes scopes;

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

static __noinline __attribute__((unused)) int skep_scope_look_values(__u64 pid, __u64 start_ns, __u64 cgroup_id,
								     __u64 *matched)
{
	skep_scope_look(pid, start_ns, cgroup_id, matched);
	return 0;
}

/* Processes and cgroups are asked for only while an attachment is for one; by verdict it is one load. */
#define SKEP_SLOTS(byte_, look_, matched_)                                                \
	({                                                                                \
		__u32 slots_ = scopes.of_byte[byte_];                                     \
		if ((scopes.of_pid | scopes.of_cgroup) && (byte_) < SKEP_VERDICT_EXCLUDED) { \
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
