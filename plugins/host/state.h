/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/state.h - the probe's state, and the functions that its files share.
 */
#ifndef SKEP_HOST_STATE_H
#define SKEP_HOST_STATE_H

#include <skep/plugin.h>

#include "cpu.h"
#include "host.h"
#include "device_table.h"
#include "space.h"
#include "sdk/probe/text.h"

/* Files that stay open, because each sample reads them. */
enum { FILE_STAT, FILE_LOADAVG, FILE_MEMINFO, FILE_VMSTAT, FILE_DISKSTATS, FILE_NET, N_FILES };

/* Counters of /proc/vmstat, in the order of vmstat_names in memory.c. */
enum { VM_FAULT, VM_MAJOR, VM_SWAP_IN, VM_SWAP_OUT, VM_OOM, N_VM };

struct host_probe {
	/* options */
	const char *opt_root;
	bool opt_per_cpu;
	uint64_t opt_filesystems, opt_network_filesystems, opt_filesystem_timeout, opt_sensors; /* ns */

	const struct skep_host *host;
	int root; /* O_PATH of opt_root; -1 before open() and after close() */
	int file[N_FILES];
	struct text_buffer buffer;

	/* counters */
	struct skep_counter *bad_lines;   /* malformed lines in files of the kernel */
	struct skep_counter *cpu_changes; /* intervals in which CPUs went online or offline */
	struct skep_counter *stale;       /* statvfs() calls that hung or failed */
	struct skep_counter *left_out;    /* devices, interfaces, mounts, sensors beyond the limits */

	/* cpu.c, usage.c */
	struct cpu_snapshot cpu[2]; /* [cpu_now] is the latest */
	unsigned cpu_now;
	uint64_t stat_least_ns; /* shortest time that reading /proc/stat took; 0: no reading yet */
	struct task_time *task_time; /* NULL: no source on this kernel */
	struct cpu_ledger cpu_sum;
	struct cpu_counts counts;

	uint64_t vm[N_VM];
	bool have_vm;

	struct device_table disks, interfaces;
	bool have_net;
	uint64_t net_rx, net_tx, lo_rx, lo_tx; /* bytes since the start of the probe */

	struct space *space; /* filesystem.c; NULL: option filesystems is 0s */
	uint64_t sensors_ns; /* last reading */
	bool sensors_busy;
	struct sensors *sensors;
};

/* host.c */
void host_signal(struct skep_instance *, const struct host_probe *, const char *name, enum skep_signal_state,
		 const char *how, const char *why);
void host_bad_line(const struct host_probe *, uint64_t n);
void host_post(struct skep_instance *, const struct host_probe *, uint64_t time_ns, const char *account,
	       const char *item, int64_t amount, uint64_t flags);
/* Reads an open file. false: the file is missing or not readable now. */
bool host_read(struct host_probe *, int file, struct text *ret);

/* start() reads the first values and reports the signals; sample() reports the differences. */
int cpu_start(struct skep_instance *, struct host_probe *);
void cpu_sample(struct skep_instance *, struct host_probe *);
void cpu_close(struct host_probe *);
void memory_start(struct skep_instance *, struct host_probe *);
void memory_sample(struct skep_instance *, struct host_probe *, uint64_t now_ns);
void disk_start(struct skep_instance *, struct host_probe *);
void disk_sample(struct skep_instance *, struct host_probe *, uint64_t now_ns);
void network_start(struct skep_instance *, struct host_probe *);
void network_sample(struct skep_instance *, struct host_probe *, uint64_t now_ns);
int filesystem_start(struct skep_instance *, struct host_probe *);
void filesystem_sample(struct skep_instance *, struct host_probe *, uint64_t now_ns);
void filesystem_close(struct host_probe *);
extern statvfs_call filesystem_call; /* statvfs; a test replaces it by a function that hangs */
int sensor_start(struct skep_instance *, struct host_probe *);
void sensor_sample(struct skep_instance *, struct host_probe *, uint64_t now_ns);
void sensor_close(struct host_probe *);

/* Parsers, also for tests. They return 0 or -EBADMSG; *ret_bad: malformed lines. */
int loadavg_parse(struct text, struct load_record *);
int meminfo_parse(struct text, struct memory_record *, uint64_t *ret_bad);
int vmstat_parse(struct text, uint64_t value[N_VM], unsigned *ret_found);

/* In the order of the lines of /proc/diskstats, after the name. */
enum {
	DISK_READS,
	DISK_READ_MERGED,
	DISK_READ_SECTORS,
	DISK_READ_MS,
	DISK_WRITES,
	DISK_WRITE_MERGED,
	DISK_WRITE_SECTORS,
	DISK_WRITE_MS,
	DISK_IN_FLIGHT,
	DISK_IO_MS,
	DISK_QUEUE_MS,
	DISK_DISCARDS,
	DISK_DISCARD_MERGED,
	DISK_DISCARD_SECTORS,
	DISK_DISCARD_MS,
	DISK_FLUSHES,
	DISK_FLUSH_MS,
	N_DISK,
};
int disk_line(struct text line, struct text *ret_name, uint64_t value[N_DISK]);
/* In the order of /proc/net/dev. */
enum {
	NET_RX_BYTES,
	NET_RX_PACKETS,
	NET_RX_ERRORS,
	NET_RX_DROPPED,
	NET_RX_FIFO,
	NET_RX_FRAME,
	NET_RX_COMPRESSED,
	NET_RX_MULTICAST,
	NET_TX_BYTES,
	NET_TX_PACKETS,
	NET_TX_ERRORS,
	NET_TX_DROPPED,
	NET_TX_FIFO,
	NET_TX_COLLISIONS,
	NET_TX_CARRIER,
	NET_TX_COMPRESSED,
	N_NET,
};
int network_line(struct text line, struct text *ret_name, uint64_t value[N_NET]);

#endif
