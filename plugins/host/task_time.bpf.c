// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/host/task_time.bpf.c - what the scheduler has booked on all tasks, kernel threads too.
 *
 * cpuacct_charge() (kernel/sched/cpuacct.c) adds every slice of every task to its cgroup's
 * counter and to those above it, up to root_cpuacct_cpuusage, on each CPU; with cgroup v2 as
 * well, where all tasks are in that root and no file shows it.  A variable and not a struct
 * of two sums since 5.17; variables of CPUs are in BTF from 5.11 on.
 *
 * Attached to nothing: user space runs it (BPF_PROG_TEST_RUN of raw tracepoints: since 5.10).
 */
#include <skep/bpf/kernel.bpf.h>

#include "task_time.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

extern const __u64 root_cpuacct_cpuusage __ksym;

__u64 task_ns; /* of the CPUs of the last run */

SEC("raw_tp")
int add_up(__u64 *ctx)
{
	__u32 first = ctx[0];
	__u64 sum = 0;

	for (__u32 i = 0; i < TASK_TIME_CPUS; i++) {
		const __u64 *of_cpu = bpf_per_cpu_ptr(&root_cpuacct_cpuusage, first + i);

		if (!of_cpu) /* beyond the last one */
			break;
		sum += *of_cpu;
	}
	task_ns = sum;
	return 0;
}
