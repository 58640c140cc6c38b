/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/reason.h - describes how a process or a run ended, and the remedy, for reports.
 */
#ifndef SKEP_CLI_REASON_H
#define SKEP_CLI_REASON_H

#include <stdbool.h>

#include "lake/lake.h"

/* Size of "SIGKILL", or "signal 42" for a signal without a name. */
#define REASON_SIGNAL_SIZE 24
const char *reason_signal(uint64_t signal, char buf[REASON_SIGNAL_SIZE]);

/* Was the process ended by a signal or the out-of-memory killer, or was its status not 0? */
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
/* The remedy, or the next thing to check, for the user. NULL when memory runs out. */
char *reason_advice(const struct lake_process *, bool unicode);
/* Is the process a shell, or does it use the exit statuses 126, 127 and 128 + signal like a shell? */
bool reason_is_starter(const struct lake_process *);
/* The process's name in a report: its tool, or the own name of a wrapper. Borrowed, never empty. */
const char *reason_name(const struct lake_process *);

#endif
