// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/sched/sched.bpf.c - reads the present state of every thread, by an iterator that user space runs each
 * interval. A hook on sched_switch would cost time in every context switch of the machine.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "sched.h"
#include "taskstate.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The scan itself needs a CPU, and the thread that had the CPU waits meanwhile: on a machine with one CPU the scan
 * would never see a thread that runs. The scheduler books both threads in one step (sched_info_switch), with one
 * reading of its clock. So the scan has displaced the thread that was queued at the very time of the scan's arrival.
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
	leader = SKEP_UNTRUSTED(task_struct, t)->group_leader;
	rec.start_ns = leader->start_boottime;
	rec.pid = pid;
	rec.state = state_of(t);
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}
