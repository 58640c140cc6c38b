/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/accuracy.h - the accuracy of a report in numbers, for the text and the JSON.
 */
#ifndef SKEP_CLI_ACCURACY_H
#define SKEP_CLI_ACCURACY_H

#include "analysis/family.h"

struct accuracy {
	uint64_t processes; /* with a record */
	uint64_t cpu_exact; /* of these: CPU is the kernel's own final figure */
	uint64_t missing;   /* processes whose begin skep saw, but that have no record; only of ended runs */
	uint64_t lost;      /* records lost, summed over all places */
	bool wait4_known;   /* wait4's figure covers the same processes as ours */
	uint64_t wait4_cpu_ns;
	uint64_t wait4_difference_ns; /* |ours - wait4's| */
};

void accuracy_of(const struct family *, struct accuracy *ret);
/* The last time in the report: the run's end, else the latest of its records; never before its start. */
uint64_t accuracy_end(const struct lake_report *);

#endif
