/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes RowBinary: numbers little-endian, a string as its length (LEB128) and bytes, an array as its length and
 * elements, a UUID as two 64-bit words.  Without names and quotes, most of a row's cost is copying.
 */
#include "sinks/clickhouse/rowbinary.h"

#include <endian.h>
#include <skep/utf8.h>
#include <string.h>

void rowbinary_number(struct jsonw *out, enum column_type type, uint64_t v)
{
	uint64_t le = htole64(v);

	skep_jsonw_raw(out, (const char *)&le, type == CH_U8 ? 1 : type == CH_U64 || type == CH_F64 ? 8 : 4);
}

static void rowbinary_length(struct jsonw *out, uint64_t n)
{
	char text[10];
	size_t len = 0;

	do {
		text[len++] = (char)((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
		n >>= 7;
	} while (n);
	skep_jsonw_raw(out, text, len);
}

void rowbinary_text(struct jsonw *out, const char *s, size_t n)
{
	size_t length_most = 10, len;
	char *room;

	if (skep_utf8_valid(s, n) == n) { /* nearly every text is valid */
		rowbinary_length(out, n);
		skep_jsonw_raw(out, s, n);
		return;
	}
	/* The length precedes the text but is known after it: write the text behind room for both, then move it. */
	room = skep_jsonw_room(out, length_most + 3 * n);
	if (!room)
		return;
	len = skep_utf8_clean(s, n, room + length_most);
	rowbinary_length(out, len);
	memmove(out->buf + out->len, room + length_most, len);
	out->len += len;
}

void rowbinary_list(struct jsonw *out, struct skep_str s)
{
	const char *end = s.ptr + s.len;
	uint64_t n = 0;

	for (const char *p = s.ptr; p < end; p += strnlen(p, (size_t)(end - p)) + 1)
		n++;
	rowbinary_length(out, n);
	for (const char *p = s.ptr; p < end;) {
		size_t len = strnlen(p, (size_t)(end - p));

		rowbinary_text(out, p, len);
		p += len + 1;
	}
}

/* FNV-1a, 128 bits: http://www.isthe.com/chongo/tech/comp/fnv */
#define FNV_PRIME (((unsigned __int128)1 << 88) | 0x13b)

unsigned __int128 rowbinary_hash(unsigned __int128 h, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n--)
		h = (h ^ *p++) * FNV_PRIME;
	return h;
}

unsigned __int128 rowbinary_hash_number(unsigned __int128 h, uint64_t v)
{
	for (int i = 0; i < 8; i++, v >>= 8)
		h = (h ^ (v & 0xff)) * FNV_PRIME;
	return h;
}
