/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/judge.c - the rules in use, the verdicts by them, and what has been counted of each.
 */
#include "core/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/judge_priv.h"

int judge_new(const struct judge_env *env, struct judge **ret)
{
	struct judge *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->env = *env;
	j->rules_fd = j->programs_fd = j->values_fd = -1;
	j->users = users_new(env->loop, env->names, env->arg);
	if (!j->users) {
		judge_free(j);
		return -ENOMEM;
	}
	judge_kernel_open(j);
	*ret = j;
	return 0;
}

struct judge *judge_free(struct judge *j)
{
	if (!j)
		return NULL;
	judge_kernel_close(j);
	pushdown_free(j->plan);
	ruleset_unref(j->set);
	free(j->tallies);
	users_free(j->users);
	free(j);
	return NULL;
}

void judge_stop(struct judge *j)
{
	if (j)
		users_stop(j->users);
}

uint64_t judge_names_late_ns(struct judge *j)
{
	return users_late_ns(j->users);
}

void judge_tools(struct judge *j, const struct tools *tools)
{
	j->env.tools = tools;
}

void judge_table(struct judge *j, const struct proctab *table)
{
	j->env.table = table;
}

struct judge_fds judge_fds(const struct judge *j)
{
	return (struct judge_fds){ .rules = j->rules_fd, .programs = j->programs_fd, .values = j->values_fd };
}

const char *judge_kernel(const struct judge *j)
{
	if (j->shared)
		return j->env.kernel ? NULL : "switched off by filters.kernel";
	return j->why ? j->why : "no memory to say why";
}

struct ruleset *judge_rules(const struct judge *j)
{
	return j->set;
}

uint32_t judge_generation(const struct judge *j)
{
	return j->generation;
}

/* ---- another set --------------------------------------------------------------------- */

static bool excludes(const struct rule *r)
{
	return r->verdict == RULE_EXCLUDE || r->verdict == RULE_SAMPLE;
}

/* Bytes for what the rules exclude, and what was counted of those that were there before. */
static struct judge_tally *tallies_new(const struct judge *j, const struct ruleset *set, uint32_t generation, uint8_t *ret_otherwise)
{
	size_t n = ruleset_count(set), slot = 0;
	struct judge_tally *t = calloc(n + 1, sizeof(*t));

	if (!t)
		return NULL;
	for (size_t i = 0; i <= n; i++) {
		const struct rule *r = i < n ? ruleset_rule(set, i) : NULL, *before = r && j->set ? ruleset_find(j->set, r->id) : NULL;

		if (before && rule_same(before, r)) {
			t[i] = j->tallies[before->number];
		} else if (!r && j->set && ruleset_otherwise(j->set) == ruleset_otherwise(set)) {
			t[i] = j->tallies[ruleset_count(j->set)];
		}
		t[i].byte = 0;
		t[i].shared = false;
		if (r ? !excludes(r) : ruleset_otherwise(set) != RULE_EXCLUDE)
			continue;
		/* The last slot is for all that have none of their own. */
		t[i].byte = (uint8_t)(judge_first_byte(generation) + (slot < SKEP_RULES_SLOTS ? slot : SKEP_RULES_SLOTS - 1));
		t[i].shared = slot >= SKEP_RULES_SLOTS - 1;
		slot++;
		if (j->shared) {
			t[i].seen_gone = __atomic_load_n(&j->shared->excluded[t[i].byte & 127], __ATOMIC_RELAXED);
			t[i].seen_gone_ns = __atomic_load_n(&j->shared->excluded_ns[t[i].byte & 127], __ATOMIC_RELAXED);
		}
	}
	/* One that shares it with nobody after all. */
	for (size_t i = 0; i <= n && slot == SKEP_RULES_SLOTS; i++)
		t[i].shared = false;
	*ret_otherwise = t[n].byte;
	return t;
}

static void mark_exact(struct judge_tally *t, size_t n, const struct pushdown *plan)
{
	const struct pushdown_clause *clauses;
	size_t n_clauses = pushdown_clauses(plan, &clauses);

	for (size_t i = 0; i <= n; i++)
		t[i].exact = false;
	for (size_t i = 0; i < n_clauses; i++)
		if (clauses[i].rule)
			t[clauses[i].rule->number].exact = true;
	for (size_t i = 0; i < n_clauses; i++)
		if (clauses[i].rule && !clauses[i].exact)
			t[clauses[i].rule->number].exact = false;
	t[n].exact = n_clauses == 0 || clauses[n_clauses - 1].rule;
}

