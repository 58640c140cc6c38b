/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_intervals.h - what the processes of a run did together in each interval.
 */
#ifndef SKEP_CLI_REPORT_INTERVALS_H
#define SKEP_CLI_REPORT_INTERVALS_H

#include "lake/lake.h"

struct report_interval {
	uint64_t end_ns, interval_ns;
	uint64_t net_bytes;   /* received and sent, loopback left out */
	uint64_t gpu_busy_ns; /* time in which a kernel ran, summed over devices */
	bool gpu_known;       /* a process held a GPU */
};
/* Lists the intervals of the run's samples of processes, by time; the caller frees the list. 0 or -ENOMEM. */
int report_intervals(const struct lake_report *, struct report_interval **ret, size_t *ret_n);

#endif
