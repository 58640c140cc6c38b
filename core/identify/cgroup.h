/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/cgroup.h - cgroup id -> path: what probes teach, and for the rest the inode numbers
 * of the mounted hierarchy, which are the ids.  Bounded: what was not asked for the
 * longest goes first.  And what each path names: its container.
 */
#ifndef SKEP_CORE_CGROUP_H
#define SKEP_CORE_CGROUP_H

#include <skep/record.h>

#include "core/identify/container.h"

#define CGROUP_MAX 16384u

struct cgroups;

/* mountinfo: the file that says where hierarchies are mounted, NULL: /proc/self/mountinfo. */
struct cgroups *cgroups_new(const char *mountinfo);
struct cgroups *cgroups_free(struct cgroups *);
void cgroups_tick(struct cgroups *, uint64_t now_ns); /* a few times a second: goes on with a walk under way */

bool cgroups_known(struct cgroups *, uint64_t id, const struct skep_str *path); /* path may be NULL; else learnt */
/*
 * The path, borrowed until the next call; empty where unknown.  An unknown id causes a walk over the hierarchy, at most
 * one a second.  Where there are more cgroups than 10 ms suffice for, the walk goes on with later questions and ticks,
 * for a 25th of the time.  An id that a whole walk has not met is not looked for during the next minute.
 */
struct skep_str cgroups_path(struct cgroups *, uint64_t id, uint64_t now_ns);
/* The id of the cgroup with that path, 0: there is none. Walks like cgroups_path. */
uint64_t cgroups_id(struct cgroups *, const char *path, uint64_t now_ns);

/* The table that says what paths name; borrowed. Another one: what was found by the one before is asked anew. */
void cgroups_identify(struct cgroups *, const struct containers *);
/*
 * What the cgroup's path names, NULL: nothing, or the path is not known.  Found once for each
 * cgroup; borrowed until the next call.  An unknown id costs the same as with cgroups_path.
 */
const struct container *cgroups_container(struct cgroups *, uint64_t id, uint64_t now_ns);
/* of its container; empty: none */
struct skep_str cgroups_container_id(struct cgroups *, uint64_t id, uint64_t now_ns);

size_t cgroups_count(const struct cgroups *);

#endif
