/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_scope.c - does what an exec is to engines (core/scope/choose.h): opens scopes, begins runs, tasks
 * and steps.
 *
 * Processes of one user with one key are one run although none of them started the others: the elements and steps of
 * a scheduler's job, and the jobs that an engine submitted.
 */
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/track_priv.h"
#include "core/scope/choose.h"

#define STEP_MOST 160u /* bytes of a step's path */
/* Engines within each other; an exec looks at the marks of each.  A user can nest thousands of makes. */
#define SCOPES_DEEP 16u

static struct filter_text text_of(const struct interned *s)
{
	return (struct filter_text){ s ? s->text : NULL, s ? s->len : 0 };
}

/* ---- runs ------------------------------------------------------------------------- */

static int rank_of(const struct run *run)
{
	if (!run || run->ended)
		return SCOPE_NO_RUN;
	if (!run->found)
		return SCOPE_NAMED;
	return run->engine[0] ? (int)run->class : SCOPE_SESSION;
}

static void set_run(struct scope *s, struct run *run)
{
	struct run *old = s->run;

	s->run = run_ref(run);
	s->keyed = run->key[0];
	run_unref(old);
}

static struct scope *open_scope(struct track *t, struct proc *p, const struct recognizer *entry)
{
	struct scope *s;
	unsigned deep = 0;

	for (const struct scope *outer = p->scope; outer; outer = outer->outer)
		deep++;
	if (deep >= SCOPES_DEEP)
		return NULL; /* the process stays where its parent is */
	s = scope_new(&t->scopes, p->scope);
	if (!s) {
		t->stats.no_memory++;
		return NULL;
	}
	s->entry = entry;
	s->engine = intern_text(t->intern, recognizer_engine(entry));
	scope_set_names(s, t->intern);
	s->class = recognizer_class(entry);
	s->nests = recognizer_nests(entry);
	s->root = p->upid;
	s->uid = p->uid;
	s->payer = p->payer;
	s->cwd = intern_ref(p->cwd);
	s->program = program_ref(p->program);
	scope_unref(&t->scopes, t->intern, p->scope); /* the new scope holds it now */
	p->scope = s;
	p->flags |= PROC_ENGINE;
	track_dirty(t, p);
	return s;
}

/* What the engine says about the run that a session or a user began. */
static void describe(struct track *t, struct run *run, const struct recognizer *entry,
		     const struct recognizer_facts *facts)
{
	struct skep_str name = recognizer_fact_text(facts, FACT_NAME);
	struct skep_str pipeline = recognizer_fact_text(facts, FACT_PIPELINE);
	struct skep_str job = recognizer_fact_text(facts, FACT_JOB);
	struct skep_str account = recognizer_fact_text(facts, FACT_ACCOUNT);

	if (run_engine(run, recognizer_engine(entry), recognizer_class(entry)) < 0 ||
	    (run->found && name.len && run_set(&run->name, &name) < 0) ||
	    ((run->found || !run->pipeline[0]) && pipeline.len && run_set(&run->pipeline, &pipeline) < 0) ||
	    (job.len && run_set(&run->job, &job) < 0) || (account.len && run_set(&run->account, &account) < 0))
		t->stats.no_memory++;
}

/* A run without a name of its own is called like its engine's program; the tool of xargs is the command it starts. */
static void set_name(struct track *t, struct run *run, const struct proc *p)
{
	struct skep_str name = intern_str(p->program && !p->program->wrapper ? p->program->tool : NULL);

	if (name.len && run_set(&run->name, &name) < 0)
		t->stats.no_memory++;
}

static void forget_key(struct run *run)
{
	run->key[0] = '\0';
	run->peers = false;
}

static bool set_key(struct track *t, struct run *run, const struct recognizer_facts *facts, uint32_t uid)
{
	struct skep_str key = recognizer_fact_text(facts, FACT_KEY);

	if (!key.len)
		return false;
	run->key_uid = uid;
	if (run_set(&run->key, &key) == 0)
		return true;
	t->stats.no_memory++;
	return false;
}

/* An engine whose processes do not start each other says the key of their run: the process belongs to that run. */
static bool join_run(struct track *t, struct proc *p, struct scope *s, const struct recognizer_facts *facts)
{
	struct skep_str key = recognizer_fact_text(facts, FACT_KEY);
	struct run *run = s->engine ? run_of_key(&t->runs, s->engine->text, &key, p->uid) : NULL;

	if (!run)
		return false;
	if (run->peers) {
		p->flags |= PROC_ROOT;
		run->quiet_ns = 0;
	}
	set_run(s, run);
	if (p->run != run)
		track_task_inner(t, p);
	track_join(t, p, run);
	return true;
}

