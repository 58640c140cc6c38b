/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/fields.c - the streams of the probe, field by field. Names are those of OpenTelemetry's hardware semantic
 * conventions (hw.*) where one exists.
 */
#include "records.h"

#define TEXT(m_, name_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", help_)
#define NUMBER(m_, name_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_I64, SKEP_S_ATTRIBUTE, "", help_)
#define LEVEL(m_, name_, unit_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_F64, SKEP_S_GAUGE, unit_, help_)
#define GREW(m_, name_, unit_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_F64, SKEP_S_DELTA, unit_, help_)
#define DELTA(m_, name_, unit_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_U64, SKEP_S_DELTA, unit_, help_)
#define LARGEST(m_, name_, unit_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_U64, SKEP_S_GAUGE, unit_, help_)
#define HIST(m_, name_, help_) SKEP_FIELD(REC, m_, name_, SKEP_T_HIST, SKEP_S_DELTA, "ns", help_)

#define REC struct device_record
static const struct skep_field device_fields[] = {
	TEXT(id, "hw.id", "UUID of the device or MIG instance; PCI address of a DRM device"),
	TEXT(parent, "hw.parent", "of a MIG instance: UUID of its device"),
	TEXT(name, "hw.name", "product"),
	TEXT(vendor, "hw.vendor", "NVIDIA, AMD, Intel ..."),
	TEXT(pci, "pci_address", "domain:bus:device.function"),
	TEXT(driver, "hw.driver_version", "version of the NVIDIA driver; name of a DRM driver"),
	TEXT(throttle, "throttle_reasons",
	     "reasons why the clocks are below their maximum now, separated by commas"),
	TEXT(busy_how, "utilization_source",
	     "gpm, samples, fdinfo: mean of the interval; rates: the driver's last sample period"),
	NUMBER(gpu_instance, "gpu_instance", "number of the GPU instance (MIG); -1: a whole device"),
	NUMBER(compute_instance, "compute_instance", "number of the compute instance (MIG); -1: a whole device"),
	DELTA(interval_ns, "interval_ns", "ns", "time that this record covers"),
	LEVEL(utilization, "hw.gpu.utilization", "1",
	      "share of the time in which a kernel ran on the device, however few of its units it used"),
	LEVEL(memory_active, "memory_active_ratio", "1",
	      "share of the driver's last sample period in which its memory was read or written"),
	LEVEL(encoder, "encoder_ratio", "1", "share of the time in which the video encoder ran"),
	LEVEL(decoder, "decoder_ratio", "1", "share of the time in which the video decoder ran"),
	LEVEL(memory_used, "hw.gpu.memory.usage", "By", "memory allocated"),
	LEVEL(memory_limit, "hw.gpu.memory.limit", "By", "memory of the device"),
	LEVEL(memory_reserved, "memory_reserved_bytes", "By", "memory that driver and firmware keep"),
	LEVEL(power, "hw.power", "W", "power that the device draws"),
	LEVEL(power_limit, "hw.power.limit", "W", "power that the device may draw"),
	GREW(energy, "hw.energy", "J", "energy since the last record"),
	LEVEL(clock_sm, "clock_sm_hz", "Hz", "clock of its processors"),
	LEVEL(clock_sm_max, "clock_sm_limit_hz", "Hz", "their highest clock"),
	LEVEL(clock_memory, "clock_memory_hz", "Hz", "clock of its memory"),
	GREW(throttled_power_ns, "throttled_power_ns", "ns", "time at lower clocks for the power limit"),
	GREW(throttled_thermal_ns, "throttled_thermal_ns", "ns", "time at lower clocks for the temperature"),
	LEVEL(temperature, "hw.temperature", "Cel", "temperature of the chip"),
	LEVEL(temperature_memory, "temperature_memory_celsius", "Cel", "temperature of its memory"),
	GREW(ecc_corrected, "ecc_corrected", "{error}", "memory errors corrected"),
	GREW(ecc_uncorrected, "ecc_uncorrected", "{error}", "memory errors not corrected"),
	LEVEL(rows_remapped, "rows_remapped", "{row}", "rows of memory replaced after errors, in its life"),
	LEVEL(remap_pending, "remap_pending", "1", "1: a row waits for a reset to be replaced, or could not be"),
	GREW(pcie_tx, "hw.gpu.io.transmit", "By", "sent over PCIe"),
	GREW(pcie_rx, "hw.gpu.io.receive", "By", "received over PCIe"),
	LEVEL(pcie_generation, "pcie_generation", "1", "generation of the link now"),
	LEVEL(pcie_width, "pcie_width", "{lane}", "lanes of the link now"),
	GREW(pcie_replays, "pcie_replays", "{error}", "packets sent again over PCIe"),
	GREW(nvlink_tx, "nvlink_transmit_bytes", "By", "sent over all NVLinks"),
	GREW(nvlink_rx, "nvlink_receive_bytes", "By", "received over all NVLinks"),
	LEVEL(processes, "processes", "{process}", "processes that hold the device"),
	GREW(busy_ns, "busy_ns", "ns", "time in which a kernel ran"),
	GREW(unattributed_ns, "unattributed_ns", "ns", "part of busy_ns that the probe attributes to no process"),
	GREW(idle_held_ns, "idle_held_ns", "ns", "time of intervals in which a process held it and no kernel ran"),
};
#undef REC

