/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_human.c - numbers for people: rounding at every border of a unit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cli/base/human.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static void times(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text, *narrow;
	} cases[] = {
		{ 0, "0", "0" },
		{ 1, "1 ns", "1ns" },
		{ 999, "999 ns", "999ns" },
		{ 1000, "1.00 µs", "1.00µs" },
		{ 999499, "999 µs", "999µs" },
		{ 999500, "1.00 ms", "1.00ms" },
		{ 9994999, "9.99 ms", "9.99ms" },
		{ 9995001, "10.0 ms", "10.0ms" },
		{ 999499999, "999 ms", "999ms" },
		{ 999500000, "1.00 s", "1.00s" },
		{ 59949999999, "59.9 s", "59.9s" },
		{ 59950000000, "1m00s", "1m00s" },
		{ 3599499999999, "59m59s", "59m59s" },
		{ 3599500000000, "1h00m", "1h00m" },
		{ 86369999999999, "23h59m", "23h59m" },
		{ 86370000000000, "1d00h", "1d00h" },
		{ UINT64_C(90000) * 1000000000, "1d01h", "1d01h" },
		{ UINT64_MAX, "213504d00h", "213504d00h" },
	};
	char buf[HUMAN_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_string_equal(human_time(cases[i].ns, 0, buf), cases[i].text);
		assert_string_equal(human_time(cases[i].ns, HUMAN_SHORT, buf), cases[i].narrow);
	}
	assert_string_equal(human_time(1500, HUMAN_ASCII, buf), "1.50 us");
}

static void bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text, *narrow;
	} cases[] = {
		{ 0, "0", "0" },
		{ 1, "1 B", "1B" },
		{ 999, "999 B", "999B" },
		{ 1000, "0.98 KiB", "0.98K" },
		{ 1024, "1.00 KiB", "1.00K" },
		{ 1536, "1.50 KiB", "1.50K" },
		{ 1023487, "999 KiB", "999K" },
		{ 1023488, "0.98 MiB", "0.98M" },
		{ UINT64_C(2) << 30, "2.00 GiB", "2.00G" },
		{ UINT64_C(150) << 40, "150 TiB", "150T" },
		{ UINT64_MAX, "16.0 EiB", "16.0E" },
	};
	char buf[HUMAN_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_string_equal(human_bytes(cases[i].bytes, 0, buf), cases[i].text);
		assert_string_equal(human_bytes(cases[i].bytes, HUMAN_SHORT, buf), cases[i].narrow);
	}
}

static void counts(void **state)
{
	char buf[HUMAN_SIZE];

	(void)state;
	assert_string_equal(human_count(0, buf), "0");
	assert_string_equal(human_count(999, buf), "999");
	assert_string_equal(human_count(1000, buf), "1,000");
	assert_string_equal(human_count(1234567, buf), "1,234,567");
	assert_string_equal(human_count(UINT64_MAX, buf), "18,446,744,073,709,551,615");
}

static void cores_and_percent(void **state)
{
	char buf[HUMAN_SIZE];

	(void)state;
	assert_string_equal(human_cores(0, buf), "0");
	assert_string_equal(human_cores(-1, buf), "0");
	assert_string_equal(human_cores(0.004, buf), "<.01");
	assert_string_equal(human_cores(3.984, buf), "3.98");
	assert_string_equal(human_cores(127.4, buf), "127");
	assert_string_equal(human_cores(1024, buf), "1,024");
	assert_string_equal(human_cores(1.0 / 0.0, buf), "0");
	assert_string_equal(human_percent(0, buf), "0 %");
	assert_string_equal(human_percent(0.00004, buf), "<0.01 %");
	assert_string_equal(human_percent(0.0001, buf), "0.01 %");
	assert_string_equal(human_percent(0.0123, buf), "1.2 %");
	assert_string_equal(human_percent(0.64, buf), "64 %");
	assert_string_equal(human_percent(3.2, buf), "320 %");
}

static void dates(void **state)
{
	uint64_t t = UINT64_C(1795232895999999999); /* 2026-11-21 03:48:15 UTC */
	char buf[HUMAN_SIZE];

	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	assert_string_equal(human_date(t, HUMAN_DATE, buf), "2026-11-21");
	assert_string_equal(human_date(t, HUMAN_CLOCK, buf), "03:48:15");
	assert_string_equal(human_date(t, HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, buf), "2026-11-21 03:48:15 UTC");
	assert_string_equal(human_date(0, HUMAN_DATE | HUMAN_CLOCK, buf), "-");
	setenv("TZ", "ABC-5:30", 1);
	tzset();
	assert_string_equal(human_date(t, HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, buf), "2026-11-21 09:18:15 ABC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),  cmocka_unit_test(bytes),
		cmocka_unit_test(counts), cmocka_unit_test(cores_and_percent),
		cmocka_unit_test(dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
