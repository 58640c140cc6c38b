/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_made.c - makes runs, scopes and tasks of the saved state, and gives each process its part once the
 * process has an entry in the table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/counters.h"
#include "core/process/saved.h"
#include "core/process/saved_priv.h"
#include "core/process/track_priv.h"

/* ---- made ---------------------------------------------------------------------------- */

static int make_program(struct track *t, struct saved *c, struct numbered *n)
{
	struct program read = { 0 }, *p;
	struct skep_str exe, filename, argv = intern_str(saved_text_at(c, n->v[PROGRAM_ARGV]));

	saved_give(c, &saved_program, n->v, &read);
	exe = intern_str(read.exe);
	filename = intern_str(read.filename);
	n->made = p = program_new(t->intern, &exe, &filename, &argv, read.tool ? read.tool->text : "", read.wrapper);
	if (p) {
		p->exe_size_bytes = read.exe_size_bytes;
		p->exe_modified_ns = read.exe_modified_ns;
	}
	intern_unref(t->intern, read.exe);
	intern_unref(t->intern, read.filename);
	intern_unref(t->intern, read.tool);
	return p ? 0 : -ENOMEM;
}

/* The n texts "A\0B\0...".  false: there are fewer. */
static bool split(const struct interned *text, const char **ret, size_t n, const char **ret_rest, size_t *ret_rest_len)
{
	const char *from = text ? text->text : NULL, *end = from ? from + text->len : NULL;

	for (size_t i = 0; i < n; i++) {
		const char *next = from ? memchr(from, '\0', (size_t)(end - from)) : NULL;

		if (!next)
			return false;
		ret[i] = from;
		from = next + 1;
	}
	*ret_rest = from;
	*ret_rest_len = (size_t)(end - from);
	return true;
}

/* An item that makes no sense is counted, and is not there. */
static int bad(struct track *t, struct numbered *n)
{
	t->stats.unrestored++;
	n->gone = true;
	return 0;
}

static int make_run(struct track *t, struct saved *c, struct numbered *n)
{
	enum { ID, NAME, PIPELINE, CWD, TRACE, ENGINE, PARENT, JOB, ACCOUNT, KEY, TEXTS };
	const char *texts[TEXTS], *argv;
	struct skep_str str[TEXTS];
	struct run_spec spec;
	struct run *run;
	size_t argv_len;
	int err;

	if (!split(saved_text_at(c, n->v[RUN_TEXTS]), texts, TEXTS, &argv, &argv_len))
		return bad(t, n);
	spec = (struct run_spec){ .id = texts[ID], .name = texts[NAME], .pipeline = texts[PIPELINE], .cwd = texts[CWD],
				  .traceparent = texts[TRACE], .parent = texts[PARENT] };
	err = run_new(&t->runs, &spec, 0, &run);
	if (err < 0)
		return err == -ENOMEM ? err : bad(t, n);
	n->made = run_ref(run);
	saved_give(c, &saved_run, n->v, run);
	run->root_pid = (pid_t)run->root.pid;
	run->restored = run->alone = true;
	run->attempts = n->attempts;
	n->attempts = NULL;
	if (run->class >= RECOGNIZER_CLASSES) /* a newer skepd's */
		run->class = RECOGNIZER_ORIGIN;
	for (size_t i = 0; i < TEXTS; i++)
		str[i] = text_str(texts[i]);
	if (run_engine(run, texts[ENGINE], run->class) < 0 || run_set(&run->job, &str[JOB]) < 0 ||
	    run_set(&run->account, &str[ACCOUNT]) < 0 || run_set(&run->key, &str[KEY]) < 0 ||
	    (argv_len > 0 && run_argv(run, argv, argv_len) < 0))
		return -ENOMEM;
	return 0;
}

