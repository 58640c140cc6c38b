/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds expressions that any user can make true of a process: nothing in them is beyond the user's choice.
 */
#include "filters/expr_priv.h"

/* Is the field, with that operator, one that the process's user cannot choose? */
static bool is_fixed_test(const struct filter_expr *e, const struct node *n, const struct filter_schema *schema)
{
	const struct filter_field *f = &schema->fields[n->field];

	if (n->who != OF_ITSELF || n->op == OP_NE)
		return false;
	if (!f->fixed_by_folder)
		return f->fixed;
	if (n->op != OP_EQ && n->op != OP_IN && n->op != OP_PREFIX)
		return false;
	for (uint32_t i = 0; i < n->n; i++) {
		const struct filter_text *t = &e->operands[n->first + i].value.text;

		if (!t->len || t->ptr[0] != '/')
			return false;
	}
	return true;
}

static bool is_fixed(const struct filter_expr *e, uint32_t at, const struct filter_schema *schema)
{
	const struct node *n = &e->nodes[at - 1];
	bool any = false, all = true;

	switch (n->kind) {
	case NODE_TEST:
		return is_fixed_test(e, n, schema);
	case NODE_NOT:
		return false;
	default:
		for (uint32_t child = n->first; child; child = e->nodes[child - 1].next) {
			bool one = is_fixed(e, child, schema);

			any |= one;
			all &= one;
		}
		return n->kind == NODE_AND ? any : all;
	}
}

bool filter_expr_is_fixed(const struct filter_expr *e, const struct filter_schema *schema)
{
	return is_fixed(e, e->root, schema);
}
