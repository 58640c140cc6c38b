/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_task.c - decides which task a process is in, and when a task is over.
 *
 * A process that names a task in its environment at its exec is in this task; else it is in its parent's.  A program
 * without the variable stays in its parent's task, because sudo, env -i or a scheduler's wrapper clear environments in
 * the middle of a step.  An empty SKEP_TASK does leave the task.  Within a task that an engine began, a name is a step
 * of that task.  `skep run --task` says the name over the control socket as well, for a skepd that reads no SKEP_TASK.
 */
#include <errno.h>
#include <skep/trace.h>
#include <string.h>

#include "core/process/track_priv.h"

#define TRACK_ENVIRON_MOST 4096 /* as much as proc records of an environment */

static bool is_root(const struct proc *p)
{
	return p->task && !p->task->over_ns && task_began_with(p->task, &p->upid);
}

static void record_out(struct track *t, const struct task *task, uint64_t time_ns)
{
	struct skep_context ctx = { .size = sizeof(ctx), .payer = SKEP_NOBODY };
	struct record_task rec;

	if (task->run)
		run_context(task->run, &ctx);
	ctx.task = intern_str(task->name);
	ctx.container = intern_str(task->contained.in[IN_CONTAINER]);
	task_record(task, &rec);
	rec.run = ctx.run;
	rec.pipeline = ctx.pipeline;
	if (task->run && task->traceparent && strcmp(task->run->traceparent, task->traceparent->text) == 0)
		rec.traceparent = (struct skep_str){ "", 0, 0 };
	if (t->env.task_stream >= 0)
		t->env.emit(t->env.out, t->env.task_stream, &task->root, time_ns, &rec, &ctx);
}

static void task_out(struct track *t, struct task *task)
{
	/* Adds what live members have used since their last records. */
	for (const struct proc *p = task->procs; p; p = p->task_next) {
		if (p->flags & (PROC_MUTED | PROC_EXCLUDED))
			continue;
		track_contained_live(t, p);
		task->cpu_ns += p->last.cpu_ns - p->base.cpu_ns;
		task->run_delay_ns += p->last.run_delay_ns - p->base.run_delay_ns;
		task->read_bytes += p->last.read_bytes - p->base.read_bytes;
		task->write_bytes += p->last.write_bytes - p->base.write_bytes;
		if (p->rss_peak_bytes > task->rss_peak_bytes)
			task->rss_peak_bytes = p->rss_peak_bytes;
	}
	record_out(t, task, task->end_ns);
	task->ended = true;
	if (!task->late) /* else its record may leave once more */
		task_set_run(task, NULL);
}

static void look(struct track *t, struct task *task)
{
	/* A member that has exited is in the task's sums once its record has left. */
	if (task->over_ns && !task->ended && task->dying == 0 && !track_late_holds(t, task))
		task_out(t, task);
	/* Saved members may wait to be claimed. */
	if (task->members == 0 && !task->kept && !t->saved && !task->late)
		task_free(&t->tasks, t->intern, task);
}

/* Of the tasks of a run with the same `again`, counts the failed tasks since the last task that succeeded. */
static void count_failure(struct task *task)
{
	const struct skep_str again = intern_str(task->again);

	if (!again.len || !task->run || task->counted || task->status < 0)
		return;
	task->counted = true;
	if (task->status > 0)
		attempts_next(&task->run->attempts, &again);
	else
		attempts_clear(task->run->attempts, &again);
}

void track_task_again(struct track *t, struct task *task, const struct skep_str *again)
{
	if (task->again || !again->len || !task->run)
		return;
	task->again = intern_get(t->intern, again);
	if (!task->attempt)
		task->attempt = 1 + attempts_of(task->run->attempts, again);
	count_failure(task);
}

void track_task_learn(struct track *t, struct task *task, const struct recognizer_facts *facts)
{
	const struct {
		enum recognizer_fact fact;
		uint64_t *number;
	} requests[] = { { FACT_CPUS, &task->requested.milli_cpus },
			 { FACT_MEMORY, &task->requested.memory_bytes },
			 { FACT_WALLTIME, &task->requested.walltime_ns },
			 { FACT_GPUS, &task->requested.gpus } };
	struct skep_str text = recognizer_fact_text(facts, FACT_NAME);
	const struct interned *name = task->name, *sample = task->sample;
	const struct task_request requested = task->requested;
	const uint32_t attempt = task->attempt;
	const char *source = task->name_source;
	char room[TASK_NAME_MOST];

	if (text.len) {
		text = task_name(&text, room);
		intern_replace(t->intern, &task->name, &text);
		task->name_source = facts->source[FACT_NAME];
	}
	text = recognizer_fact_text(facts, FACT_SAMPLE);
	if (text.len)
		intern_replace(t->intern, &task->sample, &text);
	text = recognizer_fact_text(facts, FACT_AGAIN);
	track_task_again(t, task, &text);
	if (facts->known & 1u << FACT_ATTEMPT)
		task->attempt = (uint32_t)recognizer_fact_number(facts, FACT_ATTEMPT);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (facts->known & 1u << requests[i].fact) {
			*requests[i].number = recognizer_fact_number(facts, requests[i].fact);
			task->requested.source = facts->source[requests[i].fact];
		}
	/* Of two rows of a task ClickHouse keeps the row with the later time, even if that row arrives first. */
	if (task->ended && (task->name != name || task->attempt != attempt || task->sample != sample ||
			    task->name_source != source ||
			    memcmp(&task->requested, &requested, sizeof(requested)) != 0))
		record_out(t, task, t->now_ns);
}

