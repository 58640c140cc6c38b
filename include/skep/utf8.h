/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/utf8.h - bytes that are not UTF-8.  The kernel's names, paths and arguments are bytes, in no
 * encoding.  JSON, protocol buffers, label sets and SQL texts must be UTF-8, and a parser that meets
 * one wrong byte refuses the whole document.  skep therefore has one rule:
 *
 *   - Records, rules and redaction see the exact bytes.
 *   - State that skep reads back itself (spool, carry file) keeps the exact bytes.
 *   - Every output that other programs read is UTF-8: skep_utf8_clean writes U+FFFD there for what is
 *     not.  Two names that differ only in such bytes read alike there.
 *   - Text for people (log, terminal) shows each such byte as \xNN: skep_utf8_shown.
 *
 * Not UTF-8 are: a byte that begins no character, a character without all its bytes (a value may be
 * cut within one), overlong forms, surrogates (U+D800 to U+DFFF), and what lies above U+10FFFF
 * (RFC 3629).  Noncharacters such as U+FFFF are UTF-8.
 */
#ifndef SKEP_UTF8_H
#define SKEP_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Length of the character at s (n > 0 bytes): positive when it is valid, else minus the bytes that one
 * U+FFFD stands for: the longest beginning of a valid character, as Unicode 15 section 3.9 recommends.
 */
static inline int skep_utf8_length(const char *s, size_t n)
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

/* Bytes at the beginning of s that are valid UTF-8, in whole characters; n: all of them. */
static inline size_t skep_utf8_valid(const char *s, size_t n)
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

/* Copies s with U+FFFD for what is not UTF-8. ret has room for 3 * n bytes. Returns the length; adds no NUL. */
static inline size_t skep_utf8_clean(const char *s, size_t n, char *ret)
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

/* The length, at most `most`, to which s (n bytes) can be cut without splitting a character. */
static inline size_t skep_utf8_cut(const char *s, size_t n, size_t most)
{
	size_t at = most;

	if (n <= most)
		return n;
	/* A character has at most 4 bytes: one that reaches over the cut begins at most 3 before it. */
	for (int back = 0; back < 3 && at > 0; back++) {
		at--;
		if (((unsigned char)s[at] & 0xc0) != 0x80)
			return skep_utf8_length(s + at, n - at) > (int)(most - at) ? at : most;
	}
	return most;
}

/*
 * Copies s for people to read: bytes that are not UTF-8 and control characters (C0 but for the tab, DEL, and C1: some
 * terminals obey U+009B as ESC [) become \xNN.  ret has room for 4 * n bytes. Returns the length; adds no NUL.
 */
static inline size_t skep_utf8_shown(const char *s, size_t n, char *ret)
{
	static const char hex[] = "0123456789abcdef";
	size_t out = 0;

	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		int len = skep_utf8_length(s + i, n - i);
		size_t bytes = (size_t)(len < 0 ? -len : len);

		if (len > 0 && !(c < 0x20 && c != '\t') && c != 0x7f && !(c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)) {
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

#endif
