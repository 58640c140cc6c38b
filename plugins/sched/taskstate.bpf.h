/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/sched/taskstate.bpf.h - the meaning of a thread's state word, for the iterator that samples it and for the
 * hook that times it.
 */
#ifndef SKEP_SCHED_TASKSTATE_BPF_H
#define SKEP_SCHED_TASKSTATE_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "sched.h"

struct sched_info___queue {
	unsigned long long last_arrival; /* on a CPU */
	unsigned long long last_queued;  /* for a CPU; 0: it is not waiting */
} __attribute__((preserve_access_index));

/*
 * on_cpu exists with CONFIG_SMP only; in_iowait is a bit field; sched_info is empty without CONFIG_SCHED_INFO. on_cpu
 * and on_rq were int, and are neighbouring bytes in 7.2. Plain loads read them, whose width libbpf adjusts (of unsigned
 * types only), unlike BPF_CORE_READ, which reads the four bytes declared here.
 */
struct task_struct___sched {
	unsigned int on_cpu;
	unsigned int on_rq;
	unsigned in_iowait : 1;
	struct sched_info___queue sched_info;
} __attribute__((preserve_access_index));

#define TASK_UNINTERRUPTIBLE 2u /* include/linux/sched.h, all three since 4.14 */
#define TASK_DEAD 0x80u
#define TASK_NOLOAD 0x400u /* with it: an idle kernel thread */

static __always_inline unsigned int state_word(struct task_struct *t)
{
	struct task_struct___new_state *after = (void *)t;
	struct task_struct___old_state *before = (void *)t;

	if (bpf_core_field_exists(after->__state))
		return BPF_CORE_READ(after, __state);
	return BPF_CORE_READ(before, state);
}

/* For a thread that does not want a CPU. */
static __always_inline __u32 kind_of_sleep(struct task_struct *t, unsigned int state)
{
	struct task_struct___sched *s = (void *)t;

	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) != TASK_UNINTERRUPTIBLE)
		return SCHED_SLEEPING;
	return BPF_CORE_READ_BITFIELD_PROBED(s, in_iowait) ? SCHED_IOWAIT : SCHED_BLOCKED;
}

#endif
