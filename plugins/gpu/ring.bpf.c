// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/gpu/ring.bpf.c - counts jobs by ring in the GPU scheduler that DRM drivers share (gpu_sched: amdgpu, xe,
 * nouveau, panfrost, v3d, etnaviv, lima ...): queued, started, finished. The tracepoints belong to a module, and 6.17
 * renamed them, so user space attaches raw tracepoints by either name. The programs are in an object of their own,
 * since only the module's BTF has their types.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/hist.bpf.h>

#include "gpu.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct drm_gpu_scheduler {
	const char *name;
};
struct dma_fence {
	const void *ops;
};
struct drm_sched_fence {
	struct dma_fence scheduled;
	struct drm_gpu_scheduler *sched;
};
struct drm_sched_job {
	struct drm_sched_fence *s_fence;
};
#pragma clang attribute pop

struct job {
	__u64 queued, started;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RINGS_ROOM);
	__type(key, struct ring_key);
	__type(value, struct ring_stats);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring_stats);
} fresh SEC(".maps");

/* By the job's fence, which all three tracepoints have. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JOBS_ROOM);
	__type(key, __u64);
	__type(value, struct job);
} jobs SEC(".maps");

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

static __always_inline struct ring_stats *stats(struct drm_sched_fence *f)
{
	const char *name = BPF_CORE_READ(f, sched, name);
	struct ring_stats *s, *zeroes;
	struct ring_key key = {};
	struct gpu_lost *l;
	__u32 zero = 0;

	bpf_probe_read_kernel_str(key.name, sizeof(key.name), name);
	s = bpf_map_lookup_elem(&rings, &key);
	if (s)
		return s;
	zeroes = bpf_map_lookup_elem(&fresh, &zero);
	if (!zeroes)
		return NULL;
	bpf_map_update_elem(&rings, &key, zeroes, BPF_NOEXIST);
	s = bpf_map_lookup_elem(&rings, &key);
	if (s)
		return s;
	l = losses();
	if (l)
		l->kinds++;
	return NULL;
}

/* drm_sched_job (before 6.17), drm_sched_job_queue: (job, entity) */
SEC("raw_tp")
int on_queue(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_sched_fence *f = BPF_CORE_READ(job, s_fence);
	struct job entry = { .queued = bpf_ktime_get_ns() };
	struct ring_stats *s = stats(f);
	__u64 key = (__u64)f;

	if (!s)
		return 0;
	ADD(s->queued, 1);
	if (bpf_map_update_elem(&jobs, &key, &entry, BPF_ANY)) {
		struct gpu_lost *l = losses();

		if (l)
			l->pending++;
	}
	return 0;
}

/* drm_run_job (before 6.17), drm_sched_job_run: (job, entity) */
SEC("raw_tp")
int on_run(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_job *job = (void *)ctx->args[0];
	struct drm_sched_fence *f = BPF_CORE_READ(job, s_fence);
	struct ring_stats *s = stats(f);
	__u64 key = (__u64)f, took;
	struct job *entry;

	if (!s)
		return 0;
	ADD(s->started, 1);
	entry = bpf_map_lookup_elem(&jobs, &key);
	if (!entry)
		return 0;
	entry->started = bpf_ktime_get_ns();
	took = entry->started - entry->queued;
	ADD(s->wait_ns, took);
	COUNT_IN(s->wait, skep_hist_slot(took));
	return 0;
}

/* drm_sched_process_job (before 6.17), drm_sched_job_done: (fence) */
SEC("raw_tp")
int on_done(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_sched_fence *f = (void *)ctx->args[0];
	struct ring_stats *s = stats(f);
	__u64 key = (__u64)f, took;
	struct job *entry = bpf_map_lookup_elem(&jobs, &key);

	if (s)
		ADD(s->finished, 1);
	if (s && entry && entry->started) {
		took = bpf_ktime_get_ns() - entry->started;
		ADD(s->run_ns, took);
		COUNT_IN(s->run, skep_hist_slot(took));
	}
	if (entry)
		bpf_map_delete_elem(&jobs, &key);
	return 0;
}

/*
 * dma_fence_destroy: (fence).  The jobs of a killed process end without drm_sched_job_done
 * (drm_sched_entity_kill): the kernel then frees their fences, and their entries go with them.
 */
SEC("raw_tp")
int on_free(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[0] - bpf_core_field_offset(struct drm_sched_fence, scheduled);

	bpf_map_delete_elem(&jobs, &key);
	return 0;
}