#define REC struct use_record
static const struct skep_field use_fields[] = {
	DELTA(busy_ns, "busy_ns", "ns",
	      "time in which its kernels ran: its share of the devices' busy time, summed over devices"),
	DELTA(memory_busy_ns, "memory_busy_ns", "ns", "time in which device memory was read or written for it"),
	DELTA(copy_ns, "copy_ns", "ns", "time in which copy engines ran for it (DRM drivers)"),
	DELTA(video_ns, "video_ns", "ns", "time in which video engines ran for it"),
	LARGEST(memory_bytes, "memory_peak_bytes", "By", "largest device memory that it held, on all devices"),
	DELTA(held_ns, "held_ns", "ns", "time in which it had a context on a device, summed over devices"),
	DELTA(known_ns, "known_ns", "ns", "part of held_ns for which its utilization is known"),
	DELTA(idle_ns, "idle_held_ns", "ns", "part of known_ns in intervals in which none of its work ran"),
	DELTA(accounted_ns, "accounted_ns", "ns",
	      "busy time that the driver accounted for it at its end; busy_ns includes this time"),
	LARGEST(devices, "devices", "{device}", "most devices that it held at a time"),
	SKEP_FIELD(
		REC, energy_j, "energy_joules", SKEP_T_F64, SKEP_S_DELTA, "J",
		"energy of the devices by its share of their busy time; energy of an idle device in equal parts for "
		"its holders"),
};
#undef REC

#define REC struct activity_record
static const struct skep_field activity_fields[] = {
	TEXT(id, "hw.id", "UUID of the device or MIG instance"),
	TEXT(parent, "hw.parent", "of a MIG instance: UUID of its device"),
	NUMBER(gpu_instance, "gpu_instance", "number of the GPU instance (MIG); -1: a whole device"),
	DELTA(interval_ns, "interval_ns", "ns", "time that this record covers"),
	LEVEL(graphics, "graphics_ratio", "1", "share of the time in which any engine for graphics or compute ran"),
	LEVEL(sm, "sm_ratio", "1", "share of its multiprocessors that were busy"),
	LEVEL(occupancy, "sm_occupancy_ratio", "1", "warps in flight, as a share of the possible maximum"),
	LEVEL(integer, "integer_ratio", "1", "share of the time in which integer units worked"),
	LEVEL(tensor, "tensor_ratio", "1", "share of the time in which tensor cores worked"),
	LEVEL(dram, "dram_bandwidth_ratio", "1", "bandwidth of its memory that was used"),
	LEVEL(fp64, "fp64_ratio", "1", "share of the time in which FP64 units worked, tensor cores apart"),
	LEVEL(fp32, "fp32_ratio", "1", "share of the time in which FP32 units worked, tensor cores apart"),
	LEVEL(fp16, "fp16_ratio", "1", "share of the time in which FP16 units worked, tensor cores apart"),
	LEVEL(pcie_tx, "pcie_transmit_rate", "By/s", "sent over PCIe"),
	LEVEL(pcie_rx, "pcie_receive_rate", "By/s", "received over PCIe"),
	LEVEL(nvlink_tx, "nvlink_transmit_rate", "By/s", "sent over all NVLinks"),
	LEVEL(nvlink_rx, "nvlink_receive_rate", "By/s", "received over all NVLinks"),
};
#undef REC

#define REC struct event_record
static const struct skep_field event_fields[] = {
	TEXT(id, "hw.id", "UUID of the device"),
	TEXT(kind, "kind", "xid: an error that the driver reports; ecc_single, ecc_double: an error of memory"),
	SKEP_FIELD(REC, code, "xid", SKEP_T_U64, SKEP_S_ATTRIBUTE, "",
		   "number of the error; 999: not known to the library"),
	NUMBER(gpu_instance, "gpu_instance", "number of a MIG instance; -1: unknown"),
	NUMBER(compute_instance, "compute_instance", "number of a MIG instance; -1: unknown"),
};
#undef REC

