/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/exit.bpf.h - the hooks on a process's end: the exit of its last thread, and the free of each task, when
 * the kernel's totals are final.
 */
#ifndef SKEP_PROC_EXIT_BPF_H
#define SKEP_PROC_EXIT_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/rules.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "pending_forks.bpf.h"
#include "ring.bpf.h"
#include "skipped.bpf.h"
#include "task.bpf.h"
#include "totals.bpf.h"

/* Set by user space before the load. */
const volatile __u32 exit_has_group_dead;    /* sched_process_exit(task, group_dead): since 6.16 */

static __always_inline int exited(__u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct proc_unsent_key key = {};
	struct proc_exit rec = {};
	struct task_struct *leader, *its;
	struct signal_struct *sig;
	struct kernfs_node *node;
	struct mm_struct *mm;

	if (p->flags & PF_KTHREAD)
		return 0;
	its = SKEP_UNTRUSTED(task_struct, p);
	sig = its->signal;
	leader = its->group_leader;
	mm = its->mm;
	node = skep_cgroup_node(its);
	SKEP_LOAD_HERE(sig);
	SKEP_LOAD_HERE(leader);
	SKEP_LOAD_HERE(mm);
	SKEP_LOAD_HERE(node);
	/*
	 * The process ends with its last thread, which need not be the leader.  Before 6.16 two threads that exit
	 * together can both read 0: user space uses the first record.
	 */
	if (exit_has_group_dead) {
		if (!(ctx[1] & 1))
			return 0;
	} else if (sig->live.counter) {
		return 0;
	}
	if (excluded(p->tgid) || skep_unattended(PROC_EXIT))
		return 0;
	if (pending_forks_used) {
		pending_fork_end(p->tgid);
		pending_forks_of_children();
	}
	head(&rec.h, PROC_EXIT, leader);
	/*
	 * Totals for the case that BPF misses the free.  RCU frees a task in any context that its softirq interrupts,
	 * and a hardened kernel may keep BPF out of some task's context: on such a 6.18 BPF missed every free that ran
	 * in one protected daemon's context, 1 to 15 of 1,000 (ftrace saw them).  This hook runs in the ending task's
	 * own context.
	 */
	sums_of_dead(&rec.sums, sig);
	if (rec.sums.cpu_ns)
		sums_add_gone_threads(&rec.sums, sig, p->tgid);
	sums_add_own(&rec.sums, p);
	if (p->pid != p->tgid) /* the leader ended before: until it is reaped, signal_struct lacks its counters */
		sums_add_own(&rec.sums, leader);
	rec.status = wait_status(leader, sig);
	rec.maxrss_pages = sig->maxrss;
	rec.cgroup_id = node->id;
	if (mm) {
		__u64 peak = mm->hiwater_rss, now = rss_pages(mm);

		rec.rss_peak_pages = peak > now ? peak : now;
	}
	if (!send(&rec, sizeof(rec), PROC_EXIT))
		return 0;
	key.start_ns = rec.h.start_ns;
	key.pid = rec.h.pid;
	if (bpf_map_update_elem(&unsent_exits, &key, &rec, BPF_ANY))
		COUNT(exits_full);
	else
		COUNT(exits_delayed);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	seen((struct task_struct *)ctx[0], PROC_EXIT);
	return exited(ctx);
}

SEC("tp_btf/sched_process_exit")
int on_exit_missed(__u64 *ctx)
{
	if (seen_by_first((struct task_struct *)ctx[0], PROC_EXIT))
		return 0;
	return exited(ctx);
}

/* ---- free: final totals ---------------------------------------------------- */

static __always_inline void kernel_gone(struct task_struct *t)
{
	__sync_fetch_and_add(&others.kernel_gone_ns, t->se.sum_exec_runtime);
}

static __always_inline void excluded_gone(struct task_struct *t, __u8 byte)
{
	struct skep_rules *r = rules_now();
	__u32 pid = t->tgid;

	if (!r)
		return;
	__sync_fetch_and_add(&r->excluded_ns[byte & 127], t->se.sum_exec_runtime);
	if ((__u32)t->pid != pid)
		return;
	__sync_fetch_and_add(&r->excluded[byte & 127], 1);
	if (byte != SKEP_VERDICT_NOBODY)
		pending_fork_gone(t);
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *p)
{
	struct proc_unsent_key key = {};
	struct proc_final rec = {};
	struct signal_struct *sig;
	struct kernfs_node *node;
	struct task_struct *its;
	__u32 pid = p->tgid;
	__u8 byte;

	seen_forget(p);
	if (p->flags & PF_KTHREAD) {
		kernel_gone(p);
		return 0;
	}
	its = SKEP_UNTRUSTED(task_struct, p);
	sig = its->signal;
	node = skep_cgroup_node(its);
	SKEP_LOAD_HERE(sig);
	SKEP_LOAD_HERE(node);
	byte = verdict_of(pid);
	if (byte >= SKEP_VERDICT_EXCLUDED) {
		excluded_gone(p, byte);
		return 0;
	}
	if (skep_unattended(p->pid == pid ? PROC_FINAL : SKEP_KEPT_UNCOUNTED))
		return 0;
	if (p->pid != pid) {
		thread_free(p, sig, pid);
		return 0;
	}
	pending_fork_gone(p); /* no effect unless the programs missed the process's exit */
	head(&rec.h, PROC_FINAL, p);
	sums_of_dead(&rec.sums, sig);
	rec.signal_cpu_ns = rec.sums.cpu_ns;
	rec.sums.cpu_ns = p->se.sum_exec_runtime;
	rec.sums.run_delay_ns = p->sched_info.run_delay;
	rec.sums.run_count = p->sched_info.pcount;
	sums_add_io(&rec.sums, p);
	rec.switches = rec.sums.nvcsw + rec.sums.nivcsw - p->nvcsw - p->nivcsw;
	rec.faults = rec.sums.min_flt + rec.sums.maj_flt - p->min_flt - p->maj_flt;
	/*
	 * RCU frees threads in any order.  The map holds those freed so far. Each task_struct holds a reference on
	 * signal_struct, so a count over 1 (this task's) shows that RCU may still free others.
	 */
	if (rec.signal_cpu_ns > rec.sums.cpu_ns || (__s64)rec.switches > 0 || sig->sigcnt.refs.counter > 1)
		rec.flags |= PROC_FINAL_THREADS;
	rec.maxrss_pages = sig->maxrss;
	rec.cgroup_id = node->id;
	rec.signal = (__u64)sig;
	rec.status = wait_status(p, sig);
	if (!send(&rec, sizeof(rec), PROC_FINAL))
		return 0;
	rec.flags |= PROC_FINAL_DELAYED;
	key.start_ns = rec.h.start_ns;
	key.pid = pid;
	if (bpf_map_update_elem(&unsent, &key, &rec, BPF_ANY))
		COUNT(unsent_full);
	else
		COUNT(delayed);
	return 0;
}

#endif
