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
 * It does where it calls such programs with preemption on, which is where tracepoints are protected
 * by SRCU (after 6.18; 7.2 for one): srcu_ctr came with 6.15, and the tracepoint_srcu of kernels up
 * to 6.12 was another.  For as long as the other task has the CPU the program is skipped for
 * everybody there (recursion_misses).  Switching preemption off in it does not help: the switch that
 * has become due takes place in bpf_preempt_enable(), in the middle of the program all the same.  A
 * second program at the same tracepoint does, which sees what the first one has not: of 720
 * processes started on a 7.2 the first programs missed 16 events, and both together none.
 */
bool skep_kernel_preempts_programs(const struct btf *vmlinux);

#ifdef __cplusplus
}
#endif

#endif
