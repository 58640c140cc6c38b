/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads records by the names of their fields.
 */
#include "sinks/otlp/view.h"

#include <skep/sink/fields.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 48

struct member {
	const struct skep_field *field;
	size_t offset; /* offset in struct view */
	bool text;
};

struct shape {
	const struct skep_stream *stream;
	enum view_kind kind;
	uint32_t n;
	struct member members[MEMBERS];
};

struct views {
	struct shape *shapes;
	size_t n;
	size_t last; /* index of the last look-up, to try first */
};

#define TEXT(m_) { #m_, offsetof(struct view, m_), true }
#define NUMBER(m_) { #m_, offsetof(struct view, m_), false }
static const struct {
	const char *name;
	size_t offset;
	bool text;
} names[] = {
	TEXT(run),
	TEXT(pipeline),
	TEXT(task),
	TEXT(tool),
	TEXT(container),
	TEXT(name),
	TEXT(state),
	TEXT(exe),
	TEXT(filename),
	TEXT(argv),
	TEXT(cwd),
	TEXT(cgroup),
	TEXT(comm),
	TEXT(host),
	TEXT(boot_id),
	TEXT(kernel),
	TEXT(traceparent),
	TEXT(instance),
	TEXT(stream),
	TEXT(where),
	TEXT(task_id),
	NUMBER(image),
	NUMBER(ppid),
	NUMBER(uid),
	NUMBER(start_ns),
	NUMBER(end_ns),
	NUMBER(signal),
	NUMBER(exit_code),
	NUMBER(wrapper),
	NUMBER(execed),
	NUMBER(last),
	NUMBER(core_dumped),
	NUMBER(oom_killed),
	NUMBER(cpu_ns),
	NUMBER(run_delay_ns),
	NUMBER(rss_peak_bytes),
	NUMBER(read_bytes),
	NUMBER(write_bytes),
	NUMBER(threads_peak),
	NUMBER(processes_seen),
	NUMBER(processes),
	NUMBER(oom_limit_bytes),
	NUMBER(count),
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
_Static_assert(N_NAMES <= MEMBERS, "a shape has room for all");

struct views *views_new(void)
{
	return calloc(1, sizeof(struct views));
}

struct views *views_free(struct views *v)
{
	if (v)
		free(v->shapes);
	free(v);
	return NULL;
}

static enum view_kind kind_of(const char *stream)
{
	if (strcmp(stream, "process.exit") == 0)
		return VIEW_PROCESS;
	if (strcmp(stream, "run") == 0)
		return VIEW_RUN;
	if (strcmp(stream, "task") == 0)
		return VIEW_TASK;
	return strcmp(stream, "loss") == 0 ? VIEW_LOSS : VIEW_OTHER;
}

static void look_up(const struct skep_stream *s, struct shape *ret)
{
	*ret = (struct shape){ .stream = s, .kind = s->name ? kind_of(s->name) : VIEW_OTHER };
	for (uint32_t i = 0, n = ret->kind != VIEW_OTHER ? skep_fields_count(s) : 0; i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		for (size_t k = 0; f && k < N_NAMES && ret->n < MEMBERS; k++) {
			bool text = f->type == SKEP_T_STR || f->type == SKEP_T_STRV;
			bool number = f->type == SKEP_T_U64 || f->type == SKEP_T_I64 || f->type == SKEP_T_TIME ||
				      f->type == SKEP_T_BOOL;

			if (strcmp(names[k].name, f->name) == 0 && (names[k].text ? text : number))
				ret->members[ret->n++] = (struct member){ f, names[k].offset, names[k].text };
		}
	}
}

static const struct shape *shape_of(struct views *v, const struct skep_stream *s)
{
	struct shape *more;

	if (v->last < v->n && v->shapes[v->last].stream == s)
		return &v->shapes[v->last];
	for (v->last = 0; v->last < v->n; v->last++)
		if (v->shapes[v->last].stream == s)
			return &v->shapes[v->last];
	more = reallocarray(v->shapes, v->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	v->shapes = more;
	look_up(s, &more[v->n]);
	return &more[v->n++];
}

static void take_context(const struct skep_record *r, struct view *ret)
{
	const struct skep_context *c = SKEP_HAS(r, context) ? r->context : NULL;

	if (!c || c->size < offsetof(struct skep_context, container) + sizeof(c->container))
		return;
	ret->run = c->run;
	ret->pipeline = c->pipeline;
	ret->task = c->task;
	ret->tool = c->tool;
	ret->container = c->container;
}

bool view_of(struct views *v, const struct skep_record *r, struct view *ret)
{
	const struct shape *shape = r->stream ? shape_of(v, r->stream) : NULL;

	memset(ret, 0, sizeof(*ret));
	ret->exit_code = -1;
	take_context(r, ret);
	if (!shape)
		return !r->stream;
	ret->kind = r->data ? shape->kind : VIEW_OTHER;
	for (uint32_t i = 0; i < shape->n && r->data; i++) {
		const struct member *m = &shape->members[i];
		void *at = (char *)ret + m->offset;

		if (m->text) {
			struct skep_str s = skep_field_str(m->field, r->data);

			memcpy(at, &s, sizeof(s));
		} else if (m->field->type == SKEP_T_BOOL) {
			*(uint64_t *)at = ((const uint8_t *)r->data)[m->field->offset] != 0;
		} else {
			memcpy(at, (const char *)r->data + m->field->offset, sizeof(uint64_t));
		}
	}
	return true;
}