static void begin_run(struct track *t, struct proc *p, struct scope *s, const struct recognizer_facts *facts)
{
	char id[RUN_ID_SIZE];
	struct run_spec spec = {
		.id = id,
		.name = s->engine ? s->engine->text : "",
		.cwd = p->cwd ? p->cwd->text : "",
		.root = (pid_t)p->upid.pid,
		.traceparent = p->traceparent ? p->traceparent->text : NULL,
		.parent = p->run && !p->run->ended ? p->run->id : NULL,
	};
	struct skep_str job = text_str(spec.parent ? p->run->job : "");
	struct skep_str account = text_str(spec.parent ? p->run->account : "");
	struct run *run;

	run_id_new(id);
	if (run_new(&t->runs, &spec, p->image_start_ns, &run) < 0) {
		t->stats.no_memory++;
		return;
	}
	run->found = run->alone = true;
	run->root = p->upid;
	run->uid = p->uid;
	run->payer = p->payer;
	run->gid = p->gid;
	run->peers = set_key(t, run, facts, p->uid);
	if (run_set(&run->job, &job) < 0 || run_set(&run->account, &account) < 0)
		t->stats.no_memory++;
	track_task_inner(t, p);
	track_task_keep(t, p);
	intern_unref(t->intern, p->step);
	p->step = NULL; /* it was one of the run around this one */
	if (p->program && p->program->argv_len > 0 && run_argv(run, p->program->argv, p->program->argv_len) < 0)
		t->stats.no_memory++;
	set_name(t, run, p);
	describe(t, run, s->entry, facts);
	p->flags |= PROC_ROOT;
	set_run(s, run);
	track_join(t, p, run);
	t->env.run_found(t->env.arg, run);
}

/* An engine begins: its scope, and what becomes of the run. */
static struct scope *begin_engine(struct track *t, struct proc *p, const struct scope_opened *o)
{
	struct scope *s = open_scope(t, p, o->entry);

	if (!s)
		return NULL;
	s->mark = recognizer_mark_number(o->mark);
	switch (o->run) {
	case SCOPE_AROUND:
		break;
	case SCOPE_DESCRIBES:
		describe(t, p->run, o->entry, &o->facts);
		t->env.run_changed(t->env.arg, p->run);
		break;
	case SCOPE_TAKES:
		track_task_inner(t, p);
		forget_key(p->run);
		describe(t, p->run, o->entry, &o->facts);
		if (!(o->facts.known & 1u << FACT_NAME))
			set_name(t, p->run, p);
		if (set_key(t, p->run, &o->facts, p->uid))
			p->run->peers = true;
		set_run(s, p->run);
		t->env.run_changed(t->env.arg, p->run);
		break;
	case SCOPE_JOINS:
		if (join_run(t, p, s, &o->facts))
			p->flags &= ~PROC_ROOT; /* of the run that the engine further in begins */
		break;
	case SCOPE_BEGINS:
		if (!join_run(t, p, s, &o->facts))
			begin_run(t, p, s, &o->facts);
		break;
	}
	return s;
}

static void learn(struct track *t, struct scope *s, const struct recognizer_facts *facts)
{
	if (s->run->ended || !set_key(t, s->run, facts, s->uid))
		return;
	s->keyed = true;
	describe(t, s->run, s->entry, facts);
	t->env.run_changed(t->env.arg, s->run); /* parts of the run on other hosts have the key already */
}

/* ---- tasks and steps -------------------------------------------------------------- */

void track_step(struct track *t, struct proc *p, const char *engine, const struct skep_str *name)
{
	char path[STEP_MOST], last[STEP_MOST];
	struct skep_str text = { path, 0, 0 };
	int n = snprintf(last, sizeof(last), "%s: %.*s", engine, (int)name->len, name->ptr);

	if (n <= 0 || (p->step && p->step->len >= (uint32_t)n && n < (int)sizeof(last) &&
		       memcmp(p->step->text + p->step->len - n, last, (size_t)n) == 0))
		return;
	n = snprintf(path, sizeof(path), "%s%s%s", p->step ? p->step->text : "", p->step ? " > " : "", last);
	if (n <= 0)
		return;
	text.len = text.total = (uint32_t)skep_utf8_cut(path, strlen(path), sizeof(path) - 4); /* snprintf cuts bytes */
	intern_unref(t->intern, p->step);
	p->step = intern_get(t->intern, &text);
	track_dirty(t, p);
}

/* A mark of an inner scope: "align > make: a.o". */
static void add_step(struct track *t, struct proc *p, const struct scope *s, const struct recognizer_facts *facts)
{
	struct skep_str name = recognizer_fact_text(facts, FACT_NAME);

	if (!name.len)
		name = intern_str(p->program ? p->program->tool : NULL);
	track_step(t, p, s->engine ? s->engine->text : "", &name);
}