#define REC struct fence_record
static const struct skep_field fence_fields[] = {
	TEXT(driver, "driver",
	     "driver, by the kernel's symbol for the operations of its fences; empty: unknown"),
	DELTA(emitted, "emitted", "{fence}", "pieces of work handed to the device"),
	DELTA(signaled, "signaled", "{fence}", "pieces of work that have ended"),
	DELTA(waits, "waits", "{wait}", "times that a thread has waited for a piece of work"),
	DELTA(wait_ns, "wait_ns", "ns", "time of these waits"),
	HIST(latency, "latency", "from the handover to the device to the end"),
};
#undef REC

#define REC struct sched_record
static const struct skep_field sched_fields[] = {
	TEXT(ring, "ring", "name of the ring in the driver: gfx_0.0.0, ccs0, pan_js ..."),
	DELTA(queued, "queued", "{job}", "jobs queued"),
	DELTA(started, "started", "{job}", "jobs handed to the device"),
	DELTA(finished, "finished", "{job}", "jobs that have ended"),
	HIST(wait, "wait", "from queued to handed to the device"),
	HIST(run, "run", "from handed to the device to the end"),
};
#undef REC

#define REC struct cuda_record
static const struct skep_field cuda_fields[] = {
	SKEP_FIELD(REC, detail, "detail", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "id of the attachment"),
	DELTA(launches, "launches", "{launch}", "kernels launched"),
	DELTA(graph_launches, "graph_launches", "{launch}", "graphs launched, each of many kernels"),
	DELTA(copies_h2d, "copies_h2d", "{copy}", "copies from host to device"),
	DELTA(bytes_h2d, "bytes_h2d", "By", "copied from host to device"),
	DELTA(copies_d2h, "copies_d2h", "{copy}", "copies from device to host"),
	DELTA(bytes_d2h, "bytes_d2h", "By", "copied from device to host"),
	DELTA(copies_d2d, "copies_d2d", "{copy}", "copies from device to device memory"),
	DELTA(bytes_d2d, "bytes_d2d", "By", "copied from device to device memory"),
	DELTA(copies_other, "copies_other", "{copy}",
	      "copies between devices, and copies whose call does not name the direction"),
	DELTA(bytes_other, "bytes_other", "By", "bytes of these copies"),
	DELTA(copies_unsized, "copies_unsized", "{copy}", "copies of 2 and 3 dimensions: counted, without their size"),
	DELTA(allocs, "allocs", "{call}", "allocations of device memory asked for"),
	DELTA(bytes_alloc, "bytes_alloc", "By", "memory asked for"),
	DELTA(frees, "frees", "{call}", "allocations given back"),
	DELTA(syncs, "syncs", "{call}", "times that a thread waited for the device"),
	HIST(stall, "stall", "time that threads waited for the device in cu*Synchronize"),
	DELTA(hits, "hits", "{call}", "times that a probe was hit"),
	DELTA(cost_ns, "cost_ns", "ns", "cost for the process: hits x the price measured on this machine"),
};
#undef REC

static const struct skep_stream device_stream =
	SKEP_STREAM(struct device_record, device_fields, "gpu.device", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "devices and MIG instances, each interval");
static const struct skep_stream use_stream =
	SKEP_STREAM(struct use_record, use_fields, "gpu", SKEP_ROLE_FACET, SKEP_STREAM_SAMPLE,
		    "a process's use of the devices");
static const struct skep_stream activity_stream =
	SKEP_STREAM(struct activity_record, activity_fields, "gpu.activity", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "activity of a device's units, by GPM (Hopper and newer), each interval");
static const struct skep_stream event_stream =
	SKEP_STREAM(struct event_record, event_fields, "gpu.event", SKEP_ROLE_NONE, 0,
		    "errors that a device reported");
static const struct skep_stream fence_stream =
	SKEP_STREAM(struct fence_record, fence_fields, "gpu.fence", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "work handed to devices by any driver (dma_fence), each interval");
static const struct skep_stream sched_stream =
	SKEP_STREAM(struct sched_record, sched_fields, "gpu.sched", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "jobs of the GPU scheduler by ring, each interval");
static const struct skep_stream cuda_stream =
	SKEP_STREAM(struct cuda_record, cuda_fields, "gpu.cuda", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail cuda: calls of a process into libcuda");

const struct skep_stream *const gpu_streams[N_STREAMS] = {
	[STREAM_DEVICE] = &device_stream,
	[STREAM_USE] = &use_stream,
	[STREAM_ACTIVITY] = &activity_stream,
	[STREAM_EVENT] = &event_stream,
	[STREAM_FENCE] = &fence_stream,
	[STREAM_SCHED] = &sched_stream,
	[STREAM_CUDA] = &cuda_stream,
};
