/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/fields.c - the probe's streams, field by field.
 *
 * Names follow OpenTelemetry's conventions for system.* and hw.*. An attribute there (a direction, a state, a mode) is
 * the last part of a name here, because one record has all its values.  Times are in ns; the conventions have seconds.
 */
#include "host.h"

#define ATTR(s_, m_, n_, t_, h_) SKEP_FIELD(struct s_, m_, n_, SKEP_T_##t_, SKEP_S_ATTRIBUTE, "", h_)
#define LEVEL(s_, m_, n_, u_, h_) SKEP_FIELD(struct s_, m_, n_, SKEP_T_U64, SKEP_S_GAUGE, u_, h_)
#define MEASURE(s_, m_, n_, u_, h_) SKEP_FIELD(struct s_, m_, n_, SKEP_T_F64, SKEP_S_GAUGE, u_, h_)
#define DELTA(s_, m_, n_, u_, h_) SKEP_FIELD(struct s_, m_, n_, SKEP_T_U64, SKEP_S_DELTA, u_, h_)

static const struct skep_field cpu_fields[] = {
	ATTR(cpu_record, cpu, "cpu.logical_number", I64, "number of the CPU; -1: all CPUs"),
	LEVEL(cpu_record, online, "system.cpu.logical.count", "{cpu}", "CPUs that are online"),
	DELTA(cpu_record, time_ns[CPU_USER], "system.cpu.time.user", "ns",
	      "in user mode, as the kernel samples it; guests included"),
	DELTA(cpu_record, time_ns[CPU_NICE], "system.cpu.time.nice", "ns",
	      "in user mode in processes with a nice value"),
	DELTA(cpu_record, time_ns[CPU_SYSTEM], "system.cpu.time.system", "ns",
	      "in the kernel, as the kernel samples it"),
	DELTA(cpu_record, time_ns[CPU_IDLE], "system.cpu.time.idle", "ns", "idle"),
	DELTA(cpu_record, time_ns[CPU_IOWAIT], "system.cpu.time.iowait", "ns",
	      "idle while a task waited for a block device"),
	DELTA(cpu_record, time_ns[CPU_IRQ], "system.cpu.time.interrupt", "ns", "in interrupt handlers"),
	DELTA(cpu_record, time_ns[CPU_SOFTIRQ], "system.cpu.time.softirq", "ns", "in soft interrupts"),
	DELTA(cpu_record, time_ns[CPU_STEAL], "system.cpu.time.steal", "ns",
	      "ready to run while the hypervisor ran another machine"),
	DELTA(cpu_record, time_ns[CPU_GUEST], "system.cpu.time.guest", "ns", "part of user in which virtual CPUs ran"),
};
static const struct skep_stream cpu_stream =
	SKEP_STREAM(struct cpu_record, cpu_fields, "host.cpu", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "CPU time by mode, from /proc/stat");

static const struct skep_field load_fields[] = {
	MEASURE(load_record, load1, "system.cpu.load_average.1m", "{thread}", "load average over one minute"),
	MEASURE(load_record, load5, "system.cpu.load_average.5m", "{thread}", "over five minutes"),
	MEASURE(load_record, load15, "system.cpu.load_average.15m", "{thread}", "over fifteen minutes"),
	LEVEL(load_record, running, "system.thread.count.running", "{thread}", "threads that run or wait for a CPU"),
	LEVEL(load_record, blocked, "system.thread.count.blocked", "{thread}", "threads that wait for a block device"),
	LEVEL(load_record, threads, "system.thread.count", "{thread}", "threads of all processes"),
	DELTA(load_record, created, "system.thread.created", "{thread}",
	      "processes and threads that the kernel created"),
	DELTA(load_record, switches, "system.cpu.context_switches", "{switch}", "context switches"),
	DELTA(load_record, interrupts, "system.cpu.interrupts", "{interrupt}", "interrupts served"),
	LEVEL(load_record, uptime_ns, "system.uptime", "ns", "time since boot, including suspend"),
};
static const struct skep_stream load_stream =
	SKEP_STREAM(struct load_record, load_fields, "host.load", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "load averages, threads, context switches");

