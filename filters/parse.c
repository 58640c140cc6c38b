/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/parse.c - an expression's words into a tree, each condition checked against its field.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/expr_priv.h"
#include "filters/glob.h"
#include "filters/suggest.h"

struct parser {
	struct lexer lex;
	struct token token; /* the next one */
	uint32_t end;       /* of the one before it */
	const struct filter_schema *schema;
	struct filter_expr *e;
	unsigned depth;
};

static bool no_memory(const struct parser *p)
{
	lex_error(&p->lex, p->token.at, 1, "no memory for this expression");
	errno = ENOMEM;
	return false;
}

static bool next(struct parser *p)
{
	p->end = p->token.at + p->token.length;
	return lex_next(&p->lex, &p->token);
}

/* The number of a new node; 0: the error is set. */
static uint32_t node_new(struct parser *p, enum node_kind kind)
{
	struct filter_expr *e = p->e;

	if (e->n_nodes == e->room_nodes) {
		uint32_t room = e->room_nodes ? 2 * e->room_nodes : 16;
		struct node *nodes = realloc(e->nodes, room * sizeof(*nodes));

		if (!nodes) {
			no_memory(p);
			return 0;
		}
		e->nodes = nodes;
		e->room_nodes = room;
	}
	e->nodes[e->n_nodes] = (struct node){ .kind = (uint8_t)kind };
	return ++e->n_nodes;
}

static struct operand *operand_new(struct parser *p, const struct token *t)
{
	struct filter_expr *e = p->e;

	if (e->n_operands == FILTER_VALUES) {
		lex_error(&p->lex, t->at, t->length, "more than %u values in one expression: split the rule", FILTER_VALUES);
		return NULL;
	}
	if (e->n_operands == e->room_operands) {
		uint32_t room = e->room_operands ? 2 * e->room_operands : 16;
		struct operand *operands = realloc(e->operands, room * sizeof(*operands));

		if (!operands) {
			no_memory(p);
			return NULL;
		}
		e->operands = operands;
		e->room_operands = room;
	}
	e->operands[e->n_operands] = (struct operand){ 0 };
	return &e->operands[e->n_operands++];
}

/* ---- fields and operators -------------------------------------------------------- */

static const char *const type_names[] = {
	[FILTER_TEXT] = "a text",	   [FILTER_UINT] = "a number",  [FILTER_INT] = "a number",
	[FILTER_BOOL] = "true or false", [FILTER_IP] = "an address", [FILTER_LIST] = "a list of texts",
};

static const struct operator {
	const char *word;
	enum test_op op;
	bool text, number, boolean, ip, list;
} operators[] = {
	{ "=", OP_EQ, true, true, true, true, true },
	{ "==", OP_EQ, true, true, true, true, true },
	{ "!=", OP_NE, true, true, true, true, true },
	{ "<", OP_LT, .number = true },
	{ "<=", OP_LE, .number = true },
	{ ">", OP_GT, .number = true },
	{ ">=", OP_GE, .number = true },
	{ "in", OP_IN, .text = true, .number = true, .ip = true, .list = true },
	{ "prefix", OP_PREFIX, .text = true, .list = true },
	{ "suffix", OP_SUFFIX, .text = true, .list = true },
	{ "glob", OP_GLOB, .text = true, .list = true },
	{ "contains", OP_CONTAINS, .text = true, .list = true },
	{ "matches", OP_MATCHES, .text = true, .list = true },
	{ "cidr", OP_CIDR, .ip = true, .list = true },
};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

static bool is_for(const struct operator *o, enum filter_type type)
{
	switch (type) {
	case FILTER_TEXT:
	case FILTER_LIST:
		return o->text;
	case FILTER_BOOL:
		return o->boolean;
	case FILTER_IP:
		return o->ip;
	default:
		return o->number;
	}
}

