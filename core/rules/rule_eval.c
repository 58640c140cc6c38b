/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rule_eval.c - the rules in use: evaluates processes by them, and counts the verdicts of each rule.
 */
#include "core/rules/rule_eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/rules/rule_eval_priv.h"

int rule_eval_new(const struct rule_eval_env *env, struct rule_eval **ret)
{
	struct rule_eval *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->env = *env;
	j->rules_fd = j->programs_fd = j->values_fd = -1;
	j->users = users_new(env->loop, env->names, env->arg);
	if (!j->users) {
		rule_eval_free(j);
		return -ENOMEM;
	}
	rule_eval_kernel_open(j);
	*ret = j;
	return 0;
}

struct rule_eval *rule_eval_free(struct rule_eval *j)
{
	if (!j)
		return NULL;
	rule_eval_kernel_close(j);
	pushdown_free(j->plan);
	ruleset_unref(j->set);
	free(j->tallies);
	users_free(j->users);
	free(j);
	return NULL;
}

void rule_eval_stop(struct rule_eval *j)
{
	if (j)
		users_stop(j->users);
}

uint64_t rule_eval_names_late_ns(struct rule_eval *j)
{
	return users_late_ns(j->users);
}

void rule_eval_tools(struct rule_eval *j, const struct tools *tools)
{
	j->env.tools = tools;
}

void rule_eval_subjects(struct rule_eval *j, rule_subject_fn subject, void *arg)
{
	j->subject = subject;
	j->subject_arg = arg;
}

struct users *rule_eval_users(const struct rule_eval *j)
{
	return j->users;
}

struct rule_eval_fds rule_eval_fds(const struct rule_eval *j)
{
	return (struct rule_eval_fds){ .rules = j->rules_fd, .programs = j->programs_fd, .values = j->values_fd };
}

const char *rule_eval_kernel(const struct rule_eval *j)
{
	if (j->shared)
		return j->env.kernel ? NULL : "switched off by filters.kernel";
	return j->why ? j->why : "no memory to say why";
}

struct ruleset *rule_eval_rules(const struct rule_eval *j)
{
	return j->set;
}

uint32_t rule_eval_generation(const struct rule_eval *j)
{
	return j->generation;
}

/* ---- another set --------------------------------------------------------------------- */

static bool excludes(const struct rule *r)
{
	return r->verdict == RULE_EXCLUDE || r->verdict == RULE_SAMPLE;
}

/* Assigns bytes to the rules that exclude, and copies the counters of rules that the previous set also had. */
static struct rule_eval_tally *tallies_new(const struct rule_eval *j, const struct ruleset *set, uint32_t generation,
					   uint8_t *ret_otherwise)
{
	size_t n = ruleset_count(set), slot = 0;
	struct rule_eval_tally *t = calloc(n + 1, sizeof(*t));

	if (!t)
		return NULL;
	for (size_t i = 0; i <= n; i++) {
		const struct rule *r = i < n ? ruleset_rule(set, i) : NULL,
				  *before = r && j->set ? ruleset_find(j->set, r->id) : NULL;

		if (before && rule_same(before, r)) {
			t[i] = j->tallies[before->number];
		} else if (!r && j->set && ruleset_otherwise(j->set) == ruleset_otherwise(set)) {
			t[i] = j->tallies[ruleset_count(j->set)];
		}
		t[i].byte = 0;
		t[i].shared = false;
		if (r ? !excludes(r) : ruleset_otherwise(set) != RULE_EXCLUDE)
			continue;
		/* The last slot is shared by all rules that have no slot of their own. */
		t[i].byte = (uint8_t)(rule_eval_first_byte(generation) +
				      (slot < SKEP_RULES_SLOTS ? slot : SKEP_RULES_SLOTS - 1));
		t[i].shared = slot >= SKEP_RULES_SLOTS - 1;
		slot++;
		if (j->shared) {
			t[i].seen_gone = __atomic_load_n(&j->shared->excluded[t[i].byte & 127], __ATOMIC_RELAXED);
			t[i].seen_gone_ns = __atomic_load_n(&j->shared->excluded_ns[t[i].byte & 127], __ATOMIC_RELAXED);
		}
	}
	/* Exactly as many rules as slots: no rule shares the last slot. */
	for (size_t i = 0; i <= n && slot == SKEP_RULES_SLOTS; i++)
		t[i].shared = false;
	*ret_otherwise = t[n].byte;
	return t;
}

static void mark_exact(struct rule_eval_tally *t, size_t n, const struct pushdown *plan)
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

/*
 * Clears the bytes that the previous set wrote: skepd collects those processes until it evaluates them again.
 * keep_too: clears the mark of included processes as well.
 */
