/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_container.c - name and image of the container in which a process is.
 *
 * podman starts conmon, and conmon the container, so a process inherits conmon's arguments like a task. A name counts
 * only in the container whose id is among the same arguments. So a user's own program named conmon names only its own
 * descendants in a container of that id.
 *
 * Other runtimes start containers from a daemon: skepd reads their names from the runtime's state files.
 */
#include <string.h>

#include "core/identify/container_argv.h"
#include "core/identify/container_state.h"
#include "core/identify/pods.h"
#include "core/process/track_priv.h"

#define NO_ID "-" /* an id that no cgroup's path has: the process is in a container without an id */
#define TEXT_MOST 1024u

/* The parts of proc.container: "ID\0NAME\0IMAGE\0". */
static struct skep_str part(const struct interned *text, unsigned at)
{
	const char *p = text ? text->text : "";

	for (; text && at > 0; at--)
		p += strlen(p) + 1;
	return text_str(p);
}

static void add(struct skep_str *text, char room[TEXT_MOST], const struct skep_str *part)
{
	if (part->len >= TEXT_MOST - text->len)
		return;
	memcpy(room + text->len, part->ptr, part->len);
	room[text->len + part->len] = '\0';
	text->len += part->len + 1;
}

static void pod_of(struct track *t, const struct proc *p, struct pod_names *ret)
{
	const struct container *c = cgroups_container(t->env.cgroups, p->cgroup_id, t->now_ns);

	*ret = (struct pod_names){ 0 };
	if (t->env.pods && c && strcmp(c->of[CONTAINER_POD].by.ptr, "kubernetes") == 0)
		pods_find(t->env.pods, &c->of[CONTAINER_POD].id, &c->of[CONTAINER_CONTAINER].id, t->now_ns, ret);
}

static void state_of(struct track *t, const struct container *c, struct skep_str ret[CONTAINER_NAMES])
{
	memset(ret, 0, CONTAINER_NAMES * sizeof(*ret));
	if (t->env.container_states && c)
		container_states_find(t->env.container_states, &c->of[CONTAINER_CONTAINER], t->now_ns, ret);
}

void track_container_exec(struct track *t, struct proc *p)
{
	const struct program *program = p->program;
	struct skep_str argv, text, before = part(p->container, 2), none = { "", 0, 0 };
	struct skep_str state[CONTAINER_NAMES];
	struct container_argv said;
	struct pod_names names;
	char room[TEXT_MOST];

	/* early: listing and reading the names takes a moment, and the record leaves at the process's end */
	pod_of(t, p, &names);
	state_of(t, cgroups_container(t->env.cgroups, p->cgroup_id, t->now_ns), state);
	if (!program || !program->exe)
		return;
	argv = (struct skep_str){ program->argv, program->argv_len, program->argv_len };
	if (!container_argv_read(program->exe->text, &argv, &said))
		return;
	if (said.id.len + said.name.len + said.image.len + before.len + 4 > sizeof(room))
		return;
	if (said.no_id)
		said.id = text_str(NO_ID);
	text = (struct skep_str){ room, 0, 0 };
	add(&text, room, said.id.len ? &said.id : &none);
	add(&text, room, said.name.len ? &said.name : &none);
	/* conmon's arguments do not name the image; those of the podman that started it do */
	add(&text, room, said.image.len ? &said.image : said.name.len ? &before : &none);
	text.total = text.len;
	intern_unref(t->intern, p->container);
	p->container = intern_get(t->intern, &text);
	track_dirty(t, p);
}

/* What kubelet's folders and arguments say comes first. */
static void add_state(const struct skep_str state[CONTAINER_NAMES], struct record_process *ret)
{
	if (!ret->container_name.len)
		ret->container_name = state[CONTAINER_NAME];
	if (!ret->container_image.len)
		ret->container_image = state[CONTAINER_IMAGE];
	if (!ret->pod.len)
		ret->pod = state[CONTAINER_POD_NAME];
	if (!ret->name_space.len)
		ret->name_space = state[CONTAINER_POD_NAMESPACE];
}

static void said_by_argv(const struct proc *p, const struct container_layer *at, struct record_process *ret)
{
	struct skep_str id = part(p->container, 0);
	bool inside;

	if (!p->container || !id.len)
		return;
	/* the runtime's own process is not in the container yet */
	inside = strcmp(id.ptr, NO_ID) == 0 ? !(p->program && p->program->exe &&
						container_argv_runtime(p->program->exe->text))
					    : at && at->id.len == id.len && memcmp(at->id.ptr, id.ptr, id.len) == 0;
	if (!inside)
		return;
	if (part(p->container, 1).len)
		ret->container_name = part(p->container, 1);
	ret->container_image = part(p->container, 2);
}

void track_container(struct track *t, const struct proc *p, struct record_process *ret)
{
	const struct container *c = cgroups_container(t->env.cgroups, p->cgroup_id, t->now_ns);
	const struct container_layer *at = c ? &c->of[CONTAINER_CONTAINER] : NULL;
	struct skep_str state[CONTAINER_NAMES];
	struct pod_names names;

	pod_of(t, p, &names);
	ret->pod = names.pod;
	ret->name_space = names.name_space;
	ret->container_name = names.container;
	if (at && at->named)
		ret->container_name = at->id;
	if (c && c->of[CONTAINER_UNIT].end != at->end)
		ret->unit = c->of[CONTAINER_UNIT].id;
	said_by_argv(p, at, ret);
	state_of(t, c, state);
	add_state(state, ret);
}

static bool same(const struct skep_upid *a, const struct skep_upid *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

void track_contained(struct track *t, const struct proc *p, const struct record_process *r)
{
	const struct contained in = {
		{ [IN_CONTAINER] = r->container, [IN_CONTAINER_NAME] = r->container_name,
		  [IN_CONTAINER_IMAGE] = r->container_image, [IN_POD] = r->pod, [IN_NAMESPACE] = r->name_space,
		  [IN_UNIT] = r->unit }
	};

	if (p->run && same(&p->run->root, &p->upid))
		containment_note(&p->run->contained, t->intern, &in, true);
	if (p->task && !p->task->ended)
		containment_note(&p->task->contained, t->intern, &in, same(&p->task->root, &p->upid));
}

void track_contained_live(struct track *t, const struct proc *p)
{
	struct record_process r = { 0 };
	struct skep_context ctx;

	track_proc_context(t, p, &ctx);
	r.container = ctx.container;
	track_container(t, p, &r);
	track_contained(t, p, &r);
}
