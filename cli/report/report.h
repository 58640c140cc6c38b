/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report.h - prints a run's report as text and as JSON, both only from the lake's struct lake_report.
 */
#ifndef SKEP_CLI_REPORT_H
#define SKEP_CLI_REPORT_H

#include <stdio.h>

#include "cli/base/json_stream.h"
#include "cli/base/paint.h"
#include "lake/lake.h"

/* Prints the report as text. style: NULL for all defaults. 0, -ENOMEM or the -errno of a write. */
int report_print(const struct lake_report *, FILE *, const struct paint_style *);

/* Writes the members of the report's "run" into the object that is open. */
void report_json_run(struct json_stream *, const struct lake_run *);
/* Writes the report, keys in the documented order, with indentation and a newline. 0 or -errno. */
int report_json_print(const struct lake_report *, FILE *);
enum report_json_form {
	REPORT_JSON_WHOLE,
	REPORT_JSON_COLUMNS, /* processes and samples as columns (json_stream.h) */
	REPORT_JSON_SUMMARY, /* without processes and samples */
};
int report_json_print_as(const struct lake_report *, enum report_json_form, FILE *);

#endif
