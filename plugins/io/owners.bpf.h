/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/owners.bpf.h - the maps of processes and cgroups; adds each completed request to them.
 */
#ifndef SKEP_IO_OWNERS_BPF_H
#define SKEP_IO_OWNERS_BPF_H

#include "common.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_process_key);
	__type(value, struct io_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_cgroup_key);
	__type(value, struct io_cgroup);
} cgroups SEC(".maps");

/*
 * User space saves here, for the next skepd, the part of `processes` and `cgroups` that it has reported.  The map has
 * room for twice as many processes, because it also has processes that wait without a request of their own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_process_key);
	__type(value, struct io_process_told);
} processes_told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_cgroup_key);
	__type(value, struct io_cgroup);
} cgroups_told SEC(".maps");

static __always_inline struct io_process *process_of(__u32 pid, __u64 start_ns)
{
	struct io_process_key key = { .start_ns = start_ns, .pid = pid };
	struct io_process *p = bpf_map_lookup_elem(&processes, &key);
	struct io_process none = {};

	if (p)
		return p;
	bpf_map_update_elem(&processes, &key, &none, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&processes, &key);
	if (!p)
		COUNT(processes_full);
	return p;
}

/* done: 1: the request is complete; 0: a part of it, which has no latency */
static __always_inline void add_process(__u32 pid, __u64 start_ns, __u32 op, __u32 bytes, __u64 latency, __u64 done)
{
	struct io_process *p = process_of(pid, start_ns);

	if (!p || op >= IO_OPS)
		return;
	ADD(p->operations[op], done);
	ADD(p->bytes[op], bytes);
	ADD(p->latency_ns[op], latency);
	if (latency > p->latency_max_ns)
		p->latency_max_ns = latency;
}

static __always_inline void add_cgroup(__u64 id, __u32 issuer, __u32 op, __u32 bytes, __u64 latency, __u64 done)
{
	struct io_cgroup_key key = { .id = id, .op = op, .issuer = issuer };
	struct io_cgroup *c = bpf_map_lookup_elem(&cgroups, &key);
	struct io_cgroup none = {};

	if (!c) {
		bpf_map_update_elem(&cgroups, &key, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&cgroups, &key);
	}
	if (!c) {
		COUNT(cgroups_full);
		return;
	}
	ADD(c->operations, done);
	ADD(c->bytes, bytes);
	ADD(c->latency_ns, latency);
}

#endif
