/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/parse_field.c - the parser's look-up of fields and operators by name, with suggestions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/parse.h"
#include "filters/suggest.h"

const char *const parse_type_names[] = {
	[FILTER_TEXT] = "a text",	   [FILTER_UINT] = "a number",  [FILTER_INT] = "a number",
	[FILTER_BOOL] = "true or false", [FILTER_IP] = "an address", [FILTER_LIST] = "a list of texts",
};

static const struct operator operators[] = {
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

bool parse_is_word(const struct token *t)
{
	static const char *const words[] = { "and",    "or",     "not",  "any",      "true",    "false", "in",
					     "prefix", "suffix", "glob", "contains", "matches", "cidr" };

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
			  t->kind == TOKEN_NAME && p->schema->n ? "; write a string in quotes" : "");
	free(names);
	return false;
}

const struct filter_field *parse_field(struct parser *p, const struct token *t, struct node *n)
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
		lex_error(&p->lex, t->at, t->length, "\"any\" asks for ancestors: any parent.%.*s",
			  (int)(len > 60 ? 60 : len), name);
		return NULL;
	}
	for (uint32_t i = 0; i < p->schema->n; i++) {
		const struct filter_field *f = &p->schema->fields[i];

		if (strlen(f->name) != len || memcmp(f->name, name, len) != 0)
			continue;
		if (parent && !f->of_parent) {
			lex_error(&p->lex, t->at, t->length, "%s is unknown for a parent", f->name);
			return NULL;
		}
		n->field = i;
		n->type = (uint8_t)f->type;
		return f;
	}
	unknown_field(p, t, name, len);
	return NULL;
}

const struct operator *parse_operator(struct parser *p, const struct filter_field *f)
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
		lex_error(&p->lex, t->at, t->length, "\"%s\" is not an operator; did you mean \"%s\"?", word, near);
	else
		lex_error(&p->lex, t->at, t->length, "%s is %s; it can be compared by%s and !=", f->name,
			  parse_type_names[f->type], all);
	return NULL;
}
