/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/scope.bpf.h - finds the attachments of a detail that a task belongs to, kernel side.
 *
 * Include this header after kernel.bpf.h.  Before the load, user space does what cgroup.bpf.h and verdict.bpf.h ask
 * for; later it writes bss->scopes by skep_scopes_add() and skep_scopes_remove().
 * `matched` is the caller's working memory in a value of a map that no other program writes meanwhile.  In a register
 * the verifier would follow each of its 2^16 values.
 * The functions return slots of all kinds; the caller keeps those in scopes.of_kind[KIND].
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

/*
 * The slots for a verdict cost one load. The slots for a process or cgroup are searched only while an attachment is for
 * a process or a cgroup.
 */
#define SKEP_SLOTS(byte_, look_, matched_)                                                \
	({                                                                                \
		__u32 slots_ = scopes.of_byte[byte_];                                     \
		if ((scopes.of_pid | scopes.of_cgroup) && (byte_) < SKEP_VERDICT_EXCLUDED) { \
			look_;                                                            \
			slots_ |= *(matched_);                                            \
		}                                                                         \
		slots_;                                                                   \
	})

/* Slots of a task that the verifier knows as a task_struct: an argument of tp_btf, or the iterator's task. */
static __always_inline __u32 skep_slots_of(struct task_struct *p, __u64 *matched)
{
	__u8 byte = verdict_of(p->tgid);

	return SKEP_SLOTS(byte, skep_scope_look_task(p, matched), matched);
}

/* Slots of the current task. */
static __always_inline __u32 skep_slots_of_current(__u64 *matched)
{
	__u8 byte = verdict_of(bpf_get_current_pid_tgid() >> 32);

	return SKEP_SLOTS(byte, skep_scope_look_current(matched), matched);
}

/* Slots of a process of which only these values are known; 0: unknown. byte: its verdict. */
static __always_inline __u32 skep_slots_of_values(__u8 byte, __u64 pid, __u64 start_ns, __u64 cgroup_id, __u64 *matched)
{
	return SKEP_SLOTS(byte, skep_scope_look_values(pid, start_ns, cgroup_id, matched), matched);
}

#endif