static const struct skep_field memory_fields[] = {
	LEVEL(memory_record, limit, "system.memory.limit", "By", "memory that the kernel manages"),
	LEVEL(memory_record, used, "system.memory.usage.used", "By", "memory that is not available to new programs"),
	LEVEL(memory_record, free, "system.memory.usage.free", "By", "unused"),
	LEVEL(memory_record, buffers, "system.memory.usage.buffers", "By", "cache of block devices"),
	LEVEL(memory_record, cached, "system.memory.usage.cached", "By", "cache of files, tmpfs included"),
	LEVEL(memory_record, available, "system.memory.linux.available", "By", "available without swapping"),
	LEVEL(memory_record, shared, "system.memory.linux.shared", "By", "tmpfs and shared memory"),
	LEVEL(memory_record, anon, "system.memory.linux.anonymous", "By",
	      "memory of programs without a file behind it"),
	LEVEL(memory_record, dirty, "system.memory.linux.dirty", "By", "not yet written to storage"),
	LEVEL(memory_record, writeback, "system.memory.linux.writeback", "By", "being written to storage"),
	LEVEL(memory_record, slab_reclaimable, "system.memory.linux.slab.usage.reclaimable", "By",
	      "the kernel's own caches"),
	LEVEL(memory_record, slab_unreclaimable, "system.memory.linux.slab.usage.unreclaimable", "By",
	      "the kernel's own objects"),
	LEVEL(memory_record, kernel_stack, "system.memory.linux.kernel_stack", "By", "stacks of threads in the kernel"),
	LEVEL(memory_record, page_tables, "system.memory.linux.page_tables", "By", "page tables"),
	LEVEL(memory_record, locked, "system.memory.linux.locked", "By", "locked or otherwise not evictable"),
	LEVEL(memory_record, committed, "system.memory.linux.committed", "By", "reserved by programs, used or not"),
	LEVEL(memory_record, commit_limit, "system.memory.linux.commit_limit", "By",
	      "most that programs may reserve under strict overcommit"),
	LEVEL(memory_record, huge_total, "system.memory.linux.hugepages.limit", "{page}", "huge pages set aside"),
	LEVEL(memory_record, huge_free, "system.memory.linux.hugepages.free", "{page}", "huge pages not in use"),
	LEVEL(memory_record, huge_page, "system.memory.linux.hugepages.page_size", "By", "size of one huge page"),
	LEVEL(memory_record, huge_transparent, "system.memory.linux.hugepages.transparent", "By",
	      "anonymous memory in transparent huge pages"),
	LEVEL(memory_record, swap_limit, "system.paging.limit", "By", "swap space"),
	LEVEL(memory_record, swap_used, "system.paging.usage.used", "By", "swap space in use"),
	LEVEL(memory_record, swap_free, "system.paging.usage.free", "By", "free swap space"),
	DELTA(memory_record, faults_minor, "system.paging.faults.minor", "{fault}", "page faults without I/O"),
	DELTA(memory_record, faults_major, "system.paging.faults.major", "{fault}", "page faults that waited for I/O"),
	DELTA(memory_record, swap_in, "system.paging.operations.in", "{page}", "pages read back from swap"),
	DELTA(memory_record, swap_out, "system.paging.operations.out", "{page}", "pages written to swap"),
	DELTA(memory_record, oom_kills, "system.memory.linux.oom_kills", "{kill}",
	      "processes that the out-of-memory killer ended"),
};
static const struct skep_stream memory_stream =
	SKEP_STREAM(struct memory_record, memory_fields, "host.memory", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "memory, swap and paging");

