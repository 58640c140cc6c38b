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
		.run = text_str(p->run ? p->run->id : ""),
		.pipeline = text_str(p->run ? p->run->pipeline : ""),
		.task = intern_str(p->task ? p->task->name : NULL),
		.tool = intern_str(p->program ? p->program->tool : NULL),
		.container = container(t, p),
	};
}

void track_context(const struct track *t, const struct skep_upid *upid, struct skep_context *ret)
{
	const struct proc *p = proctab_find(t->table, upid);

	if (p)
		track_proc_context(t, p, ret);
	else
		*ret = (struct skep_context){ .size = sizeof(*ret) };
}

void track_cgroup_context(const struct track *t, uint64_t cgroup_id, struct skep_context *ret)
{
	*ret = (struct skep_context){
		.size = sizeof(*ret),
		.container = cgroups_container_id(t->env.cgroups, cgroup_id, t->now_ns),
	};
}
