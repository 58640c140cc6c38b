/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_cpus.c - skep/cpus.h: lists of CPU numbers with and without gaps, and texts that are none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <skep/cpus.h>
#include <unistd.h>

static void lists(void **state)
{
	(void)state;
	assert_int_equal(skep_cpu_slots_of("0\n"), 1);
	assert_int_equal(skep_cpu_slots_of("0-3"), 4);
	assert_int_equal(skep_cpu_slots_of("0-3,8-11\n"), 12);
	assert_int_equal(skep_cpu_slots_of("0,2,4-5,127\n"), 128);
	assert_int_equal(skep_cpu_slots_of("8-11,0-3\n"), 12);
	assert_int_equal(skep_cpu_slots_of("0-8191\n"), 8192);
}

static void not_lists(void **state)
{
	static const char *const bad[] = { "",
					   "\n",
					   "a",
					   "-1",
					   "0-",
					   "0-\n",
					   "3-1",
					   "0,",
					   "0,,1",
					   "0-3 ",
					   "0-3,x",
					   "0-65536",
					   "0-99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(skep_cpu_slots_of(bad[i]), -EINVAL);
}

/* What the C library configures counts the same CPUs: numbers with gaps only need more. */
static void here(void **state)
{
	(void)state;
	assert_true(skep_cpu_slots() >= (int)sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(not_lists),
		cmocka_unit_test(here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