static const struct skep_field disk_fields[] = {
	ATTR(disk_record, device, "system.device", STR, "a whole device, such as \"nvme0n1\""),
	ATTR(disk_record, class, "class", STR, "nvme, scsi, virtio, xen, mmc, network, dm, md, loop, zram, ..."),
	ATTR(disk_record, stacked, "stacked", U64,
	     "1: a device or a file system below this device counts the same bytes (dm, md, loop, zvols, heads of NVMe multipath, ...)"),
	DELTA(disk_record, read_bytes, "system.disk.io.read", "By", "read"),
	DELTA(disk_record, write_bytes, "system.disk.io.write", "By", "written"),
	DELTA(disk_record, discard_bytes, "system.disk.io.discard", "By", "discarded (trim)"),
	DELTA(disk_record, read_ops, "system.disk.operations.read", "{operation}", "reads completed"),
	DELTA(disk_record, write_ops, "system.disk.operations.write", "{operation}", "writes completed"),
	DELTA(disk_record, discard_ops, "system.disk.operations.discard", "{operation}", "discards completed"),
	DELTA(disk_record, flush_ops, "system.disk.operations.flush", "{operation}",
	      "cache flushes completed; since 5.5"),
	DELTA(disk_record, read_merged, "system.disk.merged.read", "{operation}",
	      "reads that the kernel merged with another read"),
	DELTA(disk_record, write_merged, "system.disk.merged.write", "{operation}",
	      "writes that the kernel merged with another write"),
	DELTA(disk_record, read_ns, "system.disk.operation_time.read", "ns", "sum of the durations of reads"),
	DELTA(disk_record, write_ns, "system.disk.operation_time.write", "ns", "sum of the durations of writes"),
	DELTA(disk_record, discard_ns, "system.disk.operation_time.discard", "ns", "sum of the durations of discards"),
	DELTA(disk_record, flush_ns, "system.disk.operation_time.flush", "ns", "sum of the durations of flushes"),
	DELTA(disk_record, io_ns, "system.disk.io_time", "ns", "time with at least one request in flight"),
	DELTA(disk_record, queue_ns, "system.disk.weighted_io_time", "ns",
	      "io_time multiplied by the requests in flight"),
	LEVEL(disk_record, in_flight, "system.disk.pending_operations", "{operation}", "requests in flight now"),
};
static const struct skep_stream disk_stream =
	SKEP_STREAM(struct disk_record, disk_fields, "host.disk", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "block devices by their own counters; an idle device has no record");

static const struct skep_field filesystem_fields[] = {
	ATTR(filesystem_record, device, "system.device", STR, "the mounted device"),
	ATTR(filesystem_record, mountpoint, "system.filesystem.mountpoint", STR, "path of the mount"),
	ATTR(filesystem_record, type, "system.filesystem.type", STR, "ext4, nfs4, ..."),
	ATTR(filesystem_record, mode, "system.filesystem.mode", STR, "rw or ro"),
	ATTR(filesystem_record, stale, "stale", U64,
	     "1: statvfs hangs or fails; the other figures are of the last result"),
	LEVEL(filesystem_record, age_ns, "age", "ns", "time since the last result"),
	LEVEL(filesystem_record, limit, "system.filesystem.limit", "By", "size"),
	LEVEL(filesystem_record, used, "system.filesystem.usage.used", "By", "in use"),
	LEVEL(filesystem_record, free, "system.filesystem.usage.free", "By", "free for all users"),
	LEVEL(filesystem_record, reserved, "system.filesystem.usage.reserved", "By", "free for root only"),
	LEVEL(filesystem_record, files_limit, "system.filesystem.inode.limit", "{inode}",
	      "most files that it can have; 0: no fixed number"),
	LEVEL(filesystem_record, files_used, "system.filesystem.inode.usage.used", "{inode}", "in use"),
	LEVEL(filesystem_record, files_free, "system.filesystem.inode.usage.free", "{inode}", "free"),
};
static const struct skep_stream filesystem_stream =
	SKEP_STREAM(struct filesystem_record, filesystem_fields, "host.filesystem", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "space in mounted file systems");

