/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/diff/diff_print.h - prints a comparison of runs as text and as JSON.
 */
#ifndef SKEP_CLI_DIFF_PRINT_H
#define SKEP_CLI_DIFF_PRINT_H

#include <stdio.h>

#include "analysis/diff.h"
#include "cli/base/paint.h"

struct diff_answer {
	const struct diff *diff;
	struct lake_report **before; /* one run, or a history, the newest first */
	size_t n_before;
	const struct lake_report *after;
	bool all; /* print what does not differ, too */
};

/* 0, -ENOMEM or the -errno of a write. */
int diff_print_text(const struct diff_answer *, FILE *, const struct paint_style *);
int diff_print_json(const struct diff_answer *, FILE *);

#endif
