/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/verdict.h - one byte per pid, shared with BPF code by a mapped array (what a byte says:
 * skep/rules.h).  Works without the map too (no privilege): then it excludes nothing.
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
	uint32_t pids;  /* bytes in its one element */
	uint8_t *bytes; /* NULL: no map */
	int error;      /* why there is no map: -errno */
};

/* Every pid gets `all`. The map is the one that a skepd before has left, where there is one. */
void verdict_open(struct verdict *, const struct pins *, uint8_t all);
void verdict_close(struct verdict *);
void verdict_set(struct verdict *, pid_t, uint8_t);
/* Its group, 0 for none, where it is collected; the rest of the byte stays. */
void verdict_set_group(struct verdict *, pid_t, uint8_t group);
/* No collected pid has that group any more. */
void verdict_clear_group(struct verdict *, uint8_t group);

#endif
