/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/verdict.h - the verdict map: one byte per pid in a mapped array that the probes' BPF code reads
 * (skep/rules.h defines the byte). Without the privilege for the map every function still works, and no process
 * is excluded.
 */
#ifndef SKEP_CORE_VERDICT_H
#define SKEP_CORE_VERDICT_H

#include <skep/rules.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/plugin/pins.h"

#define VERDICT_COLLECT 0
#define VERDICT_EXCLUDED SKEP_VERDICT_NOBODY

struct verdict {
	int fd;         /* -1: no map */
	uint32_t pids;  /* bytes in the map's only element */
	uint8_t *bytes; /* NULL: no map */
	int error;      /* -errno of the failed map; 0: there is a map */
};

/* Opens the map, or adopts the map that the previous skepd pinned, and sets every pid's byte to `all`. */
void verdict_open(struct verdict *, const struct pins *, uint8_t all);
void verdict_close(struct verdict *);
void verdict_set(struct verdict *, pid_t, uint8_t);
/* Sets the group (0: none) of a collected process; the rest of the byte stays. */
void verdict_set_group(struct verdict *, pid_t, uint8_t group);
/* Removes the group from every collected process. */
void verdict_clear_group(struct verdict *, uint8_t group);

#endif
