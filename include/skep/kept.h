/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/kept.h - what stays in the kernel while skepd is restarted (skep/pins.h) must not stay awake for ever: how both sides
 * agree on when it stops recording.  Kernel side: skep/bpf/kept.bpf.h, which has the maps "kept" and "unattended".
 * User space: include <bpf/bpf.h> and <bpf/libbpf.h> before it; skep/pins.h reports what the kernel side did not record.
 *
 * asleep is also how one make of an object hands over to another: the new one is attached asleep; then the old one is
 * put to sleep, and then the new one is woken, so that no event is counted by both.
 */
#ifndef SKEP_KEPT_H
#define SKEP_KEPT_H

#include <linux/types.h>

enum skep_kept_state {
	SKEP_KEPT_AWAKE,
	SKEP_KEPT_ASLEEP,  /* records nothing: another build of the object does */
	SKEP_KEPT_EXPIRED, /* records nothing, as no skepd read until until_ns: counts in the map "unattended" */
};

/* The one value of the map "kept". */
struct skep_kept {
	__u64 until_ns; /* CLOCK_MONOTONIC, in which a host that is suspended does not age; 0: for as long as skepd runs */
	__u32 asleep;   /* enum skep_kept_state */
	__u32 layout;   /* the plugin's: which layout its maps and records have */
};

#define SKEP_KEPT_KINDS 8u
#define SKEP_KEPT_UNCOUNTED (SKEP_KEPT_KINDS - 1) /* the kind of events whose loss another hook counts: never reported */

/* The one value of the map "unattended", on each CPU: events that hooks did not record after until_ns. */
struct skep_unattended {
	__u64 n[SKEP_KEPT_KINDS]; /* by kind, which the plugin numbers */
};

#ifndef __bpf__
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t skep_kept_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* fd: of the map "kept". 0 or -errno. */
static inline int skep_kept_get(int fd, struct skep_kept *ret)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(fd, &zero, ret) ? -errno : 0;
}

static inline int skep_kept_set(int fd, const struct skep_kept *k)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, k, BPF_ANY) ? -errno : 0;
}

/* Somebody is there: awake from now on, and for_ns after the last such call; 0: without end. */
static inline int skep_kept_touch(int fd, uint32_t layout, uint64_t for_ns)
{
	const struct skep_kept k = { for_ns ? skep_kept_now() + for_ns : 0, SKEP_KEPT_AWAKE, layout };

	return skep_kept_set(fd, &k);
}

/* It records nothing from now on. */
static inline int skep_kept_sleep(int fd, uint32_t layout)
{
	const struct skep_kept k = { 0, SKEP_KEPT_ASLEEP, layout };

	return skep_kept_set(fd, &k);
}

/* Has it stopped recording, as no skepd read?  Before its first event after until_ns the kernel side does not say so itself. */
static inline bool skep_kept_expired(const struct skep_kept *k)
{
	return k->asleep == SKEP_KEPT_EXPIRED || (k->asleep == SKEP_KEPT_AWAKE && k->until_ns && k->until_ns < skep_kept_now());
}

/* Drains the map "unattended": its sums over all CPUs go to ret and start again from 0. Untouched on failure. */
static inline int skep_kept_drain_unattended(int fd, uint64_t ret[SKEP_KEPT_KINDS])
{
	int cpus = libbpf_num_possible_cpus(), err = -ENOMEM;
	struct skep_unattended *of_cpu = cpus > 0 ? (struct skep_unattended *)calloc((size_t)cpus, sizeof(*of_cpu)) : NULL;
	uint64_t sums[SKEP_KEPT_KINDS] = { 0 };
	uint32_t zero = 0;

	if (!of_cpu)
		return cpus < 0 ? cpus : err;
	err = bpf_map_lookup_elem(fd, &zero, of_cpu) ? -errno : 0;
	for (int cpu = 0; !err && cpu < cpus; cpu++)
		for (unsigned kind = 0; kind < SKEP_KEPT_KINDS; kind++) {
			sums[kind] += of_cpu[cpu].n[kind];
			of_cpu[cpu].n[kind] = 0;
		}
	if (!err)
		err = bpf_map_update_elem(fd, &zero, of_cpu, BPF_ANY) ? -errno : 0;
	for (unsigned kind = 0; !err && kind < SKEP_KEPT_KINDS; kind++)
		ret[kind] = sums[kind];
	free(of_cpu);
	return err;
}
#endif

#endif
