/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/seen.h - devices and interfaces by name, with the counters that they had.
 *
 * They come and go.  One that is seen for the first time has nothing to be compared with: its
 * counters count from then on.  One that is not seen in a pass is forgotten.
 */
#ifndef SKEP_HOST_SEEN_H
#define SKEP_HOST_SEEN_H

#include "sdk/probe/text.h"

#define SEEN_VALUES 17
#define SEEN_NAME 64
#define SEEN_MOST 4096u

struct seen_entry {
	char name[SEEN_NAME];
	uint64_t value[SEEN_VALUES];
	uint64_t asked_ns; /* when what follows was read from /sys; 0: never */
	uint64_t speed, index, link;
	bool device, uplink, stacked, up, skipped;
	uint32_t pass;
};

struct seen {
	struct seen_entry *entry;
	uint32_t n, room;
	uint32_t next; /* lines come in the same order each time: where to look first */
	uint32_t pass;
};

void seen_begin(struct seen *);
/*
 * Its entry, with fresh set when it is new.  -ENOSPC beyond SEEN_MOST, -EEXIST: twice in this pass, -EINVAL: no name.
 */
int seen_find(struct seen *, struct text name, struct seen_entry **ret, bool *ret_fresh);
/* Those not seen in this pass go. */
void seen_end(struct seen *);
void seen_free(struct seen *);

/*
 * How much a counter went on.  Counters of 32 bits (times in diskstats, old drivers) wrap.
 * One that goes back otherwise was set back: nothing is known of what it had counted, 0.
 */
uint64_t seen_delta(uint64_t before, uint64_t now);

#endif
