// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/proc/proc_np.bpf.c - proc.bpf.c, not preempted: skep/bpf/preempt.bpf.h says why.
 */
#define SKEP_NO_PREEMPT
#include "proc.bpf.c"
