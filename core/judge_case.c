/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/judge_case.c - a process of the table, and its ancestors, as rules see them.
 */
#include <string.h>

#include "core/judge_priv.h"

static void set_interned(struct judge_subject *s, enum judge_field field, const struct interned *text)
{
	if (text)
		judge_set_text(s, field, text->text, text->len);
}

/* An empty text: known, and there is none. */
static void set_place(struct judge_subject *s, enum judge_field field, const char *text)
{
	judge_set_text(s, field, text ? text : "", text ? strlen(text) : 0);
}

static void set_program(struct judge_subject *s, const struct program *program)
{
	if (!program)
		return;
	set_interned(s, JUDGE_TOOL, program->tool);
	set_interned(s, JUDGE_EXE, program->exe);
	set_interned(s, JUDGE_FILENAME, program->filename);
	if (program->argv_len)
		judge_set_text(s, JUDGE_ARGV, program->argv, program->argv_len);
	judge_set_wrapper(s, program->wrapper);
}

static void set_cgroup(struct judge_chain *chain, unsigned at, uint64_t id)
{
	struct judge_subject *s = &chain->subjects[at];
	struct skep_str path, container;

	if (!id)
		return;
	path = cgroups_path(chain->judge->env.cgroups, id, chain->now_ns);
	if (!path.len || path.len > sizeof(chain->cgroup[at])) /* longer than any that a container runtime makes: as if not known */
		return;
	memcpy(chain->cgroup[at], path.ptr, path.len);
	judge_set_text(s, JUDGE_CGROUP, chain->cgroup[at], path.len);
	container = cgroups_container_id(chain->judge->env.cgroups, id, chain->now_ns);
	if (container.len >= sizeof(chain->container[at]))
		container.len = sizeof(chain->container[at]) - 1;
	if (container.len)
		memcpy(chain->container[at], container.ptr, container.len);
	judge_set_text(s, JUDGE_CONTAINER, chain->container[at], container.len);
}

static void set_proc(struct judge_subject *s, const struct proc *p)
{
	set_place(s, JUDGE_RUN, p->run ? p->run->id : NULL);
	set_place(s, JUDGE_PIPELINE, p->run ? p->run->pipeline : NULL);
	set_place(s, JUDGE_TASK, p->task ? p->task->name->text : p->task_name ? p->task_name->text : NULL);
	judge_set_number(s, JUDGE_PID, p->upid.pid);
	if (p->parent.pid)
		judge_set_number(s, JUDGE_PPID, p->parent.pid);
}

static const struct judge_subject *parent_of(const struct judge_subject *subject)
{
	struct judge_chain *chain = subject->owner;
	unsigned at = (unsigned)(subject - chain->subjects);
	const struct proc *p = chain->procs[at], *parent;
	struct judge_subject *s;

	if (at + 1 < chain->n)
		return &chain->subjects[at + 1];
	if (at + 1 > FILTER_ANCESTORS || !p || p->parent.pid == 0 || !chain->judge->env.table)
		return NULL;
	parent = proctab_find(chain->judge->env.table, &p->parent);
	if (!parent || parent == p)
		return NULL;
	s = &chain->subjects[chain->n];
	*s = (struct judge_subject){ .users = chain->judge->users, .parent = parent_of, .owner = chain };
	chain->procs[chain->n] = parent;
	set_proc(s, parent);
	set_program(s, parent->program);
	set_interned(s, JUDGE_COMM, parent->comm);
	set_interned(s, JUDGE_CWD, parent->cwd);
	set_cgroup(chain, chain->n, parent->cgroup_id);
	judge_set_number(s, JUDGE_UID, parent->uid);
	judge_set_number(s, JUDGE_GID, parent->gid);
	judge_set_number(s, JUDGE_SESSION, parent->session);
	chain->n++;
	return s;
}

const struct judge_subject *judge_case_subject(struct judge *j, const struct judge_case *c)
{
	struct judge_chain *chain = &j->chain;
	struct judge_subject *s = &chain->subjects[0];

	*s = (struct judge_subject){ .users = j->users, .parent = parent_of, .owner = chain };
	chain->judge = j;
	chain->procs[0] = c->proc;
	chain->n = 1;
	chain->now_ns = c->now_ns;
	set_proc(s, c->proc);
	if (c->task.ptr) {
		struct skep_str name = task_name(&c->task, chain->task);

		judge_set_text(s, JUDGE_TASK, name.ptr, name.len);
	}
	set_program(s, c->program);
	if (c->comm.len)
		judge_set_text(s, JUDGE_COMM, c->comm.ptr, c->comm.len);
	if (c->cwd.len)
		judge_set_text(s, JUDGE_CWD, c->cwd.ptr, c->cwd.len);
	set_cgroup(chain, 0, c->cgroup_id);
	judge_set_number(s, JUDGE_UID, c->uid);
	judge_set_number(s, JUDGE_GID, c->gid);
	judge_set_number(s, JUDGE_SESSION, c->session);
	if (c->mount_ns)
		judge_set_number(s, JUDGE_MOUNT_NS, c->mount_ns);
	if (c->pid_ns)
		judge_set_number(s, JUDGE_PID_NS, c->pid_ns);
	return s;
}
