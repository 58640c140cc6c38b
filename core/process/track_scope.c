/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/track_scope.c - asks the recognizers at each exec: does it begin a run, a task or a step?
 *
 * - A run begins at an engine of a higher class than the run around it.  An engine of an equal or lower class opens
 *   only a scope: a make in a rule of Snakemake is a step of the rule's task.
 * - One exec can begin several engines: `srun snakemake` is Slurm's job and Snakemake.  All open scopes; only the
 *   engine of the highest class begins a run.
 * - A task begins at a mark of the run's engine: the outermost scope of the highest class within the run.
 * - Processes of one user with one key are one run although none of them started the others: the elements and steps of
 *   a scheduler's job, and the jobs that an engine submitted.
 * - A scope's child is a process whose fork parent still executes the engine's program, so the helper processes that
 *   an engine's shell starts are no tasks.
 */
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/track_priv.h"

#define STEP_MOST 160u /* bytes of a step's path */
/* Engines within each other; an exec looks at the marks of each.  A user can nest thousands of makes. */
#define SCOPES_DEEP 16u

static struct filter_text text_of(const struct interned *s)
{
	return (struct filter_text){ s ? s->text : NULL, s ? s->len : 0 };
}

static void image_of(const struct program *program, const struct interned *comm, const struct interned *cwd,
		     const struct interned *cgroup, uint32_t uid, struct recognizer_image *ret)
{
	*ret = (struct recognizer_image){ .comm = text_of(comm), .cwd = text_of(cwd), .cgroup = text_of(cgroup),
					  .uid = uid };
	if (!program)
		return;
	ret->tool = text_of(program->tool);
	ret->exe = text_of(program->exe);
	ret->filename = text_of(program->filename);
	ret->wrapper = program->wrapper;
	ret->argv = (struct filter_text){ program->argv, program->argv_len };
}

/* The scope whose marks begin tasks of the run: the outermost of the highest class that belongs to the run. */
const struct scope *track_scope_leading(const struct proc *p)
{
	const struct scope *found = NULL;

	for (const struct scope *s = p->scope; s; s = s->outer) {
		if (!found || s->class >= found->class)
			found = s;
		if (s->run) /* scopes further out belong to the run around this one */
			break;
	}
	return found;
}

/* The process opened the scope. */
static bool leads(const struct proc *p, const struct scope *s)
{
	return s && s->root.pid == p->upid.pid && s->root.start_ns == p->upid.start_ns;
}

/* ---- runs ------------------------------------------------------------------------- */

static int rank_of(const struct run *run)
{
	if (!run || run->ended)
		return -2;
	if (!run->found)
		return RECOGNIZER_CLASSES; /* a user began it by name: nothing is higher */
	return run->engine[0] ? (int)run->class : -1;
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
	s->class = recognizer_class(entry);
	s->nests = recognizer_nests(entry);
	s->root = p->upid;
	s->uid = p->uid;
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

	if (run_engine(run, recognizer_engine(entry), recognizer_class(entry)) < 0 ||
	    (run->found && name.len && run_set(&run->name, &name) < 0) ||
	    ((run->found || !run->pipeline[0]) && pipeline.len && run_set(&run->pipeline, &pipeline) < 0) ||
	    (job.len && run_set(&run->job, &job) < 0))
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
	scope_set_run(s, run);
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
	struct run *run;

	run_id_new(id);
	if (run_new(&t->runs, &spec, p->image_start_ns, &run) < 0) {
		t->stats.no_memory++;
		return;
	}
	run->found = run->alone = true;
	run->root = p->upid;
	run->uid = p->uid;
	run->gid = p->gid;
	run->peers = set_key(t, run, facts, p->uid);
	if (run_set(&run->job, &job) < 0)
		t->stats.no_memory++;
	if (p->program && p->program->argv_len > 0 && run_argv(run, p->program->argv, p->program->argv_len) < 0)
		t->stats.no_memory++;
	set_name(t, run, p);
	describe(t, run, s->entry, facts);
	p->flags |= PROC_ROOT;
	scope_set_run(s, run);
	track_join(t, p, run);
	t->env.run_found(t->env.arg, run);
}

/* What the engines further out that begin at the same exec say, as Slurm of `srun snakemake`. */
struct outside {
	struct recognizer_facts run, task;
};

