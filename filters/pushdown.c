/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/pushdown.c - compiles rules into clauses, and evaluates the clauses' conditions on one dimension.
 */
#include "filters/pushdown.h"

#include <stdlib.h>
#include <string.h>

#include "filters/expr_priv.h"

/* One condition of a clause, negated or not. */
struct literal {
	const struct filter_expr *expr;
	uint32_t node; /* NODE_TEST */
	bool negated;
	uint8_t dimension;
	uint8_t clause;
};

struct pushdown {
	struct ruleset *set;
	struct pushdown_clause clauses[PUSHDOWN_CLAUSES];
	unsigned n_clauses;
	uint64_t of[PUSHDOWN_DIMENSIONS];
	struct literal *literals; /* sorted by dimension */
	size_t n_literals, room_literals;
	size_t first[PUSHDOWN_DIMENSIONS + 1]; /* index of each dimension's first literal */
};

/* ---- disjunctive form ------------------------------------------------------------- */

#define CONJUNCTION_MAX 64u /* literals in one conjunction */

struct conjunction {
	struct {
		uint32_t node;
		bool negated;
	} literals[CONJUNCTION_MAX];
	unsigned n;
};

struct form {
	struct conjunction of[PUSHDOWN_OF_RULE];
	unsigned n;
};

static bool either(struct form *to, const struct form *more)
{
	if (to->n + more->n > PUSHDOWN_OF_RULE)
		return false;
	memcpy(&to->of[to->n], more->of, more->n * sizeof(more->of[0]));
	to->n += more->n;
	return true;
}

static bool both(struct form *to, const struct form *more)
{
	struct form *product;
	bool fits = to->n * more->n <= PUSHDOWN_OF_RULE;

	product = fits ? calloc(1, sizeof(*product)) : NULL;
	fits = product != NULL;
	for (unsigned i = 0; fits && i < to->n; i++)
		for (unsigned k = 0; fits && k < more->n; k++) {
			struct conjunction *c = &product->of[product->n++];

			*c = to->of[i];
			fits = c->n + more->of[k].n <= CONJUNCTION_MAX;
			if (fits) {
				memcpy(&c->literals[c->n], more->of[k].literals,
				       more->of[k].n * sizeof(c->literals[0]));
				c->n += more->of[k].n;
			}
		}
	if (fits)
		*to = *product;
	free(product);
	return fits;
}

/*
 * Converts the node into disjunctive normal form. false: the form needs too many conjunctions, or no memory is
 * left, which the caller treats alike. The recursion is at most FILTER_DEPTH deep.
 */
static bool form_of(const struct filter_expr *e, uint32_t at, bool negated, struct form *ret)
{
	const struct node *n = &e->nodes[at - 1];
	struct form *part;
	bool fits = true, first = true, any;

	ret->n = 0;
	if (n->kind == NODE_NOT)
		return form_of(e, n->first, !negated, ret);
	if (n->kind == NODE_TEST) {
		ret->n = 1;
		ret->of[0].n = 1;
		ret->of[0].literals[0].node = at;
		ret->of[0].literals[0].negated = negated;
		return true;
	}
	part = malloc(sizeof(*part));
	if (!part)
		return false;
	any = (n->kind == NODE_OR) != negated; /* de Morgan */
	for (uint32_t below = n->first; fits && below; below = e->nodes[below - 1].next) {
		fits = form_of(e, below, negated, first ? ret : part);
		if (fits && !first)
			fits = any ? either(ret, part) : both(ret, part);
		first = false;
	}
	free(part);
	return fits;
}

/* ---- clauses ----------------------------------------------------------------------- */

static int add_literal(struct pushdown *p, const struct filter_expr *e, uint32_t node, bool negated, uint8_t dimension)
{
	if (p->n_literals == p->room_literals) {
		size_t room = p->room_literals ? 2 * p->room_literals : 64;
		struct literal *more = realloc(p->literals, room * sizeof(*more));

		if (!more)
			return -1;
		p->literals = more;
		p->room_literals = room;
	}
	p->literals[p->n_literals++] = (struct literal) {
		.expr = e,
		.node = node,
		.negated = negated,
		.dimension = dimension,
		.clause = (uint8_t)(p->n_clauses - 1),
	};
	p->of[dimension] |= 1ull << (p->n_clauses - 1);
	return 0;
}

