/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/recognized.h - why the tasks and processes of a recorded run are where they are: what `skep recognize RUN`
 * says of a run that has ended.
 */
#ifndef SKEP_CLI_RECOGNIZED_H
#define SKEP_CLI_RECOGNIZED_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"
#include "lake/lake.h"

json_t *recognized_json(const struct lake_report *); /* a new reference; NULL: no memory */
/* Prints tables of the tasks and of the processes, of each at most 500 rows.  0 or -errno. */
int recognized_print(const struct lake_report *, FILE *, const struct paint_style *);

#endif
