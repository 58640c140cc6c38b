/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/pending_forks.bpf.h - with rules: what is kept of a process's fork.
 *
 * Most processes that rules take out are taken out at their first exec, some hundred microseconds
 * after their fork.  So a fork is held back until then, and costs user space nothing if the exec
 * excludes it.  Otherwise it is told before anything else about the process, and before anything
 * that could depend on it: an exec that is not excluded, its end, a child of its own, its parent's
 * end, an out-of-memory kill, a pass over what lives (on_task).  So the ring's order stays what it was:
 * parents before children, a fork before the rest.
 *
 * Of an excluded process it is then kept who its nearest ancestor is that is collected, for the case
 * that it, or a descendant, runs a program that is collected.
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
	 * full: a fork is told at once; who an excluded one came from is not known, which is counted
	 * (skep_rules.full)
	 */
	__uint(max_entries, 16384);
	__type(key, __u32); /* tgid */
	__type(value, struct proc_pending_fork);
} pending_forks SEC(".maps");

/* Without rules nothing is kept, and nothing is looked up.  Not static: user space reads it. */
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
 * Who was told of by others than itself, which cannot write into an entry of the map: it may be
 * gone, and its memory another's, before the write arrives.  By pid; of two with one place the later
 * is known, which costs the earlier one a second word about its fork, and that does no harm.
 */
static __always_inline struct proc_fork_sent *fork_sent_slot(__u32 pid)
{
	return &forks_sent[pid & (PROC_FORKS_SENT - 1)];
}

/*
 * Tells of that fork, if nobody has.  Others than the process itself call it (a pass, its parent's end)
 * while its exec may exclude it: each writes its word before it reads the other's, so at least one
 * sees the other.  Not static: it is verified once, by itself; so with the others here.
 */
__noinline int pending_fork_send(__u32 pid)
{
	struct proc_pending_fork *pending = bpf_map_lookup_elem(&pending_forks, &pid);
	struct proc_fork_sent *sent = fork_sent_slot(pid);
	struct proc_pending_fork copy;

	if (!pending || pending->excluded || sent->pid == pid)
		return 0;
	*(volatile __u32 *)&sent->pid = pid;
	__sync_fetch_and_add(&sent->n, 1); /* a barrier, on x86; elsewhere the window is some ns */
	__builtin_memcpy(&copy, pending, sizeof(copy));
	if (copy.excluded || bpf_map_lookup_elem(&pending_forks, &pid) != pending)
		return 0; /* it tells by itself, if there is something to tell */
	send(&copy.fork, sizeof(copy.fork), PROC_FORK);
	return 1;
}

/* By itself: it is told, in any case, and kept no more. */
__noinline int pending_fork_end(__u32 pid)
{
	struct proc_pending_fork *pending = bpf_map_lookup_elem(&pending_forks, &pid);

	if (!pending)
		return 0;
	if (!pending->excluded)
		send(&pending->fork, sizeof(pending->fork), PROC_FORK);
	return bpf_map_delete_elem(&pending_forks, &pid);
}

/* true: it is told later, or never. */
static __always_inline int pending_fork_hold(__u32 pid, struct proc_pending_fork *pending)
{
	struct skep_rules *r = rules_now();
	struct proc_fork_sent *sent = fork_sent_slot(pid);
	long err;

	if (!r || !rules_set(r))
		return 0;
	err = bpf_map_update_elem(&pending_forks, &pid, pending, BPF_NOEXIST);
	if (err == -EEXIST) { /* of one that had the pid before, and whose end was not seen */
		pending_fork_send(pid);
		err = bpf_map_update_elem(&pending_forks, &pid, pending, BPF_ANY);
	}
	if (sent->pid == pid)
		sent->pid = 0;
	pending_forks_used = 1;
	return !err;
}

/* Child of an excluded process: it will be judged when it execs, and then belongs to whoever its parent came from. */
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

/* It is excluded from now on.  1: nobody has ever heard of it. */
static __always_inline int pending_fork_exclude(struct task_struct *p)
{
	struct task_struct *real_parent, *parent_leader;
	__u32 pid = p->tgid;
	struct proc_pending_fork *at = pending_forks_used ? bpf_map_lookup_elem(&pending_forks, &pid) : NULL;
	struct proc_pending_fork pending = {};
	__u32 was;

	if (at && at->fork.h.start_ns == (__u64)p->start_boottime) {
		was = at->excluded;
		__sync_fetch_and_add(&at->excluded, 1);
		/* was excluded: by rules before these; since then a pass has found it */
		return !was && *(volatile __u32 *)&fork_sent_slot(pid)->pid != pid;
	}
	pending_fork_send(pid); /* if it is of one that had the pid before */
	real_parent = p->real_parent;
	parent_leader = real_parent->group_leader;
	pending.fork.h.start_ns = p->start_boottime;
	pending.fork.parent_pid = real_parent->tgid;
	pending.fork.parent_start_ns = parent_leader->start_boottime;
	pending.excluded = 1;
	pending_fork_put(pid, &pending);
	return 0;
}

/* The process is gone. Its pid may be another's by now. */
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
 * Children of the task that ends: its run may end with it, so they have to be known.  The list is read
 * without its lock: a child that comes or goes in this moment may be told early, or by the next pass.
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
