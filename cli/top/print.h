/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/print.h - the rows as a plain table, and as JSON.
 */
#ifndef SKEP_CLI_TOP_PRINT_H
#define SKEP_CLI_TOP_PRINT_H

#include <stdio.h>

#include "cli/top/model.h"

/* What the rows are of. */
struct top_shown {
	const char *source; /* "skepd" "lake" */
	uint64_t time_ns;   /* realtime */
	uint64_t interval_ns; /* of `cores` */
	const char *filter; /* "" */
	const char *note;   /* what the figures lack; "" */
};

/* 0 or -errno. */
int top_print_table(const struct top_model *, const struct top_view *, const struct top_rows *,
		    const struct top_shown *, FILE *);
int top_print_json(const struct top_model *, const struct top_view *, const struct top_rows *, const struct top_shown *,
		   FILE *);

#endif
