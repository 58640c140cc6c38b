/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and times: what is one, what is none, and that the way back is exact.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "core/config.h"

struct sample {
	const char *text;
	uint64_t value;
};

static void test_sizes(void **state)
{
	static const struct sample samples[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "1B", 1 },
		{ "2kB", 2000 },
		{ "2KiB", 2048 },
		{ "3MB", 3000000 },
		{ "64MiB", 64ull << 20 },
		{ "5GB", 5000000000ull },
		{ "1GiB", 1ull << 30 },
		{ "7TB", 7000000000000ull },
		{ "2TiB", 2ull << 40 },
		{ "007B", 7 },
		{ "18446744073709551615", UINT64_MAX },
		{ "16777215TiB", 16777215ull << 40 },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		assert_int_equal(config_size(samples[i].text, &value), 0);
		assert_int_equal(value, samples[i].value);
	}
}

static void test_times(void **state)
{
	static const struct sample samples[] = {
		{ "0", 0 },
		{ "1ns", 1 },
		{ "2us", 2000 },
		{ "250ms", 250000000 },
		{ "5s", 5000000000ull },
		{ "2m", 120000000000ull },
		{ "1h", 3600000000000ull },
		{ "7d", 604800000000000ull },
		{ "18446744073709551615ns", UINT64_MAX },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		assert_int_equal(config_time(samples[i].text, &value), 0);
		assert_int_equal(value, samples[i].value);
	}
}

static void test_refused(void **state)
{
	static const char *const sizes[] = { "",     "B",    " 1B",  "1 B",  "+1",  "-1",    "1b",  "1K",
					     "1KB",  "1kiB", "1MiBx", "1.5GiB", "0x10", "1e3", "5s",  "1BB" };
	static const char *const times[] = { "",  "s",  "5",  "5 s", " 5s", "-5s", "+5s",  "5S",
					     "5sec", "1min", "1.5s", "1m30s", "5s ", "1us\n", "4KiB", "18446744073709551616" };
	uint64_t value = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(config_size(sizes[i], &value), -EINVAL);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_int_equal(config_time(times[i], &value), -EINVAL);
	assert_int_equal(config_size("18446744073709551616", &value), -ERANGE);
	assert_int_equal(config_size("16777216TiB", &value), -ERANGE);
	assert_int_equal(config_time("18446744073709551616ns", &value), -ERANGE);
	assert_int_equal(config_time("213504d", &value), -ERANGE);
	/* What is not a size stays none, however large. */
	assert_int_equal(config_size("99999999999999999999999x", &value), -EINVAL);
	assert_int_equal(value, 42);
}

static void test_there_and_back(void **state)
{
	static const uint64_t values[] = { 0, 1, 999, 1000, 1024, 1500000000, 64ull << 20, 3600000000000ull, UINT64_MAX };
	char text[CONFIG_UNITS_SIZE];
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		config_size_format(values[i], text);
		assert_int_equal(config_size(text, &value), 0);
		assert_int_equal(value, values[i]);
		config_time_format(values[i], text);
		assert_int_equal(config_time(text, &value), 0);
		assert_int_equal(value, values[i]);
	}
	config_size_format(64ull << 20, text);
	assert_string_equal(text, "64MiB");
	config_time_format(1500000000, text);
	assert_string_equal(text, "1500ms");
	config_time_format(5000000000ull, text);
	assert_string_equal(text, "5s");
	config_time_format(0, text);
	assert_string_equal(text, "0ns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
