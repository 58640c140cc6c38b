/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/scope/choose.c - see choose.h.
 */
#include "core/scope/choose.h"

#include <string.h>

static struct filter_text text_of(const struct interned *s)
{
	return (struct filter_text){ s ? s->text : NULL, s ? s->len : 0 };
}

void scope_image(const struct program *program, const struct interned *comm, const struct interned *cwd,
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

/* nextflow is bash, then java in the same process: one engine. */
static bool began_before(const struct scope *chain, const struct scope_exec *x, const struct recognizer *entry)
{
	for (const struct scope *s = chain; s && scope_leads(s, &x->upid); s = s->outer)
		if (s->engine && strcmp(s->engine->text, recognizer_engine(entry)) == 0)
			return true;
	return false;
}

/* The engines that begin at this exec, the outermost first; top: the one of the highest class among them. */
static size_t find_engines(struct recognizers *recognizers, const struct scope *chain, const struct scope_exec *x,
			   const struct recognizer_subject *subject, struct recognizer_found ret[RECOGNIZER_CLASSES],
			   size_t *ret_top)
{
	size_t all = recognizers_run(recognizers, subject, ret), n = 0, top = 0;

	for (size_t i = 0; i < all; i++) {
		if (began_before(chain, x, ret[i].entry))
			continue;
		if (n > 0 && recognizer_class(ret[i].entry) > recognizer_class(ret[top].entry))
			top = n;
		ret[n++] = ret[i];
	}
	*ret_top = top;
	return n;
}

/* The engine's own process, and whether the exec is a child of it. */
static void look_from(const struct scope *s, const struct scope *chain, const struct scope_exec *x,
		      struct recognizer_subject *subject)
{
	scope_image(s->program, NULL, s->cwd, NULL, s->uid, &subject->run);
	subject->child = x->of_engine && s == chain;
}

/* The innermost scope that has a mark here decides: a task if the scope leads, else a step. */
static void find_mark(const struct scope *chain, const struct scope_exec *x, struct recognizer_subject *subject,
		      struct scope_choice *ret)
{
	const struct scope *lead = scope_leading(chain);

	for (const struct scope *s = chain; s; s = s->outer) {
		const struct recognizer_mark *m;

		if (!s->entry || scope_leads(s, &x->upid))
			continue;
		look_from(s, chain, x, subject);
		m = recognizer_task(s->entry, subject);
		if (!m)
			continue;
		ret->of = s;
		ret->marked.mark = m;
		ret->marked.subject = *subject;
		ret->marked.step = x->named_task || s->whole ||
				   !(s == lead || (s->nests && lead && s->engine == lead->engine));
		recognizer_facts(m, subject, &ret->marked.facts);
		return;
	}
}

/*
 * An exec below the engine can say more about the run: the command that submits a job shows the run's key, the
 * environment of a CI job's first step its name.
 */
static void find_learner(struct scope *chain, const struct scope_exec *x, struct recognizer_subject *subject,
			 struct scope_choice *ret)
{
	for (struct scope *s = chain; s; s = s->outer) {
		const struct recognizer_mark *m;

		if (!s->entry || !s->run || s->keyed || s->uid != x->uid)
			continue;
		look_from(s, chain, x, subject);
		m = recognizer_learn(s->entry, subject);
		if (!m)
			continue;
		recognizer_facts(m, subject, &ret->learned);
		if (!recognizer_fact_text(&ret->learned, FACT_KEY).len)
			continue;
		ret->learner = s;
		return;
	}
}

static bool has_run(const struct scope_opened *o)
{
	return o->run == SCOPE_TAKES || o->run == SCOPE_BEGINS;
}

/* Whether what the engine that begins marks is a task of the run: see scope_leading(). */
static bool begins_tasks(const struct scope_choice *c, size_t at, const struct scope *chain)
{
	const struct recognizer *self = c->opened[at].entry, *entry;
	const char *engine = recognizer_engine(self), *lead = engine;
	enum recognizer_class class = recognizer_class(self);
	bool over = has_run(&c->opened[at]), own = true;

	for (size_t i = at; i-- > 0 && !over; over = has_run(&c->opened[i])) {
		entry = c->opened[i].entry;
		if (recognizer_class(entry) < class)
			continue;
		class = recognizer_class(entry);
		lead = recognizer_engine(entry);
		own = false;
	}
	for (const struct scope *s = chain; s && !over; over = s->run, s = s->outer) {
		if (s->class < class)
			continue;
		class = s->class;
		lead = s->engine ? s->engine->text : "";
		own = false;
	}
	return own || (recognizer_nests(self) && strcmp(lead, engine) == 0);
}

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
 * An engine begins, and another one of a higher class further in at the same exec, as Slurm's job and Snakemake with
 * `srun snakemake`.  Of a run that has its key, the process becomes a member, which the inner engine's run then has as
 * its parent.  ret_run, ret_task: what it says about those of the inner engine.
 */
static void begin_outside(struct scope_opened *o, const struct scope_exec *x, struct recognizer_subject *subject,
			  struct recognizer_facts *ret_run, struct recognizer_facts *ret_task)
{
	const struct recognizer_mark *m;
	struct recognizer_facts facts;

	add_fact(ret_run, &o->facts, FACT_JOB);
	add_fact(ret_run, &o->facts, FACT_ACCOUNT);
	if ((int)recognizer_class(o->entry) > x->rank && !x->root)
		o->run = SCOPE_JOINS;
	m = recognizer_task(o->entry, subject);
	if (!m)
		return;
	recognizer_facts(m, subject, &facts);
	add_fact(ret_task, &facts, FACT_JOB);
	for (unsigned f = FACT_CPUS; f < FACTS; f++)
		add_fact(ret_task, &facts, (enum recognizer_fact)f);
}

/* The engine says the key of the run around it: it is a part of that run, as the bash of an Airflow task. */
static bool is_part(const struct scope_opened *o, const struct scope_exec *x)
{
	struct skep_str key = recognizer_fact_text(&o->facts, FACT_KEY);

	return key.len && strlen(x->run_key) == key.len && memcmp(x->run_key, key.ptr, key.len) == 0 &&
	       strcmp(x->run_engine, recognizer_engine(o->entry)) == 0;
}

/* How the exec stands to runs when this engine begins.  x is changed for the engines further in. */
static enum scope_run run_of(const struct scope_opened *o, struct scope_exec *x)
{
	int class = (int)recognizer_class(o->entry);
	/*
	 * A workflow in a task of a workflow, such as a Snakemake in a rule.  An engine that is in no task of the run
	 * around it is a part of that run's own engine.
	 */
	bool nested = class == RECOGNIZER_WORKFLOW && x->rank == class && x->in_task && !x->only_run && !is_part(o, x);
	bool last = x->last_root;

	if (class <= x->rank && !nested) {
		bool first = x->undescribed;

		x->undescribed = false;
		return first ? SCOPE_DESCRIBES : SCOPE_AROUND;
	}
	x->rank = class;
	x->in_task = false;
	return last ? SCOPE_TAKES : SCOPE_BEGINS;
}

void scope_choose(struct recognizers *recognizers, struct scope *chain, const struct scope_exec *exec,
		  struct scope_choice *ret)
{
	struct scope_exec x = *exec;
	struct recognizer_subject subject = { .self = x.self, .parent = x.parent, .environ_read = x.environ_read,
					      .environ_before = x.environ_before, .budget = &ret->budget };
	struct recognizer_found found[RECOGNIZER_CLASSES];
	bool inside = chain && !scope_leads(chain, &x.upid);
	struct recognizer_facts outside; /* about the run */

	ret->budget = (struct filter_budget){ 0 };
	ret->of = NULL;
	ret->learner = NULL;
	ret->n = find_engines(recognizers, chain, &x, &subject, found, &ret->top);
	/* An engine that begins a run of its own is no task of the run that it leaves. */
	if (inside && !(ret->n > 0 && (int)recognizer_class(found[ret->top].entry) > x.rank))
		find_mark(chain, &x, &subject, ret);
	if (inside)
		find_learner(chain, &x, &subject, ret);
	if (ret->of && !ret->marked.step)
		x.in_task = true;
	subject.run = subject.self;
	subject.root = true;
	subject.child = false;
	outside.known = ret->outside.known = 0;
	for (size_t i = 0; i < ret->n; i++) {
		struct scope_opened *o = &ret->opened[i];

		o->entry = found[i].entry;
		o->mark = found[i].mark;
		o->run = SCOPE_AROUND;
		o->root.mark = NULL;
		recognizer_facts(found[i].mark, &subject, &o->facts);
		if (i < ret->top) {
			begin_outside(o, &x, &subject, &outside, &ret->outside);
			continue;
		}
		if (i == ret->top) {
			add_fact(&o->facts, &outside, FACT_JOB);
			add_fact(&o->facts, &outside, FACT_ACCOUNT);
		}
		o->run = run_of(o, &x);
		o->root.mark = recognizer_task(o->entry, &subject);
		if (!o->root.mark)
			continue;
		o->root.subject = subject;
		o->root.step = x.named_task || !begins_tasks(ret, i, chain);
		recognizer_facts(o->root.mark, &subject, &o->root.facts);
		if (i == ret->top)
			add_fact(&o->root.facts, &ret->outside, FACT_JOB);
	}
}
