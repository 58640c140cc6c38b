/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and times: valid and invalid texts, and that printing them is exact.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/config/config.h"

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
	static const char *const times[] = { "",     "s",     "5",    "5 s",
					     " 5s",  "-5s",   "+5s",  "5S",
					     "5sec", "1min",  "1.5s", "1m30s",
					     "5s ",  "1us\n", "4KiB", "18446744073709551616" };
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
	/* An invalid size stays invalid, however large. */
	assert_int_equal(config_size("99999999999999999999999x", &value), -EINVAL);
	assert_int_equal(value, 42);
}

static void test_there_and_back(void **state)
{
	static const uint64_t values[] = {
		0, 1, 999, 1000, 1024, 1500000000, 64ull << 20, 3600000000000ull, UINT64_MAX
	};
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

static const char *const size_names[] = { "", "B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "s", NULL };
static const char *const time_names[] = { "", "ns", "us", "ms", "s", "m", "h", "d", "B", NULL };

/* A text matches if and only if it is one of min to max. */
static void held_against(const regex_t *re, const char *text, bool size, uint64_t min, uint64_t max)
{
	uint64_t value;
	int err = size ? config_size(text, &value) : config_time(text, &value);
	bool in = err == 0 && value >= min && value <= max;

	if ((regexec(re, text, 0, NULL, 0) == 0) != in)
		fail_msg("%s: %s, from %" PRIu64 " to %" PRIu64, text, in ? "does not match" : "matches", min, max);
}

static void pattern_is(bool size, uint64_t min, uint64_t max)
{
	static const uint64_t factors[] = { 1,           1000,          1024,          1000000,
					    1ull << 20,  1000000000,    1ull << 30,    1ull << 40,
					    60000000000, 3600000000000, 86400000000000 };
	char *pattern = size ? config_size_pattern(min, max) : config_time_pattern(min, max);
	char text[64];
	regex_t re;

	assert_non_null(pattern);
	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	for (const char *const *name = size ? size_names : time_names; *name; name++)
		for (size_t f = 0; f < sizeof(factors) / sizeof(factors[0]); f++)
			for (int at = 0; at < 6; at++) { /* near the bounds in that unit, and random values */
				uint64_t n = at < 2   ? min
					     : at < 4 ? max
						      : (uint64_t)random() << 31 ^ (uint64_t)random();

				n = n / factors[f] + (uint64_t)(at & 1);
				snprintf(text, sizeof(text), "%s%" PRIu64 "%s", at == 5 ? "00" : "",
					 at == 4 ? n % 100000 : n, *name);
				held_against(&re, text, size, min, max);
			}
	regfree(&re);
	free(pattern);
}

static void test_patterns(void **state)
{
	static const uint64_t edges[] = { 0,    1,     9,       10,         99,      100,      150,
					  4096, 65536, 1000000, 5000000000, 1 << 30, INT64_MAX };
	const size_t n = sizeof(edges) / sizeof(edges[0]);

	(void)state;
	srandom(20261121);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++) {
			pattern_is(true, edges[i], edges[j]);
			pattern_is(false, edges[i], edges[j]);
		}
	for (int i = 0; i < 100; i++) {
		uint64_t a = (uint64_t)random() >> random() % 31,
			 b = ((uint64_t)random() << 31 ^ (uint64_t)random()) >> random() % 40;

		pattern_is(i & 1, a < b ? a : b, a < b ? b : a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
