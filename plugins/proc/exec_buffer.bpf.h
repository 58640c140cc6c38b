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
#include "task.bpf.h"

/*
 * Each CPU has two elements, one for each of the two programs of the hook. The map is no PERCPU_ARRAY, as a per-CPU
 * value cannot exceed 32 KiB (PCPU_MIN_UNIT_SIZE). A program stays on its CPU and never nests (bpf_prog.active), so one
 * program uses an element at a time.
 */
#define HEAD_ROOM 16384u
#define ENVIRON_PART 4096u
struct environ_walk {
	__u64 at, end; /* addresses in the process: the environment that `part` does not hold yet */
	__u32 pos, len; /* position in `part`, bytes in it */
	__u32 found_len;
	__u32 table; /* index in environ_tables */
	__u32 fault; /* the search did not reach the end of the environment */
	__u32 full;  /* `found` had no room for a variable */
	char part[ENVIRON_PART + PROC_ENVIRON_ENTRY + 8];
	char found[PROC_ENVIRON_MAX + PROC_ENVIRON_ENTRY];
};
struct buffer {
	struct skep_walk walk;
	struct rules_work rules;
	__u64 verdict; /* of judge_exec */
	__u32 boundary; /* of is_boundary */
	__u32 reserved;
	__u64 cgroup_id; /* in cgroups_sent, if `cgroups_round` is still the same: saves most execs the look-up */
	__u32 cgroup_round;
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

#define WALK_STEPS 4

/* Some steps of walk_path(); 1: the walk ends. Not static: see judge_exec. */
__noinline int walk_steps(__u32 buffer)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);

	if (!b)
		return 1;
#pragma unroll
	for (int i = 0; i < WALK_STEPS; i++) {
		if (skep_path_up(&b->walk, b->data, HEAD_ROOM))
			return 1;
		SKEP_FROM_MEMORY();
	}
	return 0;
}

/* Appends the path at which that buffer's walk begins. */
static __always_inline void walk_path(__u32 buffer)
{
	for (int i = 0; i < SKEP_PATH_DEPTH / WALK_STEPS; i++)
		if (walk_steps(buffer))
			break;
}

/* Not static: see judge_exec. */
__noinline int walk_cgroup_step(__u32 buffer)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);

	return b ? cgroup_up(&b->walk, b->data, HEAD_ROOM) : 1;
}

/* Appends the path of the cgroup whose kernfs_node is the dentry at which that buffer's walk begins. */
__noinline int walk_cgroup(__u32 buffer)
{
	for (int i = 0; i < PROC_CGROUP_DEPTH; i++)
		if (walk_cgroup_step(buffer))
			break;
	return 0;
}

#endif
