/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/jsonw and skep/upid.h write numbers, times and strings by hand: compared with libc and with a JSON reader.
 */
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <skep/sink/jsonw.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <skep/upid.h>

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> seed % 64; /* of any length */
}

static void assert_text(const struct jsonw *j, const char *expected)
{
	assert_int_equal(j->err, 0);
	assert_int_equal(j->len, strlen(expected));
	assert_memory_equal(j->buf, expected, j->len);
}

static void check_number(struct jsonw *j, uint64_t v)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "%" PRIu64, v);
	skep_jsonw_reset(j);
	skep_jsonw_u64(j, v);
	assert_text(j, expected);
	snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)v);
	skep_jsonw_reset(j);
	skep_jsonw_i64(j, (int64_t)v);
	assert_text(j, expected);
}

static void test_numbers(void **state)
{
	struct jsonw j = { 0 };

	(void)state;
	for (uint64_t v = 0; v < 2000; v++)
		check_number(&j, v);
	for (uint64_t v = 1; v; v = v > UINT64_MAX / 10 ? 0 : v * 10) {
		check_number(&j, v - 1);
		check_number(&j, v);
	}
	check_number(&j, UINT64_MAX);
	check_number(&j, (uint64_t)INT64_MIN);
	for (int i = 0; i < 20000; i++)
		check_number(&j, any());
	skep_jsonw_free(&j);
}

static void check_time(struct jsonw *j, int64_t sec, uint32_t frac)
{
	char day[32], expected[64];
	struct tm tm;
	time_t t = sec;

	assert_non_null(gmtime_r(&t, &tm));
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(expected, sizeof(expected), "\"%s.%09uZ\"", day, frac);
	skep_jsonw_reset(j);
	skep_jsonw_time(j, sec * 1000000000 + frac);
	assert_text(j, expected);
}

static void test_times(void **state)
{
	struct jsonw j = { 0 };

	(void)state;
	/* every day that the writer supports: 1677-09-22 to 2262-04-10, with leap years and their exceptions */
	for (int64_t day = -106750; day < 106750; day++) {
		check_time(&j, day * 86400, 0);
		check_time(&j, day * 86400 + 86399, 999999999);
	}
	for (int i = 0; i < 20000; i++)
		check_time(&j, (int64_t)(any() % 18000000000) - 9000000000, (uint32_t)(any() % 1000000000));
	skep_jsonw_free(&j);
}

/* Any bytes: where they are UTF-8, a reader gets the same bytes back. */
static void test_strings(void **state)
{
	struct jsonw j = { 0 };

	(void)state;
	for (int i = 0; i < 40000; i++) {
		char text[40];
		size_t n = any() % sizeof(text), plain = 0;
		json_t *read;

		for (size_t k = 0; k < n; k++)
			text[k] = (char)(any() % 6 ? 'a' + any() % 26 : any() % 128);
		while (plain < n && text[plain] >= 0x20 && text[plain] != 0x7f && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		assert_int_equal(skep_jsonw_plain(text, n), plain);
		skep_jsonw_reset(&j);
		skep_jsonw_string(&j, text, n);
		assert_int_equal(j.err, 0);
		read = json_loadb(j.buf, j.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(read);
		assert_int_equal(json_string_length(read), n);
		assert_memory_equal(json_string_value(read), text, n);
		json_decref(read);
	}
	skep_jsonw_reset(&j);
	skep_jsonw_string(&j, "abcdefgh\xc3\xa4ij\xff\x7fk\"\\\n\x01", 19);
	assert_text(&j, "\"abcdefgh\xc3\xa4ij\xef\xbf\xbd\\u007fk\\\"\\\\\\n\\u0001\"");
	skep_jsonw_free(&j);
}

static void test_upids(void **state)
{
	char text[SKEP_UPID_TEXT], expected[SKEP_UPID_TEXT];
	struct skep_upid upid = { 0 };

	(void)state;
	skep_upid_text("f61a9894-4", &upid, text);
	assert_string_equal(text, "");
	upid.pid = 7;
	skep_upid_text("", &upid, text); /* without a boot id */
	assert_string_equal(text, "-7-0");
	for (int i = 0; i < 20000; i++) {
		upid.pid = (uint32_t)any() ? (uint32_t)any() | 1 : UINT32_MAX;
		upid.start_ns = i ? any() : 0;
		if (i == 1)
			upid = (struct skep_upid){ .pid = UINT32_MAX, .start_ns = UINT64_MAX };
		snprintf(expected, sizeof(expected), "f61a9894-%" PRIu32 "-%" PRIx64, upid.pid, upid.start_ns);
		skep_upid_text("f61a9894-4", &upid, text);
		assert_string_equal(text, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_upids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
