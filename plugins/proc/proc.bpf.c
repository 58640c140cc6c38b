// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/proc/proc.bpf.c - the kernel side: reports fork, exec and end of each process, and its exact totals.
 *
 * No program is on a hot path: they run at fork, exec, exit and free of processes, and in an iterator that user space
 * starts for samples.  All hooks are tp_btf: classic tracepoints share one guard per CPU, and the kernel skips them
 * when they interrupt another BPF program.
 *
 * The programs read the totals when the kernel frees the task (sched_process_free): at exit the scheduler has not
 * accounted the last slice yet, and a short process would read as zero. By the leader's free, __exit_signal() has
 * added every thread to signal_struct. A map adds up, as threads are freed, the counters that signal_struct lacks
 * (proc.h, struct proc_threads).
 */
#include <skep/bpf/kernel.bpf.h>

/* In the order in which the skeleton attaches their programs. */
#include "fork.bpf.h"
#include "exec.bpf.h"
#include "exit.bpf.h"
#include "oom.bpf.h"
#include "live.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Its number of entries is PROC_LAYOUT: so a skepd of another build finds the layout of pinned state. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROC_LAYOUT);
	__type(key, __u32);
	__type(value, __u32);
} layout SEC(".maps");

/* User space writes it for the next skepd; no program uses it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct proc_reported);
} reported SEC(".maps");
