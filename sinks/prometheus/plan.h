/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/plan.h - plans, from a stream's field table, how its records become metrics.
 */
#ifndef SKEP_SINKS_PROMETHEUS_PLAN_H
#define SKEP_SINKS_PROMETHEUS_PLAN_H

#include "sinks/prometheus/store.h"

/*
 * Returns the stream's plan, and makes it at the stream's first record.  When the field table has changed (a reload
 * replaced the plugin), drops the old plan with its rows; the sums then begin anew.  NULL: no memory.
 */
struct plan *plan_get(struct store *, const struct skep_stream *, bool with_run);
void plan_free(struct plan *); /* does not free the plan's rows; accepts NULL */

#endif
