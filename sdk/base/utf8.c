/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/utf8.c - finds UTF-8 in bytes, and escapes all other bytes.
 */
#include <skep/utf8.h>
#include <stdint.h>
#include <string.h>

int skep_utf8_length(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned char low = 0x80, high = 0xbf;
	int want, i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return -1;
	want = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (p[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (p[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (p[0] == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	for (i = 1; i < want; i++) {
		if ((size_t)i >= n || p[i] < low || p[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return want;
}

size_t skep_utf8_valid(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n) {
		uint64_t eight;
		int len;

		/* Nearly all text is ASCII. */
		if (n - i >= 8) {
			memcpy(&eight, s + i, 8);
			if (!(eight & UINT64_C(0x8080808080808080))) {
				i += 8;
				continue;
			}
		}
		len = skep_utf8_length(s + i, n - i);
		if (len < 0)
			break;
		i += (size_t)len;
	}
	return i;
}

size_t skep_utf8_clean(const char *s, size_t n, char *ret)
{
	size_t out = 0;

	for (size_t i = 0; i < n;) {
		size_t good = skep_utf8_valid(s + i, n - i);

		memcpy(ret + out, s + i, good);
		out += good;
		i += good;
		if (i == n)
			break;
		memcpy(ret + out, "\xef\xbf\xbd", 3);
		out += 3;
		i += (size_t)-skep_utf8_length(s + i, n - i);
	}
	return out;
}

size_t skep_utf8_cut(const char *s, size_t n, size_t most)
{
	size_t at = most;

	if (n <= most)
		return n;
	/* A character has at most 4 bytes, so a character that spans the cut begins at most 3 bytes before the cut. */
	for (int back = 0; back < 3 && at > 0; back++) {
		at--;
		if (((unsigned char)s[at] & 0xc0) != 0x80)
			return skep_utf8_length(s + at, n - at) > (int)(most - at) ? at : most;
	}
	return most;
}

size_t skep_utf8_shown(const char *s, size_t n, char *ret)
{
	static const char hex[] = "0123456789abcdef";
	size_t out = 0;

	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		int len = skep_utf8_length(s + i, n - i);
		size_t bytes = (size_t)(len < 0 ? -len : len);

		if (len > 0 && !(c < 0x20 && c != '\t') && c != 0x7f &&
		    !(c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)) {
			memcpy(ret + out, s + i, bytes);
			out += bytes;
			i += bytes;
			continue;
		}
		for (; bytes; bytes--, i++) {
			ret[out++] = '\\';
			ret[out++] = 'x';
			ret[out++] = hex[(unsigned char)s[i] >> 4];
			ret[out++] = hex[(unsigned char)s[i] & 15];
		}
	}
	return out;
}
