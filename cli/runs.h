/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/runs.h - the list of runs as text and as JSON.
 */
#ifndef SKEP_CLI_RUNS_H
#define SKEP_CLI_RUNS_H

#include <stdio.h>

#include "cli/base/paint.h"
#include "lake/lake.h"

/* 0 or -ENOMEM. */
int runs_print(const struct lake_runs *, FILE *, const struct paint_style *);
/* Writes a JSON array, a run at a time. 0 or -errno. */
int runs_json(const struct lake_runs *, FILE *);

#endif
