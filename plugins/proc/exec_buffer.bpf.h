/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/exec_buffer.bpf.h - the buffer of each CPU in which the programs put an exec record together.
 */
#ifndef SKEP_PROC_EXEC_BUFFER_BPF_H
#define SKEP_PROC_EXEC_BUFFER_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/path.bpf.h>
#include <skep/bpf/rules.bpf.h>

#include "proc.h"

/*
 * Each CPU has two elements, one for each of the two programs of the hook. The map is no PERCPU_ARRAY, as a per-CPU
 * value cannot exceed 32 KiB (PCPU_MIN_UNIT_SIZE). A program stays on its CPU and never nests (bpf_prog.active), so one
 * program uses an element at a time.
 */
#define HEAD_ROOM 16384u
#define ENVIRON_PART 4096u
struct environ_walk {
	__u64 at, end; /* addresses in the process: the environment that `part` does not hold yet */
	__u32 pos, len; /* of `part` */
	__u32 found_len;
	__u32 fault;
	char part[ENVIRON_PART + PROC_ENVIRON_ENTRY + 8];
	char found[PROC_ENVIRON_MAX + PROC_ENVIRON_ENTRY];
};
struct buffer {
	struct skep_walk walk;
	struct rules_work rules;
	__u64 verdict; /* of judge_exec */
	struct environ_walk environ;
	struct proc_exec exec;
	char data[HEAD_ROOM + PROC_ARGV_MAX + PROC_ENVIRON_MAX];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__type(key, __u32);
	__type(value, struct buffer);
} buffers SEC(".maps");

#endif
