/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads records by the names of their fields.
 */
#include "sinks/otlp/view.h"

#include <skep/sink/fields.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/attr.h"
#include "sinks/otlp/names.h"

#define MEMBERS 80

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

#define AS(m_, text_, attribute_) { #m_, offsetof(struct view, m_), text_, attribute_ }
#define TEXT(m_) AS(m_, true, NULL)
#define NUMBER(m_) AS(m_, false, NULL)
static const struct {
	const char *name;
	size_t offset;
	bool text;
	const char *attribute; /* of view_attributes(); NULL: none */
} names[] = {
	TEXT(run),
	TEXT(pipeline),
	TEXT(task),
	TEXT(tool),
	AS(container, true, NAME_CONTAINER),
	AS(container_name, true, NAME_CONTAINER_NAME),
	AS(container_image, true, NAME_CONTAINER_IMAGE),
	AS(pod, true, NAME_POD),
	AS(namespace, true, NAME_NAMESPACE),
	AS(unit, true, NAME_UNIT),
	AS(engine, true, NAME_ENGINE),
	AS(origin, true, "skep.run.origin"),
	AS(parent_run, true, "skep.run.parent.id"),
	AS(job, true, "skep.job.id"),
	AS(account, true, "skep.run.account"),
	AS(join_key, true, "skep.run.join.key"),
	AS(sample, true, "skep.task.sample"),
	AS(step, true, "skep.task.step"),
	AS(scopes, true, "skep.scopes"),
	AS(name_source, true, "skep.task.name.source"),
	AS(attempt, false, "skep.task.attempt"),
	AS(requested_cpus, false, NAME_REQUESTED_CPUS),
	AS(requested_memory_bytes, false, "skep.task.requested.memory"),
	AS(requested_walltime_ns, false, "skep.task.requested.walltime"),
	AS(requested_gpus, false, "skep.task.requested.gpus"),
	AS(requested_source, true, "skep.task.requested.source"),
	AS(granted_cpus, false, NAME_GRANTED_CPUS),
	AS(granted_memory_bytes, false, "skep.task.granted.memory"),
	AS(granted_gpus, false, "skep.task.granted.gpus"),
	AS(granted_source, true, "skep.task.granted.source"),
	AS(inner_runs, false, "skep.task.inner.runs"),
	AS(memory_source, true, "skep.run.memory.source"),
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
	TEXT(id),
	{ "kind", offsetof(struct view, what), true, NULL },
	TEXT(severity),
	TEXT(evidence),
	TEXT(advice),
	NUMBER(window_ns),
	NUMBER(value),
	NUMBER(threshold),
	AS(task_id, true, NAME_TASK_RUN_ID),
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
	NUMBER(memory_peak_bytes),
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
	if (strcmp(stream, "finding") == 0)
		return VIEW_FINDING;
	return strcmp(stream, "loss") == 0 ? VIEW_LOSS : VIEW_OTHER;
}

static bool is_real(size_t offset)
{
	return offset == offsetof(struct view, requested_cpus) || offset == offsetof(struct view, granted_cpus) ||
	       offset == offsetof(struct view, value) || offset == offsetof(struct view, threshold);
}

static void look_up(const struct skep_stream *s, struct shape *ret)
{
	*ret = (struct shape){ .stream = s, .kind = s->name ? kind_of(s->name) : VIEW_OTHER };
	for (uint32_t i = 0, n = ret->kind != VIEW_OTHER ? skep_fields_count(s) : 0; i < n; i++) {
		const struct skep_field *f = skep_fields_at(s, i);

		for (size_t k = 0; f && k < N_NAMES && ret->n < MEMBERS; k++) {
			bool text = f->type == SKEP_T_STR || f->type == SKEP_T_STRV;
			size_t offset = names[k].offset;
			bool number = f->type == SKEP_T_U64 || f->type == SKEP_T_I64 || f->type == SKEP_T_TIME ||
				      f->type == SKEP_T_BOOL;

			if (is_real(offset))
				number = f->type == SKEP_T_F64;
			/* the unit of a finding's value; elsewhere it is systemd's */
			if (ret->kind == VIEW_FINDING && offset == offsetof(struct view, unit))
				offset = offsetof(struct view, measure);
			if (strcmp(names[k].name, f->name) == 0 && (names[k].text ? text : number))
				ret->members[ret->n++] = (struct member){ f, offset, names[k].text };
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
	const struct skep_context *c = r->context;

	if (!c)
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

void view_attributes(struct pb *p, uint32_t field, const struct view *v)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		const void *at = (const char *)v + names[i].offset;
		uint64_t number = 0;

		if (!names[i].attribute)
			continue;
		if (names[i].text) {
			attr_str(p, field, names[i].attribute, *(const struct skep_str *)at);
			continue;
		}
		memcpy(&number, at, sizeof(number));
		if (number && is_real(names[i].offset))
			attr_double(p, field, names[i].attribute, *(const double *)at);
		else if (number)
			attr_int(p, field, names[i].attribute, (int64_t)number);
	}
}
