/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report.h - a run's report for people (text) and for programs (JSON), both from
 * the lake's struct lake_report and nothing else.
 */
#ifndef SKEP_CLI_REPORT_H
#define SKEP_CLI_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lake/lake.h"

enum report_choice { REPORT_AUTO, REPORT_NEVER, REPORT_ALWAYS };

struct report_style {
	unsigned width;             /* columns; 0: the terminal's (80..200), 100 where there is none */
	size_t rows;                /* of the tools table and the Gantt at most; 0: 12 */
	enum report_choice colour;  /* auto: the stream is a terminal, NO_COLOR is not set */
	enum report_choice unicode; /* auto: the locale's charset is UTF-8 (main has called setlocale) */
	bool processes;             /* the process tree as well */
};

/* style: NULL for all defaults. 0 or -errno (-ENOMEM, or the stream's). */
int report_print(const struct lake_report *, FILE *, const struct report_style *);

/* A new reference, keys in the documented order; NULL when memory runs out. */
json_t *report_json(const struct lake_report *);
/* The same, written with indentation and a newline. 0 or -errno. */
int report_json_print(const struct lake_report *, FILE *);

#endif