static const struct skep_field network_fields[] = {
	ATTR(network_record, name, "network.interface.name", STR, "the interface"),
	ATTR(network_record, uplink, "uplink", U64,
	     "1: packets enter or leave the machine here; the ledger's net.rx and net.tx are sums over uplinks"),
	LEVEL(network_record, up, "hw.network.up", "1", "1: up"),
	LEVEL(network_record, speed, "hw.network.bandwidth.limit", "By/s", "speed of the link; 0: unknown"),
	DELTA(network_record, rx_bytes, "system.network.io.receive", "By", "received"),
	DELTA(network_record, tx_bytes, "system.network.io.transmit", "By", "sent"),
	DELTA(network_record, rx_packets, "system.network.packet.count.receive", "{packet}", "received"),
	DELTA(network_record, tx_packets, "system.network.packet.count.transmit", "{packet}", "sent"),
	DELTA(network_record, rx_errors, "system.network.errors.receive", "{error}", "receive errors"),
	DELTA(network_record, tx_errors, "system.network.errors.transmit", "{error}", "send errors"),
	DELTA(network_record, rx_dropped, "system.network.packet.dropped.receive", "{packet}", "dropped when received"),
	DELTA(network_record, tx_dropped, "system.network.packet.dropped.transmit", "{packet}",
	      "dropped when sent"),
};
static const struct skep_stream network_stream =
	SKEP_STREAM(struct network_record, network_fields, "host.network", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "network interfaces by their own counters; an idle interface that is no uplink has no record");

static const struct skep_field sensor_fields[] = {
	ATTR(sensor_record, id, "hw.id", STR, "the sensor, such as \"thermal_zone0\", \"intel-rapl:0\""),
	ATTR(sensor_record, type, "hw.name", STR, "subject of the sensor, such as \"x86_pkg_temp\", \"package-0\""),
	MEASURE(sensor_record, celsius, "hw.temperature", "Cel", "temperature; 0 for a sensor of energy"),
	SKEP_FIELD(struct sensor_record, joules, "hw.energy", SKEP_T_F64, SKEP_S_DELTA, "J",
		   "energy used; 0 for a sensor of temperature"),
};
static const struct skep_stream sensor_stream =
	SKEP_STREAM(struct sensor_record, sensor_fields, "host.sensor", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "temperatures, and energy by the processor's counters");

static const struct skep_field ledger_fields[] = {
	ATTR(skep_ledger_post, account, "account", STR, "cpu, net.rx, net.tx"),
	ATTR(skep_ledger_post, item, "item", STR, "capacity, idle, irq, steal, interfaces, loopback"),
	SKEP_FIELD(struct skep_ledger_post, amount, "amount", SKEP_T_I64, SKEP_S_GAUGE, "1",
		   "sum since the start of the probe, in ns or By"),
	ATTR(skep_ledger_post, flags, "flags", U64, "1: the reference, 2: memo, shown beside the account"),
};
static const struct skep_stream ledger_stream =
	SKEP_STREAM(struct skep_ledger_post, ledger_fields, "host.ledger", SKEP_ROLE_LEDGER, 0,
		    "the host's side of the accounts");

const struct skep_stream *const host_streams[N_STREAMS] = {
	[STREAM_CPU] = &cpu_stream,
	[STREAM_LOAD] = &load_stream,
	[STREAM_MEMORY] = &memory_stream,
	[STREAM_DISK] = &disk_stream,
	[STREAM_FILESYSTEM] = &filesystem_stream,
	[STREAM_NETWORK] = &network_stream,
	[STREAM_SENSOR] = &sensor_stream,
	[STREAM_LEDGER] = &ledger_stream,
};
