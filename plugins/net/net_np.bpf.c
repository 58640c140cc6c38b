// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/net/net_np.bpf.c - net.bpf.c with preemption disabled in each program: skep/bpf/preempt.bpf.h has the reason.
 */
#define SKEP_NO_PREEMPT
#include "net.bpf.c"
