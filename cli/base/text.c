/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/text.c - makes text safe for a terminal: escapes, quotes, measures and cuts it.
 */
#include "cli/base/text.h"

#include <skep/utf8.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

size_t text_decode(const char *s, uint32_t *ret_code)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const unsigned char *u = (const unsigned char *)s;
	int n = *s ? skep_utf8_length(s, 4) : 0; /* stops at the terminating NUL, which continues no character */

	if (n < 0)
		return 0;
	*ret_code = u[0] & first[n];
	for (int i = 1; i < n; i++)
		*ret_code = *ret_code << 6 | (u[i] & 0x3f);
	return (size_t)n;
}

/*
 * Columns of a code point: the result of wcwidth in a UTF-8 locale; 1 in other locales, where wcwidth supports only
 * ASCII.
 */
static size_t columns_of(uint32_t code)
{
	int n = wcwidth((wchar_t)code);

	return n < 0 ? 1 : (size_t)n;
}

/* May text send this code point to a terminal unescaped? */
static bool printable(uint32_t code, bool unicode)
{
	if (code < 0x80)
		return code >= 0x20 && code != 0x7f;
	if (!unicode)
		return false;
	if (code < 0xa0) /* C1 controls: some terminals obey U+009B as ESC [ */
		return false;
	/* Invisible characters and direction marks can make one name look like another. */
	if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	    (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code == 0x00ad || code == 0x061c ||
	    (code >= 0xfff0 && code <= 0xfffb) || code >= 0xe0000)
		return false;
	return true;
}

static void put_escaped(FILE *f, uint32_t code)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	if (code >= 7 && code <= 13)
		fprintf(f, "\\%c", letters[code - 7]);
	else if (code < 0x80)
		fprintf(f, "\\x%02x", (unsigned)code);
	else if (code < 0x10000)
		fprintf(f, "\\u%04x", (unsigned)code);
	else
		fprintf(f, "\\U%08x", (unsigned)code);
}

/* Writes one character of s to f, escaped if necessary; returns its length in bytes. */
static size_t put_safe(FILE *f, const char *s, bool unicode)
{
	uint32_t code;
	size_t n = text_decode(s, &code);

	if (n == 0) {
		fprintf(f, "\\x%02x", (unsigned char)*s);
		return 1;
	}
	if (printable(code, unicode))
		fwrite(s, 1, n, f);
	else
		put_escaped(f, code);
	return n;
}

/* Closes a memory stream and returns its text. */
static char *stream_take(FILE *f, char **text)
{
	bool bad = ferror(f) != 0;

	if (fclose(f) != 0)
		bad = true;
	if (bad) {
		free(*text);
		return NULL;
	}
	return *text;
}

char *text_safe(const char *s, bool unicode)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	while (*s)
		s += put_safe(f, s, unicode);
	return stream_take(f, &text);
}

/* Is s a word that a shell needs no quotes for? */
static bool is_plain(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^";

	return *s && s[strspn(s, plain)] == '\0';
}

static void put_word(FILE *f, const char *s, bool unicode)
{
	bool quote = !is_plain(s), escape = false;
	uint32_t code;
	size_t n;

	for (const char *p = s; *p && !escape; p += n) {
		n = text_decode(p, &code);
		escape = n == 0 || !printable(code, unicode) || code == '\'';
	}
	if (escape)
		fputs("$'", f);
	else if (quote)
		fputc('\'', f);
	while (*s) {
		if (escape && (*s == '\'' || *s == '\\')) {
			fprintf(f, "\\%c", *s);
			s++;
		} else {
			s += put_safe(f, s, unicode);
		}
	}
	if (escape || quote)
		fputc('\'', f);
}

char *text_argv(const char *const *argv, bool cut, bool unicode, size_t limit)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; argv && argv[i]; i++) {
		if (i)
			fputc(' ', f);
		/* A list may be 2 MiB long, and the caller shows only its beginning. */
		if (limit && ftello(f) >= (off_t)limit)
			break;
		put_word(f, argv[i], unicode);
	}
	if (cut)
		fputs(" ...", f);
	return stream_take(f, &text);
}

char *text_format(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

size_t text_width(const char *s)
{
	size_t width = 0, n;
	uint32_t code;

	for (; *s; s += n) {
		n = text_decode(s, &code);
		if (n == 0) {
			n = 1;
			width++;
		} else {
			width += columns_of(code);
		}
	}
	return width;
}

char *text_cut(const char *s, size_t columns, bool unicode)
{
	const char *dots = unicode ? "…" : "...";
	size_t room, used = 0, at = 0, n, w;
	uint32_t code;
	char *cut;

	if (text_width(s) <= columns)
		return strdup(s);
	room = text_width(dots);
	if (room > columns)
		return strndup("...", columns);
	room = columns - room;
	for (; s[at]; at += n, used += w) {
		n = text_decode(s + at, &code);
		w = n ? columns_of(code) : 1;
		n = n ? n : 1;
		if (used + w > room)
			break;
	}
	if (asprintf(&cut, "%.*s%s", (int)at, s, dots) < 0)
		return NULL;
	return cut;
}

void text_first_line_take(FILE *file, char *ret, size_t size)
{
	if (!file || !fgets(ret, (int)size, file))
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	if (file)
		fclose(file);
}