static void add_fact(struct recognizer_facts *to, const struct recognizer_facts *from, enum recognizer_fact fact)
{
	if ((to->known & 1u << fact) || !(from->known & 1u << fact))
		return;
	to->known |= 1u << fact;
	to->source[fact] = from->source[fact];
	if ((unsigned)fact >= FACT_TEXTS) {
		to->number[fact - FACT_TEXTS] = from->number[fact - FACT_TEXTS];
		return;
	}
	to->len[fact] = from->len[fact];
	memcpy(to->text[fact], from->text[fact], from->len[fact]);
}

/*
 * An engine begins, and another one of a higher class further in at the same exec.  It opens a scope.  Of a run that
 * has its key, the process becomes a member, which the inner engine's run then has as its parent.
 */
static void begin_outside(struct track *t, struct proc *p, const struct recognizer_found *found,
			  struct recognizer_subject *subject, struct outside *ret)
{
	struct scope *s = open_scope(t, p, found->entry);
	const struct recognizer_mark *m;
	struct recognizer_facts facts;

	recognizer_facts(found->mark, subject, &facts);
	add_fact(&ret->run, &facts, FACT_JOB);
	if (s && (int)s->class > rank_of(p->run) && !(p->flags & PROC_ROOT) && join_run(t, p, s, &facts))
		p->flags &= ~PROC_ROOT;
	subject->root = true;
	subject->child = false;
	m = recognizer_task(found->entry, subject);
	if (!m)
		return;
	recognizer_facts(m, subject, &facts);
	add_fact(&ret->task, &facts, FACT_JOB);
	for (unsigned f = FACT_CPUS; f < FACTS; f++)
		add_fact(&ret->task, &facts, (enum recognizer_fact)f);
}

/* An engine begins: its scope, and a run if the one around it has a lower class. */
static void begin_scope(struct track *t, struct proc *p, const struct recognizer *entry,
			const struct recognizer_facts *facts)
{
	bool first = !p->run || p->run->engine[0] == '\0';
	struct scope *s = open_scope(t, p, entry);

	if (!s)
		return;
	if ((int)s->class <= rank_of(p->run)) {
		if (first && !p->run->found) { /* the first engine of a run that a user began by name */
			describe(t, p->run, entry, facts);
			t->env.run_changed(t->env.arg, p->run);
		}
	} else if (track_last_root(p) && !p->run->ended) {
		/* A session, or a job, that executes the engine itself: its run is the engine's. */
		forget_key(p->run);
		describe(t, p->run, entry, facts);
		if (!(facts->known & 1u << FACT_NAME))
			set_name(t, p->run, p);
		if (set_key(t, p->run, facts, p->uid))
			p->run->peers = true;
		scope_set_run(s, p->run);
		t->env.run_changed(t->env.arg, p->run);
	} else if (!join_run(t, p, s, facts)) {
		begin_run(t, p, s, facts);
	}
}

/*
 * An exec below the engine can say more about the run: the command that submits a job shows the run's key, the
 * environment of a CI job's first step its name.
 */
