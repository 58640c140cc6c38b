/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/parse.h - the parser's state, and the functions that filters/parse*.c share.
 */
#ifndef SKEP_FILTERS_PARSE_H
#define SKEP_FILTERS_PARSE_H

#include "filters/expr_priv.h"

struct parser {
	struct lexer lex;
	struct token token; /* the next one */
	uint32_t end;       /* of the previous token */
	const struct filter_schema *schema;
	struct filter_expr *e;
	unsigned depth;
};

struct operator {
	const char *word;
	enum test_op op;
	bool text, number, boolean, ip, list;
};

extern const char *const parse_type_names[]; /* indexed by enum filter_type: "a text" */

/* Each function sets the lexer's error when it fails. */
bool parse_next(struct parser *); /* reads the next token into p->token */
bool parse_no_memory(const struct parser *);

/* parse_field.c */
bool parse_is_word(const struct token *); /* a keyword: cannot be a field */
/* Finds the field that t names. Sets n->field and n->type, and n->who for a parent's field. */
const struct filter_field *parse_field(struct parser *, const struct token *t, struct node *n);
/* Finds the operator in p->token, if the field's type allows it. */
const struct operator *parse_operator(struct parser *, const struct filter_field *);

/* parse_value.c */
struct operand *operand_new(struct parser *, const struct token *t);
/* Parses the operands, from p->token on, into n. */
bool parse_values(struct parser *, struct node *n, const struct filter_field *, const struct operator *);

#endif
