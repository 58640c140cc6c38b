/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/device_table.h - block devices or network interfaces by name, with the counters of the last pass.
 *
 * Devices appear and disappear.  In the first pass that has a device the probe keeps its counters, and reports
 * differences from the next pass on.  The table drops a device that a pass does not have.
 */
#ifndef SKEP_HOST_DEVICE_TABLE_H
#define SKEP_HOST_DEVICE_TABLE_H

#include "sdk/probe/text.h"

#define DEVICE_VALUES 17
#define DEVICE_NAME 64
#define DEVICE_MOST 4096u

struct device {
	char name[DEVICE_NAME];
	uint64_t value[DEVICE_VALUES];
	uint64_t classified_ns; /* when the members below were read from /sys; 0: never */
	const char *class; /* of a disk: a constant */
	uint64_t speed, index, link;
	bool device, uplink, stacked, up, skipped;
	uint32_t pass;
};

struct device_table {
	struct device *entry;
	uint32_t n, room;
	uint32_t next; /* where to look first: the kernel writes its lines in the same order each time */
	uint32_t pass;
};

void device_table_begin(struct device_table *);
/*
 * The row of that name; *ret_fresh: it is new.  -ENOSPC beyond DEVICE_MOST, -EEXIST: twice in this pass, -EINVAL: no
 * name, or one of DEVICE_NAME bytes or more, -ENOMEM.
 */
int device_table_find(struct device_table *, struct text name, struct device **ret, bool *ret_fresh);
/* Drops the devices that this pass did not have. */
void device_table_end(struct device_table *);
void device_table_free(struct device_table *);

/*
 * How much a counter grew.  Counters of 32 bits (times in diskstats, old drivers) wrap.  0 for a counter that went back
 * otherwise: the kernel has reset it, and its last count is lost.
 */
uint64_t counter_delta(uint64_t before, uint64_t now);

#endif
