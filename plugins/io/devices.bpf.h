/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/devices.bpf.h - the map of devices; adds each completed request to it.
 */
#ifndef SKEP_IO_DEVICES_BPF_H
#define SKEP_IO_DEVICES_BPF_H

#include <skep/bpf/hist.bpf.h>

#include "common.bpf.h"

/* Set by user space before the load. */
const volatile __u32 shard_mask;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_device_key);
	__type(value, struct io_device);
} devices SEC(".maps");

/* A zeroed entry to add to `devices`; it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_device);
} new_device SEC(".maps");

static __always_inline struct io_device *device_of(struct gendisk *disk, __u32 op)
{
	struct io_device_key key = {};
	struct io_device *d, *none;
	__u32 zero = 0;

	key.dev = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	key.op = op;
	key.shard = op <= IO_WRITE ? bpf_get_smp_processor_id() & shard_mask : 0;
	d = bpf_map_lookup_elem(&devices, &key);
	if (d)
		return d;
	none = bpf_map_lookup_elem(&new_device, &zero);
	if (none)
		bpf_map_update_elem(&devices, &key, none, BPF_NOEXIST);
	d = bpf_map_lookup_elem(&devices, &key); /* also when another CPU was first */
	if (!d)
		COUNT(devices_full);
	return d;
}

/*
 * Not static, so that the verifier checks the function once.  Inlined, the verifier follows each path through both
 * histograms and all code after them: 256,433 steps instead of 14,963, a third of a second of each start.
 */
__noinline int hist_slot(__u64 value)
{
	return (int)skep_hist_slot(value);
}

static __always_inline void hist_add(__u64 *slots, __u32 n, __u64 value)
{
	__u64 slot = (__u32)hist_slot(value);

	/* keeps the value in one register: the verifier demands the bound next to the use */
	asm volatile("" : "+r"(slot));
	if (slot < n)
		ADD(slots[slot], 1);
}

static __always_inline void add_device(struct io_device *d, __u32 bytes, __u64 latency, __u64 service)
{
	ADD(d->operations, 1);
	hist_add(d->size, IO_SIZE_SLOTS, bytes);
	if (latency) {
		ADD(d->latency_operations, 1);
		ADD(d->latency_ns, latency);
		hist_add(d->latency, IO_LATENCY_SLOTS, latency);
	}
	if (service) {
		ADD(d->service_operations, 1);
		ADD(d->service_ns, service);
	}
}

#endif
