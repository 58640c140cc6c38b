// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/proc/opens_np.bpf.c - opens.bpf.c for kernels that can preempt a fexit program: while
 * one is half done, the same program is skipped for every other task on that CPU (bpf_prog.active).
 * On a 7.2, which is always preemptible, four threads on one CPU lost 428 of 1,000 opens so.
 * An object of its own: where the kernel lacks these functions (before 6.10), libbpf 1.1
 * refuses the whole object that names them.
 */
#define OPENS_NO_PREEMPT
#include "opens.bpf.c"
