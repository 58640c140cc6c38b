/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/filter.h - the filter of `skep top`: an expression of the rules on each process of the model.
 */
#ifndef SKEP_CLI_TOP_FILTER_H
#define SKEP_CLI_TOP_FILTER_H

#include "cli/top/model.h"

struct top_filter;

struct top_filter *top_filter_new(struct top_model *); /* borrows the model; NULL: no memory */
struct top_filter *top_filter_free(struct top_filter *);
/*
 * Applies the expression to the model; "" and NULL: every process counts.  0; -EINVAL with the place and the remedy in
 * why, and the filter before stays; -ENOMEM.
 */
int top_filter_set(struct top_filter *, const char *expression, char *why, size_t why_size);
const char *top_filter_text(const struct top_filter *); /* ""; as it was given */

#endif
