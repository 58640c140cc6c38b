/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/match.c - evaluates an expression on a process.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filters/expr_priv.h"
#include "filters/glob.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The coarse clock costs 5 ns and advances with the timer tick (1 to 10 ms). CPU time costs a system call, so
 * this function reads CPU time only after the coarse clock has advanced. The first advance begins the budget.
 */
bool filter_budget_look(struct filter_budget *b)
{
	uint64_t tick, cpu;

	b->bytes = 0;
	tick = clock_ns(CLOCK_MONOTONIC_COARSE);
	if (tick == b->tick_ns)
		return false;
	if (b->tick_ns) {
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		if (!b->began_ns)
			b->began_ns = cpu;
		b->spent = cpu - b->began_ns > FILTER_BUDGET_NS;
	}
	b->tick_ns = tick;
	return b->spent;
}

int text_order(const struct filter_text *a, const struct filter_text *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->len ? memcmp(a->ptr, b->ptr, a->len) : 0;
}

static bool text_in(const struct operand *o, uint32_t n, const struct filter_text *t)
{
	uint32_t from = 0;

	while (from < n) {
		uint32_t at = from + (n - from) / 2;
		int order = text_order(t, &o[at].value.text);

		if (order == 0)
			return true;
		if (order > 0)
			from = at + 1;
		else
			n = at;
	}
	return false;
}

static bool text_holds(uint8_t op, const struct operand *o, const struct filter_text *t, struct filter_budget *budget,
		       bool *gave_up)
{
	const struct filter_text *w = &o->value.text;
	bool is;

	if (op == OP_MATCHES) {
		is = regex_match(o->regex, t, budget, gave_up);
		*gave_up |= filter_budget_spent(budget, t->len);
		return is;
	}
	if (w->len == 0 && op != OP_GLOB)
		return true; /* an empty operand matches every text; its pointer may be invalid */
	switch (op) {
	case OP_PREFIX:
		return t->len >= w->len && memcmp(t->ptr, w->ptr, w->len) == 0;
	case OP_SUFFIX:
		return t->len >= w->len && memcmp(t->ptr + t->len - w->len, w->ptr, w->len) == 0;
	case OP_CONTAINS:
		return memmem(t->ptr, t->len, w->ptr, w->len) != NULL;
	default: /* OP_GLOB: operands end in a NUL */
		is = glob_match(w->ptr, t->ptr, t->len);
		*gave_up = filter_budget_spent(budget, t->len);
		return is;
	}
}

/* Tests one text; handles OP_NE as OP_EQ. *gave_up: a regular expression met its limits, or the budget is spent. */
static bool text_test(const struct node *t, const struct operand *o, const struct filter_text *text,
		      struct filter_budget *budget, bool *gave_up)
{
	if (t->op == OP_EQ || t->op == OP_NE || t->op == OP_IN)
		return text_in(o, t->n, text);
	for (uint32_t i = 0; i < t->n && !*gave_up; i++)
		if (text_holds(t->op, &o[i], text, budget, gave_up))
			return true;
	return false;
}

/*
 * Tests a list: true when any text matches. After a text on which the search gave up it tries no other text:
 * one time limit covers the whole list.
 */
static bool list_test(const struct node *t, const struct operand *o, const struct filter_text *list,
		      struct filter_budget *budget)
{
	const char *at = list->ptr, *whole = list->len ? at + list->len : at, *end = whole;
	bool gave_up = false;

	if (t->op == OP_MATCHES && list->len > FILTER_REGEX_LIST)
		end = at + FILTER_REGEX_LIST;
	while (at < end && !gave_up) {
		const char *stop = memchr(at, '\0', (size_t)(whole - at));
		struct filter_text one = { at, (uint32_t)((stop ? stop : whole) - at) };

		if (text_test(t, o, &one, budget, &gave_up))
			return true;
		at = stop ? stop + 1 : whole;
	}
	return false;
}

/* -1, 0 or 1: a is less than, equal to or greater than b. */
static int number_order(uint8_t type, const union filter_value *a, const union filter_value *b)
{
	if (type == FILTER_INT)
		return (a->i > b->i) - (a->i < b->i);
	return (a->u > b->u) - (a->u < b->u);
}

