/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/io.h - the maps between the kernel side and user space: keys and values.
 *
 * All numbers only grow, and user space computes differences, so no reset races with the kernel.
 */
#ifndef SKEP_IO_H
#define SKEP_IO_H

#include <linux/types.h>

/* User space uses them as uint64_t, which is another type than __u64 on some machines. */
#ifdef __bpf__
typedef __u64 io_count;
#else
#include <stdint.h>
typedef uint64_t io_count;
#endif

/* What a request does: two operations with data, two commands to the device, and the rest. */
enum io_op {
	IO_READ = 0,
	IO_WRITE,   /* also write zeroes, zone append, secure erase, as in the counters of the device */
	IO_DISCARD,
	IO_FLUSH,
	IO_OTHER,   /* pass-through: SCSI or NVMe commands; the counters of the device omit them */
	IO_OPS,
};

/* Who made the request. */
enum io_by {
	IO_BY_PROCESS = 0, /* a process that skep collects */
	IO_BY_KERNEL,      /* a kernel thread: write-back, journals, loop and dm workers */
	IO_BY_EXCLUDED,    /* a process that a rule excludes */
	IO_BY_UNKNOWN,     /* older than the probe, or another request took its slot */
	IO_BY,
};

/* ---- devices -------------------------------------------------------------- */

struct io_device_key {
	__u32 dev;   /* major << 20 | minor of the whole device */
	__u16 op;    /* enum io_op */
	__u16 shard; /* some CPUs share one: a counter of all CPUs bounces between their caches */
};

#define IO_LATENCY_SLOTS 192u
#define IO_SIZE_SLOTS 132u /* a request's size has 32 bits: 2^32 is in slot 2 + 31 * 4 + ... < 132 */

struct io_device {
	io_count operations;
	io_count bytes;
	io_count errors;
	io_count counted[IO_BY];     /* bytes that the counters of the device have too (/proc/diskstats) */
	io_count latency_operations; /* of these, with a time */
	io_count latency_ns;         /* from made to done */
	io_count service_operations;
	io_count service_ns;         /* from the driver to done */
	io_count latency[IO_LATENCY_SLOTS];
	io_count size[IO_SIZE_SLOTS];
};

/* ---- processes ------------------------------------------------------------ */

struct io_process_key {
	io_count start_ns; /* of the leader */
	__u32 pid;      /* tgid */
	__u32 reserved; /* 0 */
};

enum { IO_DELAY_BLOCK, IO_DELAY_SWAPIN, IO_DELAY_RECLAIM, IO_DELAY_THRASHING, IO_DELAYS };
enum { IO_RECLAIM_HOST, IO_RECLAIM_CGROUP, IO_RECLAIMS };

struct io_process {
	io_count operations[IO_OPS];
	io_count bytes[IO_OPS];
	io_count latency_ns[IO_OPS];
	io_count latency_max_ns;
	io_count reclaims[IO_RECLAIMS];
	io_count reclaim_ns[IO_RECLAIMS];
	io_count delay_ns[IO_DELAYS]; /* of ended threads; the iterator reads live ones */
};

/* Of a process, as far as reported. */
struct io_process_told {
	struct io_process last;
	io_count delay_ns[IO_DELAYS]; /* of ended and of live threads */
};

/* A record of the iterator: a live thread that has waited. */
struct io_delays {
	io_count start_ns; /* of the leader */
	__u32 pid;      /* tgid */
	__u32 reserved;
	io_count delay_ns[IO_DELAYS];
};

/* ---- cgroups -------------------------------------------------------------- */

enum io_issuer {
	IO_DIRECT = 0,   /* a process made the request: its own cgroup */
	IO_WRITEBACK,    /* the kernel made it for the cgroup that the request names (cgroup v2) */
	IO_UNKNOWN,      /* the kernel made it for an unknown cgroup */
	IO_ISSUERS,
};

struct io_cgroup_key {
	io_count id;
	__u32 op;     /* enum io_op */
	__u32 issuer; /* enum io_issuer */
};

struct io_cgroup {
	io_count operations;
	io_count bytes;
	io_count latency_ns;
};

/* ---- details -------------------------------------------------------------- */

enum io_done_state {
	IO_DONE_NOTHING = 0, /* a part of it, or the second end of a flush */
	IO_DONE_WHOLE,
	IO_DONE_LOST,        /* no room for its device */
};

/*
 * A completed request, for the programs of details, which the kernel calls next for the same request.  One a CPU;
 * io.bpf.c writes it only while `details_wanted`.
 */
struct io_done {
	io_count request;  /* address; 0: none, or already read */
	io_count pass;     /* grows with each request: a copy is whole when the number is the same before and after */
	io_count start_ns;  /* of the issuer */
	io_count cgroup_id; /* of the issuer, or for which the kernel writes back; 0: unknown */
	io_count latency_ns, service_ns; /* 0: unknown */
	__u32 state;       /* enum io_done_state */
	__u32 dev;         /* as in io_device_key */
	__u32 op;
	__u32 bytes;
	__u32 pid;         /* of the issuer */
	__u32 by;          /* enum io_by */
	__u32 verdict;     /* the issuer's byte when it made the request */
	__u32 error;
};

/* ---- counters ------------------------------------------------- */

struct io_counters {
	io_count devices_full;   /* completions of a device that found no entry */
	io_count processes_full;
	io_count cgroups_full;
	io_count reclaims_full;  /* too many tasks reclaimed at a time */
	io_count evicted;        /* a request took the slot of another one under way */
	io_count recovered;      /* requests that on_start missed and on_start_missed saw */
	io_count waits_wrong;    /* threads whose wait for block I/O cannot be true: delays.bpf.h */
};

/* What skepd has reported of the counters since the load: the next skepd continues from there. */
struct io_reported {
	struct io_counters counters;
	io_count misses, other_misses; /* skipped runs of on_complete, and of the other programs of enum io_program */
	io_count unsaved; /* 1: the maps `..._told` had no room for some processes or cgroups */
};

/* Of the keys and values of the maps: raise it when their meaning changes. */
#define IO_LAYOUT 3u
/* Kinds of struct skep_unattended: a request counts once, when it completes. */
enum io_unattended { IO_UNATTENDED_DISK, IO_UNATTENDED_PROCESS, IO_UNATTENDED_KINDS };

#endif
