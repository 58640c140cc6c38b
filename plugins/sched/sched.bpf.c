// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/sched/sched.bpf.c - what every thread is doing at this moment.
 *
 * An iterator, run each interval: no hook on sched_switch, which every context switch of
 * the host would pay for.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "sched.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* on_cpu exists with CONFIG_SMP only; in_iowait is a bit field */
struct task_struct___sched {
	int on_cpu;
	unsigned in_iowait : 1;
} __attribute__((preserve_access_index));

#define TASK_UNINTERRUPTIBLE 2u /* include/linux/sched.h, all three since 4.14 */
#define TASK_NOLOAD 0x400u      /* with it: an idle kernel thread */

static __always_inline __u32 state_of(struct task_struct *t)
{
	struct task_struct___sched *s = (void *)t;
	struct task_struct___new_state *after = (void *)t;
	struct task_struct___old_state *before = (void *)t;
	unsigned int state;

	if (bpf_core_field_exists(after->__state))
		state = BPF_CORE_READ(after, __state);
	else
		state = BPF_CORE_READ(before, state);
	if (state == 0) {
		if (bpf_core_field_exists(s->on_cpu) && !BPF_CORE_READ(s, on_cpu))
			return SCHED_RUNNABLE;
		return SCHED_RUNNING;
	}
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) != TASK_UNINTERRUPTIBLE)
		return SCHED_SLEEPING;
	return BPF_CORE_READ_BITFIELD_PROBED(s, in_iowait) ? SCHED_IOWAIT : SCHED_BLOCKED;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task, *leader;
	struct sched_task rec = {};
	__u32 pid;

	if (!t || t->flags & PF_KTHREAD || t->exit_state)
		return 0;
	pid = t->tgid;
	if (excluded(pid))
		return 0;
	leader = t->group_leader;
	rec.start_ns = leader->start_boottime;
	rec.pid = pid;
	rec.state = state_of(t);
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}
