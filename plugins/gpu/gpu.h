/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/gpu/gpu.h - structs that the kernel side and user space share.
 */
#ifndef SKEP_GPU_H
#define SKEP_GPU_H

#include <linux/types.h>

#define GPU_HIST_SLOTS 192 /* SKEP_HIST_SLOTS */

#ifdef __bpf__
/* The compiler knows that a slot is in range and removes a comparison that the verifier needs. */
#define COUNT_IN(array_, slot_)                                      \
	do {                                                         \
		__u64 at_ = (slot_);                                 \
		asm volatile("" : "+r"(at_));                        \
		if (at_ < GPU_HIST_SLOTS)                            \
			__sync_fetch_and_add(&(array_)[at_], 1);     \
	} while (0)
#endif

/* ---- fence.bpf.c: dma_fence ------------------------------------------------------ */

#define FENCE_DRIVERS 32 /* kinds of fences: one for each driver and purpose */
#define FENCE_ROOM 16384 /* fences under way */
#define FENCE_WAITERS 4096

/* By the address of the fence's operations; only functions know a fence's driver and timeline. */
struct fence_stats {
	__u64 name_fn; /* address of get_driver_name */
	__u64 emitted, signaled, waits, wait_ns;
	__u64 latency_ns;
	__u64 latency[GPU_HIST_SLOTS];
};

/* ---- ring.bpf.c: gpu_scheduler ---------------------------------------------------- */

#define RING_NAME 32
#define RINGS_ROOM 128
#define JOBS_ROOM 16384

struct ring_key {
	char name[RING_NAME];
};

struct ring_stats {
	__u64 queued, started, finished;
	__u64 wait_ns, run_ns;
	__u64 wait[GPU_HIST_SLOTS];
	__u64 run[GPU_HIST_SLOTS];
};

/* ---- cuda.bpf.c: libcuda ------------------------------------------------------------ */

#define CUDA_PROCESSES 256
#define CUDA_SYNCS 4096 /* threads inside a synchronize at a time */

/* Calls of one process since it was attached. */
struct cuda_stats {
	__u64 launches, graph_launches;
	__u64 copies_h2d, bytes_h2d, copies_d2h, bytes_d2h, copies_d2d, bytes_d2d;
	__u64 copies_other, bytes_other, copies_unsized;
	__u64 allocs, bytes_alloc, frees;
	__u64 syncs, stall_ns;
	__u64 hits;
	__u64 stall[GPU_HIST_SLOTS];
};

/* Values without room; one element, per CPU. */
struct gpu_lost {
	__u64 kinds;   /* fence operations, rings: their table was full */
	__u64 pending; /* fences, jobs, synchronizing threads under way: their table was full */
};

#endif
