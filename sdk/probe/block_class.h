/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/block_class.h - what a block device is, by its name and by sysfs: so that all probes agree about which
 * devices repeat the bytes of others.  Private: not installed.
 */
#ifndef SKEP_SDK_BLOCK_CLASS_H
#define SKEP_SDK_BLOCK_CLASS_H

#include <stdbool.h>

struct skep_block_class {
	const char *class;      /* "nvme", "scsi", "dm"; "other".  A constant */
	bool partition;
	bool memory;            /* RAM: zram, brd */
	bool stacked;           /* passes its requests on to something below, as dm, md, loop do */
	/*
	 * The kernel charges a cgroup's request to another device as well, and that one counts.  Not so of each stacked
	 * device: threads of ZFS, or the server of ublk, write in a cgroup of their own.
	 */
	bool charged_elsewhere;
};

/* Reads ROOT/sys.  name: as in /proc/diskstats or in sysfs.  Any thread. */
void skep_block_classify(const char *root, const char *name, struct skep_block_class *ret);

#endif
