/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/hosts/hosts_print.h - prints what hosts used, as text and as JSON.
 */
#ifndef SKEP_CLI_HOSTS_PRINT_H
#define SKEP_CLI_HOSTS_PRINT_H

#include "cli/base/paint.h"
#include "lake/usage.h"

struct hosts_look {
	struct lake_usage *usage;
	uint64_t since_ns, until_ns;
};

/* limit: hosts at most, 0: all. 0, -ENOMEM or the -errno of a write. */
int hosts_text(const struct hosts_look *, size_t limit, FILE *, const struct paint_style *);
int hosts_json(const struct hosts_look *, FILE *);

#endif
