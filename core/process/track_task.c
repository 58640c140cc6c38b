/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_task.c - decides which task a process is in, and when a task is over.
 *
 * A process that names a task in its environment at its exec is in this task; else it is in its parent's.  A program
 * without the variable stays in its parent's task, because sudo, env -i or a scheduler's wrapper clear environments in
 * the middle of a step.  An empty SKEP_TASK does leave the task.
 */
#include <skep/trace.h>
#include <string.h>

#include "core/process/track_priv.h"

#define TRACK_ENVIRON_MOST 2048 /* proc reads 8 variables of 160 bytes at most */

static bool is_root(const struct proc *p)
{
	return p->task && !p->task->over_ns && p->task->root.pid == p->upid.pid &&
	       p->task->root.start_ns == p->upid.start_ns;
}

static void task_out(struct track *t, struct task *task)
{
	struct skep_context ctx = { .size = sizeof(ctx), .task = intern_str(task->name) };
	struct record_task rec;

	/* Adds what live members have used since their last records. */
	for (const struct proc *p = task->procs; p; p = p->task_next) {
		if (p->flags & (PROC_MUTED | PROC_EXCLUDED))
			continue;
		task->cpu_ns += p->last.cpu_ns - p->base.cpu_ns;
		task->run_delay_ns += p->last.run_delay_ns - p->base.run_delay_ns;
		task->read_bytes += p->last.read_bytes - p->base.read_bytes;
		task->write_bytes += p->last.write_bytes - p->base.write_bytes;
		if (p->rss_peak_bytes > task->rss_peak_bytes)
			task->rss_peak_bytes = p->rss_peak_bytes;
	}
	if (task->run) {
		ctx.run = (struct skep_str) { task->run->id, (uint32_t)strlen(task->run->id),
					      (uint32_t)strlen(task->run->id) };
		ctx.pipeline = (struct skep_str) { task->run->pipeline, (uint32_t)strlen(task->run->pipeline),
						   (uint32_t)strlen(task->run->pipeline) };
	}
	task_record(task, &rec);
	rec.run = ctx.run;
	rec.pipeline = ctx.pipeline;
	if (task->run && task->traceparent && strcmp(task->run->traceparent, task->traceparent->text) == 0)
		rec.traceparent = (struct skep_str){ "", 0, 0 };
	if (t->env.task_stream >= 0)
		t->env.emit(t->env.out, t->env.task_stream, &task->root, task->end_ns, &rec, &ctx);
	task->ended = true;
	task_set_run(task, NULL);
}

static void look(struct track *t, struct task *task)
{
	/* A member that has exited is in the task's sums once its record has left. */
	if (task->over_ns && !task->ended && task->dying == 0)
		task_out(t, task);
	if (task->members == 0 && !t->saved) /* else saved members may wait to be claimed */
		task_free(&t->tasks, t->intern, task);
}

void track_task_leave(struct track *t, struct proc *p)
{
	struct task *task = p->task;

	if (!task)
		return;
	p->task = NULL;
	task->members--;
	*p->task_at = p->task_next;
	if (p->task_next)
		p->task_next->task_at = p->task_at;
	if (p->flags & PROC_TASK_DYING)
		task->dying--;
	p->flags &= ~PROC_TASK_DYING;
	look(t, task);
}

void track_task_enter(struct proc *p, struct task *task)
{
	p->task = task;
	task->members++;
	p->task_next = task->procs;
	p->task_at = &task->procs;
	if (task->procs)
		task->procs->task_at = &p->task_next;
	task->procs = p;
}

void track_task_over(struct track *t, struct proc *p, const char *state, uint64_t end_ns, int64_t status)
{
	if (!is_root(p))
		return;
	p->task->state = state;
	p->task->end_ns = end_ns > p->task->start_ns ? end_ns : p->task->start_ns;
	p->task->status = status;
	p->task->over_ns = t->now_ns ? t->now_ns : 1;
}

static void join(struct track *t, struct proc *p, struct task *task)
{
	if (p->task == task)
		return;
	track_task_leave(t, p);
	track_task_enter(p, task);
	task->processes++;
	track_dirty(t, p);
	if (p->flags & (PROC_EXITED | PROC_FINAL))
		track_task_dying(p);
}

void track_task_dying(struct proc *p)
{
	if (!p->task || (p->flags & PROC_TASK_DYING))
		return;
	p->flags |= PROC_TASK_DYING;
	p->task->dying++;
}

static void begin(struct track *t, struct proc *p)
{
	struct task *task = task_new(&t->tasks, t->intern, intern_ref(p->task_name), intern_ref(p->traceparent),
				     &p->upid, p->image, p->image_start_ns);

	if (!task) {
		t->stats.no_memory++;
		return;
	}
	task_set_run(task, p->run);
	join(t, p, task);
}

