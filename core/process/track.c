/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track.c - the tracker's entries: finds, creates, counts and removes them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/counters.h"
#include "core/process/saved.h"
#include "core/process/track_priv.h"

int track_new(const struct track_env *env, struct track **ret)
{
	struct track *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->env = *env;
	t->facets_saved_ns = env->start_ns;
	t->drained_ns = UINT64_MAX;
	t->intern = t->runs.intern = intern_new();
	t->scopes.run_unref = run_unref;
	t->tasks.forgotten = t->runs.forgotten = &t->forgotten;
	t->table = proctab_new();
	t->sampler = t->intern ? sampler_new(t->intern) : NULL;
	t->record = calloc(1, env->process_size);
	t->sample = calloc(1, env->sample_size ? env->sample_size : 1);
	if (!t->intern || !t->table || !t->sampler || !t->record || !t->sample) {
		track_free(t);
		return -ENOMEM;
	}
	if (env->rule_eval && track_rules(t, env->rule_eval) != 0) {
		track_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

struct runs *track_runs(struct track *t)
{
	return &t->runs;
}

const struct proctab *track_table(const struct track *t)
{
	return t->table;
}

struct sampler *track_sampler(struct track *t)
{
	return t->sampler;
}

const struct track_stats *track_stats(const struct track *t)
{
	return &t->stats;
}

void track_tools(struct track *t, const struct tools *tools)
{
	t->env.tools = tools;
}

uint32_t track_process_size(const struct track *t)
{
	return t->env.process_size;
}

uint32_t track_sample_size(const struct track *t)
{
	return t->env.sample_size;
}

uint64_t track_swept_ns(const struct track *t)
{
	return t->swept_ns;
}

int64_t track_cpu_ns(const struct track *t)
{
	return t->cpu_ns;
}

int64_t track_reevaluated_ns(const struct track *t)
{
	return t->reevaluated_ns;
}

int track_reserve(struct track *t, uint32_t process_size, uint32_t sample_size)
{
	void *record = process_size > t->env.process_size ? realloc(t->record, process_size) : t->record, *sample;

	if (!record)
		return -ENOMEM;
	t->record = record;
	sample = sample_size > t->env.sample_size ? realloc(t->sample, sample_size) : t->sample;
	if (!sample)
		return -ENOMEM;
	t->sample = sample;
	return 0;
}

void track_layout(struct track *t, uint32_t process_size, uint32_t sample_size)
{
	t->env.process_size = process_size;
	t->env.sample_size = sample_size;
}

static void drop(struct proc *p, void *arg)
{
	track_forget(arg, p);
}

struct track *track_free(struct track *t)
{
	if (!t)
		return NULL;
	t->env.task_stream = -1; /* emits no more tasks: the next skepd reports a task that still waits, or none does */
	track_late_free(t);
	proctab_free(t->table, drop, t);
	t->findings = findings_free(t->findings, t->intern);
	saved_drop(t);
	saver_free(t->saver);
	free(t->forgotten.numbers);
	t->tasks.forgotten = t->runs.forgotten = NULL;
	sampler_free(t->sampler);
	while (t->tasks.first)
		task_free(&t->tasks, t->intern, t->tasks.first);
	while (t->runs.first)
		run_free(&t->runs, t->runs.first);
	intern_free(t->intern);
	free(t->chain);
	free(t->subjects);
	free(t->due);
	free(t->gone);
	free(t->record);
	free(t->sample);
	free(t);
	return NULL;
}

struct proc *track_find(struct track *t, const struct skep_upid *upid)
{
	struct proc *p = proctab_find(t->table, upid);
	struct skep_upid root = { .pid = upid->pid };

	if (p || upid->start_ns == 0)
		return p;
	/* The fork of a run's root was not recorded: the first record about its pid says when the root started. */
	p = proctab_find(t->table, &root);
	if (!p)
		return NULL;
	p->upid.start_ns = upid->start_ns; /* the table is keyed by pid alone */
	/* The root waited at its gate before the run began: this time does not belong to the run. */
	if (upid->start_ns > p->image_start_ns)
		p->image_start_ns = upid->start_ns;
	if (p->run && (p->flags & PROC_ROOT))
		p->run->root = p->upid;
	return p;
}

bool track_known(const struct track *t, const struct skep_upid *upid)
{
	const struct proc *p = proctab_find(t->table, upid);
	struct skep_upid root = { .pid = upid->pid };

	if (!p)
		p = proctab_find(t->table, &root);
	/* Changed rules may collect an excluded process again, and it may run another program by then. */
	return p && (p->flags & PROC_CONFIRMED) && !(p->flags & PROC_EXCLUDED) && p->program &&
	       !((p->approx & APPROX_EXEC) && !p->program->exe);
}

struct proc *track_get(struct track *t, const struct skep_upid *upid, bool *ret_new)
{
	struct proc *p = track_find(t, upid);

	*ret_new = false;
	if (p)
		return p;
	if (proctab_closed(t->table, upid)) {
		t->stats.late++;
		return NULL;
	}
	p = proctab_add(t->table, upid);
	if (!p) {
		t->stats.no_memory++;
		return NULL;
	}
	p->image_start_ns = upid->start_ns;
	p->sweep = t->sweep;
	if (t->saved)
		saved_claim(t, p);
	*ret_new = true;
	return p;
}

void track_enter_run(struct proc *p, struct run *run)
{
	p->run = run_ref(run);
	run->members++;
	p->run_next = run->procs;
	p->run_at = &run->procs;
	if (run->procs)
		run->procs->run_at = &p->run_next;
	run->procs = p;
}

void track_leave_run(struct proc *p)
{
	if (!p->run)
		return;
	p->run->members--;
	*p->run_at = p->run_next;
	if (p->run_next)
		p->run_next->run_at = p->run_at;
	run_unref(p->run);
	p->run = NULL;
}

void track_forget(struct track *t, struct proc *p)
{
	track_uncount(p);
	sampler_unref(p->cell);
	p->cell = NULL;
	track_task_leave(t, p);
	if (p->flags & PROC_KEEPS)
		track_task_over(t, p, "lost", p->event_ns, -1);
	track_scope_leave(t, p);
	track_leave_run(p);
	program_unref(t->intern, p->program);
	p->program = NULL;
	intern_unref(t->intern, p->comm);
	intern_unref(t->intern, p->cwd);
	intern_unref(t->intern, p->cgroup);
	intern_unref(t->intern, p->labels);
	intern_unref(t->intern, p->task_name);
	intern_unref(t->intern, p->traceparent);
	intern_unref(t->intern, p->environ);
	intern_unref(t->intern, p->parent_comm);
	p->parent_comm = NULL;
	intern_unref(t->intern, p->container);
	p->container = NULL;
	p->comm = p->cwd = p->cgroup = p->labels = p->task_name = p->traceparent = p->environ = NULL;
	p->facets = facet_values_free(p->facets);
	free(p->gpu);
	p->gpu = NULL;
	free(p->sampled);
	p->sampled = NULL;
	if (p->oom)
		intern_unref(t->intern, p->oom->cgroup);
	free(p->oom);
	p->oom = NULL;
}

void track_remove(struct track *t, struct proc *p)
{
	track_finding_process_over(t, p);
	if (p->flags & PROC_FINAL) {
		if (p->held_prev)
			p->held_prev->held_next = p->held_next;
		else if (t->held_first == p)
			t->held_first = p->held_next;
		if (p->held_next)
			p->held_next->held_prev = p->held_prev;
		else if (t->held_last == p)
			t->held_last = p->held_prev;
	}
	if (p->missing_ns)
		t->missing--;
	track_clean(t, p, true);
	track_watch_gone(t, p);
	track_forget(t, p);
	proctab_remove(t->table, p);
}

void track_touch(struct track *t, struct proc *p, uint64_t time_ns)
{
	if (time_ns > p->event_ns)
		p->event_ns = time_ns;
	if (p->missing_ns) {
		p->missing_ns = 0;
		t->missing--;
	}
}

void track_program(struct track *t, struct proc *p, const struct skep_str *exe, const struct skep_str *filename,
		   const struct skep_str *argv, const struct skep_str *comm)
{
	struct tool_name tool;
	struct program *program;

	tools_recognize(t->env.tools, exe, filename, argv, comm, &tool);
	program = program_new(t->intern, exe, filename, argv, tool.name, tool.wrapper);
	if (!program) {
		t->stats.no_memory++;
		return;
	}
	program_unref(t->intern, p->program);
	p->program = program;
}

void track_recell(struct track *t, struct proc *p)
{
	const struct interned *tool = p->program ? p->program->tool : NULL;
	bool counted = p->flags & PROC_COUNTED;
	uint64_t rss = p->rss_bytes;
	struct cell *cell;

	if (p->flags & PROC_MUTED) /* its cell no longer counts it */
		return;
	if (p->cell && p->cell->run == p->run && p->cell->tool == tool)
		return;
	track_uncount(p);
	sampler_unref(p->cell);
	cell = sampler_cell(t->sampler, p->run, tool);
	if (!cell)
		t->stats.no_memory++;
	p->cell = cell;
	if (counted) {
		track_count_alive(p);
		track_set_rss(p, rss);
	}
}

void track_count_alive(struct proc *p)
{
	if (p->flags & PROC_COUNTED)
		return;
	p->flags |= PROC_COUNTED;
	p->rss_bytes = 0;
	if (p->cell)
		p->cell->alive++;
	if (p->run)
		p->run->alive++;
}

void track_set_rss(struct proc *p, uint64_t rss_bytes)
{
	if (!(p->flags & PROC_COUNTED))
		return;
	/* Unsigned differences may wrap, but the sum stays exact: each part is subtracted as it was added. */
	if (p->cell)
		p->cell->rss_bytes += rss_bytes - p->rss_bytes;
	if (p->run)
		p->run->rss_bytes += rss_bytes - p->rss_bytes;
	p->rss_bytes = rss_bytes;
}

void track_uncount(struct proc *p)
{
	if (!(p->flags & PROC_COUNTED))
		return;
	track_set_rss(p, 0);
	p->flags &= ~PROC_COUNTED;
	if (p->cell)
		p->cell->alive--;
	if (p->run)
		p->run->alive--;
}

static void add_to_cell(struct track *t, struct proc *p, const struct skep_counters *before)
{
	struct skep_counters d;

	t->cpu_ns += (int64_t)(p->last.cpu_ns - before->cpu_ns); /* an exact reading may be below an estimate */
	if (!p->cell)
		return;
	counters_sub(&p->last, before, &d);
	p->cell->cpu_ns += d.cpu_ns;
	p->cell->run_delay_ns += d.run_delay_ns;
	p->cell->read_bytes += d.read_bytes;
	p->cell->write_bytes += d.write_bytes;
}

unsigned track_advance(struct track *t, struct proc *p, const struct skep_counters *c)
{
	struct skep_counters before = p->last;
	unsigned behind = counters_raise(&p->last, c);

	add_to_cell(t, p, &before);
	return behind;
}

void track_settle(struct track *t, struct proc *p, const struct skep_counters *c, bool run_delay_partial)
{
	struct skep_counters before = p->last, exact = *c, floor = p->base;

	if (run_delay_partial) { /* a reading while all threads lived may be higher */
		if (exact.run_delay_ns < before.run_delay_ns)
			exact.run_delay_ns = before.run_delay_ns;
		if (exact.run_count < before.run_count)
			exact.run_count = before.run_count;
	}
	t->stats.clamped += counters_raise(&floor, &exact); /* records of earlier images have left: not below them */
	p->last = floor;
	add_to_cell(t, p, &before);
}
