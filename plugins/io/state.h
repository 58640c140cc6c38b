/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/state.h - the probe's state, and what its files offer each other.
 */
#ifndef SKEP_IO_STATE_H
#define SKEP_IO_STATE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <skep/drain.h>
#include <skep/kept.h>
#include <skep/pins.h>
#include <skep/plugin.h>
#include <skep/scope.h>
#include <stdio.h>
#include <string.h>

#include "disk.h"
#include "fs.h"
#include "io.h"
#include "iolat.h"
#include "levels.h"
#include "vmstat.h"

enum {
	STREAM_DISK,
	STREAM_CGROUP,
	STREAM_PROCESS,
	STREAM_PAGING,
	STREAM_FS,
	STREAM_LEDGER,
	STREAM_IOLAT,
	N_STREAMS
};
extern const struct skep_stream *const io_streams[N_STREAMS];

enum { DETAIL_IOLAT, N_DETAILS };
extern const struct skep_detail io_details[N_DETAILS];

/* A device and one kind of operation, since its record before. */
struct disk_record {
	struct skep_str device, operation, class, model;
	uint8_t rotational, stacked;
	uint64_t operations, bytes, errors;
	struct skep_hist latency, size;
	uint64_t service_operations, service_ns;
	uint64_t in_flight;
	double queue_depth, busy_ratio;
};

struct cgroup_record {
	uint64_t cgroup_id; /* as in the records of processes; 0: unknown, or the root */
	struct skep_str operation, issuer;
	uint64_t operations, bytes, latency_ns;
};

/* The facet. */
struct process_record {
	uint64_t read_operations, write_operations, other_operations;
	uint64_t read_bytes, write_bytes, discard_bytes;
	uint64_t read_ns, write_ns;
	uint64_t latency_max_ns;
	uint64_t reclaims, reclaim_ns, cgroup_reclaims, cgroup_reclaim_ns;
	uint64_t delay_ns[IO_DELAYS];
};

struct fs_record {
	struct skep_str mountpoint, type, class, source;
	uint64_t read_operations, read_bytes, write_operations, write_bytes, other_operations;
	uint64_t retransmissions, timeouts, errors, queue_ns, rtt_ns, waiting;
};

/* Of an attachment of iolat: a device and one kind of operation, since its record before. */
struct iolat_record {
	uint64_t id;
	struct skep_str device, operation;
	uint64_t count, bytes, errors, sum_ns;
	struct skep_hist duration, queue, service;
};

struct paging_record {
	uint64_t v[VM_FIELDS];
};

/* The ledger: bytes since the probe began. */
struct io_ledger {
	uint64_t reference;     /* by the counters of the devices */
	uint64_t by[IO_BY];     /* by the BPF programs, on the same devices */
};

struct iolat_reported {
	struct iolat_key key;
	struct iolat_row row; /* as far as reported */
};

struct iolat {
	/* requests of write-back name their cgroup, in the hierarchy that names the cgroups of processes */
	bool writers;
	struct iolat_bpf *bpf;      /* NULL while nothing is attached */
	const struct iolat_cpu *cpus;
	size_t cpus_size;
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	struct iolat_reported *reported;    /* opt_iolat_rows, while attached */
	size_t n_reported;
	uint64_t lost, full, misses; /* as far as reported */
};

/*
 * The programs whose skipped runs are losses.  The programs that record issuers are not in this list: where the kernel
 * skips one of them, the request counts for an unknown issuer.
 */
enum io_program {
	IO_ON_COMPLETE,
	IO_ON_EXIT,
	IO_ON_RECLAIM_BEGIN,
	IO_ON_RECLAIM_END,
	IO_ON_MEMCG_RECLAIM_BEGIN,
	IO_ON_MEMCG_RECLAIM_END,
	IO_PROGRAMS,
};

/* Skipped runs, as far as reported: of on_complete, and of the others, which miss waits of processes. */
struct io_missed {
	uint64_t completions, others;
};

struct io_probe {
	/* options */
	int64_t opt_processes, opt_cgroups, opt_requests, opt_iolat_rows;
	bool opt_delays, opt_filesystems, opt_paging;
	const char *opt_root;

	const struct skep_host *host;
	struct skep_instance *inst;
	struct io_bpf *bpf;
	struct skep_pins pins;
	int programs[IO_PROGRAMS]; /* for their misses; < 0: not loaded */
	bool hooks;       /* on_complete is attached */
	int delayacct;    /* does the kernel account delays?  1, 0, -1: it cannot */
	bool delays;      /* it does, and the programs for delays are attached */
	bool delays_attached;
	unsigned n_cpus; /* entries of arrays by CPU number: skep/cpus.h */
	const char *root; /* "" or the folder in front of /proc and /sys */

