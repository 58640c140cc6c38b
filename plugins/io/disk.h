/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/disk.h - the host's block devices: their own counters and their class.  Needs no BPF; reads files below
 * `root`, which tests set.
 */
#ifndef SKEP_IO_DISK_H
#define SKEP_IO_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "io.h"

/* One line of /proc/diskstats (Documentation/admin-guide/iostats.rst). */
struct diskstats {
	uint32_t major, minor;
	const char *name; /* borrowed from the line; name_len long */
	size_t name_len;
	uint64_t read_ops, read_bytes, write_ops, write_bytes;
	uint64_t discard_ops, discard_bytes; /* since 4.18, else 0 */
	uint64_t flush_ops;                  /* since 5.5, else 0 */
	uint64_t in_flight;
	uint64_t busy_ms;  /* with a request in flight */
	uint64_t queue_ms; /* summed over all requests */
};

/* 0 or -EBADMSG: not a line of diskstats. */
int diskstats_parse(const char *line, struct diskstats *ret);

struct disk {
	uint32_t dev; /* major << 20 | minor */
	char name[64];
	char model[64];
	const char *class;
	bool partition;  /* in the table so that no pass asks sysfs again; in no record */
	bool rotational;
	bool stacked;    /* passes its requests on to other devices of the table: dm, md, loop */
	bool memory;     /* RAM: zram, brd */
	bool present;    /* this pass found it */
	struct diskstats stats; /* name is not set */
	uint64_t in_flight;
	double queue_depth, busy_ratio; /* between the last two passes */
	struct io_device *last[IO_OPS], *now[IO_OPS]; /* sums of the BPF programs, all shards; NULL until used */
};

/* Sorted by dev. */
struct disks {
	struct disk *at;
	size_t n, room;
	FILE *stats;     /* /proc/diskstats, kept open */
	char *line;
	size_t line_room;
	uint64_t bad_lines;
	bool changed;    /* the last pass found a new device, or missed one of the pass before */
};

/* Bytes since the pass before, of all devices but stacked ones and memory. */
struct disk_bytes {
	uint64_t read, written;
};

/*
 * Reads the counters of all devices.  passed_ns: since the last pass, 0 for the first.  A device that is new since the
 * first pass began with zero.  A device that went is not `present` and stays in the table until disks_drop_absent(), so
 * that its last counts have a name.  0 or -errno.
 */
int disks_pass(struct disks *, const char *root, uint64_t passed_ns, struct disk_bytes *ret_new);
void disks_drop_absent(struct disks *);
struct disk *disks_find(struct disks *, uint32_t dev); /* NULL: none */
/* The name that the kernel gives it; NULL: no memory. */
struct io_device *disk_op_now(struct disk *, unsigned op);
void disks_free(struct disks *);
/* Fills class, model, rotational, stacked, memory and partition of the device of that name. */
void disk_describe(struct disk *, const char *root);

#endif
