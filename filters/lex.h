/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/lex.h - the lexer: an expression's tokens, each with its position. For filters/parse*.c.
 */
#ifndef SKEP_FILTERS_LEX_H
#define SKEP_FILTERS_LEX_H

#include "filters/expr.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,   /* a field or a keyword */
	TOKEN_TEXT,   /* without its quotes, escapes decoded */
	TOKEN_NUMBER, /* with its unit, if any */
	TOKEN_SIGN,   /* ( ) , = == != < <= > >= */
};

struct token {
	enum token_kind kind;
	uint32_t at, length; /* in the text */
	const char *ptr;     /* TOKEN_TEXT: in the lexer's memory; other kinds: in the text */
	uint32_t len;
};

struct lexer {
	const char *text;
	uint32_t length, at;
	char *strings; /* as long as the text: a decoded text is never longer than its source */
	uint32_t used;
	struct filter_error *error;
};

/* false: *l->error is set. */
bool lex_next(struct lexer *, struct token *ret);
bool token_is(const struct token *, const char *word);
/* Sets l->error for that position, and errno to EINVAL. Always returns false, for the caller to return. */
bool lex_error(const struct lexer *, uint32_t at, uint32_t length, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
