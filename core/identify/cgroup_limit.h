/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/cgroup_limit.h - the limits of memory and CPU time of one cgroup.
 */
#ifndef SKEP_CORE_CGROUP_LIMIT_H
#define SKEP_CORE_CGROUP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup_limits {
	uint64_t milli_cpus, memory_bytes; /* 0: no limit */
};

/* folder: of the cgroup, in the hierarchy of that controller. unified: cgroup v2. 0: no limit. */
uint64_t cgroup_limit_memory(const char *folder, bool unified); /* bytes */
uint64_t cgroup_limit_cpu(const char *folder, bool unified);    /* thousandths of a CPU */

#endif
