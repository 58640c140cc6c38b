/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for messages: bounded, whole characters, no terminal control sequence.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/config/config.h"

static void assert_quoted(const char *text, const char *expected)
{
	char got[CONFIG_QUOTE_SIZE];

	config_quote(text, got, sizeof(got));
	assert_string_equal(got, expected);
}

static void test_quote(void **state)
{
	(void)state;
	assert_quoted("", "\"\"");
	assert_quoted("abc", "\"abc\"");
	assert_quoted("a\"b\\", "\"a\\\"b\\\\\"");
	assert_quoted("\x1b[31m\n\x7f", "\"\\u001b[31m\\u000a\\u007f\"");
	assert_quoted("\xc2\x9b!", "\"\\u009b!\"");
	assert_quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9d", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9d\"");
	/* Each byte that is not UTF-8 is quoted alone; the quoting reads nothing behind the end. */
	assert_quoted("\x80\x81", "\"\x80\x81\"");
	assert_quoted("\xf0\x9f", "\"\xf0\x9f\"");
	assert_quoted("\xc2", "\"\xc2\"");
}

static void test_quote_cut(void **state)
{
	char text[200], got[200];

	(void)state;
	for (size_t size = 32; size < 100; size++) {
		for (size_t n = 0; n < 60; n++) {
			/* Two-byte characters after n plain ones: a cut must not split one. */
			memset(text, 'x', n);
			for (size_t i = n; i + 2 < sizeof(text); i += 2)
				memcpy(text + i, "\xc3\xa4\0", 3);
			memset(got, 0x55, sizeof(got));
			config_quote(text, got, size);
			assert_true(strlen(got) < size);
			assert_int_equal(got[size], 0x55);
			assert_string_equal(got + strlen(got) - 4, "...\"");
			assert_true(strlen(got) >= size - 3);
			assert_int_not_equal((unsigned char)got[strlen(got) - 5], 0xc3);
		}
	}
	/* A text that just fits stays whole; "..." needs room of its own. */
	memset(text, 'y', 89);
	text[89] = '\0';
	config_quote(text, got, CONFIG_QUOTE_SIZE);
	assert_int_equal(strlen(got), 91);
	assert_null(strstr(got, "..."));
}

static void assert_described(const char *json, const char *expected)
{
	char got[CONFIG_QUOTE_SIZE];
	json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	config_describe(value, got, sizeof(got));
	assert_string_equal(got, expected);
	json_decref(value);
}

static void test_describe(void **state)
{
	(void)state;
	assert_described("\"abc\"", "the string \"abc\"");
	assert_described("-5", "the integer -5");
	assert_described("1.5", "the number 1.5");
	assert_described("true", "true");
	assert_described("false", "false");
	assert_described("null", "null");
	assert_described("[1]", "an array");
	assert_described("{}", "an object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_quote_cut),
		cmocka_unit_test(test_describe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
