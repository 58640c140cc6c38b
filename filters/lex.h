/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/lex.h - words of an expression, each with its place.
 */
#ifndef SKEP_FILTERS_LEX_H
#define SKEP_FILTERS_LEX_H

#include "filters/expr.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,   /* a field or a word of the language */
	TOKEN_TEXT,   /* quotes and escapes taken out */
	TOKEN_NUMBER, /* with its unit, if it has one */
	TOKEN_SIGN,   /* ( ) , = == != < <= > >= */
};

struct token {
	enum token_kind kind;
	uint32_t at, length; /* in the text */
	const char *ptr;     /* of TOKEN_TEXT in the lexer's memory, else in the text */
	uint32_t len;
};

struct lexer {
	const char *text;
	uint32_t length, at;
	char *strings; /* as long as the text: unescaped is never longer */
	uint32_t used;
	struct filter_error *error;
};

/* false: *l->error is set. */
bool lex_next(struct lexer *, struct token *ret);
bool token_is(const struct token *, const char *word);
/* Sets l->error for that place, and errno to EINVAL; false, to be returned. */
bool lex_error(const struct lexer *, uint32_t at, uint32_t length, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
