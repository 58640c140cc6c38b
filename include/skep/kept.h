/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/kept.h - what stays in the kernel while skepd is restarted (skep/pins.h) must not stay awake for ever: how both sides
 * agree on when it stops recording.  Kernel side: skep/bpf/kept.bpf.h, which has the map "kept".
 * User space: include <bpf/bpf.h> before it.
 *
 * asleep is also how one make of an object hands over to another: the new one is attached asleep; then the old one is
 * put to sleep, and then the new one is woken, so that no event is counted by both.
 */
#ifndef SKEP_KEPT_H
#define SKEP_KEPT_H

#include <linux/types.h>

/* The one value of the map "kept". */
struct skep_kept {
	__u64 until_ns; /* CLOCK_MONOTONIC, in which a host that is suspended does not age; 0: for as long as skepd runs */
	__u32 asleep;   /* 1: records nothing */
	__u32 layout;   /* the plugin's: which layout its maps and records have */
};

#ifndef __bpf__
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
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
	const struct skep_kept k = { for_ns ? skep_kept_now() + for_ns : 0, 0, layout };

	return skep_kept_set(fd, &k);
}

/* It records nothing from now on. */
static inline int skep_kept_sleep(int fd, uint32_t layout)
{
	const struct skep_kept k = { 0, 1, layout };

	return skep_kept_set(fd, &k);
}

/* It has stopped recording, as nobody came: what it holds has an end in the past that nobody knows. */
static inline bool skep_kept_asleep(int fd)
{
	struct skep_kept k;

	return skep_kept_get(fd, &k) || k.asleep || (k.until_ns && k.until_ns < skep_kept_now());
}
#endif

#endif
