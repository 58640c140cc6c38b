// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/proc/proc.bpf.c - the life of processes, and their final exact totals.
 *
 * Nothing here is on a hot path: fork, exec, exit and free of processes, and an
 * iterator that user space runs when it wants samples.  All hooks are tp_btf: classic
 * tracepoints share one per-CPU guard and are skipped when they interrupt another BPF
 * program.
 *
 * The totals are read when the kernel frees the task (sched_process_free): at exit the
 * scheduler has not booked the last slice yet, and a short process would read as zero.
 * By the leader's free, __exit_signal() has folded every thread into signal_struct; what
 * that leaves out is added up in a map as threads are freed (proc.h, struct proc_threads).
 */
#include <skep/bpf/kernel.bpf.h>

/* In the order in which the skeleton attaches their programs. */
#include "fork.bpf.h"
#include "exec.bpf.h"
#include "exit.bpf.h"
#include "oom.bpf.h"
#include "live.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Says PROC_LAYOUT to a skepd of another make, by how many entries it has. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROC_LAYOUT);
	__type(key, __u32);
	__type(value, __u32);
} layout SEC(".maps");

/* For the next skepd; no program uses it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct proc_reported);
} reported SEC(".maps");
