/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/idle.c - compares the sums of two looks.
 */
#include "core/process/idle.h"

#define NS_PER_S 1000000000u
#define GAP_PERIODS 4u

void activity_add(struct activity *to, const struct activity *a)
{
	to->cpu_ns += a->cpu_ns;
	to->bytes += a->bytes;
	to->others += a->others;
}

/* A sum can shrink by a little when an exact reading replaces an estimate. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static bool works(const struct activity *now, const struct activity *before, uint64_t ns)
{
	return grown(now->cpu_ns, before->cpu_ns) > ns / 1000u * IDLE_CORES_PERMILLE ||
	       grown(now->bytes, before->bytes) > ns * IDLE_BYTES_PER_S / NS_PER_S || now->others > before->others;
}

/* Moves the begin of the idle time over a gap. */
static uint64_t over_gap(uint64_t since_ns, uint64_t looked_ns, uint64_t period_ns, uint64_t now_ns)
{
	uint64_t gap_ns = grown(now_ns, looked_ns);

	return gap_ns > GAP_PERIODS * period_ns ? since_ns + gap_ns : since_ns;
}

uint64_t idle_look(struct idle *idle, const struct activity *now, uint64_t period_ns, uint64_t now_ns)
{
	if (idle->looked_ns == 0 || works(now, &idle->seen, grown(now_ns, idle->looked_ns)))
		idle->since_ns = now_ns;
	else
		idle->since_ns = over_gap(idle->since_ns, idle->looked_ns, period_ns, now_ns);
	idle->seen = *now;
	idle->looked_ns = now_ns;
	return grown(now_ns, idle->since_ns);
}

void idle_resume(struct idle *idle, const struct activity *now, uint64_t idle_ns, uint64_t now_ns)
{
	*idle = (struct idle){ .seen = *now, .looked_ns = now_ns, .since_ns = grown(now_ns, idle_ns) };
}

uint64_t gpu_idle_look(struct gpu_idle *idle, const struct gpu_use *now, uint64_t period_ns, uint64_t now_ns)
{
	uint64_t held_ns = grown(now->held_ns, idle->seen.held_ns);
	uint64_t known_ns = grown(now->known_ns, idle->seen.known_ns);

	/* The probe's passes and the looks are not of one moment: a look may come before the next pass. */
	if (idle->looked_ns && held_ns == 0 && now->busy_ns == idle->seen.busy_ns &&
	    grown(now_ns, idle->looked_ns) <= GAP_PERIODS * period_ns)
		return grown(idle->looked_ns, idle->since_ns);
	if (idle->looked_ns == 0 || now->busy_ns != idle->seen.busy_ns || held_ns == 0 ||
	    grown(held_ns, known_ns) > held_ns / 10)
		idle->since_ns = now_ns;
	else
		idle->since_ns = over_gap(idle->since_ns, idle->looked_ns, period_ns, now_ns);
	idle->seen = *now;
	idle->looked_ns = now_ns;
	return grown(now_ns, idle->since_ns);
}

void gpu_idle_resume(struct gpu_idle *idle, const struct gpu_use *now, uint64_t idle_ns, uint64_t now_ns)
{
	*idle = (struct gpu_idle){ .seen = *now, .looked_ns = now_ns, .since_ns = grown(now_ns, idle_ns) };
}
