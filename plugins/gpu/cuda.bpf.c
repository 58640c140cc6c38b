// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/gpu/cuda.bpf.c - the detail "cuda": the kernel counts calls into libcuda. User space attaches uprobes process
 * by process, and each hit counts into the element of its process. A call costs the trap, one look-up and a few
 * additions; no record leaves the kernel. There is a program for each kind of call, as kernels before 5.15 have no
 * attach cookies.
 */
#include <linux/ptrace.h>

#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/hist.bpf.h>

#include "gpu.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* By tgid; a process has an element while it is attached. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CUDA_PROCESSES);
	__type(key, __u32);
	__type(value, struct cuda_stats);
} processes SEC(".maps");

/* Threads inside a synchronize call: the time of its beginning. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CUDA_SYNCS);
	__type(key, __u64);
	__type(value, __u64);
} syncs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpu_lost);
} lost SEC(".maps");

#define ADD(to_, n_) __sync_fetch_and_add(&(to_), (n_))

static __always_inline struct cuda_stats *process(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&processes, &pid);
}

static __always_inline struct cuda_stats *stats(void)
{
	struct cuda_stats *s = process();

	if (s)
		ADD(s->hits, 1);
	return s;
}

SEC("uprobe")
int on_launch(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s)
		ADD(s->launches, 1);
	return 0;
}

SEC("uprobe")
int on_graph(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s)
		ADD(s->graph_launches, 1);
	return 0;
}

/* (to, from, bytes ...) */
SEC("uprobe")
int on_h2d(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->copies_h2d, 1);
		ADD(s->bytes_h2d, (__u64)PT_REGS_PARM3(ctx));
	}
	return 0;
}

SEC("uprobe")
int on_d2h(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->copies_d2h, 1);
		ADD(s->bytes_d2h, (__u64)PT_REGS_PARM3(ctx));
	}
	return 0;
}

SEC("uprobe")
int on_d2d(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->copies_d2d, 1);
		ADD(s->bytes_d2d, (__u64)PT_REGS_PARM3(ctx));
	}
	return 0;
}

SEC("uprobe")
int on_copy(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->copies_other, 1);
		ADD(s->bytes_other, (__u64)PT_REGS_PARM3(ctx));
	}
	return 0;
}

/* (to, context, from, context, bytes ...) */
SEC("uprobe")
int on_peer(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->copies_other, 1);
		ADD(s->bytes_other, (__u64)PT_REGS_PARM5(ctx));
	}
	return 0;
}

SEC("uprobe")
int on_unsized(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s)
		ADD(s->copies_unsized, 1);
	return 0;
}

/* (address or handle, bytes ...) */
SEC("uprobe")
int on_alloc(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->allocs, 1);
		ADD(s->bytes_alloc, (__u64)PT_REGS_PARM2(ctx));
	}
	return 0;
}

/* (address, pitch, width in bytes, height ...): the requested bytes, without the padding of rows */
SEC("uprobe")
int on_alloc_pitch(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s) {
		ADD(s->allocs, 1);
		ADD(s->bytes_alloc, (__u64)PT_REGS_PARM3(ctx) * (__u64)PT_REGS_PARM4(ctx));
	}
	return 0;
}

SEC("uprobe")
int on_free(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s)
		ADD(s->frees, 1);
	return 0;
}

SEC("uprobe")
int on_sync(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();

	if (!s)
		return 0;
	ADD(s->syncs, 1);
	/* BPF_ANY: overwrites an entry that an exception left behind */
	if (bpf_map_update_elem(&syncs, &thread, &now, BPF_ANY)) {
		__u32 zero = 0;
		struct gpu_lost *l = bpf_map_lookup_elem(&lost, &zero);

		if (l)
			l->pending++;
	}
	return 0;
}

/*
 * Up to 6.12 a return probe of one process fires in every other process that has any return probe on the same function:
 * the first to run reads the time, the others find nothing.
 */
SEC("uretprobe")
int on_sync_end(struct pt_regs *ctx)
{
	struct cuda_stats *s = process();
	__u64 thread = bpf_get_current_pid_tgid(), took, *since;

	if (!s)
		return 0;
	since = bpf_map_lookup_elem(&syncs, &thread);
	if (!since)
		return 0;
	ADD(s->hits, 1);
	took = bpf_ktime_get_ns() - *since;
	bpf_map_delete_elem(&syncs, &thread);
	ADD(s->stall_ns, took);
	COUNT_IN(s->stall, skep_hist_slot(took));
	return 0;
}

/* User space measures the cost of a hit on this machine with this program, on a function of its own. */
SEC("uprobe")
int on_calibrate(struct pt_regs *ctx)
{
	struct cuda_stats *s = stats();

	if (s)
		ADD(s->launches, 1);
	return 0;
}
