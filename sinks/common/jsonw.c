/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON writer into one growing buffer.  No allocation per value; independent of the
 * locale, because the host's locale is not a plugin's to know.
 */
#include "sinks/common/jsonw.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void jsonw_free(struct jsonw *j)
{
	free(j->buf);
	*j = (struct jsonw){ 0 };
}

void jsonw_reset(struct jsonw *j)
{
	j->len = 0;
	j->err = 0;
}

/* Room for n more bytes, or NULL. */
static char *jsonw_room(struct jsonw *j, size_t n)
{
	size_t cap = j->cap ? j->cap : 4096;
	char *buf;

	if (j->err)
		return NULL;
	if (n <= j->cap - j->len)
		return j->buf + j->len;
	while (cap - j->len < n) {
		if (cap > SIZE_MAX / 2)
			goto nomem;
		cap *= 2;
	}
	buf = realloc(j->buf, cap);
	if (!buf)
		goto nomem;
	j->buf = buf;
	j->cap = cap;
	return buf + j->len;
nomem:
	j->err = -ENOMEM;
	return NULL;
}

void jsonw_raw(struct jsonw *j, const char *s, size_t n)
{
	char *at = jsonw_room(j, n);

	if (!at || !n)
		return;
	memcpy(at, s, n);
	j->len += n;
}

/*
 * Length of the UTF-8 sequence at s (n > 0 bytes): positive when valid, else minus the
 * bytes that one U+FFFD stands for (the longest beginning of a valid sequence, as
 * Unicode 15 section 3.9 recommends).
 */
static int utf8_length(const unsigned char *s, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	int want, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return -1;
	want = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	for (i = 1; i < want; i++) {
		if ((size_t)i >= n || s[i] < low || s[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return want;
}

void jsonw_string_part(struct jsonw *j, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)s, *end = p + n;

	while (p < end) {
		const unsigned char *plain = p;
		char esc[6] = { '\\', 'u', '0', '0' };
		int len;

		while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
			p++;
		jsonw_raw(j, (const char *)plain, (size_t)(p - plain));
		if (p == end)
			break;
		if (*p >= 0x80) {
			len = utf8_length(p, (size_t)(end - p));
			if (len > 0)
				jsonw_raw(j, (const char *)p, (size_t)len);
			else
				jsonw_lit(j, "\xef\xbf\xbd");
			p += len > 0 ? len : -len;
			continue;
		}
		switch (*p) {
		case '"':
			jsonw_lit(j, "\\\"");
			break;
		case '\\':
			jsonw_lit(j, "\\\\");
			break;
		case '\n':
			jsonw_lit(j, "\\n");
			break;
		case '\t':
			jsonw_lit(j, "\\t");
			break;
		case '\r':
			jsonw_lit(j, "\\r");
			break;
		default:
			esc[4] = hex[*p >> 4];
			esc[5] = hex[*p & 15];
			jsonw_raw(j, esc, sizeof(esc));
		}
		p++;
	}
}

void jsonw_string(struct jsonw *j, const char *s, size_t n)
{
	jsonw_lit(j, "\"");
	jsonw_string_part(j, s, n);
	jsonw_lit(j, "\"");
}

void jsonw_u64(struct jsonw *j, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	jsonw_raw(j, text + at, sizeof(text) - at);
}

void jsonw_i64(struct jsonw *j, int64_t v)
{
	if (v < 0)
		jsonw_lit(j, "-");
	jsonw_u64(j, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void jsonw_f64(struct jsonw *j, double v)
{
	char text[40];
	int digits, n;

	if (!isfinite(v)) {
		jsonw_lit(j, "null");
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		n = snprintf(text, sizeof(text), "%.*g", digits, v);
		if (digits == 17 || strtod(text, NULL) == v)
			break;
	}
	/* whatever the locale's decimal point is: one byte in every glibc locale we met */
	for (int i = 0; i < n; i++)
		if (!strchr("0123456789+-e", text[i]))
			text[i] = '.';
	jsonw_raw(j, text, (size_t)n);
}

void jsonw_time(struct jsonw *j, int64_t ns)
{
	int64_t sec = ns / 1000000000, frac = ns % 1000000000;
	struct tm tm;
	char text[64];
	int n;

	if (frac < 0) {
		frac += 1000000000;
		sec--;
	}
	if (!gmtime_r(&(time_t){ sec }, &tm)) {
		jsonw_lit(j, "null");
		return;
	}
	n = snprintf(text, sizeof(text), "\"%04d-%02d-%02dT%02d:%02d:%02d.%09dZ\"", tm.tm_year + 1900, tm.tm_mon + 1,
		     tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)frac);
	jsonw_raw(j, text, (size_t)n);
}