static void forget(struct rule_eval *j, bool keep_too)
{
	struct verdict *v = j->env.verdict;
	uint8_t first = rule_eval_first_byte(j->generation + 1); /* the previous generation has the same parity */

	for (uint32_t pid = 0; v->bytes && pid < v->pids; pid++) {
		uint8_t byte = __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED);

		if (byte >= first && byte < first + SKEP_RULES_SLOTS)
			/* Skips a byte that the fork hook has just changed: that byte is newer. */
			__atomic_compare_exchange_n(&v->bytes[pid], &byte, 0, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
		else if (keep_too && byte >= SKEP_VERDICT_KEEP && byte < SKEP_VERDICT_EXCLUDED)
			__atomic_compare_exchange_n(&v->bytes[pid], &byte, (uint8_t)(byte & ~SKEP_VERDICT_KEEP), false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

int rule_eval_use(struct rule_eval *j, struct ruleset *set)
{
	uint32_t generation = j->generation + 1 ? j->generation + 1 : 2; /* 0 means that a set is being written */
	struct rule_eval_tally *tallies = NULL;
	struct pushdown *plan = NULL;
	uint8_t otherwise = 0;

	/* A set that decides nothing counts as no set: the kernel then asks no questions. */
	if (set && ruleset_count(set) == 0 && ruleset_otherwise(set) == RULE_INCLUDE)
		set = NULL;
	if (!set && !j->set)
		return 0;
	rule_eval_kernel_count(j, clock_boot_ns());
	if (set) {
		tallies = tallies_new(j, set, generation, &otherwise);
		plan = pushdown_new(set, rule_eval_dimensions);
		if (!tallies || !plan) {
			free(tallies);
			pushdown_free(plan);
			return -ENOMEM;
		}
		mark_exact(tallies, ruleset_count(set), plan);
		ruleset_ref(set);
	}
	if (set != j->set) /* the same set again means that new names have arrived */
		users_forget(j->users);
	pushdown_free(j->plan);
	ruleset_unref(j->set);
	free(j->tallies);
	j->plan = plan;
	j->set = set;
	j->tallies = tallies;
	j->otherwise = otherwise;
	j->generation = generation;
	rule_eval_kernel_use(j);
	forget(j, true);
	return 0;
}

void rule_eval_forget_old(struct rule_eval *j)
{
	forget(j, false);
}

/* ---- verdicts ------------------------------------------------------------------------- */

static void on_tried(void *arg, const struct rule *rule, uint64_t ns)
{
	struct rule_eval *j = arg;

	j->tallies[rule->number].timed++;
	j->tallies[rule->number].timed_ns += ns;
}

void rule_eval_process(struct rule_eval *j, const struct rule_case *c, struct rule_eval_verdict *ret)
{
	const struct rule_watch watch = { .now_ns = clock_boot_ns, .tried = on_tried, .arg = j };
	const struct rule_subject *subject;
	struct rule_decision d;
	struct rule_eval_tally *t;
	uint64_t began_ns;

	*ret = (struct rule_eval_verdict){ .include = true };
	if (!j->set)
		return;
	began_ns = clock_boot_ns();
	subject = j->subject(j->subject_arg, c);
	ruleset_evaluate_watched(j->set, rule_field_get, subject, rule_key(c->pid, c->start_ns), &d,
			      j->self.evaluated_user % RULE_EVAL_TIMED == 0 ? &watch : NULL);
	t = &j->tallies[d.rule ? d.rule->number : ruleset_count(j->set)];
	ret->rule = d.rule;
	ret->include = d.include;
	ret->settled = d.rule && d.rule->inherit;
	ret->byte = d.include ? (ret->settled ? SKEP_VERDICT_KEEP : 0) : t->byte;
	if (!c->decided) { /* the kernel counted its own verdict */
		if (!d.spent) {
			t->hits_user++;
			t->last_ns = c->now_ns;
		}
		j->self.spent += d.spent;
		j->self.evaluated_user++;
	}
	if (c->unknown)
		rule_eval_kernel_answer(j, c, subject);
	j->self.busy_ns += clock_boot_ns() - began_ns;
}

void rule_eval_write(struct rule_eval *j, uint32_t pid, uint8_t byte)
{
	verdict_set(j->env.verdict, (pid_t)pid, byte);
}

void rule_eval_keep(struct rule_eval *j, uint32_t pid)
{
	struct verdict *v = j->env.verdict;
	uint8_t byte;

	if (!v->bytes || pid >= v->pids)
		return;
	byte = __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED);
	if (byte < SKEP_VERDICT_EXCLUDED)
		__atomic_compare_exchange_n(&v->bytes[pid], &byte, byte | SKEP_VERDICT_KEEP, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

void rule_eval_unwrite(struct rule_eval *j, uint32_t pid, uint8_t byte)
{
	struct verdict *v = j->env.verdict;

	if (v->bytes && pid < v->pids)
		__atomic_compare_exchange_n(&v->bytes[pid], &byte, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool rule_eval_excludes(const struct rule_eval *j, uint32_t pid)
{
	const struct verdict *v = j->env.verdict;

	return v->bytes && pid < v->pids && __atomic_load_n(&v->bytes[pid], __ATOMIC_RELAXED) >= SKEP_VERDICT_EXCLUDED;
}

/* ---- counts --------------------------------------------------------------------------- */

void rule_eval_counts(struct rule_eval *j, void (*cb)(void *arg, const struct rule_eval_count *), void *arg)
{
	size_t n = j->set ? ruleset_count(j->set) : 0;

	if (!j->set)
		return;
	rule_eval_kernel_count(j, clock_boot_ns());
	for (size_t i = 0; i <= n; i++) {
		const struct rule_eval_tally *t = &j->tallies[i];
		struct rule_eval_count count = {
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

void rule_eval_self(const struct rule_eval *j, struct rule_eval_self *ret)
{
	*ret = j->self;
	ret->generation = j->generation;
}