static int make_scope(struct track *t, struct saved *c, struct numbered *n)
{
	struct program *program = saved_made_at(c, n->v[SCOPE_PROGRAM], SAVED_PROGRAM);
	struct scope *s;

	if (!program)
		return bad(t, n);
	s = scope_new(&t->scopes, saved_made_at(c, n->v[SCOPE_OUTER], SAVED_SCOPE));
	if (!s)
		return -ENOMEM;
	n->made = s;
	saved_give(c, &saved_scope, n->v, s);
	if (s->class >= RECOGNIZER_CLASSES)
		s->class = RECOGNIZER_ORIGIN;
	scope_set_names(s, t->intern);
	s->program = program_ref(program);
	s->run = run_ref(saved_made_at(c, n->v[SCOPE_RUN], SAVED_RUN));
	s->keyed = s->run && s->run->key[0];
	if (t->env.recognizers && s->engine)
		s->entry = recognizers_find(t->env.recognizers, s->engine->text);
	return 0;
}

static int make_task(struct track *t, struct saved *c, struct numbered *n)
{
	struct task *task = task_new(&t->tasks, t->intern, NULL, NULL, &(struct skep_upid){ 0 }, 0, 0);
	const char *state, *source;

	if (!task)
		return -ENOMEM;
	state = task->state;
	source = task->name_source;
	saved_give(c, &saved_task, n->v, task);
	task_set_id(task);
	task->state = task->state ? task->state : state;
	task->name_source = task->name_source ? task->name_source : source;
	task_set_run(task, saved_made_at(c, n->v[TASK_RUN], SAVED_RUN));
	if (!task->name) {
		task_free(&t->tasks, t->intern, task);
		return bad(t, n);
	}
	n->made = task;
	return 0;
}

int saved_read_end(struct track *t)
{
	static const struct {
		enum saved_kind kind;
		int (*make)(struct track *, struct saved *, struct numbered *);
	} makers[] = { { SAVED_PROGRAM, make_program }, { SAVED_RUN, make_run }, { SAVED_SCOPE, make_scope },
		       { SAVED_TASK, make_task } };
	struct saved *c = t->reading;
	int err = 0;

	for (size_t m = 0; c && m < sizeof(makers) / sizeof(makers[0]); m++)
		for (size_t i = 0; err == 0 && i < c->n_numbered; i++)
			if (c->numbered[i].kind == makers[m].kind && !c->numbered[i].gone)
				err = makers[m].make(t, c, &c->numbered[i]);
	t->reading = NULL;
	t->saved = c; /* also without memory for all: saved_settle() ends what no process claims */
	return err;
}

/* ---- claimed ------------------------------------------------------------------------- */

bool saved_waits(const struct track *t)
{
	return t->saved != NULL;
}

size_t saved_left(const struct track *t)
{
	return t->saved ? t->saved->n : 0;
}

void saved_claim(struct track *t, struct proc *p)
{
	struct saved *c = t->saved;
	struct waiting *w = saved_waiting_take(c, &p->upid);
	const uint64_t *v = w ? w->v : NULL;
	struct run *run = w ? saved_made_at(c, v[PROCESS_RUN], SAVED_RUN) : NULL;
	struct task *task = w ? saved_made_at(c, v[PROCESS_TASK], SAVED_TASK) : NULL;

	if (!w)
		return;
	p->facets = w->facets;
	w->facets = NULL;
	/* The previous skepd had only facets of it, no life-cycle record: the tracker treats it as new. */
	if (!(v[PROCESS_FLAGS] & PROC_CONFIRMED)) {
		saved_waiting_free(c, w);
		return;
	}
	saved_give(c, &saved_process, v, p);
	p->image_start_ns = v[PROCESS_IMAGE_NS];
	p->flags |= ((uint32_t)v[PROCESS_FLAGS] & ~PROC_CONFIRMED) | PROC_RESTORED; /* its first record confirms it */
	/* A process that was in no run keeps that: its children need not wait for a sweep. */
	if (!run && v[PROCESS_IN_RUN])
		p->flags &= ~PROC_PLACED;
	if (!run)
		p->flags &= ~PROC_ROOT;
	memcpy(&p->last, &v[PROCESS_LAST], sizeof(p->last));
	if (v[PROCESS_SAMPLED_NS]) {
		p->sampled = malloc(sizeof(*p->sampled));
		if (p->sampled) {
			p->sampled->time_ns = v[PROCESS_SAMPLED_NS];
			p->sampled->quiet_until_ns = 0;
			memcpy(&p->sampled->counters, &v[PROCESS_SAMPLED], sizeof(p->sampled->counters));
		} else {
			t->stats.no_memory++;
		}
	}
	/* Not track_join(): the previous skepd counted the process when it joined the run. */
	if (run)
		track_enter_run(p, run);
	p->scope = scope_ref(saved_made_at(c, v[PROCESS_SCOPE], SAVED_SCOPE));
	if (!p->scope)
		p->flags &= ~PROC_ENGINE;
	if (task) { /* the same for the task */
		track_task_enter(p, task);
		if (p->flags & (PROC_EXITED | PROC_FINAL))
			track_task_dying(p);
	}
	if (p->cgroup && p->cgroup_id) {
		struct skep_str path = intern_str(p->cgroup);

		cgroups_known(t->env.cgroups, p->cgroup_id, &path);
	}
	p->program = program_ref(saved_made_at(c, v[PROCESS_PROGRAM], SAVED_PROGRAM));
	if (p->program) {
		p->flags |= PROC_CONFIRMED;
		track_recell(t, p);
		track_scope_resume(t, p);
	}
	saved_waiting_free(c, w);
}

