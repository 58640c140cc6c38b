/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/counters.h - arithmetic on struct skep_counters that never goes below zero, and the kernel's way to split
 * exact CPU time into user and system.  Pure functions.
 */
#ifndef SKEP_CORE_COUNTERS_H
#define SKEP_CORE_COUNTERS_H

#include <skep/record.h>

/* *ret = a - b, each counter clamped at 0.  Returns the number of clamped counters.  ret may be a or b. */
unsigned counters_sub(const struct skep_counters *a, const struct skep_counters *b, struct skep_counters *ret);
/* Raises each counter of a to the larger value of a and b.  Returns the number of counters in which b was smaller. */
unsigned counters_raise(struct skep_counters *a, const struct skep_counters *b);
/*
 * The system part of cpu_ns, as cputime_adjust() (kernel/sched/cputime.c) scales the sampled ticks; the rest is the
 * user part.
 */
uint64_t counters_system_ns(const struct skep_counters *);
/*
 * Splits the CPU time between two readings into user and system.  *ret_user_ns + *ret_system_ns is exactly the
 * (clamped) difference of cpu_ns.
 */
void counters_split(const struct skep_counters *base, const struct skep_counters *end, uint64_t *ret_user_ns,
		    uint64_t *ret_system_ns);

#endif
