/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into one growing buffer, for sinks.  It allocates nothing per value, and does not depend on the locale,
 * which the plugin host chooses.
 */

#include <errno.h>
#include <math.h>
#include <skep/sink/jsonw.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void skep_jsonw_free(struct jsonw *j)
{
	free(j->buf);
	*j = (struct jsonw){ 0 };
}

void skep_jsonw_reset(struct jsonw *j)
{
	j->len = 0;
	j->err = 0;
}

char *skep_jsonw_grow(struct jsonw *j, size_t n)
{
	size_t cap = j->cap ? j->cap : 4096;
	char *buf;

	if (j->err)
		return NULL;
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

/*
 * Tests eight bytes at a time: sets the highest bit of a byte that is below 0x20, 0x7f or more, '"' or '\\'.  A carry
 * out of such a byte may also set the bit of its neighbour; without such a byte no bit is set.
 */
#define EACH(byte_) (UINT64_C(0x0101010101010101) * (byte_))
#define IS_ZERO(word_) (((word_) - EACH(0x01)) & ~(word_))

size_t skep_jsonw_plain(const char *s, size_t n)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8) {
		uint64_t w;

		memcpy(&w, s + i, 8);
		if ((w | (w - EACH(0x20)) | (w + EACH(0x01)) | IS_ZERO(w ^ EACH('"')) | IS_ZERO(w ^ EACH('\\'))) &
		    EACH(0x80))
			break;
	}
	while (i < n && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

void skep_jsonw_string_part(struct jsonw *j, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)s, *end = p + n;

	while (p < end) {
		const unsigned char *plain = p;
		char esc[6] = { '\\', 'u', '0', '0' };
		int len;

		p += skep_jsonw_plain((const char *)p, (size_t)(end - p));
		skep_jsonw_raw(j, (const char *)plain, (size_t)(p - plain));
		if (p == end)
			break;
		if (*p >= 0x80) {
			len = skep_utf8_length((const char *)p, (size_t)(end - p));
			if (len > 0)
				skep_jsonw_raw(j, (const char *)p, (size_t)len);
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
			skep_jsonw_raw(j, esc, sizeof(esc));
		}
		p++;
	}
}

void skep_jsonw_string(struct jsonw *j, const char *s, size_t n)
{
	size_t plain = skep_jsonw_plain(s, n);
	char *at = skep_jsonw_room(j, plain + 2);

	if (!at)
		return;
	*at++ = '"';
	if (plain)
		memcpy(at, s, plain);
	at[plain] = '"';
	j->len += plain + 2;
	if (plain == n)
		return;
	j->len--; /* drop the closing quote, as the string continues */
	skep_jsonw_string_part(j, s + plain, n - plain);
	jsonw_lit(j, "\"");
}

/* Writes two digits at a time, backwards from `end`; returns the first digit. */
static char *digits(char *end, uint64_t v)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";

	for (; v >= 100; v /= 100) {
		end -= 2;
		memcpy(end, pairs + v % 100 * 2, 2);
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, pairs + v * 2, 2);
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

void skep_jsonw_u64(struct jsonw *j, uint64_t v)
{
	char text[20], *at;

	if (v < 10) { /* most numbers of most records */
		text[0] = (char)('0' + v);
		skep_jsonw_raw(j, text, 1);
		return;
	}
	at = digits(text + sizeof(text), v);
	skep_jsonw_raw(j, at, (size_t)(text + sizeof(text) - at));
}

void skep_jsonw_i64(struct jsonw *j, int64_t v)
{
	if (v < 0)
		jsonw_lit(j, "-");
	skep_jsonw_u64(j, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void skep_jsonw_f64(struct jsonw *j, double v)
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
	/* Replace the locale's decimal point, which is one byte in every glibc locale that was tried. */
	for (int i = 0; i < n; i++)
		if (!strchr("0123456789+-e", text[i]))
			text[i] = '.';
	skep_jsonw_raw(j, text, (size_t)n);
}

/* Writes exactly n digits. */
static char *padded(char *at, unsigned n, uint64_t v)
{
	for (unsigned i = n; i-- > 0; v /= 10)
		at[i] = (char)('0' + v % 10);
	return at + n;
}

/*
 * Writes a day since 1970-01-01 as year, month, day.  The calendar repeats every 400 years, or 146,097 days, and a year
 * that begins in March has its leap day at its end.
 */
static char *date(char *at, int64_t day)
{
	int64_t shifted = day + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	uint64_t of_era = (uint64_t)(shifted - era * 146097);
	uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;

	at = padded(at, 4, (uint64_t)(era * 400) + year + (month >= 10));
	*at++ = '-';
	at = padded(at, 2, month < 10 ? month + 3 : month - 9);
	*at++ = '-';
	return padded(at, 2, of_year - (153 * month + 2) / 5 + 1);
}

void skep_jsonw_time(struct jsonw *j, int64_t ns)
{
	int64_t sec = ns / 1000000000, frac = ns % 1000000000, day;
	char text[] = "\"0000-00-00T00:00:00.000000000Z\"", *at = text + 1;
	uint64_t of_day;

	if (frac < 0) {
		frac += 1000000000;
		sec--;
	}
	day = (sec >= 0 ? sec : sec - 86399) / 86400;
	of_day = (uint64_t)(sec - day * 86400);
	at = date(at, day) + 1;
	at = padded(at, 2, of_day / 3600) + 1;
	at = padded(at, 2, of_day / 60 % 60) + 1;
	at = padded(at, 2, of_day % 60) + 1;
	padded(at, 9, (uint64_t)frac);
	skep_jsonw_raw(j, text, sizeof(text) - 1);
}
