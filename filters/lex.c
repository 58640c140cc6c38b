/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/lex.c - the lexer: splits the text of an expression into tokens.
 */
#include "filters/lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool lex_error(const struct lexer *l, uint32_t at, uint32_t length, const char *fmt, ...)
{
	struct filter_error *e = l->error;
	va_list ap;

	*e = (struct filter_error){ .line = 1, .column = 1, .at = at, .length = length ? length : 1 };
	for (uint32_t i = 0; i < at && i < l->length; i++) {
		e->column++;
		if (l->text[i] == '\n') {
			e->line++;
			e->column = 1;
		}
	}
	va_start(ap, fmt);
	vsnprintf(e->what, sizeof(e->what), fmt, ap);
	va_end(ap);
	errno = EINVAL;
	return false;
}

bool token_is(const struct token *t, const char *word)
{
	return (t->kind == TOKEN_NAME || t->kind == TOKEN_SIGN) && t->len == strlen(word) &&
	       memcmp(t->ptr, word, t->len) == 0;
}

/* ASCII only, in every locale. */
static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return is_name_start(c) || is_digit(c) || c == '.';
}

static int hex(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decodes the escape behind a backslash; l->at points behind the backslash and moves behind the escape. */
static bool escape(struct lexer *l, uint32_t begin, char *ret)
{
	uint32_t left = l->length - l->at;
	char c = left ? l->text[l->at] : '\0';

	l->at++;
	switch (c) {
	case '\\':
	case '\'':
	case '"':
		*ret = c;
		return true;
	case 'n':
		*ret = '\n';
		return true;
	case 't':
		*ret = '\t';
		return true;
	case 'x':
		if (left >= 3 && hex(l->text[l->at]) >= 0 && hex(l->text[l->at + 1]) >= 0) {
			*ret = (char)(hex(l->text[l->at]) * 16 + hex(l->text[l->at + 1]));
			l->at += 2;
			return true;
		}
		return lex_error(l, l->at - 2, 2, "\\x wants two hexadecimal digits, as in \\x1b");
	default:
		if (!left)
			return lex_error(l, begin, 1, "this text has no end; close it with the same quote");
		return lex_error(l, l->at - 2, 2, "\\%c is not an escape; there are \\\\ \\' \\\" \\n \\t \\xHH",
				 c > ' ' && c < 127 ? c : '?');
	}
}

static bool quoted(struct lexer *l, struct token *t)
{
	uint32_t begin = l->at;
	char quote = l->text[l->at++], c;

	t->kind = TOKEN_TEXT;
	t->ptr = l->strings + l->used;
	for (;;) {
		if (l->at == l->length)
			return lex_error(l, begin, 1, "this text has no end; close it with %c", quote);
		c = l->text[l->at++];
		if (c == quote)
			break;
		if (c == '\\' && !escape(l, begin, &c))
			return false;
		l->strings[l->used++] = c;
	}
	t->len = (uint32_t)(l->strings + l->used - t->ptr);
	l->strings[l->used++] = '\0'; /* always fits: the two quotes are not copied */
	t->length = l->at - begin;
	return true;
}

static void take(struct lexer *l, struct token *t, enum token_kind kind, uint32_t n)
{
	t->kind = kind;
	t->ptr = l->text + l->at;
	t->len = t->length = n;
	l->at += n;
}

bool lex_next(struct lexer *l, struct token *t)
{
	static const char *const signs[] = { "==", "!=", "<=", ">=", "(", ")", ",", "=", "<", ">" };
	uint32_t n = 0, left;
	char c;

	while (l->at < l->length && memchr(" \t\r\n", l->text[l->at], 4))
		l->at++;
	*t = (struct token){ .kind = TOKEN_END, .at = l->at, .length = 1 };
	if (l->at == l->length)
		return true;
	c = l->text[l->at];
	left = l->length - l->at;
	if (c == '\'' || c == '"')
		return quoted(l, t);
	if (is_name_start(c)) {
		while (n < left && is_name(l->text[l->at + n]))
			n++;
		take(l, t, TOKEN_NAME, n);
		return true;
	}
	if (is_digit(c) || (c == '-' && left > 1 && is_digit(l->text[l->at + 1]))) {
		n = 1;
		while (n < left && is_name(l->text[l->at + n]))
			n++;
		take(l, t, TOKEN_NUMBER, n);
		return true;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		n = (uint32_t)strlen(signs[i]);
		if (n <= left && memcmp(l->text + l->at, signs[i], n) == 0) {
			take(l, t, TOKEN_SIGN, n);
			return true;
		}
	}
	if (c == '!')
		return lex_error(l, l->at, 1, "\"!\" is not an operator; write not, or != between two values");
	if (c == '&' || c == '|')
		return lex_error(l, l->at, left > 1 && l->text[l->at + 1] == c ? 2 : 1, "\"%c\" is not known; write %s",
				 c, c == '&' ? "and" : "or");
	if (c > ' ' && c < 127)
		return lex_error(l, l->at, 1, "\"%c\" is not known here; write a string in quotes", c);
	return lex_error(l, l->at, 1, "the byte 0x%02x is not known here; write a string in quotes", (unsigned char)c);
}