void track_task_place(struct track *t, struct proc *p, const struct proc *parent)
{
	/* A task belongs to one run: a process that begins a run leaves the task of its parent. */
	struct task *of_parent = parent && parent->run == p->run ? parent->task : NULL;
	bool other;

	if (p->flags & PROC_MUTED)
		return;
	if (is_root(p) && !p->task->ended)
		task_set_run(p->task, p->run);
	other = p->task && !p->task->ended && p->task->run != p->run;
	if (p->task && (other || (p->flags & PROC_TASK_NONE) || (p->task_name && p->task->name != p->task_name))) {
		track_task_over(t, p, "replaced", p->image_start_ns, -1);
		track_task_leave(t, p);
	}
	if (p->task || (p->flags & PROC_TASK_NONE))
		return;
	if (of_parent && (!p->task_name || of_parent->name == p->task_name))
		join(t, p, of_parent);
	else if (p->task_name)
		begin(t, p);
}

/* Notes the variables of an environment.  SKEP_TASK and TRACEPARENT have fields of their own. */
static void note_others(struct track *t, struct proc *p, const struct skep_str *environ)
{
	const char *at = environ->ptr, *end = at ? at + environ->len : NULL;
	char others[TRACK_ENVIRON_MOST];
	struct skep_str list = { others, 0, 0 };

	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (len > 0 && strncmp(at, "SKEP_TASK=", 10) != 0 && strncmp(at, "TRACEPARENT=", 12) != 0 &&
		    list.len + len < sizeof(others)) {
			memcpy(others + list.len, at, len);
			others[list.len + len] = '\0';
			list.len += (uint32_t)len + 1;
		}
		at += len + 1;
	}
	list.total = list.len;
	intern_unref(t->intern, p->environ);
	p->environ = list.len ? intern_get(t->intern, &list) : NULL;
}

void track_environ(struct track *t, struct proc *p, const struct skep_str *environ)
{
	struct skep_str task = task_variable(environ, "SKEP_TASK"), trace = task_variable(environ, "TRACEPARENT");
	struct skep_trace parsed;
	char room[TASK_NAME_MOST];

	if (environ->len || p->environ)
		note_others(t, p, environ);
	if (task.ptr) {
		struct skep_str name = task_name(&task, room);

		intern_unref(t->intern, p->task_name);
		p->task_name = intern_get(t->intern, &name); /* NULL without memory: as if the variable were not set */
		p->flags = name.len ? p->flags & ~PROC_TASK_NONE : p->flags | PROC_TASK_NONE;
		track_dirty(t, p);
	}
	if (trace.ptr && skep_traceparent_read(trace.ptr, trace.len, &parsed)) {
		intern_replace(t->intern, &p->traceparent, &trace);
		track_dirty(t, p);
	}
}

void track_task_image(struct proc *p, const struct skep_counters *used)
{
	struct task *task = p->task;

	if (!task || task->ended)
		return;
	task->cpu_ns += used->cpu_ns;
	task->run_delay_ns += used->run_delay_ns;
	task->read_bytes += used->read_bytes;
	task->write_bytes += used->write_bytes;
	if (p->rss_peak_bytes > task->rss_peak_bytes)
		task->rss_peak_bytes = p->rss_peak_bytes;
}

struct skep_str track_traceparent(const struct proc *p)
{
	static const struct skep_str nothing = { "", 0, 0 };

	if (!p->traceparent || (p->task && p->task->traceparent == p->traceparent) ||
	    (p->run && strcmp(p->run->traceparent, p->traceparent->text) == 0))
		return nothing;
	return intern_str(p->traceparent);
}

void track_tasks_tick(struct track *t)
{
	for (struct task *task = t->tasks.first, *next; task; task = next) {
		next = task->next;
		/* Does not wait longer for the members' records: a zombie may wait for years for its parent. */
		if (task->over_ns && !task->ended && t->now_ns >= task->over_ns + TRACK_PATIENCE_MOST_NS)
			task_out(t, task);
	}
}

void track_tasks_close(struct track *t, const struct run *run, uint64_t end_ns)
{
	for (struct task *task = t->tasks.first, *next; task; task = next) {
		next = task->next;
		if (task->run != run || task->ended)
			continue;
		if (!task->over_ns)
			task->end_ns = end_ns > task->start_ns ? end_ns : task->start_ns;
		task_out(t, task);
	}
}

void track_tasks_settle(struct track *t, uint64_t now_ns)
{
	for (struct task *task = t->tasks.first, *next; task; task = next) {
		next = task->next;
		if (task->members > 0)
			continue;
		if (!task->over_ns) {
			task->state = "lost";
			task->end_ns = task->over_ns = now_ns;
		}
		look(t, task);
	}
}
