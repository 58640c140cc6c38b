/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/stats.h - the answer of `skep stats` as text, and in Prometheus' exposition format.
 */
#ifndef SKEP_CLI_STATS_H
#define SKEP_CLI_STATS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/paint.h"

/* answer: as docs/reference/control.md has it. style: NULL for the defaults. 0 or -errno. */
int stats_print(const json_t *answer, FILE *, const struct paint_style *);
int stats_prometheus(const json_t *answer, FILE *, const struct paint_style *);

#endif
