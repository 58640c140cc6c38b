/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/live.bpf.h - the iterator over live tasks: a record of each process, and of each further thread.
 */
#ifndef SKEP_PROC_LIVE_BPF_H
#define SKEP_PROC_LIVE_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/verdict.bpf.h>

#include "pending_forks.bpf.h"
#include "ring.bpf.h"
#include "task.bpf.h"
#include "totals.bpf.h"

static __always_inline __u32 live_flags(struct task_struct *t)
{
	struct task_struct___new_state *after = (void *)t;
	struct task_struct___old_state *before = (void *)t;
	unsigned int state;

	if (t->exit_state)
		return PROC_LIVE_ZOMBIE;
	if (bpf_core_field_exists(after->__state))
		state = BPF_CORE_READ(after, __state);
	else
		state = BPF_CORE_READ(before, state);
	if (state == 0)
		return PROC_LIVE_RUNNING;
	/* TASK_UNINTERRUPTIBLE without TASK_NOLOAD (idle) */
	return (state & 0x402) == 2 ? PROC_LIVE_BLOCKED : 0;
}

static __always_inline void other_seen(struct task_struct *t)
{
	/* scans do not overlap, so no other program writes it */
	if (t->flags & PF_KTHREAD)
		others.kernel_seen_ns += t->se.sum_exec_runtime;
	else
		others.excluded_seen_ns += t->se.sum_exec_runtime;
}

/* The stack has only 512 bytes. Scans do not overlap, so one program uses the record at a time. */
static struct proc_leader leader_record;

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task, *its, *real_parent, *leader;
	struct seq_file *seq = ctx->meta->seq;
	struct proc_leader *rec = &leader_record;
	struct signal_struct *sig;
	struct pid *thread_pid;
	struct kernfs_node *node;
	const struct cred *cred;
	struct mm_struct *mm;
	__u32 pid;

	if (!p)
		return 0;
	its = SKEP_UNTRUSTED(task_struct, p);
	sig = its->signal;
	thread_pid = its->thread_pid;
	cred = its->real_cred;
	real_parent = its->real_parent;
	leader = real_parent->group_leader;
	mm = its->mm;
	node = skep_cgroup_node(its);
	SKEP_LOAD_HERE(seq);
	SKEP_LOAD_HERE(sig);
	SKEP_LOAD_HERE(thread_pid);
	SKEP_LOAD_HERE(cred);
	SKEP_LOAD_HERE(real_parent);
	SKEP_LOAD_HERE(leader);
	SKEP_LOAD_HERE(mm);
	SKEP_LOAD_HERE(node);
	pid = p->tgid;
	if (p->flags & PF_KTHREAD || excluded(pid)) {
		other_seen(p);
		return 0;
	}
	if (p->pid != pid) {
		struct proc_thread t = {};

		/* signal_struct has an ended thread's totals, or gets them soon; the scan has read the leader before */
		if (p->exit_state)
			return 0;
		t.h.type = PROC_THREAD;
		t.h.pid = pid;
		t.h.start_ns = p->start_boottime;
		t.flags = live_flags(p);
		sums_add_own(&t.sums, p);
		bpf_seq_write(seq, &t, sizeof(t));
		return 0;
	}
	if (pending_forks_used) /* the process lives, but has not executed yet */
		pending_fork_send(pid);
	__builtin_memset(rec, 0, sizeof(*rec));
	head(&rec->h, PROC_LEADER, p);
	sums_of_dead(&rec->sums, sig);
	if (rec->sums.cpu_ns)
		sums_add_gone_threads(&rec->sums, sig, pid);
	sums_add_own(&rec->sums, p);
	rec->parent_pid = real_parent->tgid;
	rec->parent_start_ns = leader->start_boottime;
	rec->cgroup_id = node->id;
	rec->maxrss_pages = sig->maxrss;
	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->payer = payer_of(cred);
	rec->session = session_of(sig);
	rec->ns_pid = ns_pid_of(thread_pid);
	rec->threads = sig->nr_threads;
	rec->flags = live_flags(p);
	if (sig->tty) {
		rec->flags |= PROC_LIVE_TTY;
		rec->group = group_of(sig);
	}
	/* an ended leader whose threads live on is no zombie: no parent can reap it */
	if (rec->flags & PROC_LIVE_ZOMBIE && sig->live.counter > 0)
		rec->flags &= ~PROC_LIVE_ZOMBIE;
	if (mm) {
		rec->rss_pages = rss_pages(mm);
		rec->rss_peak_pages = mm->hiwater_rss;
		if (rec->rss_peak_pages < rec->rss_pages)
			rec->rss_peak_pages = rec->rss_pages;
	}
	__builtin_memcpy(rec->comm, p->comm, sizeof(rec->comm));
	bpf_seq_write(seq, rec, sizeof(*rec));
	return 0;
}

#endif
