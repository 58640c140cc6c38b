/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/parse.c - the parser: builds the tree from an expression's tokens and checks each condition against
 * its field.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filters/parse.h"

bool parse_no_memory(const struct parser *p)
{
	lex_error(&p->lex, p->token.at, 1, "no memory for this expression");
	errno = ENOMEM;
	return false;
}

bool parse_next(struct parser *p)
{
	p->end = p->token.at + p->token.length;
	return lex_next(&p->lex, &p->token);
}

/* Returns the number of a new node; 0: the error is set. */
static uint32_t node_new(struct parser *p, enum node_kind kind)
{
	struct filter_expr *e = p->e;

	if (e->n_nodes == e->room_nodes) {
		uint32_t room = e->room_nodes ? 2 * e->room_nodes : 16;
		struct node *nodes = realloc(e->nodes, room * sizeof(*nodes));

		if (!nodes) {
			parse_no_memory(p);
			return 0;
		}
		e->nodes = nodes;
		e->room_nodes = room;
	}
	e->nodes[e->n_nodes] = (struct node){ .kind = (uint8_t)kind };
	return ++e->n_nodes;
}

/* ---- conditions -------------------------------------------------------------------- */

static uint32_t expression(struct parser *p);

static uint32_t test_of(struct parser *p, bool any)
{
	struct node n = { .kind = NODE_TEST, .who = any ? OF_ANY_ANCESTOR : OF_ITSELF };
	const uint32_t begin = any ? p->end - 3 : p->token.at; /* begins at the word "any", the previous token */
	const struct token name = p->token;
	const struct filter_field *f;
	const struct operator *o;
	uint32_t at;

	if (name.kind != TOKEN_NAME || parse_is_word(&name)) {
		lex_error(&p->lex, name.at, name.length,
			  name.kind == TOKEN_END ? "a condition is missing here"
						 : "a condition begins with a field, not with this");
		return 0;
	}
	f = parse_field(p, &name, &n);
	if (!f || !parse_next(p))
		return 0;
	if (f->type == FILTER_BOOL && (p->token.kind == TOKEN_END || token_is(&p->token, ")") ||
				       token_is(&p->token, "and") || token_is(&p->token, "or"))) {
		struct operand *alone;

		n.first = p->e->n_operands;
		alone = operand_new(p, &name);
		if (!alone)
			return 0;
		alone->value.b = true;
		n.n = 1;
	} else {
		o = parse_operator(p, f);
		if (!o || !parse_next(p))
			return 0;
		n.op = (uint8_t)o->op;
		if (!parse_values(p, &n, f, o))
			return 0;
	}
	n.at = begin;
	n.length = p->end - begin;
	at = node_new(p, NODE_TEST);
	if (at)
		p->e->nodes[at - 1] = n;
	return at;
}

static uint32_t deeper(struct parser *p, const struct token *t, uint32_t (*what)(struct parser *))
{
	uint32_t at;

	if (p->depth == FILTER_DEPTH) {
		lex_error(&p->lex, t->at, t->length, "more than %u parentheses and nots in each other", FILTER_DEPTH);
		return 0;
	}
	p->depth++;
	at = what(p);
	p->depth--;
	return at;
}

static uint32_t condition(struct parser *p)
{
	const struct token t = p->token;
	uint32_t at, below;

	if (token_is(&t, "not")) {
		if (!parse_next(p))
			return 0;
		below = deeper(p, &t, condition);
		at = below ? node_new(p, NODE_NOT) : 0;
		if (at) {
			p->e->nodes[at - 1].first = below;
			p->e->nodes[at - 1].at = t.at;
			p->e->nodes[at - 1].length = p->end - t.at;
		}
		return at;
	}
	if (token_is(&t, "(")) {
		if (!parse_next(p))
			return 0;
		at = deeper(p, &t, expression);
		if (!at)
			return 0;
		if (!token_is(&p->token, ")")) {
			uint32_t most = p->lex.length - t.at;

			lex_error(&p->lex, p->token.at, p->token.length,
				  "\")\" is missing here, to close the parenthesis of: %.*s",
				  (int)(most > 24 ? 24 : most), p->lex.text + t.at);
			return 0;
		}
		return parse_next(p) ? at : 0;
	}
	if (token_is(&t, "any"))
		return parse_next(p) ? test_of(p, true) : 0;
	return test_of(p, false);
}

/*
 * Parses `part { word part }`. A single part stays as it is; several parts become children of a node of that
 * kind.
 */
static uint32_t chain(struct parser *p, const char *word, enum node_kind kind, uint32_t (*part)(struct parser *))
{
	const uint32_t begin = p->token.at;
	uint32_t at = part(p), last = at, whole;

	if (!at || !token_is(&p->token, word))
		return at;
	whole = node_new(p, kind);
	if (!whole)
		return 0;
	p->e->nodes[whole - 1].first = at;
	while (token_is(&p->token, word)) {
		if (!parse_next(p))
			return 0;
		at = part(p);
		if (!at)
			return 0;
		p->e->nodes[last - 1].next = at;
		last = at;
	}
	p->e->nodes[whole - 1].at = begin;
	p->e->nodes[whole - 1].length = p->end - begin;
	return whole;
}

static uint32_t alternative(struct parser *p)
{
	return chain(p, "and", NODE_AND, condition);
}

static uint32_t expression(struct parser *p)
{
	return chain(p, "or", NODE_OR, alternative);
}

struct filter_expr *filter_expr_new(const char *text, size_t len, const struct filter_schema *schema,
				    struct filter_error *error)
{
	struct parser p = { .schema = schema };

	p.lex = (struct lexer){ .text = text, .length = (uint32_t)(len > FILTER_TEXT_MAX ? 0 : len), .error = error };
	if (len > FILTER_TEXT_MAX) {
		lex_error(&p.lex, 0, 1, "an expression of %zu bytes; at most %u: split the rule", len, FILTER_TEXT_MAX);
		return NULL;
	}
	p.e = calloc(1, sizeof(*p.e));
	p.lex.strings = p.e ? malloc(len + 1) : NULL;
	if (!p.lex.strings) {
		parse_no_memory(&p);
		return filter_expr_free(p.e);
	}
	p.e->strings = p.lex.strings;
	if (!parse_next(&p))
		return filter_expr_free(p.e);
	p.e->root = expression(&p);
	if (p.e->root && p.token.kind != TOKEN_END) {
		lex_error(&p.lex, p.token.at, p.token.length, "conditions are joined by and, or");
		p.e->root = 0;
	}
	return p.e->root ? p.e : filter_expr_free(p.e);
}

struct filter_expr *filter_expr_free(struct filter_expr *e)
{
	if (!e)
		return NULL;
	for (uint32_t i = 0; i < e->n_operands; i++)
		regex_free(e->operands[i].regex);
	free(e->strings);
	free(e->nodes);
	free(e->operands);
	free(e);
	return NULL;
}
