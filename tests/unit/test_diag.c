/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics: every entry is kept in order, printed in the form that editors jump to.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/diag.h"

static char *printed(const struct diag *diag)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	diag_print(diag, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_forms(void **state)
{
	struct diag diag;
	char file[] = "skepd.conf";
	char *text;

	(void)state;
	diag_init(&diag);
	diag_add(&diag, DIAG_ERROR, file, 3, 7, "unknown key \"%s\"", "x");
	diag_add(&diag, DIAG_WARNING, file, 4, 0, "line only");
	diag_add(&diag, DIAG_ERROR, file, 0, 9, "file only");
	diag_add(&diag, DIAG_ERROR, NULL, 5, 5, "no file");
	/* Its strings are copies of the caller's. */
	memset(file, 'X', sizeof(file) - 1);
	assert_int_equal(diag.n, 4);
	assert_int_equal(diag.n_errors, 3);
	text = printed(&diag);
	assert_string_equal(text, "skepd.conf:3:7: error: unknown key \"x\"\n"
				  "skepd.conf:4: warning: line only\n"
				  "skepd.conf: error: file only\n"
				  "error: no file\n");
	free(text);
	diag_clear(&diag);
}

static void test_many_and_reuse(void **state)
{
	struct diag diag;
	char long_text[5000];

	(void)state;
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	diag_init(&diag);
	for (int i = 1; i <= 1000; i++)
		diag_add(&diag, DIAG_ERROR, "f", i, 1, "%s%d", long_text, i);
	assert_int_equal(diag.n, 1000);
	assert_int_equal(diag.n_errors, 1000);
	for (int i = 1; i <= 1000; i++)
		assert_int_equal(diag.entries[i - 1].line, i);
	assert_int_equal(strlen(diag.entries[999].text), sizeof(long_text) - 1 + 4);
	diag_clear(&diag);
	assert_int_equal(diag.n, 0);
	assert_int_equal(diag.n_errors, 0);
	diag_add(&diag, DIAG_WARNING, NULL, 0, 0, "again");
	assert_int_equal(diag.n, 1);
	assert_int_equal(diag.n_errors, 0);
	diag_clear(&diag);
}

static void test_control_characters(void **state)
{
	struct diag diag;
	char *text;

	(void)state;
	diag_init(&diag);
	diag_add(&diag, DIAG_ERROR, "a\nb", 1, 1, "near '%s' \xc3\xa4", "\x1b[31m\n\x7f");
	text = printed(&diag);
	assert_string_equal(text, "a\\x0ab:1:1: error: near '\\x1b[31m\\x0a\\x7f' \xc3\xa4\n");
	free(text);
	diag_clear(&diag);
}

static void test_place(void **state)
{
	struct diag diag;
	char *text;

	(void)state;
	diag_init(&diag);
	diag_add(&diag, DIAG_ERROR, NULL, 0, 0, "before");
	diag_add(&diag, DIAG_WARNING, NULL, 0, 0, "no place");
	diag_add(&diag, DIAG_ERROR, "g", 1, 2, "has one");
	diag_place(&diag, 1, "f", 7, 8);
	text = printed(&diag);
	assert_string_equal(text, "error: before\nf:7:8: warning: no place\ng:1:2: error: has one\n");
	free(text);
	diag_clear(&diag);
}

static void test_shown(void **state)
{
	struct diag diag;
	char *text;

	(void)state;
	diag_init(&diag);
	diag_show(&diag, strdup("of nothing"));
	diag_add(&diag, DIAG_ERROR, "f", 1, 2, "a");
	diag_show(&diag, strdup("replaced"));
	diag_show(&diag, strdup("line\n ^~"));
	diag_add(&diag, DIAG_ERROR, "f", 3, 4, "b");
	diag_show(&diag, NULL);
	text = printed(&diag);
	assert_string_equal(text, "f:1:2: error: a\nline\n ^~\nf:3:4: error: b\n");
	free(text);
	diag_clear(&diag);
}

static void test_lost_text_is_told(void **state)
{
	struct diag diag;
	char *text;

	(void)state;
	diag_init(&diag);
	diag_add(&diag, DIAG_ERROR, NULL, 0, 0, "kept");
	diag.n_errors += 2; /* as after failed allocations */
	text = printed(&diag);
	assert_string_equal(text, "error: kept\nerror: out of memory: the text of 2 errors is lost\n");
	free(text);
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_many_and_reuse),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_lost_text_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
