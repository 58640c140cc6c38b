/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/hierarchy.h - which controllers are on cgroup v1. Private: not installed.
 */
#ifndef SKEP_SDK_HIERARCHY_H
#define SKEP_SDK_HIERARCHY_H

/*
 * Reads ROOT/proc/cgroups: the number of the v1 hierarchy that has the controller. 0: v2 has it, or no hierarchy, as of
 * a controller that the kernel lacks or has disabled. The hierarchy of "memory" gives processes' cgroups their ids.
 */
unsigned skep_hierarchy_v1(const char *root, const char *controller);

#endif
