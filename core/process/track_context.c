/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_context.c - the context that every record about a process has: run, pipeline, task, tool,
 * container.
 */
#include <string.h>

#include "core/process/track_priv.h"

static struct skep_str container(const struct track *t, const struct proc *p)
{
	struct skep_str path = intern_str(p->cgroup);

	/* The path came with an exec, and the cache of cgroups may have dropped it since. */
	if (path.len > 0 && !cgroups_known(t->env.cgroups, p->cgroup_id, NULL))
		cgroups_known(t->env.cgroups, p->cgroup_id, &path);
	return cgroups_container_id(t->env.cgroups, p->cgroup_id, t->now_ns);
}

void track_proc_context(const struct track *t, const struct proc *p, struct skep_context *ret)
{
	*ret = (struct skep_context){
		.size = sizeof(*ret),
		.payer = p->payer,
		.run = text_str(p->run ? p->run->id : ""),
		.pipeline = text_str(p->run ? p->run->pipeline : ""),
		.task = intern_str(p->task ? p->task->name : NULL),
		.tool = intern_str(p->program ? p->program->tool : NULL),
		.container = container(t, p),
		.realtime_offset_ns = p->run ? p->run->realtime_offset_ns : 0,
	};
}

void track_context(const struct track *t, const struct skep_upid *upid, struct skep_context *ret)
{
	const struct proc *p = proctab_find(t->table, upid);

	if (p)
		track_proc_context(t, p, ret);
	else
		*ret = (struct skep_context){ .size = sizeof(*ret), .payer = SKEP_NOBODY };
}

/* systemd keeps a user's cgroups in a slice of that user; rootless containers are there too. */
static uint32_t payer_of_cgroup(struct skep_str path)
{
	static const char before[] = "/user-";
	const char *at = memmem(path.ptr, path.len, before, strlen(before)), *end = path.ptr + path.len;
	uint64_t uid = 0;

	if (!at)
		return SKEP_NOBODY;
	for (at += strlen(before); at < end && *at >= '0' && *at <= '9' && uid < SKEP_NOBODY; at++)
		uid = uid * 10 + (uint64_t)(*at - '0');
	return end - at >= 6 && memcmp(at, ".slice", 6) == 0 && uid < SKEP_NOBODY ? (uint32_t)uid : SKEP_NOBODY;
}

void track_cgroup_context(const struct track *t, uint64_t cgroup_id, struct skep_context *ret)
{
	*ret = (struct skep_context){
		.size = sizeof(*ret),
		.payer = payer_of_cgroup(cgroups_path(t->env.cgroups, cgroup_id, t->now_ns)),
		.container = cgroups_container_id(t->env.cgroups, cgroup_id, t->now_ns),
	};
}
