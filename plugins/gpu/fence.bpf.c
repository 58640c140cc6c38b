// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/gpu/fence.bpf.c - dma_fence: work that any driver gives to a device, from the fence's emission to its signal,
 * and how long threads waited for a fence. Only a fence's functions know its driver and timeline, so the programs count
 * fences by their operations, whose symbol user space looks up.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/hist.bpf.h>

#include "gpu.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct dma_fence_ops {
	const char *(*get_driver_name)(void *);
};
struct dma_fence {
	const struct dma_fence_ops *ops;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FENCE_DRIVERS);
	__type(key, __u64);
	__type(value, struct fence_stats);
} drivers SEC(".maps");

/* Zeroes for a new element; they are too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fence_stats);
} fresh SEC(".maps");

/* Emitted fences that are not signaled: the time of emission. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FENCE_ROOM);
	__type(key, __u64);
	__type(value, __u64);
} pending SEC(".maps");

/* Threads that wait for a fence: the time of the wait's beginning. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FENCE_WAITERS);
	__type(key, __u64);
	__type(value, __u64);
} waiters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpu_lost);
} lost SEC(".maps");

#define ADD(to_, n_) __sync_fetch_and_add(&(to_), (n_))

static __always_inline struct gpu_lost *losses(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&lost, &zero);
}

static __always_inline struct fence_stats *stats(struct dma_fence *f)
{
	const struct dma_fence_ops *ops = BPF_CORE_READ(f, ops);
	__u64 key = (__u64)ops;
	struct fence_stats *s = bpf_map_lookup_elem(&drivers, &key), *zeroes;
	struct gpu_lost *l;
	__u32 zero = 0;

	/* 6.19 lets a signaled fence outlive its operations: then the pointer is NULL */
	if (s || !ops)
		return s;
	zeroes = bpf_map_lookup_elem(&fresh, &zero);
	if (!zeroes)
		return NULL;
	bpf_map_update_elem(&drivers, &key, zeroes, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&drivers, &key);
	if (s) {
		s->name_fn = (__u64)BPF_CORE_READ(ops, get_driver_name);
		return s;
	}
	l = losses();
	if (l)
		l->kinds++;
	return NULL;
}

SEC("tp_btf/dma_fence_emit")
int BPF_PROG(on_emit, struct dma_fence *f)
{
	__u64 key = (__u64)f, now = bpf_ktime_get_ns();
	struct fence_stats *s = stats(f);

	if (!s)
		return 0;
	ADD(s->emitted, 1);
	if (bpf_map_update_elem(&pending, &key, &now, BPF_ANY)) {
		struct gpu_lost *l = losses();

		if (l)
			l->pending++;
	}
	return 0;
}

SEC("tp_btf/dma_fence_signaled")
int BPF_PROG(on_signaled, struct dma_fence *f)
{
	__u64 key = (__u64)f, *since = bpf_map_lookup_elem(&pending, &key), took;
	struct fence_stats *s = stats(f);

	if (s)
		ADD(s->signaled, 1);
	if (!since)
		return 0; /* a driver without dma_fence_emit, or a fence emitted before the attach */
	took = bpf_ktime_get_ns() - *since;
	bpf_map_delete_elem(&pending, &key);
	if (!s)
		return 0;
	ADD(s->latency_ns, took);
	COUNT_IN(s->latency, skep_hist_slot(took));
	return 0;
}

/* A fence freed without a signal must not stay in the table. */
SEC("tp_btf/dma_fence_destroy")
int BPF_PROG(on_destroy, struct dma_fence *f)
{
	__u64 key = (__u64)f;

	bpf_map_delete_elem(&pending, &key);
	return 0;
}

SEC("tp_btf/dma_fence_wait_start")
int BPF_PROG(on_wait, struct dma_fence *f)
{
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&waiters, &thread, &now, BPF_ANY)) {
		struct gpu_lost *l = losses();

		if (l)
			l->pending++;
	}
	return 0;
}

SEC("tp_btf/dma_fence_wait_end")
int BPF_PROG(on_wait_end, struct dma_fence *f)
{
	__u64 thread = bpf_get_current_pid_tgid(), *since = bpf_map_lookup_elem(&waiters, &thread), took;
	struct fence_stats *s;

	if (!since)
		return 0;
	took = bpf_ktime_get_ns() - *since;
	bpf_map_delete_elem(&waiters, &thread);
	s = stats(f);
	if (!s)
		return 0;
	ADD(s->waits, 1);
	ADD(s->wait_ns, took);
	return 0;
}
