/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/sched/sched.h - one record of the iterator: the present state of one thread.
 */
#ifndef SKEP_SCHED_H
#define SKEP_SCHED_H

#include <linux/types.h>

enum sched_state {
	SCHED_RUNNING = 0, /* on a CPU */
	SCHED_RUNNABLE,    /* waits for one */
	SCHED_IOWAIT,      /* sleeps for a block device */
	SCHED_BLOCKED,     /* other uninterruptible sleep: locks, network file systems, page allocation */
	SCHED_SLEEPING,
	SCHED_STATES,
};

struct sched_task {
	__u64 start_ns; /* of the leader */
	__u32 pid;      /* tgid */
	__u32 state;
};

#endif
