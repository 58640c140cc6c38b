/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/plan.h - what a stream's records are turned into, from its field table.
 */
#ifndef SKEP_SINKS_PROMETHEUS_PLAN_H
#define SKEP_SINKS_PROMETHEUS_PLAN_H

#include "sinks/prometheus/store.h"

/*
 * The plan for this stream: the one that there is, or a new one.  A table that has changed (a plugin was exchanged)
 * drops the old plan with its rows: they begin anew.  NULL: no memory.
 */
struct plan *plan_get(struct store *, const struct skep_stream *, bool with_run);
void plan_free(struct plan *); /* without its rows; NULL is fine */

#endif
