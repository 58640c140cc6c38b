/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/reason.h - how a process or a run ended, in words, and what to do about it.
 */
#ifndef SKEP_CLI_REASON_H
#define SKEP_CLI_REASON_H

#include <stdbool.h>

#include "lake/lake.h"

/* "SIGKILL"; "signal 42" where it has no name of its own. */
#define REASON_SIGNAL_SIZE 24
const char *reason_signal(uint64_t signal, char buf[REASON_SIGNAL_SIZE]);

/* Ended by a signal, by the out-of-memory killer, or with a non-zero status. */
bool reason_failed(const struct lake_process *);
/*
 * "exit 2", "killed by SIGSEGV (core dumped)", "killed by SIGKILL: out of memory in
 * cgroup /x, limit 2.00 GiB, peak 2.00 GiB", "still running"; safe for a terminal.
 * NULL when memory runs out.
 */
char *reason_text(const struct lake_process *, bool unicode);
/* The same in at most 12 columns, for a table: "exit 2", "SIGSEGV core", "OOM". */
char *reason_short(const struct lake_process *);
/* Of a run: "succeeded", "failed with exit 2", "killed by SIGINT (interrupted)", "still running". */
char *reason_run(const struct lake_run *);
/* What the user should do or look at next. NULL when memory runs out. */
char *reason_advice(const struct lake_process *, bool unicode);
/* A shell, or another program that exits as a shell does: 126, 127, 128 + signal mean the same. */
bool reason_is_starter(const struct lake_process *);
/* What to call the process: its tool, but a wrapper by its own name. Borrowed, never empty. */
const char *reason_name(const struct lake_process *);

#endif
