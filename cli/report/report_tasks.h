/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_tasks.h - the tasks of a run: their table, and their names for the time line.
 */
#ifndef SKEP_CLI_REPORT_TASKS_H
#define SKEP_CLI_REPORT_TASKS_H

#include "cli/base/paint.h"
#include "cli/report/gantt.h"
#include "lake/lake.h"

/* Prints a row for each task; more than a page of them only if `all`, else folded by name. 0 or -ENOMEM. */
int report_tasks_print(const struct paint *, const struct lake_report *, bool all);
/* Finds the names with the most CPU time, at most `most`; the caller frees the list. 0 or -ENOMEM. */
int report_tasks_names(const struct lake_report *, size_t most, struct gantt_name **ret, size_t *ret_n);

#endif
