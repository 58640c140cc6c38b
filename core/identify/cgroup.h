/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/cgroup.h - maps cgroup ids to paths, and paths to containers. Probes report some paths; for
 * other ids skep walks the mounted hierarchy, whose inode numbers are the ids. The table is bounded and drops
 * the least recently used entry first.
 */
#ifndef SKEP_CORE_CGROUP_H
#define SKEP_CORE_CGROUP_H

#include <skep/record.h>

#include "core/identify/cgroup_limit.h"
#include "core/identify/container.h"

#define CGROUP_MAX 16384u

struct cgroups;

/* mountinfo: the file that lists the mounted hierarchies; NULL: /proc/self/mountinfo. */
struct cgroups *cgroups_new(const char *mountinfo);
struct cgroups *cgroups_free(struct cgroups *);
void cgroups_tick(struct cgroups *, uint64_t now_ns); /* call a few times a second: continues a walk in progress */

/* true: the id is known; path: a path to store for it, may be NULL */
bool cgroups_known(struct cgroups *, uint64_t id, const struct skep_str *path);
/*
 * The path of a cgroup, borrowed until the next call; empty: unknown. An unknown id starts a walk of the
 * hierarchy, at most once a second. A walk that needs more than 10 ms continues in later calls and ticks, for a
 * 25th of the time. When a whole walk has not met an id, skep does not search for it for one minute.
 */
struct skep_str cgroups_path(struct cgroups *, uint64_t id, uint64_t now_ns);
/* The id of the cgroup with this path; 0: no such cgroup. */
uint64_t cgroups_id(struct cgroups *, const char *path, uint64_t now_ns);

/* Sets the table that names containers; borrowed. A new table discards what the previous table found. */
void cgroups_identify(struct cgroups *, const struct containers *);
/*
 * The container, pod, unit and job that the cgroup's path names; NULL: none, or the path is unknown. Found once for
 * each cgroup; borrowed until the next call. An unknown id costs as much as in cgroups_path.
 */
const struct container *cgroups_container(struct cgroups *, uint64_t id, uint64_t now_ns);
/* The id of the cgroup's container; empty: none. */
struct skep_str cgroups_container_id(struct cgroups *, uint64_t id, uint64_t now_ns);

/*
 * The limits that apply to a process but not to its starter: the limits of the cgroup's container, pod and unit if the
 * cgroup `starter` is outside of them; with `job` also of the scheduler's job. Limits of a slice or of a user's session
 * are left out, because other processes share them. A limit above the host's size is no limit. false: a runtime may set
 * limits a moment after it made the cgroup, so ask again at the next exec.
 */
bool cgroups_limits(struct cgroups *, uint64_t id, uint64_t starter, bool job, uint64_t now_ns,
		    struct cgroup_limits *ret);

size_t cgroups_count(const struct cgroups *);

#endif
