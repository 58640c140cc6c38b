/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_tools.h - the tools table of a report, and the choice of tools with a row.
 */
#ifndef SKEP_CLI_REPORT_TOOLS_H
#define SKEP_CLI_REPORT_TOOLS_H

#include "cli/base/paint.h"
#include "lake/lake.h"

/*
 * Chooses the tools with a row of their own, most CPU first, at most rows (at least 1): indices into
 * report->tools. 0, and the caller frees *ret_tools; or -ENOMEM.
 */
int report_tools_select(const struct lake_report *, size_t rows, size_t **ret_tools, size_t *ret_n);
/* Prints these tools as rows, and the sum of all other tools as one row. 0 or -ENOMEM. */
int report_tools_print(const struct paint *, const struct lake_report *, const size_t *tools, size_t n);

#endif
