/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/cgroup/cgroup.h - the events of the kernel side: cgroups that begin, fall empty and end.
 */
#ifndef SKEP_CGROUP_H
#define SKEP_CGROUP_H

#include <linux/types.h>

/* TRACE_CGROUP_PATH_LEN, kernel/cgroup/cgroup-internal.h, since 4.19: the kernel cuts longer paths there. */
#define CGROUP_PATH_ROOM 1024
/* At most one event in this time for a cgroup that falls empty again and again. */
#define CGROUP_EMPTY_EVERY_NS 100000000ull

enum cgroup_event_type {
	CGROUP_BEGUN = 1,
	CGROUP_RENAMED,   /* v1 only */
	CGROUP_EMPTY,     /* its last process has left */
	CGROUP_GONE,
};

#define CGROUP_WANTED 1u  /* a process that is not excluded made or joined it */
#define CGROUP_BORN 2u    /* GONE: it began while the probe watched, so its counters began at 0 */
#define CGROUP_MEMORY 4u  /* GONE: the memory figures are valid */
#define CGROUP_CPU 8u     /* GONE: the throttling figures are valid */

struct cgroup_event {
	__u64 time_ns; /* CLOCK_BOOTTIME */
	__u64 id;
	__u32 type;
	__u32 flags;
	/* of GONE: the last values, since the cgroup began */
	__u64 usage_pages, peak_pages, limit_pages;
	__u64 max_events, high_events, oom_events, oom_kills;
	__u64 periods, throttled_periods, throttled_ns;
	__u32 path_len; /* with its NUL; the path is behind this struct */
	__u32 reserved;
};

struct cgroup_seen {
	__u64 empty_ns; /* time of the last event EMPTY */
	__u64 flags;    /* CGROUP_WANTED, CGROUP_BORN */
};

#endif
