/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/disk.h - the host's block devices: their own counters, and what they are.
 * Needs no BPF: the files are read below `root`, which tests set.
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
	uint64_t busy_ms;  /* with something in flight */
	uint64_t queue_ms; /* summed over all requests */
};

/* 0 or -EBADMSG: not a line of diskstats. */
int diskstats_parse(const char *line, struct diskstats *ret);

struct disk {
	uint32_t dev; /* major << 20 | minor */
	char name[64];
	char model[64];
	const char *class;
	bool partition;  /* known so as not to be asked about again; in no record */
	bool rotational;
	bool stacked;    /* its requests go on to other devices that are listed too: dm, md, loop */
	bool memory;     /* RAM: zram, brd */
	bool present;    /* seen in this pass */
	struct diskstats stats; /* name is not set */
	uint64_t in_flight;
	double queue_depth, busy_ratio; /* between the last two passes */
	struct io_device *last[IO_OPS], *now[IO_OPS]; /* of the hooks, all shards; NULL until used */
};

/* Sorted by dev. */
struct disks {
	struct disk *at;
	size_t n, room;
	FILE *stats;     /* /proc/diskstats, kept open */
	char *line;
	size_t line_room;
	uint64_t bad_lines;
	bool changed;    /* the last pass found a device that was not there before, or missed one that was */
};

/* Bytes that a pass has found to be new, over devices that stand for themselves: not stacked, not memory. */
struct disk_bytes {
	uint64_t read, written;
};

/*
 * Reads the counters of all.  passed_ns: since the last pass, 0 for the first.  Devices that are
 * new since the first pass began with zero.  Devices that went are not `present` any more, and stay in the table until
 * disks_drop_absent(), so that what the hooks counted of them has a name.  0 or -errno.
 */
int disks_pass(struct disks *, const char *root, uint64_t passed_ns, struct disk_bytes *ret_new);
void disks_drop_absent(struct disks *);
struct disk *disks_find(struct disks *, uint32_t dev); /* NULL: not there */
/* As the kernel names it; NULL: no memory. */
struct io_device *disk_op_now(struct disk *, unsigned op);
void disks_free(struct disks *);
/* What the device of that name is; fills class, model, rotational, stacked, memory, partition. */
void disk_describe(struct disk *, const char *root);

#endif
