/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": typing errors find their word, other words find none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "filters/suggest.h"

static const char *const keys[] = { "host", "interval", "plugin_dirs", "probes", "sinks", "tools", "redact", NULL };

static void test_slips(void **state)
{
	(void)state;
	assert_string_equal(suggest_nearest("intervall", keys), "interval");
	assert_string_equal(suggest_nearest("interva", keys), "interval");
	assert_string_equal(suggest_nearest("intreval", keys), "interval"); /* neighbours swapped */
	assert_string_equal(suggest_nearest("INTERVAL", keys), "interval");
	assert_string_equal(suggest_nearest("plugin-dirs", keys), "plugin_dirs");
	assert_string_equal(suggest_nearest("pluginsdir", keys), "plugin_dirs");
	assert_string_equal(suggest_nearest("probe", keys), "probes");
	assert_string_equal(suggest_nearest("tool", keys), "tools");
}

static void test_other_words(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const odd[] = { "", "x", NULL };
	char longest[64], longer[65], huge[4000];

	(void)state;
	assert_null(suggest_nearest("control", keys));
	assert_null(suggest_nearest("", keys));
	assert_null(suggest_nearest("h", keys));
	assert_null(suggest_nearest("path", keys));
	assert_null(suggest_nearest("x", none));
	assert_string_equal(suggest_nearest("X", odd), "x");
	/* The longest word that fits the table, one letter more, and far more. */
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_ptr_equal(suggest_nearest(longest, (const char *const[]){ longer, longest, NULL }), longest);
	assert_null(suggest_nearest(longer, (const char *const[]){ longer, NULL }));
	assert_null(suggest_nearest(huge, keys));
}

static void test_nearest_wins(void **state)
{
	static const char *const near[] = { "ring_sizes", "ring_size", "ring_side", NULL };

	(void)state;
	assert_string_equal(suggest_nearest("ring_sise", near), "ring_size");
	assert_string_equal(suggest_nearest("ring_sizess", near), "ring_sizes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slips),
		cmocka_unit_test(test_other_words),
		cmocka_unit_test(test_nearest_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