/* ---- sampled counters ---------------------------------------------------------------- */

static bool take_counters(struct bytes_in *in, struct skep_counters *ret)
{
	uint64_t v[SAVED_COUNTERS] = { 0 };

	for (size_t i = 0; i < SAVED_COUNTERS; i++)
		v[i] = bytes_take_number(in);
	memcpy(ret, v, sizeof(v));
	return !in->bad;
}

void saved_sampled(struct track *t, const void *samples, size_t size)
{
	struct bytes_in in = { .begin = samples, .at = samples, .end = (const unsigned char *)samples + size };

	while (in.at < in.end) {
		struct skep_upid upid = { .pid = (uint32_t)bytes_take_number(&in) };
		struct skep_counters last, then, before;
		struct waiting *w;
		uint64_t time_ns;

		/* not in the initializer: C leaves open which of its members the compiler evaluates first */
		upid.start_ns = bytes_take_number(&in);
		w = saved_waiting(t->saved, &upid);
		if (!take_counters(&in, &last))
			return;
		time_ns = bytes_take_number(&in);
		if (time_ns && !take_counters(&in, &then))
			return;
		if (!w)
			continue;
		memcpy(&before, &w->v[PROCESS_LAST], sizeof(before));
		counters_raise(&before, &last);
		memcpy(&w->v[PROCESS_LAST], &before, sizeof(before));
		/* Only a sample of the current image: an exec begins new samples, and the chunk knows the exec. */
		if (time_ns > w->v[PROCESS_IMAGE_NS] && time_ns > w->v[PROCESS_SAMPLED_NS]) {
			w->v[PROCESS_SAMPLED_NS] = time_ns;
			memcpy(&w->v[PROCESS_SAMPLED], &then, sizeof(then));
		}
	}
}

void saved_restore(struct track *t, uint64_t now_ns)
{
	struct saved *c = t->saved;
	bool is_new;

	for (size_t i = 0; c && i < c->n_buckets; i++)
		while (c->buckets[i]) {
			struct skep_upid upid = c->buckets[i]->upid;
			struct proc *p = track_get(t, &upid, &is_new);

			if (!p || !is_new) { /* no memory, or the table has the process already: drops the saved part */
				struct waiting *w = saved_waiting_take(c, &upid);

				if (w)
					saved_waiting_free(c, w);
			} else if (p->flags & PROC_FINAL) {
				/* The process had ended and waited for facets: waits on, with the restored ones. */
				p->event_ns = p->end_ns ? p->end_ns : p->image_start_ns;
				track_hold(t, p);
			}
		}
	if (c)
		saved_findings_read(t, &c->findings, now_ns);
}

void saved_settle(struct track *t, uint64_t now_ns)
{
	if (!t->saved)
		return;
	t->saved = saved_free(t, t->saved);
	track_tasks_settle(t, now_ns);
	for (struct run *run = t->runs.first, *next; run; run = next) {
		next = run->next;
		if (!run->restored || run->ended || !run->alone || run->members > 0 || run->quiet_ns)
			continue;
		run->end_ns = now_ns;
		track_roots_over(t, run);
	}
}
