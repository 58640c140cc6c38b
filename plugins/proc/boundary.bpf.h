/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/boundary.bpf.h - at which execs a run or a task may begin: only there the programs search the
 * environment for the host's names (environ.bpf.h).
 *
 * An exec is a boundary if the process's session begins with it, if its cgroup is not its parent's, if the parent is a
 * program of the host's list, or if the image that execs is. Every exec pays for these questions, so a filter in
 * memory answers most of them: a look-up in the hash follows only if the filter has the bit.
 */
#ifndef SKEP_PROC_BOUNDARY_BPF_H
#define SKEP_PROC_BOUNDARY_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include "proc.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROC_PROGRAMS);
	__type(key, struct proc_program);
	__type(value, __u8);
} boundary_parents SEC(".maps");

/* User space writes it. */
struct proc_boundaries boundaries;
/*
 * Of a process whose image is a program of the list: the upper bits of its pid and 1, in the element of the pid's lower
 * bits; else 0, or what another pid left there. At an exec the name of the image that ends is gone. A byte a pid, so
 * that the pids of one moment share a cache line. Of two such processes with the same lower bits one is forgotten: its
 * exec is then a boundary only for another reason. A pid that is used again makes one exec too many a boundary.
 */
__u8 boundary_images[PROC_PROGRAM_IMAGES];

/* Not static, so that the verifier checks it once: see judge_exec. */
__noinline int boundary_listed(__u64 first, __u64 second)
{
	struct proc_program key = { { first, second } };

	return bpf_map_lookup_elem(&boundary_parents, &key) != NULL;
}

static __always_inline int boundary_program(__u64 first, __u64 second)
{
	struct proc_program key = proc_program_key(first, second);
	__u32 hash = proc_program_hash(&key);

	if (!(boundaries.programs[hash / 64] >> hash % 64 & 1))
		return 0;
	return boundary_listed(key.words[0], key.words[1]);
}

/*
 * moved: its cgroups are not its parent's. A css_set has a cgroup of each hierarchy: processes in the same cgroups have
 * the same one. comm: of the new image.
 */
static __always_inline int is_boundary(struct task_struct *parent_leader, __u32 moved, __u32 pid, __u32 session,
				       const __u64 *comm)
{
	const __u64 *parent_comm = (const void *)parent_leader->comm;
	__u8 *image = &boundary_images[pid & (PROC_PROGRAM_IMAGES - 1)], its = pid / PROC_PROGRAM_IMAGES + 1;
	__u32 was = *image == its;

	if (boundary_program(comm[0], comm[1]))
		*image = its;
	else if (was)
		*image = 0;
	return was || session == pid || moved || boundary_program(parent_comm[0], parent_comm[1]);
}

#endif
