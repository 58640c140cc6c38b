/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/own_runs.h - the own runs of a user who may not read skepd's lake: skepd makes a copy of them, and sends it
 * (docs/reference/control.md, lake_copy).
 */
#ifndef SKEP_CLI_OWN_RUNS_H
#define SKEP_CLI_OWN_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "lake/lake.h"

/*
 * Opens a copy as a lake.  run: one run, as for lake_report(); NULL: all that began at since_ns or later, without their
 * processes.  lake: only if skepd writes this one; NULL: any.  command: says on stderr what the copy lacks; NULL: says
 * nothing.  0; -ENOTSUP: no skepd answers, or this user is in group skep; -errno.  An error has its reason in why.
 */
int own_runs_open(const char *command, const char *run, uint64_t since_ns, const char *lake, struct lake **ret,
		  char *why, size_t why_size);

#endif
