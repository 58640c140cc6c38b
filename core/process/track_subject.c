/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_subject.c - presents a process of the table, and its ancestors, to the rule evaluation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules/rule_eval.h"
#include "core/process/track_priv.h"

/* A process and those of its ancestors that a rule has asked for. */
struct track_subjects {
	const struct track *track;
	struct rule_subject subjects[FILTER_ANCESTORS + 1];
	const struct proc *procs[FILTER_ANCESTORS + 1];
	unsigned n;
	uint64_t now_ns;
	/* Copies: the cache of cgroups lends a text only until the next call. */
	char task[TASK_NAME_MOST];
	char cgroup[FILTER_ANCESTORS + 1][1024], container[FILTER_ANCESTORS + 1][72];
};

static void set_interned(struct rule_subject *s, enum rule_field field, const struct interned *text)
{
	if (text)
		rule_subject_set_text(s, field, text->text, text->len);
}

/* Sets a field that is always known; an empty text: the process has none. */
static void set_place(struct rule_subject *s, enum rule_field field, const char *text)
{
	rule_subject_set_text(s, field, text ? text : "", text ? strlen(text) : 0);
}

static void set_program(struct rule_subject *s, const struct program *program)
{
	if (!program)
		return;
	set_interned(s, RULE_FIELD_TOOL, program->tool);
	set_interned(s, RULE_FIELD_EXE, program->exe);
	set_interned(s, RULE_FIELD_FILENAME, program->filename);
	if (program->argv_len)
		rule_subject_set_text(s, RULE_FIELD_ARGV, program->argv, program->argv_len);
	rule_subject_set_wrapper(s, program->wrapper);
}

static void set_cgroup(struct track_subjects *chain, unsigned at, uint64_t id)
{
	struct rule_subject *s = &chain->subjects[at];
	struct skep_str path, container;

	if (!id)
		return;
	path = cgroups_path(chain->track->env.cgroups, id, chain->now_ns);
	/* longer than any path that a container runtime makes: leaves the field unknown */
	if (!path.len || path.len > sizeof(chain->cgroup[at]))
		return;
	memcpy(chain->cgroup[at], path.ptr, path.len);
	rule_subject_set_text(s, RULE_FIELD_CGROUP, chain->cgroup[at], path.len);
	container = cgroups_container_id(chain->track->env.cgroups, id, chain->now_ns);
	if (container.len >= sizeof(chain->container[at]))
		container.len = sizeof(chain->container[at]) - 1;
	if (container.len)
		memcpy(chain->container[at], container.ptr, container.len);
	rule_subject_set_text(s, RULE_FIELD_CONTAINER, chain->container[at], container.len);
}

static void set_proc(struct rule_subject *s, const struct proc *p)
{
	set_place(s, RULE_FIELD_RUN, p->run ? p->run->id : NULL);
	set_place(s, RULE_FIELD_PIPELINE, p->run ? p->run->pipeline : NULL);
	set_place(s, RULE_FIELD_TASK, p->task ? p->task->name->text : p->task_name ? p->task_name->text : NULL);
	rule_subject_set_number(s, RULE_FIELD_PID, p->upid.pid);
	if (p->parent.pid)
		rule_subject_set_number(s, RULE_FIELD_PPID, p->parent.pid);
}

static const struct rule_subject *parent_of(const struct rule_subject *subject)
{
	struct track_subjects *chain = subject->owner;
	unsigned at = (unsigned)(subject - chain->subjects);
	const struct proc *p = chain->procs[at], *parent;
	struct rule_subject *s;

	if (at + 1 < chain->n)
		return &chain->subjects[at + 1];
	if (at + 1 > FILTER_ANCESTORS || !p || p->parent.pid == 0 )
		return NULL;
	parent = proctab_find(chain->track->table, &p->parent);
	if (!parent || parent == p)
		return NULL;
	s = &chain->subjects[chain->n];
	*s = (struct rule_subject) { .users = rule_eval_users(chain->track->env.rule_eval),
				     .parent = parent_of,
				     .owner = chain };
	chain->procs[chain->n] = parent;
	set_proc(s, parent);
	set_program(s, parent->program);
	set_interned(s, RULE_FIELD_COMM, parent->comm);
	set_interned(s, RULE_FIELD_CWD, parent->cwd);
	set_cgroup(chain, chain->n, parent->cgroup_id);
	rule_subject_set_number(s, RULE_FIELD_UID, parent->uid);
	rule_subject_set_number(s, RULE_FIELD_GID, parent->gid);
	rule_subject_set_number(s, RULE_FIELD_SESSION, parent->session);
	chain->n++;
	return s;
}

static const struct rule_subject *subject_of(void *arg, const struct rule_case *c)
{
	struct track_subjects *chain = arg;
	struct rule_subject *s = &chain->subjects[0];

	*s = (struct rule_subject) { .users = rule_eval_users(chain->track->env.rule_eval),
				     .parent = parent_of,
				     .owner = chain };
	chain->procs[0] = c->proc;
	chain->n = 1;
	chain->now_ns = c->now_ns;
	set_proc(s, c->proc);
	if (c->task.ptr) {
		struct skep_str name = task_name(&c->task, chain->task);

		rule_subject_set_text(s, RULE_FIELD_TASK, name.ptr, name.len);
	}
	set_program(s, c->program);
	if (c->comm.len)
		rule_subject_set_text(s, RULE_FIELD_COMM, c->comm.ptr, c->comm.len);
	if (c->cwd.len)
		rule_subject_set_text(s, RULE_FIELD_CWD, c->cwd.ptr, c->cwd.len);
	set_cgroup(chain, 0, c->cgroup_id);
	rule_subject_set_number(s, RULE_FIELD_UID, c->uid);
	rule_subject_set_number(s, RULE_FIELD_GID, c->gid);
	rule_subject_set_number(s, RULE_FIELD_SESSION, c->session);
	if (c->mount_ns)
		rule_subject_set_number(s, RULE_FIELD_MOUNT_NS, c->mount_ns);
	if (c->pid_ns)
		rule_subject_set_number(s, RULE_FIELD_PID_NS, c->pid_ns);
	return s;
}

int track_rules(struct track *t, struct rule_eval *rule_eval)
{
	t->subjects = calloc(1, sizeof(*t->subjects));
	if (!t->subjects)
		return -ENOMEM;
	t->subjects->track = t;
	t->env.rule_eval = rule_eval;
	rule_eval_subjects(rule_eval, subject_of, t->subjects);
	return 0;
}
