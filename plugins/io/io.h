/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/io.h - the maps between the kernel side and user space: keys and values.
 *
 * All numbers are levels that only grow; user space takes differences, so that nothing
 * is reset while the kernel adds to it.
 */
#ifndef SKEP_IO_H
#define SKEP_IO_H

#include <linux/types.h>

/* User space hands them on as uint64_t, which is not the type of __u64 everywhere. */
#ifdef __bpf__
typedef __u64 io_count;
#else
#include <stdint.h>
typedef uint64_t io_count;
#endif

/* What a request does. Two that carry data, two that only tell the device something, and the rest. */
enum io_op {
	IO_READ = 0,
	IO_WRITE,   /* also write zeroes, zone append, secure erase: as the device's own counters have it */
	IO_DISCARD,
	IO_FLUSH,
	IO_OTHER,   /* pass-through: SCSI or NVMe commands, which the device's own counters leave out */
	IO_OPS,
};

/* Whose request it is. */
enum io_by {
	IO_BY_PROCESS = 0, /* a process that is collected was running when it was made */
	IO_BY_KERNEL,      /* a kernel thread was: write-back, journals, loop and dm workers */
	IO_BY_EXCLUDED,    /* a process that a rule excludes was */
	IO_BY_UNKNOWN,     /* its making was not seen: under way when we came, or its slot was taken */
	IO_BY,
};

/* ---- devices -------------------------------------------------------------- */

struct io_device_key {
	__u32 dev;   /* major << 20 | minor of the whole device */
	__u16 op;    /* enum io_op */
	__u16 shard; /* CPUs are spread over some, or one counter would bounce between all */
};

#define IO_LATENCY_SLOTS 192u
#define IO_SIZE_SLOTS 132u /* a request's size has 32 bits: 2^32 is in slot 2 + 31 * 4 + ... < 132 */

struct io_device {
	io_count operations;
	io_count bytes;
	io_count errors;
	io_count counted[IO_BY];     /* bytes that the device's own counters have too (/proc/diskstats) */
	io_count latency_operations; /* of those, which have a time */
	io_count latency_ns;         /* made until done */
	io_count service_operations;
	io_count service_ns;         /* handed to the driver until done */
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
	io_count delay_ns[IO_DELAYS]; /* of threads that are gone; those that live are read by the iterator */
};

/* Of a process, as far as it has been told. */
struct io_process_told {
	struct io_process last;
	io_count delay_ns[IO_DELAYS]; /* of threads that are gone and of those that live */
};

/* One record of the iterator: a live thread that has waited. */
struct io_delays {
	io_count start_ns; /* of the leader */
	__u32 pid;      /* tgid */
	__u32 reserved;
	io_count delay_ns[IO_DELAYS];
};

/* ---- cgroups -------------------------------------------------------------- */

enum io_issuer {
	IO_DIRECT = 0,   /* a process made the request: its own cgroup */
	IO_WRITEBACK,    /* the kernel did for that cgroup, says the request (cgroup v2) */
	IO_UNKNOWN,      /* the kernel did, and does not know for whom */
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
	IO_DONE_NOTHING = 0, /* a part of it, or the end of a flush that has come already */
	IO_DONE_WHOLE,
	IO_DONE_LOST,        /* no room for its device */
};

/*
 * A request that is done, as it was found to be: for programs of details, which are called next
 * for the same request.  One a CPU, written only while `details_wanted`.
 */
struct io_done {
	io_count request;  /* its address; 0: none, or has been read */
	io_count pass;     /* grows with each: what is read in between two of the same number is whole */
	io_count start_ns;  /* of the issuer */
	io_count cgroup_id; /* the issuer's, or the one that the kernel writes back for; 0: not known */
	io_count latency_ns, service_ns; /* 0: not known */
	__u32 state;       /* enum io_done_state */
	__u32 dev;         /* as in io_device_key */
	__u32 op;
	__u32 bytes;
	__u32 pid;         /* of the issuer */
	__u32 by;          /* enum io_by */
	__u32 verdict;     /* the issuer's byte when it made the request */
	__u32 error;
};

/* ---- what could not be kept ------------------------------------------------- */

struct io_counters {
	io_count devices_full;   /* completions of a device for which no room was left */
	io_count processes_full;
	io_count cgroups_full;
	io_count reclaims_full;  /* too many tasks reclaim at a time */
	io_count evicted;        /* a slot was taken from a request under way */
	io_count recovered;      /* requests whose making on_start missed and on_start_missed saw */
};

/* Of what begins with the load, what has been told: the next skepd goes on from there. */
struct io_reported {
	struct io_counters counters;
	io_count misses;
	io_count unkept; /* 1: of some processes or cgroups the maps `..._told` had no room for what has been told */
};

/* Of the maps' keys and values: another number where any of it is read otherwise. */
#define IO_LAYOUT 2u
/* Kinds of struct skep_unattended: a request counts once, when it completes. */
enum io_unattended { IO_UNATTENDED_DISK, IO_UNATTENDED_PROCESS, IO_UNATTENDED_KINDS };

#endif