static bool is_word(const struct token *t)
{
	static const char *const words[] = { "and", "or", "not", "any", "true", "false", "in", "prefix", "suffix", "glob", "contains", "matches", "cidr" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (token_is(t, words[i]))
			return true;
	return false;
}

static bool unknown_field(const struct parser *p, const struct token *t, const char *name, uint32_t len)
{
	const char **names = calloc(p->schema->n + 1, sizeof(*names)), *near;
	char word[80];

	snprintf(word, sizeof(word), "%.*s", (int)(len > 70 ? 70 : len), name);
	for (uint32_t i = 0; names && i < p->schema->n; i++)
		names[i] = p->schema->fields[i].name;
	near = names ? suggest_nearest(word, names) : NULL;
	if (near)
		lex_error(&p->lex, t->at, t->length, "there is no field \"%s\"; did you mean \"%s\"?", word, near);
	else
		lex_error(&p->lex, t->at, t->length, "there is no field \"%s\"%s", word,
			  t->kind == TOKEN_NAME && p->schema->n ? "; texts stand in quotes" : "");
	free(names);
	return false;
}

static const struct filter_field *field_of(struct parser *p, const struct token *t, struct node *n)
{
	const char *name = t->ptr;
	uint32_t len = t->len;
	bool parent = len > 7 && memcmp(name, "parent.", 7) == 0;

	if (parent) {
		name += 7;
		len -= 7;
		if (n->who == OF_ITSELF)
			n->who = OF_PARENT;
	} else if (n->who == OF_ANY_ANCESTOR) {
		lex_error(&p->lex, t->at, t->length, "\"any\" asks for ancestors: any parent.%.*s", (int)(len > 60 ? 60 : len), name);
		return NULL;
	}
	for (uint32_t i = 0; i < p->schema->n; i++) {
		const struct filter_field *f = &p->schema->fields[i];

		if (strlen(f->name) != len || memcmp(f->name, name, len) != 0)
			continue;
		if (parent && !f->of_parent) {
			lex_error(&p->lex, t->at, t->length, "%s is not known of a parent", f->name);
			return NULL;
		}
		n->field = i;
		n->type = (uint8_t)f->type;
		return f;
	}
	unknown_field(p, t, name, len);
	return NULL;
}

static const struct operator *operator_of(struct parser *p, const struct filter_field *f)
{
	const struct token *t = &p->token;
	const char *words[N_OPERATORS + 1] = { 0 }, *near;
	char all[128] = "", word[24];
	size_t n = 0, used = 0;

	for (size_t i = 0; i < N_OPERATORS; i++) {
		if (token_is(t, operators[i].word)) {
			if (is_for(&operators[i], f->type))
				return &operators[i];
			break;
		}
	}
	for (size_t i = 0; i < N_OPERATORS; i++)
		if (is_for(&operators[i], f->type) && operators[i].word[1] != '=')
			words[n++] = operators[i].word;
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, " %s", words[i]);
	snprintf(word, sizeof(word), "%.*s", (int)(t->len > 20 ? 20 : t->len), t->kind == TOKEN_NAME ? t->ptr : "");
	near = t->kind == TOKEN_NAME ? suggest_nearest(word, words) : NULL;
	if (near)
		lex_error(&p->lex, t->at, t->length, "\"%s\" is no operator; did you mean \"%s\"?", word, near);
	else
		lex_error(&p->lex, t->at, t->length, "%s is %s; it can be compared by%s and !=", f->name, type_names[f->type], all);
	return NULL;
}

/* ---- values ------------------------------------------------------------------------ */

static bool wants(const struct parser *p, const struct token *t, const struct filter_field *f)
{
	bool text = f->type == FILTER_TEXT || f->type == FILTER_LIST;
	const char *quotes = text && (t->kind == TOKEN_NAME || t->kind == TOKEN_NUMBER) ? "; texts stand in quotes" : "";

	if (t->kind == TOKEN_END)
		return lex_error(&p->lex, t->at, 1, "%s wants a value here: %s", f->name, type_names[text ? FILTER_TEXT : f->type]);
	if (f->type == FILTER_LIST)
		return lex_error(&p->lex, t->at, t->length, "%s is compared with texts, and this is none%s", f->name, quotes);
	return lex_error(&p->lex, t->at, t->length, "%s is %s, and this is none%s", f->name, type_names[f->type], quotes);
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
				return lex_error(&p->lex, t.at, t.length, "this is no pattern: %s", why);
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
	return next(p);
}

