/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report.h - prints a run's report as text and as JSON, both only from the lake's struct lake_report.
 */
#ifndef SKEP_CLI_REPORT_H
#define SKEP_CLI_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"
#include "cli/report/report.h"
#include "lake/lake.h"

/* Prints the report as text. style: NULL for all defaults. 0, -ENOMEM or the -errno of a write. */
int report_print(const struct lake_report *, FILE *, const struct paint_style *);

/* New references, keys in the documented order; NULL when memory runs out. */
json_t *report_json(const struct lake_report *);
json_t *report_json_run(const struct lake_run *); /* its "run" */
/* The report, written with indentation and a newline. 0 or -errno. */
int report_json_print(const struct lake_report *, FILE *);

#endif
