/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/ruleset.c - the ordered set of rules: adds rules and evaluates them; the first rule that holds
 * decides.
 */
#include "filters/ruleset.h"

#include <errno.h>
#include <skep/rules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/rule.h"

struct ruleset {
	unsigned refs;
	const struct filter_schema *schema;
	enum rule_verdict otherwise;
	struct rule **rules; /* each rule has its own allocation: pointers to rules stay valid while the set grows */
	size_t n, room;
};

struct ruleset *ruleset_new(const struct filter_schema *schema, enum rule_verdict otherwise)
{
	struct ruleset *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct ruleset){ .refs = 1, .schema = schema, .otherwise = otherwise };
	return s;
}

int ruleset_add(struct ruleset *s, const struct rule_spec *spec, struct filter_error *error)
{
	const struct rule *first;
	struct rule *r;
	int err;

	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct rule **rules = realloc(s->rules, room * sizeof(struct rule *));

		*error = (struct filter_error){ .what = "no memory for this rule" };
		if (!rules)
			return -ENOMEM;
		s->rules = rules;
		s->room = room;
	}
	err = rule_new(spec, s->schema, &r, error);
	if (err)
		return err;
	first = ruleset_find(s, r->id);
	if (first) {
		*error = (struct filter_error){ 0 };
		if (first->file)
			snprintf(error->what, sizeof(error->what), "the id \"%s\" is taken: %.128s:%u", r->id,
				 first->file, first->line);
		else
			snprintf(error->what, sizeof(error->what), "the id \"%s\" is taken by rule %u", r->id,
				 first->number + 1);
		rule_free(r);
		return -EEXIST;
	}
	r->number = (uint32_t)s->n;
	s->rules[s->n++] = r;
	return 0;
}

struct ruleset *ruleset_ref(struct ruleset *s)
{
	if (s)
		s->refs++;
	return s;
}

struct ruleset *ruleset_unref(struct ruleset *s)
{
	if (!s || --s->refs)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		rule_free(s->rules[i]);
	free(s->rules);
	free(s);
	return NULL;
}

size_t ruleset_count(const struct ruleset *s)
{
	return s->n;
}

const struct rule *ruleset_rule(const struct ruleset *s, size_t number)
{
	return number < s->n ? s->rules[number] : NULL;
}

const struct rule *ruleset_find(const struct ruleset *s, const char *id)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->rules[i]->id, id) == 0)
			return s->rules[i];
	return NULL;
}

const struct filter_schema *ruleset_schema(const struct ruleset *s)
{
	return s->schema;
}

enum rule_verdict ruleset_otherwise(const struct ruleset *s)
{
	return s->otherwise;
}

void ruleset_evaluate_watched(const struct ruleset *s, filter_get get, const void *subject, uint32_t key,
			      struct rule_decision *ret, const struct rule_watch *watch)
{
	uint64_t before = watch ? watch->now_ns() : 0, now;
	struct filter_budget budget = { 0 };

	for (size_t i = 0; i < s->n && !budget.spent; i++) {
		const struct rule *r = s->rules[i];
		bool holds = !r->when || filter_expr_match_within(r->when, get, subject, &budget);

		if (watch) {
			now = watch->now_ns();
			watch->tried(watch->arg, r, now - before);
			before = now;
		}
		if (!holds || budget.spent)
			continue;
		ret->rule = r;
		ret->spent = false;
		ret->include =
			r->verdict == RULE_INCLUDE || (r->verdict == RULE_SAMPLE && rule_sampled(key, r->sample));
		return;
	}
	*ret = (struct rule_decision){ .include = budget.spent || s->otherwise != RULE_EXCLUDE, .spent = budget.spent };
}

void ruleset_evaluate(const struct ruleset *s, filter_get get, const void *subject, uint32_t key,
		      struct rule_decision *ret)
{
	ruleset_evaluate_watched(s, get, subject, key, ret, NULL);
}

uint32_t rule_key(uint32_t pid, uint64_t start_ns)
{
	return skep_rules_key(pid, start_ns);
}

bool rule_sampled(uint32_t key, uint32_t n)
{
	return skep_rules_sampled(key, n);
}
