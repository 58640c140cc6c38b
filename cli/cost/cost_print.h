/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cost/cost_print.h - prints a bill as text and as JSON.
 */
#ifndef SKEP_CLI_COST_PRINT_H
#define SKEP_CLI_COST_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/cost.h"
#include "cli/base/paint.h"

/* In the order of enum cost_by: "pipeline", "run", ...; NULL-terminated. */
extern const char *const cost_by_names[];

/* 0, -ENOMEM or the -errno of a write. limit: rows of the table at most, 0: all.  Rounds the amounts. */
int cost_text(struct cost *, const struct cost_query *, size_t limit, FILE *, const struct paint_style *);
int cost_json(const struct cost *, const struct cost_query *, FILE *);
/* "node7: no price holds from ... to ...: ..."; the caller frees it, NULL: no memory. */
char *cost_problem_text(const struct cost_problem *);
/* The name of a row for people; the caller frees it, NULL: no memory. It is not safe for a terminal. */
char *cost_row_name(const struct cost_row *, enum cost_by);

#endif
