/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/glob.c - matches shell patterns. After a mismatch the matcher returns to the last '*' only: any text
 * that an earlier '*' could match, the last '*' can match too.
 */
#include "filters/glob.h"

#include <string.h>

/* p points behind the '['. Returns a pointer behind the closing ']', or NULL when the set has none. */
static const char *set_match(const char *p, unsigned char c, bool *ret_in)
{
	bool negated = *p == '!' || *p == '^', in = false, first = true;

	if (negated)
		p++;
	for (; *p && (first || *p != ']'); first = false) {
		unsigned char from, to;

		if (*p == '\\' && p[1])
			p++;
		from = to = (unsigned char)*p++;
		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			if (*p == '\\' && p[1])
				p++;
			to = (unsigned char)*p++;
		}
		if (c >= from && c <= to)
			in = true;
	}
	if (*p != ']')
		return NULL;
	*ret_in = in != negated;
	return p + 1;
}

/*
 * Matches one character against one element of the pattern. Returns a pointer behind the element; NULL: no
 * match.
 */
static const char *element_match(const char *p, unsigned char c)
{
	bool in;

	switch (*p) {
	case '\0':
		return NULL;
	case '?':
		return p + 1;
	case '[':
		p = set_match(p + 1, c, &in);
		return p && in ? p : NULL;
	case '\\':
		if (p[1])
			p++;
		break;
	default:
		break;
	}
	return (unsigned char)*p == c ? p + 1 : NULL;
}

/* p follows a '*'. Returns the first position from i on at which p can match, or len for none. */
static size_t next_place(const char *p, const char *text, size_t i, size_t len)
{
	const char *at;

	if (*p == '\0' || strchr("*?[\\", *p) || i >= len)
		return i;
	at = memchr(text + i, *p, len - i);
	return at ? (size_t)(at - text) : len;
}

bool glob_match(const char *pattern, const char *text, size_t len)
{
	const char *p = pattern, *star = NULL, *next;
	size_t i = 0, star_at = 0;

	while (i < len) {
		if (*p == '*') {
			star = ++p;
			star_at = i = next_place(p, text, i, len);
			continue;
		}
		next = element_match(p, (unsigned char)text[i]);
		if (next) {
			p = next;
			i++;
		} else if (star) {
			p = star;
			i = star_at = next_place(p, text, star_at + 1, len);
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return *p == '\0';
}

bool glob_literal(const char *pattern)
{
	return pattern[strcspn(pattern, "*?[\\")] == '\0';
}

const char *glob_error(const char *pattern)
{
	bool in;

	if (*pattern == '\0')
		return "an empty pattern matches nothing";
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\') {
			if (!p[1])
				return "a backslash at the end of a pattern";
			p++;
		} else if (*p == '[') {
			p = set_match(p + 1, 'x', &in);
			if (!p)
				return "a '[' without its ']' (write \\\\[ for the character itself)";
			p--;
		}
	}
	return NULL;
}
