/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/expr_priv.h - a parsed expression: a tree of nodes in one array. For the parser, the matcher and the
 * pushdown.
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

/* Nodes are numbered from 1; 0 is no node. */
struct node {
	uint8_t kind, op, who, type;
	uint32_t next;  /* the next sibling */
	uint32_t first; /* the first child; NODE_TEST: index of the first operand */
	uint32_t n;     /* NODE_TEST: number of operands */
	uint32_t field;
	uint32_t at, length; /* in the text */
};

struct filter_expr {
	char *strings; /* the operands' texts */
	struct node *nodes;
	struct operand *operands;
	uint32_t n_nodes, room_nodes, n_operands, room_operands;
	uint32_t root;
};

/* number.c: reads the number in t, in the field's unit. false: the error is set. */
bool number_of(const struct lexer *, const struct token *t, const struct filter_field *, union filter_value *ret);
/* address.c: reads an address, or a network with its prefix. false: the error is set. */
bool address_of(const struct lexer *, const struct token *t, bool network, struct operand *ret);

/* regex.c: matches bytes, not characters. NULL: the error is set. A search that meets a limit does not match. */
struct regex *regex_new(const struct lexer *, const struct token *t);
struct regex *regex_free(struct regex *);
/* budget NULL: no budget. *ret_gave_up: the search met a limit. */
bool regex_match(const struct regex *, const struct filter_text *, struct filter_budget *budget, bool *ret_gave_up);

/* match.c: evaluates one node, for reason.c. */
bool node_is_true(const struct filter_expr *, uint32_t at, filter_get, const void *subject,
		  struct filter_budget *budget);
/* Reads the clock; filter_budget_spent() calls it after each 512 searched bytes. true: the budget is spent. */
bool filter_budget_look(struct filter_budget *);

static inline bool filter_budget_spent(struct filter_budget *b, uint32_t bytes)
{
	if (!b || b->spent)
		return b && b->spent;
	b->bytes += bytes + 8;
	return b->bytes >= 512 && filter_budget_look(b);
}

/* The order in which OP_IN searches texts: the shorter first. */
int text_order(const struct filter_text *a, const struct filter_text *b);

/*
 * match.c: evaluates one NODE_TEST on the subject itself. When the field is unknown or the budget is spent,
 * returns false and clears *ret_known.
 */
bool filter_test_match(const struct filter_expr *, uint32_t at, filter_get, const void *subject,
		       struct filter_budget *budget, bool *ret_known);

#endif
