/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8, checked and mended.
 */
#include "sinks/common/utf8.h"

#include <stdint.h>
#include <string.h>

int utf8_length(const unsigned char *s, size_t n)
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

size_t utf8_valid(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0;

	while (i < n) {
		uint64_t eight;
		int len;

		/* nearly always nothing but ASCII */
		if (n - i >= 8) {
			memcpy(&eight, p + i, 8);
			if (!(eight & UINT64_C(0x8080808080808080))) {
				i += 8;
				continue;
			}
		}
		len = p[i] < 0x80 ? 1 : utf8_length(p + i, n - i);
		if (len < 0)
			break;
		i += (size_t)len;
	}
	return i;
}

size_t utf8_clean(const char *s, size_t n, char *ret)
{
	size_t out = 0;

	for (size_t i = 0; i < n;) {
		int len = utf8_length((const unsigned char *)s + i, n - i);

		if (len > 0) {
			memcpy(ret + out, s + i, (size_t)len);
			out += (size_t)len;
		} else {
			memcpy(ret + out, "\xef\xbf\xbd", 3);
			out += 3;
		}
		i += (size_t)(len > 0 ? len : -len);
	}
	return out;
}
