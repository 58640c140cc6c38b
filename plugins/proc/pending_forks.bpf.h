/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/pending_forks.bpf.h - forks whose records wait for the exec, as rules may exclude the process there.
 *
 * Rules exclude most processes at their first exec, some hundred microseconds after the fork. So the fork's record
 * waits until then, and costs user space nothing if the exec excludes the process. Otherwise the record goes out before
 * any event of the process, or one that depends on it: an exec that is collected, its end, a child's fork, its parent's
 * end, an out-of-memory kill, a scan (on_task). So the ring keeps its order: parents before children, a fork before the
 * rest.
 *
 * For an excluded process the map then holds the nearest collected ancestor, in case the process or a descendant
 * executes a program that is collected.
 */
#ifndef SKEP_PROC_PENDING_FORKS_BPF_H
#define SKEP_PROC_PENDING_FORKS_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/rules.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "ring.bpf.h"

#define EEXIST 17 /* include/uapi/asm-generic/errno-base.h */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	/*
	 * When the map is full, a fork's record goes out at once, and the ancestor of an excluded process is unknown,
	 * which skep_rules.full counts.
	 */
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u32); /* tgid */
	__type(value, struct proc_pending_fork);
} pending_forks SEC(".maps");

/* 0: no rules, so no fork waits, and no program looks one up.  Not static: user space reads it. */
__u32 pending_forks_used;
struct proc_fork_sent forks_sent[PROC_FORKS_SENT];

static __always_inline void pending_fork_put(__u32 pid, struct proc_pending_fork *pending)
{
	struct skep_rules *r;

	pending_forks_used = 1;
	if (!bpf_map_update_elem(&pending_forks, &pid, pending, BPF_ANY))
		return;
	r = rules_now();
	if (r)
		__sync_fetch_and_add(&r->full, 1);
}

/*
 * The slot that marks a pending fork as sent by a program other than the process's own hooks. That program cannot mark
 * the map's entry: the kernel may have freed it, and reused its memory, before the write arrives.  Two pids may share a
 * slot, which marks the later one: the earlier one's fork may go out twice, which does no harm.
 */
static __always_inline struct proc_fork_sent *fork_sent_slot(__u32 pid)
{
	return &forks_sent[pid & (PROC_FORKS_SENT - 1)];
}

/*
 * Sends the pending fork of `pid` unless a program has sent it.  A scan or the parent's end calls the function while
 * the process's exec may exclude the process.  Each of the two writes its own mark before it reads the other's, so at
 * least one of them sees the other.  Not static, so that the verifier checks the function once, by itself; likewise
 * the other functions here.
 */
__noinline int pending_fork_send(__u32 pid)
{
	struct proc_pending_fork *pending = bpf_map_lookup_elem(&pending_forks, &pid);
	struct proc_fork_sent *sent = fork_sent_slot(pid);
	struct proc_pending_fork copy;

	if (!pending || pending->excluded || sent->pid == pid)
		return 0;
	*(volatile __u32 *)&sent->pid = pid;
	__sync_fetch_and_add(&sent->n, 1); /* a barrier on x86; other machines have a window of some ns */
	__builtin_memcpy(&copy, pending, sizeof(copy));
	if (copy.excluded || bpf_map_lookup_elem(&pending_forks, &pid) != pending)
		return 0; /* the process's own hooks send it, or exclude the process */
	send(&copy.fork, sizeof(copy.fork), PROC_FORK);
	return 1;
}

/* Called by the process's own hook: sends the fork, even if another program has sent it, and removes the entry. */
__noinline int pending_fork_end(__u32 pid)
{
	struct proc_pending_fork *pending = bpf_map_lookup_elem(&pending_forks, &pid);

	if (!pending)
		return 0;
	if (!pending->excluded)
		send(&pending->fork, sizeof(pending->fork), PROC_FORK);
	return bpf_map_delete_elem(&pending_forks, &pid);
}

