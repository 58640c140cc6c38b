/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/expr_priv.h - an expression as it is kept: a tree of nodes in one array.
 */
#ifndef SKEP_FILTERS_EXPR_PRIV_H
#define SKEP_FILTERS_EXPR_PRIV_H

#include "filters/lex.h"

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_TEST };

enum test_op {
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_IN,
	OP_PREFIX,
	OP_SUFFIX,
	OP_GLOB,
	OP_CONTAINS,
	OP_CIDR,
	OP_MATCHES,
	N_OPS
};

enum test_who { OF_ITSELF, OF_PARENT, OF_ANY_ANCESTOR };

struct regex;

struct operand {
	union filter_value value;
	uint8_t bits;        /* OP_CIDR: of value.ip */
	struct regex *regex; /* OP_MATCHES; owned */
};

/* Nodes are numbered from 1; 0: none. */
struct node {
	uint8_t kind, op, who, type;
	uint32_t next;  /* the next one below the same node */
	uint32_t first; /* the first one below this; NODE_TEST: of its operands */
	uint32_t n;     /* NODE_TEST: operands */
	uint32_t field;
	uint32_t at, length; /* in the text */
};

struct filter_expr {
	char *strings; /* of operands */
	struct node *nodes;
	struct operand *operands;
	uint32_t n_nodes, room_nodes, n_operands, room_operands;
	uint32_t root;
};

/* number.c: the number in t as that field wants it. false: the error is set. */
bool number_of(const struct lexer *, const struct token *t, const struct filter_field *, union filter_value *ret);
/* address.c */
bool address_of(const struct lexer *, const struct token *t, bool network, struct operand *ret);

/* regex.c: bytes, not characters.  NULL: the error is set.  A match that meets its limits is none. */
struct regex *regex_new(const struct lexer *, const struct token *t);
struct regex *regex_free(struct regex *);
/* budget: NULL for none. */
bool regex_match(const struct regex *, const struct filter_text *, struct filter_budget *budget, bool *ret_gave_up);

/* match.c: of one node, for reason.c. */
bool node_is_true(const struct filter_expr *, uint32_t at, filter_get, const void *subject,
		  struct filter_budget *budget);
/* After a search of that many bytes: looks at the clock each 512 bytes.  NULL: never spent. */
bool filter_budget_look(struct filter_budget *);

static inline bool filter_budget_spent(struct filter_budget *b, uint32_t bytes)
{
	if (!b || b->spent)
		return b && b->spent;
	b->bytes += bytes + 8;
	return b->bytes >= 512 && filter_budget_look(b);
}

/* Texts in the order in which OP_IN looks them up: the shorter first. */
int text_order(const struct filter_text *a, const struct filter_text *b);

/*
 * match.c: one NODE_TEST about the subject itself; false and not *ret_known where the field is not, or the budget is
 * spent.
 */
bool filter_test_match(const struct filter_expr *, uint32_t at, filter_get, const void *subject,
		       struct filter_budget *budget, bool *ret_known);

#endif
