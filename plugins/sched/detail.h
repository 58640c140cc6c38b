/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/sched/detail.h - structs that the details' kernel side and user space share. Include skep/bpf/hist.bpf.h or
 * skep/record.h before it: both define the number of slots of a histogram. skep/scope.h says which attachments a thread
 * is in.
 */
#ifndef SKEP_SCHED_DETAIL_H
#define SKEP_SCHED_DETAIL_H

#include <linux/types.h>

enum detail_kind {
	DETAIL_RUNQLAT = 0, /* how long threads waited for a CPU */
	DETAIL_ONCPU,       /* how long threads ran on a CPU */
	DETAIL_OFFCPU,      /* how long they slept, by reason */
	DETAIL_KINDS,
};

#define DETAIL_PARTS \
	3u /* distributions of one attachment: OFFCPU has one for each kind of sleep, the others use the first */

/* One distribution on one CPU: element (cpu * SKEP_SCOPE_SLOTS + slot) * DETAIL_PARTS + part. */
struct detail_hist {
	__u64 sum;
	__u64 slots[SKEP_HIST_SLOTS];
};

/* One per CPU: the thread that last came onto it. */
struct detail_cpu {
	__u64 task;                /* its address, an identity only */
	__u64 arrived_ns;          /* 0: unknown */
	__u64 exec_ns;             /* the task's CPU time at its arrival */
	/* values that could not be computed: the hook missed a switch, or had no room for a thread */
	__u64 lost[DETAIL_KINDS];
	__u64 matched;             /* working memory: slots found by process or cgroup */
	__u64 slot;                /* working memory: slots of a value; the whole struct is a cache line */
};

/* A thread's state when it last left a CPU. */
struct detail_thread {
	/* times on a CPU by then: a value counts only when the next departure follows immediately */
	__u64 stints;
	__u64 run_delay_ns; /* wait for a CPU by then */
	__u64 exec_ns;      /* run time by then */
	__u64 left_ns;      /* 0: unknown, or it did not go to sleep */
	__u32 pid;          /* of the thread: the hash's key is its address, which another thread may have later */
	__u16 part;         /* the kind of sleep */
	__u16 slots;        /* its attachments by then */
};

#endif