static struct pushdown_clause *add_clause(struct pushdown *p, const struct rule *rule, bool exact)
{
	p->clauses[p->n_clauses] = (struct pushdown_clause){ .rule = rule, .exact = exact };
	return &p->clauses[p->n_clauses++];
}

static int add_rule(struct pushdown *p, const struct rule *rule, bool is_last, const uint8_t *dimension_of,
		    struct form *form)
{
	/* without the clause reserved for the rules that do not fit */
	unsigned left = PUSHDOWN_CLAUSES - p->n_clauses - !is_last;

	if (!rule->when) {
		add_clause(p, rule, true);
		return 0;
	}
	if (!form_of(rule->when, rule->when->root, false, form) || form->n > left) {
		add_clause(p, rule, false);
		return 0;
	}
	for (unsigned i = 0; i < form->n; i++) {
		const struct conjunction *c = &form->of[i];
		struct pushdown_clause *clause = add_clause(p, rule, true);

		for (unsigned k = 0; k < c->n; k++) {
			const struct node *test = &rule->when->nodes[c->literals[k].node - 1];
			uint8_t dimension = test->who == OF_ITSELF ? dimension_of[test->field] : PUSHDOWN_NONE;

			if (dimension == PUSHDOWN_NONE)
				clause->exact = false;
			else if (add_literal(p, rule->when, c->literals[k].node, c->literals[k].negated, dimension) < 0)
				return -1;
		}
	}
	return 0;
}

static int by_dimension(const void *a, const void *b)
{
	const struct literal *x = a, *y = b;

	return (x->dimension > y->dimension) - (x->dimension < y->dimension);
}

struct pushdown *pushdown_new(struct ruleset *set, const uint8_t *dimension_of)
{
	struct pushdown *p = calloc(1, sizeof(*p));
	struct form *form = malloc(sizeof(*form));
	size_t n = ruleset_count(set);

	if (!p || !form)
		goto out;
	p->set = ruleset_ref(set);
	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = ruleset_rule(set, i);

		if (p->n_clauses == PUSHDOWN_CLAUSES - 1 && i + 1 < n) {
			add_clause(p, NULL, false);
			break;
		}
		if (add_rule(p, rule, i + 1 == n, dimension_of, form) < 0)
			goto out;
		if (!rule->when)
			break; /* a rule without a condition always holds: no later rule decides */
	}
	free(form);
	if (p->n_literals)
		qsort(p->literals, p->n_literals, sizeof(*p->literals), by_dimension);
	for (size_t i = 0; i < p->n_literals; i++)
		p->first[p->literals[i].dimension + 1] = i + 1;
	for (unsigned d = 1; d <= PUSHDOWN_DIMENSIONS; d++)
		if (p->first[d] < p->first[d - 1])
			p->first[d] = p->first[d - 1];
	return p;
out:
	free(form);
	return pushdown_free(p);
}

struct pushdown *pushdown_free(struct pushdown *p)
{
	if (!p)
		return NULL;
	ruleset_unref(p->set);
	free(p->literals);
	free(p);
	return NULL;
}

size_t pushdown_clauses(const struct pushdown *p, const struct pushdown_clause **ret)
{
	*ret = p->clauses;
	return p->n_clauses;
}

uint64_t pushdown_of(const struct pushdown *p, unsigned dimension)
{
	return dimension < PUSHDOWN_DIMENSIONS ? p->of[dimension] : 0;
}

void pushdown_ask(const struct pushdown *p, unsigned dimension, filter_get get, const void *subject, uint64_t *ret_yes,
		  uint64_t *ret_maybe)
{
	struct filter_budget budget = { 0 };
	uint64_t no = 0, maybe = 0;
	bool known;

	for (size_t i = p->first[dimension]; i < p->first[dimension + 1]; i++) {
		const struct literal *l = &p->literals[i];
		bool holds = filter_test_match(l->expr, l->node, get, subject, &budget, &known);

		if (!known)
			maybe |= 1ull << l->clause;
		else if (holds == l->negated)
			no |= 1ull << l->clause;
	}
	*ret_yes = p->of[dimension] & ~no & ~maybe;
	*ret_maybe = maybe & ~no;
}
