/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/verdict.bpf.h - reads the verdict map of the plugin host, kernel side: one byte for each pid (tgid).
 *
 * Include this header after kernel.bpf.h.  Before the load, user space sets rodata->verdict_pids, and replaces the map
 * by the plugin host's map: bpf_map__reuse_fd() with skep_host.verdict_fd.  Without this the map has 8 bytes of zeros,
 * and no process is excluded.
 */
#ifndef SKEP_BPF_VERDICT_BPF_H
#define SKEP_BPF_VERDICT_BPF_H

#include <skep/rules.h>

#define VERDICT_COLLECT 0

const volatile __u32 verdict_pids = 8; /* bytes in the map's one element; set by user space */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64); /* of the placeholder; the plugin host's map replaces it */
} verdict SEC(".maps");

static __always_inline __u8 *verdicts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&verdict, &zero);
}

static __always_inline __u8 verdict_of(__u32 pid)
{
	__u8 *v = verdicts();
	__u64 index = pid;

	if (!v)
		return VERDICT_COLLECT;
	/* one register for comparison and use: 5.10 and 6.1 forget the bound of a number on the stack */
	asm volatile("" : "+r"(index));
	if (index >= verdict_pids)
		return VERDICT_COLLECT;
	return v[index];
}

static __always_inline int excluded(__u32 pid)
{
	return verdict_of(pid) >= SKEP_VERDICT_EXCLUDED;
}

#endif
