/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/sched/detail.h - what the details' kernel side and user space share.
 * Include skep/bpf/hist.bpf.h or skep/record.h before it: both say how many slots a histogram has.
 * Which attachments a thread is in: skep/scope.h.
 */
#ifndef SKEP_SCHED_DETAIL_H
#define SKEP_SCHED_DETAIL_H

#include <linux/types.h>

enum detail_kind {
	DETAIL_RUNQLAT = 0, /* how long threads waited for a CPU */
	DETAIL_ONCPU,       /* how long they had it */
	DETAIL_OFFCPU,      /* how long they did not want it, by why */
	DETAIL_KINDS,
};

#define DETAIL_PARTS \
	3u /* distributions of one attachment: of OFFCPU one for each kind of sleep; of the others the first */

/* One distribution on one CPU: element (cpu * SKEP_SCOPE_SLOTS + slot) * DETAIL_PARTS + part. */
struct detail_hist {
	__u64 sum;
	__u64 slots[SKEP_HIST_SLOTS];
};

/* One a CPU: who came onto it last. */
struct detail_cpu {
	__u64 task;                /* its address, an identity only */
	__u64 arrived_ns;          /* 0: when is not known */
	__u64 exec_ns;             /* what it had run by then */
	/* values that could not be taken: a switch was not seen, or no room to remember a thread */
	__u64 lost[DETAIL_KINDS];
	__u64 matched;             /* working memory: slots found by process or cgroup */
	__u64 slot;                /* working memory: of a value; the whole is a cache line */
};

/* A thread as it was when it last left a CPU. */
struct detail_thread {
	__u64 stints;       /* times on a CPU by then: a value counts only when the next departure is the very next */
	__u64 run_delay_ns; /* waited for a CPU by then */
	__u64 exec_ns;      /* ran by then */
	__u64 left_ns;      /* 0: when is not known, or it did not go to sleep */
	__u32 pid;          /* of the thread: in the hash the key is its address, which may be another's later */
	__u16 part;         /* which kind of sleep */
	__u16 slots;        /* attachments it was in by then */
};

#endif
