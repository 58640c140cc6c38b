/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/host.h - the struct of each stream.
 */
#ifndef SKEP_HOST_HOST_H
#define SKEP_HOST_HOST_H

#include <skep/plugin.h>

enum {
	STREAM_CPU,
	STREAM_LOAD,
	STREAM_MEMORY,
	STREAM_DISK,
	STREAM_FILESYSTEM,
	STREAM_NETWORK,
	STREAM_SENSOR,
	STREAM_LEDGER,
	N_STREAMS,
};
extern const struct skep_stream *const host_streams[N_STREAMS];

/* In the order of /proc/stat. CPU_USER includes CPU_GUEST, CPU_NICE includes CPU_GUEST_NICE. */
enum {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	CPU_GUEST,
	CPU_GUEST_NICE,
	CPU_MODES
};

struct cpu_record {
	int64_t cpu;     /* -1: all of them */
	uint64_t online; /* CPUs in this record */
	uint64_t time_ns[CPU_MODES];
};

struct load_record {
	double load1, load5, load15;
	uint64_t running; /* threads on a CPU or waiting for one */
	uint64_t blocked; /* threads waiting for a block device */
	uint64_t threads; /* all */
	uint64_t created; /* processes and threads, since the last record */
	uint64_t switches;
	uint64_t interrupts;
	uint64_t uptime_ns;
};

struct memory_record {
	uint64_t limit, used, available, free, buffers, cached, shared, anon;
	uint64_t dirty, writeback, slab_reclaimable, slab_unreclaimable, kernel_stack, page_tables, locked;
	uint64_t committed, commit_limit;
	uint64_t huge_total, huge_free, huge_page, huge_transparent;
	uint64_t swap_limit, swap_used, swap_free;
	/* since the last record */
	uint64_t faults_minor, faults_major, swap_in, swap_out, oom_kills;
};

struct disk_record {
	struct skep_str device, class;
	uint64_t stacked; /* 1: dm, md, loop: the devices below count the same bytes */
	uint64_t read_ops, write_ops, discard_ops, flush_ops;
	uint64_t read_merged, write_merged;
	uint64_t read_bytes, write_bytes, discard_bytes;
	uint64_t read_ns, write_ns, discard_ns, flush_ns;
	uint64_t io_ns;    /* time with at least one request in flight */
	uint64_t queue_ns; /* that time multiplied by the requests in flight */
	uint64_t in_flight;
};

struct filesystem_record {
	struct skep_str device, mountpoint, type, mode;
	uint64_t stale; /* 1: statvfs() hangs; the other figures are of the last result, 0 if none */
	uint64_t age_ns; /* since the last result */
	uint64_t limit, used, free, reserved;
	uint64_t files_limit, files_used, files_free;
};

struct network_record {
	struct skep_str name;
	uint64_t uplink; /* 1: its bytes are in the ledger's reference */
	uint64_t up;
	uint64_t rx_bytes, tx_bytes, rx_packets, tx_packets, rx_errors, tx_errors, rx_dropped, tx_dropped;
	uint64_t speed; /* By/s; 0: unknown */
};

struct sensor_record {
	struct skep_str id, type;
	double celsius;  /* temperature */
	double joules;   /* energy used since the last record */
};

#endif
