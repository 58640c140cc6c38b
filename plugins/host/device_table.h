/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/device_table.h - devices and interfaces by name, with the counters that they had.
 *
 * They come and go.  One that is seen for the first time has nothing to be compared with: its
 * counters count from then on.  One that is not seen in a pass is forgotten.
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
	uint64_t asked_ns; /* when what follows was read from /sys; 0: never */
	uint64_t speed, index, link;
	bool device, uplink, stacked, up, skipped;
	uint32_t pass;
};

struct device_table {
	struct device *entry;
	uint32_t n, room;
	uint32_t next; /* lines come in the same order each time: where to look first */
	uint32_t pass;
};

void device_table_begin(struct device_table *);
/*
 * Its entry, with fresh set when it is new.  -ENOSPC beyond DEVICE_MOST, -EEXIST: twice in this pass, -EINVAL: no name.
 */
int device_table_find(struct device_table *, struct text name, struct device **ret, bool *ret_fresh);
/* Those not seen in this pass go. */
void device_table_end(struct device_table *);
void device_table_free(struct device_table *);

/*
 * How much a counter went on.  Counters of 32 bits (times in diskstats, old drivers) wrap.
 * One that goes back otherwise was set back: nothing is known of what it had counted, 0.
 */
uint64_t counter_delta(uint64_t before, uint64_t now);

#endif
