/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/metrics.h - converts records to cumulative sums, levels and exponential histograms.
 *
 * The sink counts each batch once, and its request holds the sums of that moment.  So the sink may send the same bytes
 * again without counting twice, and the next point makes up for a lost point.
 */
#ifndef SKEP_SINKS_OTLP_METRICS_H
#define SKEP_SINKS_OTLP_METRICS_H

#include "sinks/otlp/group.h"
#include "sinks/otlp/view.h"

struct metrics {
	struct groups groups;
	struct plan **plans;
	size_t n_plans, last;
	uint64_t interval_ns; /* the period of a record that has no begin */
	bool by_run;          /* the run's id is an attribute of the points */
	uint64_t added;       /* records that metrics_add() has added to a group */
	char boot_id[37];     /* boot id of the latest batch */
	int64_t offset_ns;    /* realtime offset of the latest batch */
};

int metrics_init(struct metrics *, uint32_t most_groups, bool by_run, uint64_t interval_ns);
void metrics_free(struct metrics *);
/*
 * Call this before the records of a batch.  When the machine's clock was set back, all sums begin anew: their last
 * points are in the future, and further points would have to be later still until the clock catches up.
 */
void metrics_clock(struct metrics *, const char *boot_id, int64_t realtime_offset_ns);
/*
 * Adds a record to its group.  count false: the sums include the record already (a batch offered again in parts), so
 * the call only marks the group to be sent again.  Returns 0 or -ENOMEM.
 */
int metrics_add(struct metrics *, const struct skep_record *, const struct view *, int64_t realtime_offset_ns,
		bool count);
/* Writes Metrics (field 2 of ScopeMetrics) of all groups marked since the last call. Returns the number of points. */
uint32_t metrics_write(struct metrics *, struct pb *);

#endif
