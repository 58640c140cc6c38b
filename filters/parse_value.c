/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/parse_value.c - parses a condition's operands: one value or a list, of the field's type.
 */
#include <stdlib.h>
#include <string.h>

#include "filters/glob.h"
#include "filters/parse.h"

struct operand *operand_new(struct parser *p, const struct token *t)
{
	struct filter_expr *e = p->e;

	if (e->n_operands == FILTER_VALUES) {
		lex_error(&p->lex, t->at, t->length, "more than %u values in one expression: split the rule",
			  FILTER_VALUES);
		return NULL;
	}
	if (e->n_operands == e->room_operands) {
		uint32_t room = e->room_operands ? 2 * e->room_operands : 16;
		struct operand *operands = realloc(e->operands, room * sizeof(*operands));

		if (!operands) {
			parse_no_memory(p);
			return NULL;
		}
		e->operands = operands;
		e->room_operands = room;
	}
	e->operands[e->n_operands] = (struct operand){ 0 };
	return &e->operands[e->n_operands++];
}

static bool wants(const struct parser *p, const struct token *t, const struct filter_field *f)
{
	bool text = f->type == FILTER_TEXT || f->type == FILTER_LIST;
	const char *quotes =
		text && (t->kind == TOKEN_NAME || t->kind == TOKEN_NUMBER) ? "; write a string in quotes" : "";

	if (t->kind == TOKEN_END)
		return lex_error(&p->lex, t->at, 1, "%s wants a value here: %s", f->name,
				 parse_type_names[text ? FILTER_TEXT : f->type]);
	if (f->type == FILTER_LIST)
		return lex_error(&p->lex, t->at, t->length, "%s is compared with texts, and this is none%s", f->name,
				 quotes);
	return lex_error(&p->lex, t->at, t->length, "%s is %s, and this is none%s", f->name, parse_type_names[f->type],
			 quotes);
}

static bool value(struct parser *p, struct node *n, const struct filter_field *f)
{
	const struct token t = p->token;
	struct operand *o = operand_new(p, &t);

	if (!o)
		return false;
	switch (f->type) {
	case FILTER_TEXT:
	case FILTER_LIST:
		if (t.kind != TOKEN_TEXT)
			return wants(p, &t, f);
		o->value.text = (struct filter_text){ t.ptr, t.len };
		if (n->op == OP_GLOB) {
			const char *why = memchr(t.ptr, '\0', t.len) ? "it has a NUL" : glob_error(t.ptr);

			if (why)
				return lex_error(&p->lex, t.at, t.length, "invalid pattern: %s", why);
		}
		if (n->op == OP_MATCHES) {
			o->regex = regex_new(&p->lex, &t);
			if (!o->regex)
				return false;
		}
		break;
	case FILTER_IP:
		if (t.kind != TOKEN_TEXT)
			return wants(p, &t, f);
		if (!address_of(&p->lex, &t, n->op == OP_CIDR, o))
			return false;
		break;
	case FILTER_BOOL:
		if (!token_is(&t, "true") && !token_is(&t, "false"))
			return wants(p, &t, f);
		o->value.b = token_is(&t, "true");
		break;
	default:
		if (t.kind != TOKEN_NUMBER)
			return wants(p, &t, f);
		if (!number_of(&p->lex, &t, f, &o->value))
			return false;
		break;
	}
	n->n++;
	return parse_next(p);
}

static int operand_order(const void *a, const void *b)
{
	return text_order(&((const struct operand *)a)->value.text, &((const struct operand *)b)->value.text);
}

bool parse_values(struct parser *p, struct node *n, const struct filter_field *f, const struct operator *o)
{
	n->first = p->e->n_operands;
	if (!token_is(&p->token, "(")) {
		if (!value(p, n, f))
			return false;
	} else if (!o->list || f->type == FILTER_BOOL) {
		return lex_error(&p->lex, p->token.at, 1, "%s takes one value, not a list", o->word);
	} else {
		do {
			if (!parse_next(p) || !value(p, n, f))
				return false;
		} while (token_is(&p->token, ","));
		if (!token_is(&p->token, ")"))
			return lex_error(&p->lex, p->token.at, p->token.length,
					 "a list goes on with \",\" or ends with \")\"");
		if (!parse_next(p))
			return false;
	}
	if ((f->type == FILTER_TEXT || f->type == FILTER_LIST) && (n->op == OP_EQ || n->op == OP_NE || n->op == OP_IN))
		qsort(p->e->operands + n->first, n->n, sizeof(struct operand), operand_order);
	return true;
}
