/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/cgroup/cgroup.h - what the kernel side tells: cgroups that begin, fall empty and end.
 */
#ifndef SKEP_CGROUP_H
#define SKEP_CGROUP_H

#include <linux/types.h>

#define CGROUP_PATH_ROOM \
	1024 /* TRACE_CGROUP_PATH_LEN, kernel/cgroup/cgroup-internal.h, since 4.19: longer ones are cut there */
#define CGROUP_EMPTY_EVERY_NS 100000000ull /* one that falls empty again and again is told of so often */

enum cgroup_event_type {
	CGROUP_BEGUN = 1,
	CGROUP_RENAMED,   /* v1 only */
	CGROUP_EMPTY,     /* its last process has left */
	CGROUP_GONE,
};

#define CGROUP_WANTED 1u  /* a process that is not excluded made it or came into it */
#define CGROUP_BORN 2u    /* GONE: it began while we watched, so its counters began at 0 */
#define CGROUP_MEMORY 4u  /* GONE: the memory figures are given */
#define CGROUP_CPU 8u     /* GONE: those about throttling */

struct cgroup_event {
	__u64 time_ns; /* CLOCK_BOOTTIME */
	__u64 id;
	__u32 type;
	__u32 flags;
	/* of GONE, as they stood at the end; since the cgroup began */
	__u64 usage_pages, peak_pages, limit_pages;
	__u64 max_events, high_events, oom_events, oom_kills;
	__u64 periods, throttled_periods, throttled_ns;
	__u32 path_len; /* with its NUL; behind this struct */
	__u32 reserved;
};

struct cgroup_seen {
	__u64 empty_ns; /* when it was last told that it is empty */
	__u64 flags;    /* CGROUP_WANTED, CGROUP_BORN */
};

#endif
