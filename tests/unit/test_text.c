/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_text.c - a process's name and arguments reach the terminal only as letters, never as controls.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/base/text.h"

static void check_safe(const char *raw, bool unicode, const char *want)
{
	char *text = text_safe(raw, unicode);

	assert_string_equal(text, want);
	free(text);
}

static void safe(void **state)
{
	(void)state;
	check_safe("plain text", true, "plain text");
	check_safe("", true, "");
	check_safe("a\nb\tc\x7f\x01", true, "a\\nb\\tc\\x7f\\x01");
	check_safe("\033[31mred\033[0m", true, "\\x1b[31mred\\x1b[0m");
	check_safe("naïve 塩基", true, "naïve 塩基");
	check_safe("naïve", false, "na\\u00efve");
	check_safe("\xf0\x9f\x90\x9d", false, "\\U0001f41d");
	/* C1 controls: an 8-bit terminal takes U+009B for ESC [ */
	check_safe("\xc2\x9b"
		   "31m",
		   true, "\\u009b31m");
	/* characters that reverse text or are invisible */
	check_safe("\xe2\x80\xae"
		   "cod",
		   true, "\\u202ecod");
	check_safe("a\xe2\x80\x8b"
		   "b",
		   true, "a\\u200bb");
	/* not UTF-8: latin-1, overlong, surrogate, beyond the last, cut */
	check_safe("caf\xe9", true, "caf\\xe9");
	check_safe("\xc0\xaf", true, "\\xc0\\xaf");
	check_safe("\xe0\x80\x80", true, "\\xe0\\x80\\x80");
	check_safe("\xed\xa0\x80", true, "\\xed\\xa0\\x80");
	check_safe("\xf4\x90\x80\x80", true, "\\xf4\\x90\\x80\\x80");
	check_safe("\xe5\xa1", true, "\\xe5\\xa1");
	check_safe("\xff", false, "\\xff");
}

static void every_byte(void **state)
{
	(void)state;
	for (int first = 1; first < 256; first++) {
		for (int second = 1; second < 256; second++) {
			char raw[3] = { (char)first, (char)second, '\0' }, *text = text_safe(raw, false);

			for (const char *p = text; *p; p++)
				assert_true(*p >= ' ' && *p < 0x7f);
			free(text);
		}
	}
}

static void check_argv(const char *const *argv, bool cut, const char *want)
{
	char *text = text_argv(argv, cut, true, 0);

	assert_string_equal(text, want);
	free(text);
}

static void arguments(void **state)
{
	(void)state;
	check_argv((const char *const[]) { "samtools", "sort", "-@8", "out.bam", NULL }, false,
		   "samtools sort -@8 out.bam");
	check_argv((const char *const[]) { "sh", "-c", "a | b", NULL }, false, "sh -c 'a | b'");
	check_argv((const char *const[]) { "echo", "", "it's", "$HOME", "~", "#", NULL }, false,
		   "echo '' $'it\\'s' '$HOME' '~' '#'");
	check_argv((const char *const[]) { "printf", "a\\b\n\xff", NULL }, false, "printf $'a\\\\b\\n\\xff'");
	check_argv((const char *const[]) { "x", NULL }, true, "x ...");
	check_argv((const char *const[]) { NULL }, false, "");
	check_argv(NULL, false, "");
}

/* A shell reads the printed words back as the same list. */
static void arguments_for_a_shell(void **state)
{
	static const char *const argv[] = { "a b",     "it's",       "\\",           "\\'", "tab\there",
					    "caf\xe9", "\033]0;x\a", "$x `y` \"z\"", "é塩", NULL };
	char *text = text_argv(argv, false, true, 0), *script = NULL, line[256];
	FILE *pipe;

	(void)state;
	script = text_format("set -- %s; printf '%%s\\0' \"$@\"", text);
	assert_non_null(script);
	setenv("SCRIPT", script, 1);
	pipe = popen("exec bash -c \"$SCRIPT\"", "r");
	assert_non_null(pipe);
	for (size_t i = 0; argv[i]; i++) {
		char *word = NULL;
		size_t size = 0;

		assert_true(getdelim(&word, &size, '\0', pipe) > 0);
		assert_string_equal(word, argv[i]);
		free(word);
	}
	assert_int_equal(fread(line, 1, sizeof(line), pipe), 0);
	assert_int_equal(pclose(pipe), 0);
	free(script);
	free(text);
}

static void limit(void **state)
{
	static const char *const argv[] = { "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", NULL };
	char *text = text_argv(argv, false, true, 15);

	(void)state;
	assert_string_equal(text, "aaaaaaaaaa bbbbbbbbbb ");
	free(text);
}

static void check_cut(const char *s, size_t columns, bool unicode, const char *want)
{
	char *text = text_cut(s, columns, unicode);

	assert_string_equal(text, want);
	assert_true(text_width(text) <= columns);
	free(text);
}

static void cutting(void **state)
{
	(void)state;
	check_cut("abcdef", 6, true, "abcdef");
	check_cut("abcdef", 5, true, "abcd…");
	check_cut("abcdef", 5, false, "ab...");
	check_cut("abcdef", 2, false, "..");
	check_cut("abcdef", 1, true, "…");
	check_cut("abcdef", 0, true, "");
	/* a wide letter is not cut in half */
	assert_int_equal(text_width("塩基配列"), 8);
	check_cut("塩基配列", 8, true, "塩基配列");
	check_cut("塩基配列", 7, true, "塩基配…");
	check_cut("塩基配列", 6, true, "塩基…");
	/* a combining mark takes no column and stays with its letter */
	assert_int_equal(text_width("e\xcc\x81"), 1);
	check_cut("e\xcc\x81"
		  "bc",
		  2, true,
		  "e\xcc\x81"
		  "…");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(safe),      cmocka_unit_test(every_byte),
		cmocka_unit_test(arguments), cmocka_unit_test(arguments_for_a_shell),
		cmocka_unit_test(limit),     cmocka_unit_test(cutting),
	};

	if (!setlocale(LC_ALL, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
