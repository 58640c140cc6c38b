/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/plan.h - what a stream's records are turned into, from its field table.
 */
#ifndef SKEP_SINKS_PROMETHEUS_PLAN_H
#define SKEP_SINKS_PROMETHEUS_PLAN_H

#include "sinks/prometheus/store.h"

/*
 * The plan for this stream, made at its first record.  When the field table has changed (a reload replaced the plugin),
 * drops the old plan with its rows, which begin anew.  NULL: no memory.
 */
struct plan *plan_get(struct store *, const struct skep_stream *, bool with_run);
void plan_free(struct plan *); /* without its rows; NULL is fine */

#endif