static bool same_text(const struct interned *a, const struct skep_str *b)
{
	return a && a->len == b->len && memcmp(a->text, b->ptr, b->len) == 0;
}

static struct task_request request_of(const struct recognizer_facts *facts)
{
	struct task_request r = {
		.milli_cpus = recognizer_fact_number(facts, FACT_CPUS),
		.memory_bytes = recognizer_fact_number(facts, FACT_MEMORY),
		.walltime_ns = recognizer_fact_number(facts, FACT_WALLTIME),
		.gpus = recognizer_fact_number(facts, FACT_GPUS),
	};

	for (unsigned f = FACT_CPUS; f < FACTS && !r.source; f++)
		if (facts->known & 1u << f)
			r.source = facts->source[f];
	return r;
}

/* A scheduler starts a job when it can grant its request, which counts where the job's cgroup has no limit. */
static void grant(struct task_request *to, const struct task_request *of_job)
{
	to->milli_cpus = to->milli_cpus ? to->milli_cpus : of_job->milli_cpus;
	to->memory_bytes = to->memory_bytes ? to->memory_bytes : of_job->memory_bytes;
	to->gpus = to->gpus ? to->gpus : of_job->gpus;
	if (to->milli_cpus || to->memory_bytes || to->gpus)
		to->source = "job";
}

/*
 * outside: what a scheduler that begins at the same exec says about its job; NULL: none.  Returns false if the process
 * stays in its task.
 */
static bool begin_task(struct track *t, struct proc *p, const struct scope *s, const struct recognizer_facts *facts,
		       const struct recognizer_facts *outside)
{
	struct skep_str key = recognizer_fact_text(facts, FACT_KEY), again = recognizer_fact_text(facts, FACT_AGAIN);
	struct skep_str sample = recognizer_fact_text(facts, FACT_SAMPLE);
	struct skep_str job = recognizer_fact_text(facts, FACT_JOB);
	struct skep_str name = recognizer_fact_text(facts, FACT_NAME);
	const char *source = name.len ? facts->source[FACT_NAME] : "program";
	struct task_request granted = { 0 };
	const struct interned *job_around = NULL;
	struct task *task;

	/* Nextflow's wrapper starts itself again in the same work directory: the same task. */
	if (key.len && p->task && same_text(p->task->key, &key))
		return false;
	if (!name.len)
		name = intern_str(p->program && p->program->tool ? p->program->tool : p->comm);
	if (!name.len)
		name = text_str("?");
	/* A job of Snakemake that Slurm runs is one task of the workflow: with what Slurm's job got. */
	if (outside) {
		const struct task_request of_job = request_of(outside);

		grant(&granted, &of_job);
	}
	if (s->whole && p->task && p->task->engine && p->task->engine != s->engine) {
		grant(&granted, &p->task->granted);
		grant(&granted, &p->task->requested);
		job_around = intern_ref(p->task->job);
	}
	task = track_task_begin(t, p, &name);
	if (!task) {
		intern_unref(t->intern, job_around);
		return false;
	}
	task->engine = intern_ref(s->engine);
	task->name_source = source;
	task->sample = sample.len ? intern_get(t->intern, &sample) : NULL;
	task->key = key.len ? intern_get(t->intern, &key) : NULL;
	task->job = job.len ? intern_get(t->intern, &job) : intern_ref(job_around);
	intern_unref(t->intern, job_around);
	task->attempt = (uint32_t)recognizer_fact_number(facts, FACT_ATTEMPT);
	if (facts->by_failures)
		track_task_again(t, task, &again);
	else if (!task->attempt && again.len && p->run)
		task->attempt = attempts_next(&p->run->attempts, &again);
	task->requested = request_of(facts);
	task->granted = granted;
	intern_unref(t->intern, p->step);
	p->step = NULL;
	return true;
}

/* A mark of the scope holds: a task, or a step of one. */
static void mark(struct track *t, struct proc *p, const struct scope *s, const struct scope_marked *m,
		 const struct recognizer_facts *outside)
{
	if (m->step) {
		add_step(t, p, s, &m->facts);
	} else if (begin_task(t, p, s, &m->facts, outside)) {
		p->task->mark = recognizer_mark_number(m->mark);
		track_late_begin(t, p, s, m->mark, &m->subject);
	}
}

/* ---- an exec ---------------------------------------------------------------------- */

void track_scope_fork(struct proc *p, const struct proc *parent)
{
	if (!parent || p->scope || parent == p)
		return;
	p->scope = scope_ref(parent->scope);
	p->flags |= parent->flags & PROC_ENGINE;
	if (!p->step)
		p->step = intern_ref(parent->step);
	if (!p->boundary)
		p->boundary = intern_ref(parent->boundary);
}

