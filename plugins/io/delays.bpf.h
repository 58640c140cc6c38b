/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/delays.bpf.h - reports how long threads waited for I/O and memory, where the kernel accounts delays.
 */
#ifndef SKEP_IO_DELAYS_BPF_H
#define SKEP_IO_DELAYS_BPF_H

#include "owners.bpf.h"

#define WAIT_SLACK_NS 1000000 /* the kernel takes the times by three clocks */

/*
 * The longest that a thread can have waited.  Since 6.12 a thread may begin to wait while another one runs (delayed
 * dequeue): the kernel then stores the begin for that one (__block_task(), delayacct_blkio_start()), and the wait
 * counts from the thread's wait before, or from the boot of the machine.
 */
static __always_inline __u64 longest_wait(struct task_struct *t)
{
	__u64 lived = bpf_ktime_get_boot_ns() - t->start_boottime;
	__u64 ran = t->se.sum_exec_runtime + t->sched_info.run_delay;

	return lived > ran ? lived - ran : 0;
}

/* *wrong: the thread's wait for block I/O is longer than it can be, and left out. */
static __always_inline int delays_of(struct task_struct *t, __u64 *ret, int *wrong)
{
	struct task_struct___delays *with = (void *)t;
	struct task_delay_info *d;

	if (!bpf_core_field_exists(with->delays))
		return 0;
	d = with->delays;
	if (!d) /* delay accounting was off when the thread was forked */
		return 0;
	ret[IO_DELAY_BLOCK] = d->blkio_delay;
	*wrong = ret[IO_DELAY_BLOCK] > longest_wait(t) + WAIT_SLACK_NS;
	if (*wrong)
		ret[IO_DELAY_BLOCK] = 0;
	ret[IO_DELAY_SWAPIN] = d->swapin_delay;
	ret[IO_DELAY_RECLAIM] = d->freepages_delay;
	ret[IO_DELAY_THRASHING] = d->thrashing_delay;
	return ret[0] || ret[1] || ret[2] || ret[3];
}

/* Runs at the end of every thread.  User space loads it only where kernel.task_delayacct is on. */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0], *leader;
	__u64 delays[IO_DELAYS] = {};
	struct io_process *p;
	int any, wrong = 0;

	if (t->flags & PF_KTHREAD || excluded(t->tgid))
		return 0;
	any = delays_of(t, delays, &wrong);
	if (wrong)
		COUNT(waits_wrong);
	if (!any || skep_unattended(IO_UNATTENDED_PROCESS))
		return 0;
	leader = t->group_leader;
	p = process_of(t->tgid, leader->start_boottime);
	if (!p)
		return 0;
#pragma unroll
	for (int i = 0; i < IO_DELAYS; i++)
		ADD(p->delay_ns[i], delays[i]);
	return 0;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task, *leader;
	struct io_delays rec = {};
	int wrong = 0; /* on_exit counts it */

	/* on_exit counts a thread that has PF_EXITING; here it would count twice */
	if (!t || t->flags & (PF_KTHREAD | PF_EXITING) || excluded(t->tgid) || !delays_of(t, rec.delay_ns, &wrong))
		return 0;
	leader = t->group_leader;
	rec.start_ns = leader->start_boottime;
	rec.pid = t->tgid;
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}

#endif
