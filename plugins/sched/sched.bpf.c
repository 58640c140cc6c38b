// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/sched/sched.bpf.c - the present state of every thread. An iterator, run each interval: a hook on sched_switch
 * would cost every context switch of the machine.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "sched.h"
#include "taskstate.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The pass itself needs a CPU, and the thread that had that CPU waits meanwhile: on a machine with one CPU no thread
 * would ever be seen running. The scheduler books both in one step (sched_info_switch), with one reading of its clock:
 * the thread queued at the very time of our arrival is the one that we displaced.
 */
static __always_inline int displaced_by_us(struct task_struct *t)
{
	struct task_struct___sched *s = (void *)t, *we = (void *)bpf_get_current_task();

	if (!bpf_core_field_exists(s->sched_info.last_queued))
		return 0;
	return BPF_CORE_READ(s, sched_info.last_queued) == BPF_CORE_READ(we, sched_info.last_arrival);
}

static __always_inline __u32 state_of(struct task_struct *t)
{
	struct task_struct___sched *s = (void *)t;
	unsigned int state = state_word(t);

	if (state)
		return kind_of_sleep(t, state);
	if (bpf_core_field_exists(s->on_cpu) && !s->on_cpu && !displaced_by_us(t))
		return SCHED_RUNNABLE;
	return SCHED_RUNNING;
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
