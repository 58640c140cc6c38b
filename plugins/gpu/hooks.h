/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/hooks.h - the kernel's own tracepoints about work for a device: dma_fence,
 * and the GPU scheduler.
 */
#ifndef SKEP_GPU_HOOKS_H
#define SKEP_GPU_HOOKS_H

#include <skep/plugin.h>

#include "gpu.h"
#include "records.h"

#define FENCE_DRIVER_MAX 64

struct fence_bpf;
struct ring_bpf;

struct hooks {
	struct fence_bpf *fence;
	struct ring_bpf *ring;
	struct hooks_links *links;
	bool symbols; /* kptr_restrict lets us read addresses */
	bool naming;  /* a thread looks a driver's name up */
	/* as of the last record, by the kernel's key */
	struct {
		uint64_t key;
		char driver[FENCE_DRIVER_MAX];
		bool named; /* driver is the name from /proc/kallsyms, or "" where that has none */
		struct fence_stats last;
	} fences[FENCE_DRIVERS];
	uint32_t n_fences;
	struct {
		struct ring_key key;
		uint64_t active_ns; /* time of its last job */
		struct ring_stats last;
	} rings[RINGS_ROOM];
	uint32_t n_rings;
	uint64_t fence_lost, ring_lost;
	uint64_t wait[GPU_HIST_SLOTS], run[GPU_HIST_SLOTS];
};

/* devices: the machine has a DRM device. Reports both signals; a missing hook is no failure. */
void hooks_start(struct hooks *, struct skep_instance *, const struct skep_host *, bool wanted, bool devices);
void hooks_sample(struct hooks *, struct skep_instance *, const struct skep_host *, uint64_t now_ns);
void hooks_stop(struct hooks *);

/*
 * The driver in a line of kallsyms for that address: "ffffffffc0a1b2c0 t amdgpu_fence_get_driver_name\t[amdgpu]" gives
 * "amdgpu_fence".
 */
bool hooks_driver_of(const char *line, uint64_t address, char *ret, size_t room);
void hooks_rings_forget(struct hooks *, int fd, uint64_t now_ns);
/* The increase of each slot; returns how many slots are in use. */
uint32_t hooks_slots(const __u64 *now, const __u64 *before, uint64_t *ret);

#endif
