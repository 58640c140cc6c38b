/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/fork.bpf.h - the fork hook: gives the child its parent's verdict, and reports the fork or holds it back
 * until the exec (pending_forks.bpf.h).
 */
#ifndef SKEP_PROC_FORK_BPF_H
#define SKEP_PROC_FORK_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/rules.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "pending_forks.bpf.h"
#include "ring.bpf.h"
#include "skipped.bpf.h"
#include "task.bpf.h"

/* Gives the child its parent's verdict: the map may still have one for an older process of this pid. Returns it. */
static __always_inline __u8 inherit_verdict(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, pid = child->pid;
	__u8 *v = verdicts(), byte;

	if (!v)
		return VERDICT_COLLECT;
	byte = from < verdict_pids ? v[from] : VERDICT_COLLECT;
	if (pid < verdict_pids)
		v[pid] = byte;
	return byte;
}

static __always_inline int forked(struct task_struct *parent, struct task_struct *child)
{
	struct task_struct *leader, *its;
	struct proc_pending_fork pending = {};
	struct signal_struct *sig;
	struct pid *thread_pid;
	struct kernfs_node *node;
	const struct cred *cred;
	struct proc_fork *rec = &pending.fork;
	__u32 pid = child->pid;
	__u8 byte;

	if (pid != child->tgid)
		return 0;
	if (child->flags & PF_KTHREAD) {
		inherit_verdict(parent, child); /* for the helpers that it may start: core dumps, key requests */
		return 0;
	}
	its = SKEP_UNTRUSTED(task_struct, child);
	leader = SKEP_UNTRUSTED(task_struct, parent)->group_leader;
	cred = its->real_cred;
	sig = its->signal;
	thread_pid = its->thread_pid;
	node = skep_cgroup_node(its);
	SKEP_LOAD_HERE(leader);
	SKEP_LOAD_HERE(cred);
	SKEP_LOAD_HERE(sig);
	SKEP_LOAD_HERE(thread_pid);
	SKEP_LOAD_HERE(node);
	byte = inherit_verdict(parent, child);
	if (byte >= SKEP_VERDICT_EXCLUDED) {
		pending_fork_inherit(parent, child, byte);
		return 0;
	}
	if (skep_unattended(PROC_FORK))
		return 0;
	head(&rec->h, PROC_FORK, child);
	/*
	 * The process that forks, whose program, folder and run the child has.  With CLONE_PARENT the child's
	 * real_parent is another: the parent of that process.
	 */
	rec->parent_pid = parent->tgid;
	rec->parent_start_ns = leader->start_boottime;
	rec->cgroup_id = node->id;
	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->payer = payer_of(cred);
	rec->session = session_of(sig);
	rec->ns_pid = ns_pid_of(thread_pid);
	__builtin_memcpy(rec->comm, child->comm, sizeof(rec->comm));
	if (pending_forks_used) /* the parent's fork first: records of ancestors precede those of children */
		pending_fork_send(rec->parent_pid);
	if (!pending_fork_hold(pid, &pending))
		send(rec, sizeof(*rec), PROC_FORK);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	seen(child, PROC_FORK);
	return forked(parent, child);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork_missed, struct task_struct *parent, struct task_struct *child)
{
	if (seen_by_first(child, PROC_FORK))
		return 0;
	return forked(parent, child);
}

#endif