/* Pids that a rule of another set has a say about: to be collected until they are judged anew. */
static void forget(struct judge *j, bool keep_too)
{
	struct verdict *v = j->env.verdict;
	uint8_t first = judge_first_byte(j->generation + 1); /* the parity before is also the one after */

	for (uint32_t pid = 0; v->bytes && pid < v->pids; pid++) {
		uint8_t byte = __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED);

		if (byte >= first && byte < first + SKEP_RULES_SLOTS)
			/* The fork hook may be writing another one: then that one is newer. */
			__atomic_compare_exchange_n(&v->bytes[pid], &byte, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		else if (keep_too && byte >= SKEP_VERDICT_KEEP && byte < SKEP_VERDICT_EXCLUDED)
			__atomic_compare_exchange_n(&v->bytes[pid], &byte, (uint8_t)(byte & ~SKEP_VERDICT_KEEP), false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	}
}

int judge_use(struct judge *j, struct ruleset *set)
{
	uint32_t generation = j->generation + 1 ? j->generation + 1 : 2; /* 0: a set that is being written */
	struct judge_tally *tallies = NULL;
	struct pushdown *plan = NULL;
	uint8_t otherwise = 0;

	/* Rules that decide nothing are none: nothing is asked of anybody. */
	if (set && ruleset_count(set) == 0 && ruleset_otherwise(set) == RULE_INCLUDE)
		set = NULL;
	if (!set && !j->set)
		return 0;
	judge_kernel_count(j, clock_boot_ns());
	if (set) {
		tallies = tallies_new(j, set, generation, &otherwise);
		plan = pushdown_new(set, judge_dimensions);
		if (!tallies || !plan) {
			free(tallies);
			pushdown_free(plan);
			return -ENOMEM;
		}
		mark_exact(tallies, ruleset_count(set), plan);
		ruleset_ref(set);
	}
	if (set != j->set) /* the same once more: names have come */
		users_forget(j->users);
	pushdown_free(j->plan);
	ruleset_unref(j->set);
	free(j->tallies);
	j->plan = plan;
	j->set = set;
	j->tallies = tallies;
	j->otherwise = otherwise;
	j->generation = generation;
	judge_kernel_use(j);
	forget(j, true);
	return 0;
}

void judge_forget_old(struct judge *j)
{
	forget(j, false);
}

/* ---- verdicts ------------------------------------------------------------------------- */

static void on_tried(void *arg, const struct rule *rule, uint64_t ns)
{
	struct judge *j = arg;

	j->tallies[rule->number].timed++;
	j->tallies[rule->number].timed_ns += ns;
}

void judge_process(struct judge *j, const struct judge_case *c, struct judge_verdict *ret)
{
	const struct rule_watch watch = { .now_ns = clock_boot_ns, .tried = on_tried, .arg = j };
	const struct judge_subject *subject;
	struct rule_decision d;
	struct judge_tally *t;
	uint64_t began_ns;

	*ret = (struct judge_verdict){ .include = true };
	if (!j->set)
		return;
	began_ns = clock_boot_ns();
	subject = judge_case_subject(j, c);
	ruleset_judge_watched(j->set, judge_get, subject, rule_key(c->proc->upid.pid, c->proc->upid.start_ns), &d,
			      j->self.judged_user % JUDGE_TIMED == 0 ? &watch : NULL);
	t = &j->tallies[d.rule ? d.rule->number : ruleset_count(j->set)];
	ret->rule = d.rule;
	ret->include = d.include;
	ret->settled = d.rule && d.rule->inherit;
	ret->byte = d.include ? (ret->settled ? SKEP_VERDICT_KEEP : 0) : t->byte;
	if (!c->decided) { /* else the kernel has counted it */
		if (!d.spent) {
			t->hits_user++;
			t->last_ns = c->now_ns;
		}
		j->self.spent += d.spent;
		j->self.judged_user++;
	}
	if (c->unknown)
		judge_kernel_answer(j, c, subject);
	j->self.busy_ns += clock_boot_ns() - began_ns;
}

void judge_write(struct judge *j, uint32_t pid, uint8_t byte)
{
	verdict_set(j->env.verdict, (pid_t)pid, byte);
}

void judge_keep(struct judge *j, uint32_t pid)
{
	struct verdict *v = j->env.verdict;
	uint8_t byte;

	if (!v->bytes || pid >= v->pids)
		return;
	byte = __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED);
	if (byte < SKEP_VERDICT_EXCLUDED)
		__atomic_compare_exchange_n(&v->bytes[pid], &byte, byte | SKEP_VERDICT_KEEP, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void judge_unwrite(struct judge *j, uint32_t pid, uint8_t byte)
{
	struct verdict *v = j->env.verdict;

	if (v->bytes && pid < v->pids)
		__atomic_compare_exchange_n(&v->bytes[pid], &byte, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool judge_excludes(const struct judge *j, uint32_t pid)
{
	const struct verdict *v = j->env.verdict;

	return v->bytes && pid < v->pids && __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED) >= SKEP_VERDICT_EXCLUDED;
}

/* ---- counts --------------------------------------------------------------------------- */

void judge_counts(struct judge *j, void (*cb)(void *arg, const struct judge_count *), void *arg)
{
	size_t n = j->set ? ruleset_count(j->set) : 0;

	if (!j->set)
		return;
	judge_kernel_count(j, clock_boot_ns());
	for (size_t i = 0; i <= n; i++) {
		const struct judge_tally *t = &j->tallies[i];
		struct judge_count count = {
			.rule = i < n ? ruleset_rule(j->set, i) : NULL,
			.hits_user = t->hits_user,
			.hits_kernel = t->hits_kernel,
			.last_ns = t->last_ns,
			.gone = t->gone,
			.gone_ns = t->gone_ns,
			.timed = t->timed,
			.timed_ns = t->timed_ns,
			.shared = t->shared,
			.in_kernel = j->shared && j->env.kernel && t->exact,
		};

		cb(arg, &count);
	}
}

void judge_self(const struct judge *j, struct judge_self *ret)
{
	*ret = j->self;
	ret->generation = j->generation;
}