static int operand_order(const void *a, const void *b)
{
	return text_order(&((const struct operand *)a)->value.text, &((const struct operand *)b)->value.text);
}

static bool values(struct parser *p, struct node *n, const struct filter_field *f, const struct operator *o)
{
	n->first = p->e->n_operands;
	if (!token_is(&p->token, "(")) {
		if (!value(p, n, f))
			return false;
	} else if (!o->list || f->type == FILTER_BOOL) {
		return lex_error(&p->lex, p->token.at, 1, "%s takes one value, not a list", o->word);
	} else {
		do {
			if (!next(p) || !value(p, n, f))
				return false;
		} while (token_is(&p->token, ","));
		if (!token_is(&p->token, ")"))
			return lex_error(&p->lex, p->token.at, p->token.length, "a list goes on with \",\" or ends with \")\"");
		if (!next(p))
			return false;
	}
	if ((f->type == FILTER_TEXT || f->type == FILTER_LIST) && (n->op == OP_EQ || n->op == OP_NE || n->op == OP_IN))
		qsort(p->e->operands + n->first, n->n, sizeof(struct operand), operand_order);
	return true;
}

/* ---- conditions -------------------------------------------------------------------- */

static uint32_t expression(struct parser *p);

static uint32_t test_of(struct parser *p, bool any)
{
	struct node n = { .kind = NODE_TEST, .who = any ? OF_ANY_ANCESTOR : OF_ITSELF };
	const uint32_t begin = any ? p->end - 3 : p->token.at; /* "any" is the word before */
	const struct token name = p->token;
	const struct filter_field *f;
	const struct operator *o;
	uint32_t at;

	if (name.kind != TOKEN_NAME || is_word(&name)) {
		lex_error(&p->lex, name.at, name.length, name.kind == TOKEN_END ? "a condition is missing here" : "a condition begins with a field, not with this");
		return 0;
	}
	f = field_of(p, &name, &n);
	if (!f || !next(p))
		return 0;
	if (f->type == FILTER_BOOL && (p->token.kind == TOKEN_END || token_is(&p->token, ")") || token_is(&p->token, "and") || token_is(&p->token, "or"))) {
		struct operand *alone;

		n.first = p->e->n_operands;
		alone = operand_new(p, &name);
		if (!alone)
			return 0;
		alone->value.b = true;
		n.n = 1;
	} else {
		o = operator_of(p, f);
		if (!o || !next(p))
			return 0;
		n.op = (uint8_t)o->op;
		if (!values(p, &n, f, o))
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
		if (!next(p))
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
		if (!next(p))
			return 0;
		at = deeper(p, &t, expression);
		if (!at)
			return 0;
		if (!token_is(&p->token, ")")) {
			uint32_t most = p->lex.length - t.at;

			lex_error(&p->lex, p->token.at, p->token.length, "\")\" is missing here, for the one that opens at: %.*s",
				  (int)(most > 24 ? 24 : most), p->lex.text + t.at);
			return 0;
		}
		return next(p) ? at : 0;
	}
	if (token_is(&t, "any"))
		return next(p) ? test_of(p, true) : 0;
	return test_of(p, false);
}

/* What stands between words of that kind: one thing as it is, several below a node. */
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
		if (!next(p))
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

struct filter_expr *filter_expr_new(const char *text, size_t len, const struct filter_schema *schema, struct filter_error *error)
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
		no_memory(&p);
		return filter_expr_free(p.e);
	}
	p.e->strings = p.lex.strings;
	if (!next(&p))
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
