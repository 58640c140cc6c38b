/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/tally.h - what each process had of the devices in one pass, and what it has
 * been given in all, so that the driver's own totals at its end only add what is missing.
 */
#ifndef SKEP_GPU_TALLY_H
#define SKEP_GPU_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

#define TALLY_ROOM 4096 /* processes that hold a device at a time; a power of two */
#define LIVES_ROOM 65536 /* (device, process) pairs that are remembered; a power of two */

struct tally_entry {
	uint32_t pid;
	uint64_t began_us; /* 0: not known; else its context's start since 1970: the process started earlier */
	struct use_record use;
};

struct tally {
	uint32_t n;
	uint64_t overflow; /* uses of processes for which there was no room */
	struct tally_entry entries[TALLY_ROOM];
	uint16_t index[TALLY_ROOM * 2]; /* of an entry + 1 */
};

struct tally *tally_new(void);
void tally_clear(struct tally *);
/* NULL: no room; counted. */
struct tally_entry *tally_of(struct tally *, uint32_t pid);

/* One process on one device. */
struct life {
	uint32_t device; /* number of the device + 1; 0: free */
	uint32_t pid;
	uint64_t start_us;  /* as the driver tells it; 0: not asked yet */
	uint64_t pass;      /* last one that saw it on the device */
	uint64_t busy_ns, held_ns, known_ns; /* given so far */
	bool held;          /* in the pass before */
	bool settled;       /* its accounting has been taken */
};

struct lives {
	uint32_t n;
	uint64_t overflow;
	struct life slots[LIVES_ROOM];
};

struct lives *lives_new(void);
/* Finds or makes. NULL: no room; counted. */
struct life *lives_of(struct lives *, uint32_t device, uint32_t pid);
/* Forget those last seen before that pass. Rebuilds the table: not for every pass. */
void lives_forget(struct lives *, uint64_t before_pass);

/* The driver's totals of a process that has ended, on one device. */
struct life_total {
	uint64_t start_us;
	uint64_t held_ns;
	double busy;   /* 0 to 1 of held_ns; negative: not known */
	double memory_busy;
	uint64_t memory_bytes; /* its largest; UINT64_MAX: not known */
};
/*
 * Adds to use what the totals have beyond what was given, and settles the life.  Live
 * shares can exceed a total that the driver rounds to whole percents: then nothing is added.
 */
void life_settle(struct life *, const struct life_total *, struct use_record *use);

#endif