	struct disks disks;
	struct io_ledger ledger[2]; /* IO_READ, IO_WRITE */
	struct levels processes, cgroups;
	struct skep_drain batch;       /* room for a read of a map */

	const struct io_counters *counters; /* mmap of the counters map */
	size_t counters_size;
	struct io_counters seen;
	struct io_missed seen_missed;
	bool unsaved; /* the maps had no room to save the reported sums of some process or cgroup */
	struct skep_counter *c_evicted, *c_recovered, *c_wrong, *c_misses, *c_bad_lines, *c_iolat_full;
	struct iolat iolat;

	FILE *vmstat;
	struct vm vm;
	struct filesystems filesystems;
	uint64_t sampled_ns;
	bool ageing; /* this pass belongs to an interval, not to a flush */
};

/* io.c: report as lost what the maps had no room for, and what the programs missed, since `seen` */
void io_report_losses(struct skep_instance *, struct io_probe *, const struct io_counters *now,
		      const struct io_counters *seen);
void io_report_misses(struct skep_instance *, struct io_probe *, const int programs[IO_PROGRAMS],
		      struct io_missed *seen);

/* load.c */
/* 0, or what host->fail() returned; then nothing stays loaded */
int io_load(struct skep_instance *, struct io_probe *);
/* At each sample: kernel.task_delayacct may be switched while the probe runs. */
void io_delayacct_look(struct skep_instance *, struct io_probe *);
void io_unload(struct io_probe *);
extern const char *const io_program_names[IO_PROGRAMS];

/* signals.c */
struct io_hooks {
	bool complete, start, start_missed, getrq, merge, reclaim, memcg_reclaim;
	bool blkcg_v2, memory_v1, delay_fields;
};
void io_signals(struct skep_instance *, const struct io_probe *, const struct io_hooks *);
void io_signal_delay(struct skep_instance *, const struct io_probe *);

/* devices.c: the map of devices and /proc/diskstats into records and ledger */
int io_devices_start(struct skep_instance *, struct io_probe *);
void io_devices_sample(struct skep_instance *, struct io_probe *, uint64_t now_ns);

/* pinned.c: across a restart of skepd */
/* Continues pinned state of the previous skepd, or reads and removes it; from then on our programs record. */
void io_pinned_begin(struct skep_instance *, struct io_probe *);
/* Lets the programs record for another period, and saves the reported part of the counters. */
void io_pinned_touch(struct io_probe *);
/* Saves entries for which the maps had no room before. */
void io_pinned_retry(struct io_probe *);
/* Saves that so much of an entry is reported; ..._over(): that the entry is gone. */
void io_pinned_process(struct io_probe *, struct level *);
void io_pinned_process_over(const struct io_probe *, const struct level *);
void io_pinned_cgroup(struct io_probe *, struct level *);
void io_pinned_cgroup_over(const struct io_probe *, const struct level *);

/* owners.c: the maps of processes and cgroups into records */
/* Delays of threads as far as reported: in level.extra. */
#define IO_DELAYS_REPORTED(l_) ((l_)->extra + IO_DELAYS)
/* Emit what such a map has more than st->processes or st->cgroups. 0, or the error of the kernel. */
int io_processes_take(struct skep_instance *, struct io_probe *, int fd, uint64_t now_ns);
int io_cgroups_take(struct skep_instance *, struct io_probe *, int fd, uint64_t now_ns);
/* live_too: also reads the delays of live threads, in a pass over all threads, and lets idle entries go */
void io_processes_drain(struct skep_instance *, struct io_probe *, uint64_t now_ns, bool live_too);
void io_cgroups_drain(struct skep_instance *, struct io_probe *, uint64_t now_ns);

/* iolat.c: the detail iolat */
int iolat_attach(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
void iolat_detach(struct skep_instance *, void *state, uint64_t id);
void iolat_sample(struct skep_instance *, struct io_probe *, uint64_t now_ns);
/* Emits a record of `new`, the difference of a row. Needs no BPF. */
void iolat_emit(struct skep_instance *, struct io_probe *, const struct iolat_key *, const struct iolat_row *new,
		uint64_t now_ns);
void iolat_signal(struct skep_instance *, const struct io_probe *);
void iolat_close(struct io_probe *);

/* delays.c: the iterator over live threads */
void io_delays_read(struct skep_instance *, struct io_probe *);

/* paging.c, filesystems.c */
void io_paging_sample(struct skep_instance *, struct io_probe *, uint64_t now_ns);
void io_filesystems_sample(struct skep_instance *, struct io_probe *, uint64_t now_ns);

extern const char *const io_op_names[IO_OPS];

#endif