static bool number_holds(const struct node *t, const struct operand *o, const union filter_value *v)
{
	int order;

	if (t->op == OP_EQ || t->op == OP_NE || t->op == OP_IN) {
		for (uint32_t i = 0; i < t->n; i++)
			if (number_order(t->type, v, &o[i].value) == 0)
				return t->op != OP_NE;
		return t->op == OP_NE;
	}
	order = number_order(t->type, v, &o->value);
	switch (t->op) {
	case OP_LT:
		return order < 0;
	case OP_LE:
		return order <= 0;
	case OP_GT:
		return order > 0;
	default:
		return order >= 0;
	}
}

static bool within(const struct operand *o, const uint8_t ip[16])
{
	unsigned whole = o->bits / 8, rest = o->bits % 8;

	if (memcmp(o->value.ip, ip, whole) != 0)
		return false;
	return rest == 0 || ((o->value.ip[whole] ^ ip[whole]) >> (8 - rest)) == 0;
}

static bool holds(const struct node *t, const struct operand *o, const union filter_value *v,
		  struct filter_budget *budget)
{
	bool gave_up = false;

	switch (t->type) {
	case FILTER_TEXT:
		return text_test(t, o, &v->text, budget, &gave_up) == (t->op != OP_NE);
	case FILTER_LIST:
		return list_test(t, o, &v->text, budget) == (t->op != OP_NE);
	case FILTER_BOOL:
		return (v->b == o->value.b) == (t->op == OP_EQ);
	case FILTER_IP:
		for (uint32_t i = 0; i < t->n; i++)
			if (within(&o[i], v->ip))
				return t->op != OP_NE;
		return t->op == OP_NE;
	default:
		return number_holds(t, o, v);
	}
}

static bool test(const struct filter_expr *e, const struct node *t, filter_get get, const void *subject,
		 struct filter_budget *budget)
{
	const struct operand *o = e->operands + t->first;
	union filter_value v;

	if (t->who != OF_ANY_ANCESTOR)
		return get(subject, t->who == OF_PARENT, t->field, &v) == FILTER_KNOWN && holds(t, o, &v, budget);
	for (uint32_t level = 1; level <= FILTER_ANCESTORS; level++) {
		enum filter_known known = get(subject, level, t->field, &v);

		if (known == FILTER_NOBODY || (budget && budget->spent))
			break;
		if (known == FILTER_KNOWN && holds(t, o, &v, budget))
			return true;
	}
	return false;
}

bool filter_test_match(const struct filter_expr *e, uint32_t at, filter_get get, const void *subject,
		       struct filter_budget *budget, bool *ret_known)
{
	const struct node *t = &e->nodes[at - 1];
	union filter_value v;
	bool is;

	*ret_known = get(subject, 0, t->field, &v) == FILTER_KNOWN;
	is = *ret_known && holds(t, e->operands + t->first, &v, budget);
	*ret_known &= !budget->spent;
	return is && *ret_known;
}

/* The recursion is as deep as the expression, at most FILTER_DEPTH. */
bool node_is_true(const struct filter_expr *e, uint32_t at, filter_get get, const void *subject,
		  struct filter_budget *budget)
{
	const struct node *n = &e->nodes[at - 1];

	switch (n->kind) {
	case NODE_AND:
	case NODE_OR:
		for (uint32_t below = n->first; below; below = e->nodes[below - 1].next)
			if (node_is_true(e, below, get, subject, budget) == (n->kind == NODE_OR))
				return n->kind == NODE_OR;
		return n->kind == NODE_AND;
	case NODE_NOT:
		return !node_is_true(e, n->first, get, subject, budget);
	default:
		return test(e, n, get, subject, budget);
	}
}

bool filter_expr_match(const struct filter_expr *e, filter_get get, const void *subject)
{
	return node_is_true(e, e->root, get, subject, NULL);
}

bool filter_expr_match_within(const struct filter_expr *e, filter_get get, const void *subject,
			      struct filter_budget *budget)
{
	return node_is_true(e, e->root, get, subject, budget);
}
