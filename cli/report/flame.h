/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/flame.h - a run as folded stacks, the input of flame graphs.
 */
#ifndef SKEP_CLI_FLAME_H
#define SKEP_CLI_FLAME_H

#include <stdio.h>

#include "lake/lake.h"

enum flame_of { FLAME_CPU, FLAME_QUEUED, FLAME_BLOCKED };

/* Reads "cpu", "queued" or "blocked". 0 or -EINVAL. */
int flame_of_name(const char *name, enum flame_of *ret);

/*
 * Writes a line "RUN;TASK;TOOL;TOOL NS" for each chain of processes that spent time itself; a process begins a chain of
 * its own where its task differs from its parent's.  The lines add up to the run's total.  0 or -errno.
 */
int flame_print(const struct lake_report *, enum flame_of, FILE *);

#endif
