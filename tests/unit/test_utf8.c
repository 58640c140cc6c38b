/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/utf8.h against jansson's own check: valid UTF-8, the replacement of invalid bytes, and where a text may be cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <skep/utf8.h>

#define FFFD "\xef\xbf\xbd"

static bool jansson_accepts(const char *s, size_t n)
{
	json_t *value = json_stringn(s, n);
	bool accepted = value != NULL;

	json_decref(value);
	return accepted;
}

static void check(const char *s, size_t n)
{
	char out[64];
	size_t valid = skep_utf8_valid(s, n), len = skep_utf8_clean(s, n, out);

	if ((valid == n) != jansson_accepts(s, n) || !jansson_accepts(s, valid) || !jansson_accepts(out, len) ||
	    len > 3 * n)
		fail_msg("%02x %02x %02x %02x (%zu)", (unsigned char)s[0], (unsigned char)s[1], (unsigned char)s[2],
			 (unsigned char)s[3], n);
	if (valid == n)
		assert_memory_equal(out, s, n);
	len = skep_utf8_shown(s, n, out);
	assert_true(jansson_accepts(out, len) && len <= 4 * n);
	for (size_t i = 0; i < len; i++)
		assert_true((unsigned char)out[i] >= 0x20 || out[i] == '\t');
	for (size_t most = 0; most <= n; most++) {
		size_t cut = skep_utf8_cut(s, n, most);

		assert_true(cut <= most && cut + 3 >= most);
		assert_true(valid < n || jansson_accepts(s, cut));
	}
}

/* Every pair of bytes before every kind of third and fourth byte. */
static void every_beginning(void **state)
{
	static const unsigned char kinds[] = {
		0, 'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xe2, 0xf0, 0xff
	};

	(void)state;
	for (unsigned i = 0; i < 65536; i++)
		for (size_t k = 0; k < sizeof(kinds) * sizeof(kinds); k++) {
			const unsigned char s[4] = { i >> 8, i & 255, kinds[k / sizeof(kinds)],
						     kinds[k % sizeof(kinds)] };

			check((const char *)s, i % 16 == 0 || (i >> 8) >= 0xc0 ? 4 : 3);
		}
}

static void check_clean(const char *s, size_t n, const char *expected)
{
	char out[64];
	size_t len = skep_utf8_clean(s, n, out);

	out[len] = '\0';
	assert_string_equal(out, expected);
}

static void one_sign_for_each_wrong_part(void **state)
{
	(void)state;
	check_clean("plain text of more than eight bytes", 35, "plain text of more than eight bytes");
	check_clean("a\xff", 2, "a" FFFD);
	check_clean("\xe2\x82", 2, FFFD);               /* cut within a character */
	check_clean("\xe2\x82z", 3, FFFD "z");
	check_clean("\xc0\x80", 2, FFFD FFFD);          /* overlong */
	check_clean("\xed\xa0\x80", 3, FFFD FFFD FFFD); /* a surrogate */
	check_clean("\xf4\x90\x80\x80", 4, FFFD FFFD FFFD FFFD);
	check_clean("\xef\xbf\xbf\xef\xb7\x90", 6, "\xef\xbf\xbf\xef\xb7\x90"); /* noncharacters are valid characters */
	check_clean("", 0, "");
}

static void cut_between_characters(void **state)
{
	(void)state;
	assert_int_equal(skep_utf8_cut("abc", 3, 8), 3);
	assert_int_equal(skep_utf8_cut("abc", 3, 2), 2);
	assert_int_equal(skep_utf8_cut("a\xf0\x9f\x90\x9d", 5, 4), 1);
	assert_int_equal(skep_utf8_cut("a\xf0\x9f\x90\x9d", 5, 5), 5);
	assert_int_equal(skep_utf8_cut("\xe2\x82\xac\xe2\x82\xac", 6, 5), 3);
	assert_int_equal(skep_utf8_cut("\x80\x80\x80\x80\x80", 5, 4), 4); /* no whole character to keep */
	assert_int_equal(skep_utf8_cut("\xe2\x82", 2, 0), 0);
}

static void shown_to_people(void **state)
{
	static const char s[] = "a\tb\n\xff\x1b[2J\xc2\x9bK\xc3\xa4\x7f";
	char out[4 * sizeof(s)];

	(void)state;
	out[skep_utf8_shown(s, sizeof(s) - 1, out)] = '\0';
	assert_string_equal(out, "a\tb\\x0a\\xff\\x1b[2J\\xc2\\x9bK\xc3\xa4\\x7f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_beginning),
		cmocka_unit_test(one_sign_for_each_wrong_part),
		cmocka_unit_test(cut_between_characters),
		cmocka_unit_test(shown_to_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