static void learn(struct track *t, const struct proc *p, struct recognizer_subject *subject, bool was_engine)
{
	for (const struct scope *s = p->scope; s; s = s->outer) {
		const struct recognizer_mark *m;
		struct recognizer_facts facts;

		if (!s->entry || !s->run || s->run->ended || s->run->key[0] || s->uid != p->uid)
			continue;
		image_of(s->program, NULL, s->cwd, NULL, s->uid, &subject->run);
		subject->child = was_engine && s == p->scope;
		m = recognizer_learn(s->entry, subject);
		if (!m)
			continue;
		recognizer_facts(m, subject, &facts);
		if (!set_key(t, s->run, &facts, s->uid))
			continue;
		describe(t, s->run, s->entry, &facts);
		t->env.run_changed(t->env.arg, s->run); /* parts of the run on other hosts have the key already */
		return;
	}
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

/* Adds what the engine did not say itself. */
static void add_request(struct task_request *to, const struct task_request *from)
{
	to->milli_cpus = to->milli_cpus ? to->milli_cpus : from->milli_cpus;
	to->memory_bytes = to->memory_bytes ? to->memory_bytes : from->memory_bytes;
	to->walltime_ns = to->walltime_ns ? to->walltime_ns : from->walltime_ns;
	to->gpus = to->gpus ? to->gpus : from->gpus;
	to->source = to->source ? to->source : from->source;
}

/* false: the process stays in its task. */
static bool begin_task(struct track *t, struct proc *p, const struct scope *s, const struct recognizer_facts *facts)
{
	struct skep_str key = recognizer_fact_text(facts, FACT_KEY), again = recognizer_fact_text(facts, FACT_AGAIN);
	struct skep_str sample = recognizer_fact_text(facts, FACT_SAMPLE);
	struct skep_str job = recognizer_fact_text(facts, FACT_JOB);
	struct skep_str name = recognizer_fact_text(facts, FACT_NAME);
	const char *source = name.len ? facts->source[FACT_NAME] : "program";
	struct task_request around = { 0 };
	const struct interned *job_around = NULL;
	struct task *task;

	/* Nextflow's wrapper starts itself again in the same work directory: the same task. */
	if (key.len && p->task && same_text(p->task->key, &key))
		return false;
	if (!name.len)
		name = intern_str(p->program && p->program->tool ? p->program->tool : p->comm);
	if (!name.len)
		name = text_str("?");
	/* A job of Snakemake that Slurm runs is one task of the workflow: with what Slurm was asked for. */
	if (s->whole && p->task && p->task->engine && p->task->engine != s->engine) {
		around = p->task->requested;
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
	if (!task->attempt && again.len && p->run) {
		task->attempt = attempts_next(&p->run->attempts, &again);
		t->attempts_changed = true;
	}
	task->requested = (struct task_request){
		.milli_cpus = recognizer_fact_number(facts, FACT_CPUS),
		.memory_bytes = recognizer_fact_number(facts, FACT_MEMORY),
		.walltime_ns = recognizer_fact_number(facts, FACT_WALLTIME),
		.gpus = recognizer_fact_number(facts, FACT_GPUS),
	};
	for (unsigned f = FACT_CPUS; f < FACTS && !task->requested.source; f++)
		if (facts->known & 1u << f)
			task->requested.source = facts->source[f];
	add_request(&task->requested, &around);
	intern_unref(t->intern, p->step);
	p->step = NULL;
	return true;
}

/* A mark of the scope holds: a task, or a step of one. */
static void mark(struct track *t, struct proc *p, const struct scope *s, const struct recognizer_mark *m,
		 const struct recognizer_subject *subject, const struct recognizer_facts *outside)
{
	const struct scope *lead = track_scope_leading(p);
	struct recognizer_facts facts;

	recognizer_facts(m, subject, &facts);
	for (unsigned f = 0; f < FACTS && outside; f++)
		add_fact(&facts, outside, (enum recognizer_fact)f);
	/* A task that the environment names (SKEP_TASK) is the user's own choice: the engine's are its steps. */
	if ((s == lead || (s->nests && lead && s->engine == lead->engine)) && (!s->whole || subject->root) &&
	    !(p->task && !p->task->engine)) {
		if (begin_task(t, p, s, &facts))
			track_late_begin(t, p, s, m, subject);
		return;
	}
	add_step(t, p, s, &facts);
}

static void find_task(struct track *t, struct proc *p, struct recognizer_subject *subject, bool was_engine)
{
	for (const struct scope *s = p->scope; s; s = s->outer) {
		const struct recognizer_mark *m;

		if (!s->entry || leads(p, s))
			continue;
		image_of(s->program, NULL, s->cwd, NULL, s->uid, &subject->run);
		subject->child = was_engine && s == p->scope;
		m = recognizer_task(s->entry, subject);
		if (!m)
			continue;
		mark(t, p, s, m, subject, NULL);
		return;
	}
}

/* A job that a scheduler starts is a task as a whole: the exec that begins the scope begins the task, too. */
static void find_root_task(struct track *t, struct proc *p, struct recognizer_subject *subject,
			   const struct recognizer_facts *outside)
{
	struct scope *s = p->scope;
	const struct recognizer_mark *m;

	subject->root = true;
	subject->child = false;
	m = s && s->entry && s->root.pid == p->upid.pid ? recognizer_task(s->entry, subject) : NULL;
	if (!m)
		return;
	s->whole = true;
	mark(t, p, s, m, subject, outside);
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

/* nextflow is bash, then java in the same process: one engine. */
static bool began_before(const struct proc *p, const struct recognizer *entry)
{
	for (const struct scope *s = p->scope; leads(p, s); s = s->outer)
		if (s->engine && strcmp(s->engine->text, recognizer_engine(entry)) == 0)
			return true;
	return false;
}

/* The engines that begin at this exec, the outermost first; top: the one of the highest class among them. */
static size_t find_engines(struct track *t, const struct proc *p, const struct recognizer_subject *subject,
			   struct recognizer_found ret[RECOGNIZER_CLASSES], size_t *ret_top)
{
	size_t all = recognizers_run(t->env.recognizers, subject, ret), n = 0, top = 0;

	for (size_t i = 0; i < all; i++) {
		if (began_before(p, ret[i].entry))
			continue;
		if (n > 0 && recognizer_class(ret[i].entry) > recognizer_class(ret[top].entry))
			top = n;
		ret[n++] = ret[i];
	}
	*ret_top = top;
	return n;
}

void track_scope_exec(struct track *t, struct proc *p, const struct proc *parent)
{
	bool environ_read = p->flags & PROC_BOUNDARY;
	struct filter_budget budget = { 0 };
	struct recognizer_subject subject = { .environ_read = environ_read,
					      .budget = &budget,
					      .environ_before = text_of(p->boundary) };
	/* Of a parent that rules exclude skep knows the name alone, and `parent` is a collected ancestor. */
	const struct interned *excluded = p->parent_comm;
	bool was_engine = p->flags & PROC_ENGINE, inside = p->scope && !leads(p, p->scope);
	struct recognizer_found found[RECOGNIZER_CLASSES];
	struct outside outside;
	size_t n, top;

	if (!t->env.recognizers || !p->program || !p->program->exe ||
	    (p->flags & (PROC_RECOGNIZED | PROC_MUTED | PROC_EXITED | PROC_FINAL)))
		return;
	p->flags |= PROC_RECOGNIZED;
	if (!excluded && parent && (parent->flags & PROC_EXCLUDED)) /* the kernel did not know the verdict yet */
		excluded = parent->comm;
	if (!leads(p, p->scope))
		p->flags &= ~PROC_ENGINE; /* it executes a program of its own now */
	image_of(p->program, p->comm, p->cwd, p->cgroup, p->uid, &subject.self);
	if (environ_read)
		subject.self.environ = (struct filter_text){ p->environ ? p->environ->text : "",
							     p->environ ? p->environ->len : 0 };
	if (excluded)
		subject.parent = (struct recognizer_image){ .tool = text_of(excluded), .comm = text_of(excluded) };
	else if (parent)
		image_of(parent->program, parent->comm, parent->cwd, parent->cgroup, parent->uid, &subject.parent);
	n = find_engines(t, p, &subject, found, &top);
	/* An engine that begins a run of its own is no task of the run that it leaves. */
	if (inside && !(n > 0 && (int)recognizer_class(found[top].entry) > rank_of(p->run)))
		find_task(t, p, &subject, was_engine);
	if (inside)
		learn(t, p, &subject, was_engine);
	outside.run.known = outside.task.known = 0;
	for (size_t i = 0; i < n; i++) {
		struct recognizer_facts facts;

		if (i < top) {
			begin_outside(t, p, &found[i], &subject, &outside);
			continue;
		}
		recognizer_facts(found[i].mark, &subject, &facts);
		if (i == top)
			add_fact(&facts, &outside.run, FACT_JOB);
		begin_scope(t, p, found[i].entry, &facts);
		find_root_task(t, p, &subject, i == top ? &outside.task : NULL);
	}
	if (environ_read) {
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

	if (!task || task->ended || task->root.pid != p->upid.pid || task->root.start_ns != p->upid.start_ns)
		return;
	while (s && s->engine != task->engine)
		s = s->outer;
	if (!s || !s->entry)
		return;
	image_of(p->program, p->comm, p->cwd, p->cgroup, p->uid, &subject.self);
	image_of(s->program, NULL, s->cwd, NULL, s->uid, &subject.run);
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
