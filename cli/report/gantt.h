/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/gantt.h - when each tool ran and how many cores it kept busy, as text.
 */
#ifndef SKEP_CLI_GANTT_H
#define SKEP_CLI_GANTT_H

#include "cli/base/paint.h"
#include "cli/report/failures.h"

/* tools: indices into report->tools, drawn by their first start. 0 or -ENOMEM. */
int gantt_print(const struct paint *, const struct lake_report *, const struct failures *, const size_t *tools,
		size_t n);

#endif
