/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/preempt.bpf.h - a program that is not preempted half-way.
 *
 * For where two programs share what they work with, and a kernel may preempt the one and run the
 * other on that CPU.  It does not help against a program's being skipped meanwhile: skep/preempt.h.
 * (Of 1,000 opens of four threads on one CPU of a 7.2 a fexit program saw 685 with it, and 572 without.)
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