static void facts_of(struct track *t, struct proc *p, const struct proc *parent, struct scope_exec *ret)
{
	/* Of a parent that rules exclude skep knows the name alone, and `parent` is a collected ancestor. */
	const struct interned *excluded = p->parent_comm;
	const struct run *run = p->run;

	if (!excluded && parent && (parent->flags & PROC_EXCLUDED)) /* the kernel did not know the verdict yet */
		excluded = parent->comm;
	*ret = (struct scope_exec){
		.environ_read = p->flags & PROC_BOUNDARY,
		.environ_before = text_of(p->boundary),
		.upid = p->upid,
		.uid = p->uid,
		.of_engine = p->flags & PROC_ENGINE,
		.rank = rank_of(run),
		.run_engine = run ? run->engine : "",
		.run_key = run ? run->key : "",
		.root = p->flags & PROC_ROOT,
		.last_root = track_last_root(p) && !run->ended,
		.undescribed = run && !run->found && !run->engine[0],
		.only_run = t->env.runs_only,
		.in_task = p->task && p->task->engine && p->task->run == run && !p->task->ended,
		.named_task = p->task && !p->task->engine,
	};
	track_cgroup_path(t, p); /* the kernel sends a cgroup's path with the first exec in it only */
	scope_image(p->program, p->comm, p->cwd, p->cgroup, p->uid, &ret->self);
	if (ret->environ_read)
		ret->self.environ = (struct filter_text){ p->environ ? p->environ->text : "",
							  p->environ ? p->environ->len : 0 };
	if (excluded)
		ret->parent = (struct recognizer_image){ .tool = text_of(excluded), .comm = text_of(excluded) };
	else if (parent)
		scope_image(parent->program, parent->comm, parent->cwd, parent->cgroup, parent->uid, &ret->parent);
}

void track_scope_exec(struct track *t, struct proc *p, const struct proc *parent)
{
	struct scope_choice choice;
	struct scope_exec facts;

	if (!t->env.recognizers || !p->program || !p->program->exe || (p->flags & (PROC_RECOGNIZED | PROC_MUTED)))
		return;
	facts_of(t, p, parent, &facts);
	scope_choose(t->env.recognizers, p->scope, &facts, &choice);
	p->flags |= PROC_RECOGNIZED;
	if (!scope_leads(p->scope, &p->upid))
		p->flags &= ~PROC_ENGINE; /* it executes a program of its own now */
	if (choice.of)
		mark(t, p, choice.of, &choice.marked, NULL);
	if (choice.learner)
		learn(t, choice.learner, &choice.learned);
	for (size_t i = 0; i < choice.n; i++) {
		const struct scope_opened *o = &choice.opened[i];
		struct scope *s = begin_engine(t, p, o);

		if (!s || !o->root.mark)
			continue;
		s->whole = true;
		mark(t, p, s, &o->root, i == choice.top ? &choice.outside : NULL);
	}
	if (facts.environ_read) {
		intern_unref(t->intern, p->boundary);
		p->boundary = intern_ref(p->environ);
	}
}

void track_scope_resume(struct track *t, struct proc *p)
{
	struct filter_budget budget = { 0 };
	struct recognizer_subject subject = { .budget = &budget };
	const struct recognizer_mark *m;
	const struct scope *s = p->scope;
	struct task *task = p->task;

	if (!task || task->ended || !task_began_with(task, &p->upid))
		return;
	while (s && s->engine != task->engine)
		s = s->outer;
	if (!s || !s->entry)
		return;
	scope_image(p->program, p->comm, p->cwd, p->cgroup, p->uid, &subject.self);
	scope_image(s->program, NULL, s->cwd, NULL, s->uid, &subject.run);
	subject.child = s == p->scope;
	m = recognizer_task(s->entry, &subject);
	if (m)
		track_late_begin(t, p, s, m, &subject);
	if (task->late && task->over_ns)
		track_late_end(t, task->late);
}

void track_recognizers(struct track *t, struct recognizers *recognizers)
{
	t->env.recognizers = recognizers;
	for (struct scope *s = t->scopes.first; s; s = s->next)
		s->entry = recognizers && s->engine ? recognizers_find(recognizers, s->engine->text) : NULL;
}

void track_scope_outside(struct track *t, struct proc *p)
{
	scope_unref(&t->scopes, t->intern, p->scope);
	p->scope = NULL;
	intern_unref(t->intern, p->step);
	p->step = NULL;
	p->flags &= ~PROC_ENGINE;
	track_dirty(t, p);
}

void track_scope_leave(struct track *t, struct proc *p)
{
	scope_unref(&t->scopes, t->intern, p->scope);
	p->scope = NULL;
	intern_unref(t->intern, p->step);
	intern_unref(t->intern, p->boundary);
	p->step = p->boundary = NULL;
}
