/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report.h - a run's report for people (text) and for programs (JSON), both from
 * the lake's struct lake_report and nothing else.
 */
#ifndef SKEP_CLI_REPORT_H
#define SKEP_CLI_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"
#include "cli/report/report.h"
#include "lake/lake.h"

/* style: NULL for all defaults. 0 or -errno (-ENOMEM, or the stream's). */
int report_print(const struct lake_report *, FILE *, const struct paint_style *);

/* New references, keys in the documented order; NULL when memory runs out. */
json_t *report_json(const struct lake_report *);
json_t *report_json_run(const struct lake_run *); /* its "run" */
/* The report, written with indentation and a newline. 0 or -errno. */
int report_json_print(const struct lake_report *, FILE *);

#endif
