/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/gantt.h - when each tool or task ran and how many cores it kept busy, as text.
 */
#ifndef SKEP_CLI_GANTT_H
#define SKEP_CLI_GANTT_H

#include "cli/base/paint.h"
#include "cli/report/failures.h"

struct gantt_name {
	const char *name; /* borrowed */
	uint64_t first_start_ns;
};

/* names: of tools, or of tasks if `tasks`; drawn by their first start. 0 or -ENOMEM. */
int gantt_print(const struct paint *, const struct lake_report *, const struct failures *,
		const struct gantt_name *names, size_t n, bool tasks);

#endif
