/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/records.h - the records of the probe. A number that the device, the driver or this kernel does not give
 * is NAN, never zero.
 */
#ifndef SKEP_GPU_RECORDS_H
#define SKEP_GPU_RECORDS_H

#include <skep/plugin.h>

enum { STREAM_DEVICE, STREAM_USE, STREAM_ACTIVITY, STREAM_EVENT, STREAM_FENCE, STREAM_SCHED, STREAM_CUDA, N_STREAMS };
extern const struct skep_stream *const gpu_streams[N_STREAMS];

/* One device, or one MIG instance, since the last record. */
struct device_record {
	struct skep_str id;     /* its UUID; the PCI address where it has none */
	struct skep_str parent; /* a MIG instance: the device's UUID */
	struct skep_str name, vendor, pci, driver;
	struct skep_str throttle; /* "sw_power,hw_thermal": now */
	struct skep_str busy_how; /* source of busy_ns: "gpm" "samples" "rates" "fdinfo" */
	int64_t gpu_instance, compute_instance; /* -1: not a MIG instance */
	uint64_t interval_ns;
	double utilization, memory_active, encoder, decoder; /* 0 to 1 */
	double memory_used, memory_limit, memory_reserved;   /* By */
	double power, power_limit, energy;                   /* W, W, J */
	double clock_sm, clock_sm_max, clock_memory;         /* Hz */
	double throttled_power_ns, throttled_thermal_ns;
	double temperature, temperature_memory; /* Cel */
	double ecc_corrected, ecc_uncorrected, rows_remapped, remap_pending;
	double pcie_tx, pcie_rx, pcie_generation, pcie_width, pcie_replays;
	double nvlink_tx, nvlink_rx;
	double processes;
	double busy_ns;         /* some kernel ran */
	double unattributed_ns; /* the part of busy_ns that belongs to no known process */
	double idle_held_ns;    /* a process held the device, and nothing ran in the whole interval */
};

/* The facet: a process's use of all devices since the last record. */
struct use_record {
	uint64_t busy_ns;        /* its kernels ran; summed over devices */
	uint64_t memory_busy_ns; /* device memory was read or written for it */
	uint64_t copy_ns;        /* copy engines (DRM) */
	uint64_t video_ns;       /* encoder and decoder */
	uint64_t memory_bytes;   /* held on all devices now; the facet keeps the largest */
	uint64_t held_ns;        /* it had a context; summed over devices */
	uint64_t known_ns;       /* the part of held_ns with known utilization */
	uint64_t idle_ns;        /* the part of known_ns in intervals in which nothing of the process ran */
	uint64_t accounted_ns;   /* busy time from the driver's accounting at its end: part of busy_ns */
	uint64_t devices;        /* held at a time; the facet keeps the largest */
	double energy_j;         /* the devices' energy by its share of busy time; of idle devices by heads */
};

/* GPM: what the units of a device did, averaged over the interval. */
struct activity_record {
	struct skep_str id, parent;
	int64_t gpu_instance;
	uint64_t interval_ns;
	double graphics, sm, occupancy, integer, tensor, dram, fp64, fp32, fp16; /* 0 to 1 */
	double pcie_tx, pcie_rx, nvlink_tx, nvlink_rx;                           /* By/s */
};

struct event_record {
	struct skep_str id;
	struct skep_str kind; /* "xid" "ecc_single" "ecc_double" */
	uint64_t code;        /* the XID; 999: unknown to the library */
	int64_t gpu_instance, compute_instance;
};

/* dma_fence: work of any driver, from submission to the hardware until its end. */
struct fence_record {
	struct skep_str driver; /* from the symbol of its operations; "" when the kernel hides it */
	uint64_t emitted, signaled;
	uint64_t waits, wait_ns;
	struct skep_hist latency;
};

/* gpu_scheduler (amdgpu, xe, nouveau, panfrost...): one ring. */
struct sched_record {
	struct skep_str ring;
	uint64_t queued, started, finished;
	struct skep_hist wait; /* queued to started */
	struct skep_hist run;  /* started to finished */
};

/* The detail "cuda": calls of one process into libcuda since the last record. */
struct cuda_record {
	uint64_t detail;
	uint64_t launches, graph_launches;
	uint64_t copies_h2d, bytes_h2d, copies_d2h, bytes_d2h, copies_d2d, bytes_d2d;
	uint64_t copies_other, bytes_other; /* the call does not tell the direction (unified addresses, peers) */
	uint64_t copies_unsized;            /* 2D and 3D: counted, but their size is behind a pointer */
	uint64_t allocs, bytes_alloc, frees;
	uint64_t syncs;
	uint64_t hits;    /* of our probes, returns included */
	uint64_t cost_ns; /* hits times the measured cost of a hit here */
	struct skep_hist stall; /* time inside cu*Synchronize */
};

#endif
