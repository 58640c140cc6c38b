/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_intervals.h - what the processes of a run did together in each interval.
 */
#ifndef SKEP_CLI_REPORT_INTERVALS_H
#define SKEP_CLI_REPORT_INTERVALS_H

#include "lake/lake.h"

struct report_interval {
	uint64_t start_ns, interval_ns;
	uint64_t net_bytes;   /* received and sent, loopback left out */
	uint64_t gpu_busy_ns; /* time in which a kernel ran, summed over devices */
	bool gpu_known;       /* a process held a GPU */
};
/*
 * Lists intervals of one length from the first sample of a process to the last one; each begins where the previous one
 * ends, and the last one may be shorter.  A sample is spread evenly over its own time, and its whole amount is kept.
 * The caller frees the list. 0 or -ENOMEM.
 */
int report_intervals(const struct lake_report *, struct report_interval **ret, size_t *ret_n);

#endif
