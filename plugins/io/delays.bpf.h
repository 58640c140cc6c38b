/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/delays.bpf.h - reports how long threads waited for I/O and memory, where the kernel accounts delays.
 */
#ifndef SKEP_IO_DELAYS_BPF_H
#define SKEP_IO_DELAYS_BPF_H

#include "owners.bpf.h"

static __always_inline int delays_of(struct task_struct *t, __u64 *ret)
{
	struct task_struct___delays *with = (void *)t;
	struct task_delay_info *d;

	if (!bpf_core_field_exists(with->delays))
		return 0;
	d = with->delays;
	if (!d) /* delay accounting was off when the thread was forked */
		return 0;
	ret[IO_DELAY_BLOCK] = d->blkio_delay;
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

	if (t->flags & PF_KTHREAD || excluded(t->tgid) || !delays_of(t, delays) ||
	    skep_unattended(IO_UNATTENDED_PROCESS))
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

	/* on_exit counts a thread that has PF_EXITING; here it would count twice */
	if (!t || t->flags & (PF_KTHREAD | PF_EXITING) || excluded(t->tgid) || !delays_of(t, rec.delay_ns))
		return 0;
	leader = t->group_leader;
	rec.start_ns = leader->start_boottime;
	rec.pid = t->tgid;
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}

#endif
