/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/trace.h - a run as a trace of Perfetto: https://perfetto.dev/docs/reference/synthetic-track-event.
 */
#ifndef SKEP_CLI_TRACE_H
#define SKEP_CLI_TRACE_H

#include <stdio.h>

#include "lake/lake.h"

/*
 * Writes a track for the run, one for each task, below them the programs that ran, on as many tracks as ran at once,
 * and counters of the run's samples.  Times are the wall clock's.  0 or -errno.
 */
int trace_print(const struct lake_report *, FILE *);

#endif
