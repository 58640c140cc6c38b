/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/tally.h - the use of devices by each process in one pass, and the use reported for it so far, so that the
 * driver's totals at its end add only the missing part.
 */
#ifndef SKEP_GPU_TALLY_H
#define SKEP_GPU_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

#define TALLY_ROOM 4096 /* processes that hold a device at a time; a power of two */
#define LIVES_ROOM 65536 /* remembered (device, process) pairs; a power of two */

struct tally_entry {
	uint32_t pid;
	uint64_t began_us; /* 0: unknown; else its context's start since 1970: the process started earlier */
	struct use_record use;
};

struct tally {
	uint32_t n;
	uint64_t overflow; /* uses of processes without room */
	struct tally_entry entries[TALLY_ROOM];
	uint16_t index[TALLY_ROOM * 2]; /* of an entry + 1 */
};

struct tally *tally_new(void);
void tally_clear(struct tally *);
/* NULL: no room, which is counted. */
struct tally_entry *tally_of(struct tally *, uint32_t pid);

/* One process on one device. */
struct life {
	uint32_t device; /* number of the device + 1; 0: unused */
	uint32_t pid;
	uint64_t start_us;  /* from the driver; 0: not queried yet */
	uint64_t pass;      /* the last pass that saw it on the device */
	uint64_t busy_ns, held_ns, known_ns; /* reported so far */
	bool held;          /* in the last pass */
	bool settled;       /* its accounting was added */
};

struct lives {
	uint32_t n;
	uint64_t overflow;
	struct life slots[LIVES_ROOM];
};

struct lives *lives_new(void);
/* Finds or makes one. NULL: no room, which is counted. */
struct life *lives_of(struct lives *, uint32_t device, uint32_t pid);
/* Drops those last seen before that pass. Rebuilds the table, so not for every pass. */
void lives_forget(struct lives *, uint64_t before_pass);

/* The driver's totals of an ended process on one device. */
struct life_total {
	uint64_t start_us;
	uint64_t held_ns;
	double busy;   /* 0 to 1 of held_ns; negative: unknown */
	double memory_busy;
	uint64_t memory_bytes; /* its peak; UINT64_MAX: unknown */
};
/*
 * Adds to `use` what the totals have beyond the reported use, and settles the life. Live shares can exceed a total that
 * the driver rounds to whole percents: then nothing is added.
 */
void life_settle(struct life *, const struct life_total *, struct use_record *use);

#endif
