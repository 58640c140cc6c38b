/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/counters.h - arithmetic on struct skep_counters that never goes below zero, and
 * the kernel's way to divide exact CPU time into user and system.  Pure.
 */
#ifndef SKEP_CORE_COUNTERS_H
#define SKEP_CORE_COUNTERS_H

#include <skep/record.h>

/* a - b, each clamped at 0. Returns how many were clamped. ret may be a or b. */
unsigned counters_sub(const struct skep_counters *a, const struct skep_counters *b, struct skep_counters *ret);
/* a = the larger of a and b, each. Returns in how many b was the smaller. */
unsigned counters_raise(struct skep_counters *a, const struct skep_counters *b);
/*
 * system part of cpu_ns as cputime_adjust (kernel/sched/cputime.c) scales the sampled
 * halves; the user part is the rest.
 */
uint64_t counters_system_ns(const struct skep_counters *);
/*
 * The halves of what was used between two readings; *ret_user_ns + *ret_system_ns is
 * exactly the (clamped) difference of cpu_ns.
 */
void counters_split(const struct skep_counters *base, const struct skep_counters *end, uint64_t *ret_user_ns,
		    uint64_t *ret_system_ns);

#endif
