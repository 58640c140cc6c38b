/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/reason.c - finds why an expression is not true: the condition that decides, and the value that it
 * read.
 */
#include "filters/expr_priv.h"

static void of_test(const struct node *t, filter_get get, const void *subject, struct filter_reason *ret)
{
	ret->field = t->field;
	ret->type = (enum filter_type)t->type;
	ret->of_parent = t->who == OF_PARENT;
	ret->of_any = t->who == OF_ANY_ANCESTOR;
	ret->known = ret->of_any ? FILTER_NOBODY : get(subject, ret->of_parent, t->field, &ret->value);
}

/* Finds the node that decides why node `at` is `is`: descends while a single child alone decides. */
static uint32_t deciding(const struct filter_expr *e, uint32_t at, bool is, filter_get get, const void *subject)
{
	for (;;) {
		const struct node *n = &e->nodes[at - 1];
		/*
		 * One child alone decides a false `and` and a true `or`. All children decide the opposite
		 * results.
		 */
		bool one = (n->kind == NODE_AND && !is) || (n->kind == NODE_OR && is);

		if (!one)
			return at;
		for (at = n->first; node_is_true(e, at, get, subject, NULL) != is;)
			at = e->nodes[at - 1].next;
	}
}

bool filter_expr_reason(const struct filter_expr *e, filter_get get, const void *subject, struct filter_reason *ret)
{
	const struct node *n;
	uint32_t at;

	if (node_is_true(e, e->root, get, subject, NULL))
		return false;
	at = deciding(e, e->root, false, get, subject);
	n = &e->nodes[at - 1];
	*ret = (struct filter_reason){ .at = n->at, .length = n->length, .field = UINT32_MAX };
	ret->negated = n->kind == NODE_NOT;
	if (n->kind == NODE_NOT) {
		at = deciding(e, n->first, true, get, subject);
		n = &e->nodes[at - 1];
	}
	if (n->kind == NODE_TEST)
		of_test(n, get, subject, ret);
	return true;
}
