/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_cgroup.c - lists the cgroups that have live processes.
 */
#include <errno.h>
#include <skep/hash.h>
#include <stdlib.h>

#include "core/process/track_priv.h"

/* Adds an id to a set with open addressing, if it is new.  0 is no id. */
static bool add(const struct skep_hash_key *key, uint64_t *set, size_t mask, uint64_t id)
{
	size_t at = skep_hash_number(key, id) & mask;

	while (set[at] && set[at] != id)
		at = (at + 1) & mask;
	if (set[at])
		return false;
	set[at] = id;
	return true;
}

int track_cgroups_live(struct track *t, uint64_t now_ns,
		       void (*cb)(void *arg, uint64_t cgroup_id, const struct skep_str *path), void *arg)
{
	const struct skep_hash_key key = skep_hash_key_new();
	size_t room = 64;
	uint64_t *set;

	while (room < proctab_count(t->table) * 2)
		room *= 2;
	set = calloc(room, sizeof(*set));
	if (!set)
		return -ENOMEM;
	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		struct skep_str path;

		if (p->cgroup_id == 0 || (p->flags & (PROC_EXITED | PROC_FINAL | PROC_MUTED)) ||
		    !add(&key, set, room - 1, p->cgroup_id))
			continue;
		path = cgroups_path(t->env.cgroups, p->cgroup_id, now_ns);
		cb(arg, p->cgroup_id, &path);
	}
	free(set);
	return 0;
}