void track_task_settled(struct track *t, struct task *task)
{
	if (task->ended)
		task_set_run(task, NULL);
	look(t, task);
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

static void over(struct track *t, struct task *task, const char *state, uint64_t end_ns, int64_t status)
{
	task->state = state;
	task->end_ns = end_ns > task->start_ns ? end_ns : task->start_ns;
	task->status = status;
	task->over_ns = t->now_ns ? t->now_ns : 1;
	count_failure(task);
	track_finding_task_over(t, task);
	if (task->late)
		track_late_end(t, task->late);
}

static void replaced(struct track *t, struct proc *p)
{
	if (is_root(p))
		over(t, p->task, "replaced", p->image_start_ns, -1);
}

void track_task_keep(struct track *t, struct proc *p)
{
	if (!is_root(p) || !p->task->engine || p->task->ended)
		return;
	p->task->kept = true;
	p->flags |= PROC_KEEPS;
	track_task_leave(t, p);
}

/* "41" and "41.0", of a step, are tasks of the job 41. */
static bool is_of_job(const struct task *task, const char *job)
{
	const size_t len = strlen(job);

	return task->job && strncmp(task->job->text, job, len) == 0 &&
	       (!task->job->text[len] || task->job->text[len] == '.');
}

void track_task_inner(struct track *t, const struct proc *p)
{
	const struct proc *parent = p->task ? NULL : proctab_find(t->table, &p->parent);
	struct task *task = parent && parent->run == p->run ? parent->task : p->task;

	if (task && !task->ended && task->run == p->run)
		task->inner_runs++;
	if (task || !p->run || !*p->run->job)
		return;
	/* srun started it: its parent slurmstepd is in no task, and the script waits in a task of the same job */
	for (task = t->tasks.first; task; task = task->next)
		if (task->run == p->run && !task->over_ns && !task->ended && is_of_job(task, p->run->job))
			task->inner_runs++;
}

static struct task *kept_by(const struct track *t, const struct proc *p)
{
	struct task *task = t->tasks.first;

	while (task && !(task->kept && task_began_with(task, &p->upid)))
		task = task->next;
	return task;
}

void track_task_exited(struct track *t, struct proc *p)
{
	struct task *task = is_root(p) ? p->task : p->flags & PROC_KEEPS ? kept_by(t, p) : NULL;

	if (!task)
		return;
	task->status = p->status;
	count_failure(task);
}

static void kept_over(struct track *t, struct proc *p, const char *state, uint64_t end_ns, int64_t status)
{
	struct task *task = kept_by(t, p);

	p->flags &= ~PROC_KEEPS;
	if (!task)
		return;
	task->kept = false;
	over(t, task, state, end_ns, status);
	look(t, task);
}

void track_task_over(struct track *t, struct proc *p, const char *state, uint64_t end_ns, int64_t status)
{
	if (is_root(p))
		over(t, p->task, state, end_ns, status);
	if (p->flags & PROC_KEEPS)
		kept_over(t, p, state, end_ns, status);
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

/* Owns the reference to the name.  NULL: no memory. */
static struct task *begin(struct track *t, struct proc *p, const struct interned *name)
{
	const struct proc *parent = p->parent.pid ? proctab_find(t->table, &p->parent) : NULL;
	struct task *task;

	task = name ? task_new(&t->tasks, t->intern, name, intern_ref(p->traceparent), &p->upid, p->image,
			       p->image_start_ns) : NULL;
	if (!task) {
		t->stats.no_memory++;
		return NULL;
	}
	task->scopes = intern_ref(p->scope ? p->scope->names : NULL);
	task->starter_cgroup = parent ? parent->cgroup_id : 0;
	task_set_run(task, p->run);
	join(t, p, task);
	return task;
}

/* A task that starts several containers one after another gets the largest of their limits. */
static void add_limit(uint64_t limit, bool *is_limit, uint64_t *ret)
{
	if (limit == 0 || (*ret && !*is_limit) || limit <= *ret)
		return;
	*ret = limit;
	*is_limit = true;
}

void track_task_limits(struct track *t, const struct proc *p)
{
	struct task *task = p->task;
	const struct recognizer *entry;
	struct cgroup_limits limits;
	bool job;

	if (!task || task->ended || task->limits_cgroup == p->cgroup_id)
		return;
	entry = task->engine && t->env.recognizers ? recognizers_find(t->env.recognizers, task->engine->text) : NULL;
	job = entry && recognizer_class(entry) == RECOGNIZER_SCHEDULER;
	if (cgroups_limits(t->env.cgroups, p->cgroup_id, task->starter_cgroup, job, t->now_ns, &limits))
		task->limits_cgroup = p->cgroup_id;
	add_limit(limits.milli_cpus, &task->cpus_limit, &task->granted.milli_cpus);
	add_limit(limits.memory_bytes, &task->memory_limit, &task->granted.memory_bytes);
	if (!task->granted.source && (task->cpus_limit || task->memory_limit))
		task->granted.source = "cgroup";
}

struct task *track_task_begin(struct track *t, struct proc *p, const struct skep_str *name)
{
	char room[TASK_NAME_MOST];
	struct skep_str text = task_name(name, room);

	replaced(t, p);
	return begin(t, p, intern_get(t->intern, &text));
}

/*
 * A name that a process gives itself within a task of a workflow engine or a scheduler is a step, because these name
 * their own tasks, and say how many there are.  make and xargs do not: there it is a task.
 */
static bool names_step(const struct track *t, const struct proc *p, const struct task *around)
{
	const struct recognizer *entry;

	if (!p->task_name || !around || !around->engine || around->ended || around->run != p->run)
		return false;
	entry = t->env.recognizers ? recognizers_find(t->env.recognizers, around->engine->text) : NULL;
	return entry && recognizer_class(entry) >= RECOGNIZER_SCHEDULER;
}

int track_task_named(struct track *t, uint32_t pid, uint32_t uid, const struct skep_str *name, uint64_t now_ns)
{
	struct proc *p = proctab_holder(t->table, pid);
	const struct interned *interned;
	char room[TASK_NAME_MOST];
	struct skep_str text = task_name(name, room);

	t->now_ns = now_ns;
	if (!p || p->uid != uid || !(p->flags & PROC_PLACED) || (p->flags & (PROC_MUTED | PROC_EXITED | PROC_FINAL)))
		return -ESRCH;
	interned = intern_get(t->intern, &text);
	if (!interned)
		return -ENOMEM;
	intern_unref(t->intern, p->task_name);
	p->task_name = interned;
	p->flags &= ~PROC_TASK_NONE;
	track_dirty(t, p);
	track_task_place(t, p, NULL);
	return 0;
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
	if (names_step(t, p, p->task ? p->task : of_parent)) {
		if (!p->task)
			join(t, p, of_parent);
		track_step(t, p, "skep", &(struct skep_str){ p->task_name->text, p->task_name->len, 0 });
		return;
	}
	other = p->task && !p->task->ended && p->task->run != p->run;
	if (p->task && (other || (p->flags & PROC_TASK_NONE) || (p->task_name && p->task->name != p->task_name))) {
		replaced(t, p);
		track_task_leave(t, p);
	}
	if (p->task || (p->flags & PROC_TASK_NONE))
		return;
	if (of_parent && (!p->task_name || of_parent->name == p->task_name))
		join(t, p, of_parent);
	else if (p->task_name)
		begin(t, p, intern_ref(p->task_name));
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

void track_environ(struct track *t, struct proc *p, const struct skep_str *environ, bool boundary)
{
	struct skep_str task = task_variable(environ, "SKEP_TASK"), trace = task_variable(environ, "TRACEPARENT");
	struct skep_trace parsed;
	char room[TASK_NAME_MOST];

	p->flags = boundary ? p->flags | PROC_BOUNDARY : p->flags & ~PROC_BOUNDARY;
	if (environ->total > environ->len)
		p->approx |= APPROX_ENVIRON;
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
		if (task->late && !track_late_holds(t, task))
			look(t, task);
		/* Does not wait longer for the members' records: a zombie may wait for years for its parent. */
		if (task->over_ns && !task->ended && t->now_ns >= task->over_ns + TRACK_PATIENCE_MOST_NS)
			task_out(t, task);
	}
}

void track_tasks_close(struct track *t, const struct run *run, uint64_t end_ns)
{
	for (struct task *task = t->tasks.first, *next; task; task = next) {
		next = task->next;
		if (task->run != run || task->ended || (task->over_ns && track_late_holds(t, task)))
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
		if (task->members > 0 || (task->kept && proctab_find(t->table, &task->root)))
			continue;
		task->kept = false;
		if (!task->over_ns) {
			task->state = "lost";
			task->end_ns = task->over_ns = now_ns;
		}
		look(t, task);
	}
}
