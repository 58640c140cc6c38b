/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/verdict.bpf.h - the host's verdict map, kernel side: one byte a pid (tgid).
 *
 * Include it after kernel.bpf.h; before the load set rodata->verdict_pids and give the
 * map to the host's by bpf_map__reuse_fd (skep_host.verdict_fd).  Without that the map
 * stays a private one of 8 bytes, and nobody is excluded.
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
	__type(value, __u64); /* user space puts the host's map here */
} verdict SEC(".maps");

static __always_inline __u8 *verdicts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&verdict, &zero);
}

static __always_inline __u8 verdict_of(__u32 pid)
{
	__u8 *v = verdicts();

	if (!v || pid >= verdict_pids)
		return VERDICT_COLLECT;
	return v[pid];
}

static __always_inline int excluded(__u32 pid)
{
	return verdict_of(pid) >= SKEP_VERDICT_EXCLUDED;
}

#endif
