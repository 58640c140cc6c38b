/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/counters.c - differences, maxima and the user/system split of process counters.
 */
#include "core/base/counters.h"

#define N_COUNTERS (sizeof(struct skep_counters) / sizeof(uint64_t))

/* All members have one type, so code can access them by number. */
union reading {
	struct skep_counters c;
	uint64_t v[N_COUNTERS];
};
_Static_assert(sizeof(union reading) == sizeof(struct skep_counters), "only uint64_t in struct skep_counters");

unsigned counters_sub(const struct skep_counters *a, const struct skep_counters *b, struct skep_counters *ret)
{
	union reading x = { .c = *a }, y = { .c = *b };
	unsigned clamped = 0;

	for (size_t i = 0; i < N_COUNTERS; i++) {
		if (x.v[i] < y.v[i]) {
			x.v[i] = 0;
			clamped++;
		} else {
			x.v[i] -= y.v[i];
		}
	}
	*ret = x.c;
	return clamped;
}

unsigned counters_raise(struct skep_counters *a, const struct skep_counters *b)
{
	union reading x = { .c = *a }, y = { .c = *b };
	unsigned smaller = 0;

	for (size_t i = 0; i < N_COUNTERS; i++) {
		if (y.v[i] < x.v[i])
			smaller++;
		else
			x.v[i] = y.v[i];
	}
	*a = x.c;
	return smaller;
}

uint64_t counters_system_ns(const struct skep_counters *c)
{
	/* The order of the tests is the kernel's: without system ticks all of it is user time, even with no ticks. */
	if (c->stime_ns == 0)
		return 0;
	if (c->utime_ns == 0)
		return c->cpu_ns;
	/* 128 bits: ns times ns exceeds 64 bits after 4.3 s, and so may the sum of two hostile values. */
	return (uint64_t)((unsigned __int128)c->cpu_ns * c->stime_ns /
			  ((unsigned __int128)c->stime_ns + c->utime_ns));
}

void counters_split(const struct skep_counters *base, const struct skep_counters *end, uint64_t *ret_user_ns,
		    uint64_t *ret_system_ns)
{
	uint64_t cpu = end->cpu_ns > base->cpu_ns ? end->cpu_ns - base->cpu_ns : 0;
	uint64_t before = counters_system_ns(base), after = counters_system_ns(end);
	/* The ratio of ticks moves, so the scaled halves may step back between two readings; the total never does. */
	uint64_t system = after > before ? after - before : 0;

	if (system > cpu)
		system = cpu;
	*ret_system_ns = system;
	*ret_user_ns = cpu - system;
}
