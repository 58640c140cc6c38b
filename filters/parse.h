/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/parse.h - shared by filters/parse*.c: the parser and what each part of it does.
 */
#ifndef SKEP_FILTERS_PARSE_H
#define SKEP_FILTERS_PARSE_H

#include "filters/expr_priv.h"

struct parser {
	struct lexer lex;
	struct token token; /* the next one */
	uint32_t end;       /* of the one before it */
	const struct filter_schema *schema;
	struct filter_expr *e;
	unsigned depth;
};

struct operator {
	const char *word;
	enum test_op op;
	bool text, number, boolean, ip, list;
};

extern const char *const parse_type_names[]; /* by enum filter_type: "a text" */

/* Each sets the lexer's error where it fails. */
bool parse_next(struct parser *); /* the next word into p->token */
bool parse_no_memory(const struct parser *);

/* parse_field.c */
bool parse_is_word(const struct token *); /* of the language: no field */
/* The field that t names; sets n->field, n->type and, of a parent's, n->who. */
const struct filter_field *parse_field(struct parser *, const struct token *t, struct node *n);
/* The operator that p->token is, if it is one for that field. */
const struct operator *parse_operator(struct parser *, const struct filter_field *);

/* parse_value.c */
struct operand *operand_new(struct parser *, const struct token *t);
/* What the field is compared with, from p->token on, into n. */
bool parse_values(struct parser *, struct node *n, const struct filter_field *, const struct operator *);

#endif
