/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/metrics.h - records into cumulative sums, levels and exponential histograms.
 *
 * Each batch is counted once.  Its request has the sums of that moment.  So the same bytes may be sent again without
 * counting twice, and the next point makes up for a point that never arrived.
 */
#ifndef SKEP_SINKS_OTLP_METRICS_H
#define SKEP_SINKS_OTLP_METRICS_H

#include "sinks/otlp/group.h"
#include "sinks/otlp/view.h"

struct metrics {
	struct groups groups;
	struct plan **plans;
	size_t n_plans, last;
	uint64_t interval_ns; /* what a record without a begin is about */
	bool by_run;          /* the run's id is an attribute */
	char boot_id[37];     /* of the latest batch */
	int64_t offset_ns;    /* its realtime offset */
};

int metrics_init(struct metrics *, uint32_t most_groups, bool by_run, uint64_t interval_ns);
void metrics_free(struct metrics *);
/*
 * Before the records of a batch.  Where the machine's clock was set back all sums begin anew: their last points are in
 * the future now, and each further point would follow them there until the clock has caught up.
 */
void metrics_clock(struct metrics *, const char *boot_id, int64_t realtime_offset_ns);
/*
 * count false: the sums include the record already (a batch that is offered again in parts): only marks its groups to
 * be sent again. 0 or -ENOMEM.
 */
int metrics_add(struct metrics *, const struct skep_record *, const struct view *, int64_t realtime_offset_ns,
		bool count);
/* Metrics (field 2 of ScopeMetrics) of all groups that were added to since the last time. The number of points. */
uint32_t metrics_write(struct metrics *, struct pb *);

#endif