/* true: the map holds the fork, and another hook sends or drops the record. */
static __always_inline int pending_fork_hold(__u32 pid, struct proc_pending_fork *pending)
{
	struct skep_rules *r = rules_now();
	struct proc_fork_sent *sent = fork_sent_slot(pid);
	long err;

	if (!r || !rules_set(r))
		return 0;
	err = bpf_map_update_elem(&pending_forks, &pid, pending, BPF_NOEXIST);
	if (err == -EEXIST) { /* an entry of the pid's previous process, whose end no program saw */
		pending_fork_send(pid);
		err = bpf_map_update_elem(&pending_forks, &pid, pending, BPF_ANY);
	}
	if (sent->pid == pid)
		sent->pid = 0;
	pending_forks_used = 1;
	return !err;
}

/* The child of an excluded process inherits its collected ancestor, as rules evaluate the child at its exec. */
static __always_inline void pending_fork_inherit(struct task_struct *parent, struct task_struct *child, __u8 byte)
{
	struct proc_pending_fork *from, pending = {};
	struct skep_rules_set *set;
	struct skep_rules *r;
	__u32 tgid = parent->tgid;

	if (byte == SKEP_VERDICT_NOBODY)
		return;
	r = rules_now();
	set = r ? rules_set(r) : NULL;
	if (!set || rules_settled(set, byte))
		return;
	from = bpf_map_lookup_elem(&pending_forks, &tgid);
	if (!from)
		return;
	pending.fork.h.start_ns = child->start_boottime;
	pending.fork.parent_pid = from->fork.parent_pid;
	pending.fork.parent_start_ns = from->fork.parent_start_ns;
	pending.excluded = 1;
	pending_fork_put(child->pid, &pending);
}

/*
 * Excludes the process from now on.  room: not the stack, which the caller needs.  1: user space has no record of it.
 */
static __always_inline int pending_fork_exclude(struct task_struct *p, struct proc_pending_fork *room)
{
	__u32 pid = p->tgid;
	struct proc_pending_fork *at = pending_forks_used ? bpf_map_lookup_elem(&pending_forks, &pid) : NULL;
	__u32 was;

	if (at && at->fork.h.start_ns == (__u64)p->start_boottime) {
		was = at->excluded;
		__sync_fetch_and_add(&at->excluded, 1);
		/* `was`: earlier rules excluded it, and a scan has reported it since */
		return !was && *(volatile __u32 *)&fork_sent_slot(pid)->pid != pid;
	}
	pending_fork_send(pid); /* the entry may be of the pid's previous process */
	__builtin_memset(room, 0, sizeof(*room));
	room->fork.h.start_ns = p->start_boottime;
	/* rare: the helpers cost less than the verifier for a pointer that it trusts (SKEP_UNTRUSTED) */
	room->fork.parent_pid = BPF_CORE_READ(p, real_parent, tgid);
	room->fork.parent_start_ns = BPF_CORE_READ(p, real_parent, group_leader, start_boottime);
	room->excluded = 1;
	pending_fork_put(pid, room);
	return 0;
}

/* The process is freed. Another process may have its pid by now. */
static __always_inline void pending_fork_gone(struct task_struct *p)
{
	struct proc_pending_fork *pending;
	__u32 pid = p->tgid;

	if (!pending_forks_used)
		return;
	pending = bpf_map_lookup_elem(&pending_forks, &pid);
	if (pending && pending->fork.h.start_ns == (__u64)p->start_boottime)
		pending_fork_end(pid);
}

#define CHILDREN_MOST 16

/*
 * Sends the pending forks of the ending task's children: its run may end with it, so user space must know them.  The
 * function reads the list without its lock, so a child that starts or ends at this moment may go out early, or with the
 * next scan.
 */
__noinline int pending_forks_of_children(void)
{
	struct task_struct *p = (void *)bpf_get_current_task(), *child;
	struct list_head *head, *at;

	head = (void *)p + bpf_core_field_offset(struct task_struct, children);
	at = BPF_CORE_READ(p, children.next);
	for (int i = 0; i < CHILDREN_MOST && at && at != head; i++) {
		child = (void *)at - bpf_core_field_offset(struct task_struct, sibling);
		pending_fork_send(BPF_CORE_READ(child, tgid));
		at = BPF_CORE_READ(at, next);
	}
	return 0;
}

#endif
