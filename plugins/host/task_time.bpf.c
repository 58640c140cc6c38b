// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/host/task_time.bpf.c - reads the CPU time of all tasks, also of kernel threads, from a scheduler's counter.
 *
 * cpuacct_charge() (kernel/sched/cpuacct.c) adds each slice of each task to its cgroup's counter and to the counters of
 * all cgroups above, up to root_cpuacct_cpuusage, on each CPU.  With cgroup v2 all tasks are in that root, and no file
 * shows the counter.  Since 5.17 it is a u64, before a struct of two sums; BTF has per-CPU variables since 5.11.
 *
 * The program has no hook: user space runs it (BPF_PROG_TEST_RUN of raw tracepoints, since 5.10).
 */
#include <skep/bpf/kernel.bpf.h>

#include "task_time.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

extern const __u64 root_cpuacct_cpuusage __ksym;

__u64 task_ns; /* sum of the last run */

SEC("raw_tp")
int add_up(__u64 *ctx)
{
	__u32 first = ctx[0];
	__u64 cpus = ctx[1], sum = 0;

	for (__u32 i = 0; i < TASK_TIME_CPUS; i++) {
		const __u64 *of_cpu;

		if (!(cpus >> i & 1))
			continue;
		of_cpu = bpf_per_cpu_ptr(&root_cpuacct_cpuusage, first + i);
		if (of_cpu)
			sum += *of_cpu;
	}
	task_ns = sum;
	return 0;
}
