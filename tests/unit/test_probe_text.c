/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/text.c: words and numbers, lists, files.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "sdk/probe/text.h"

static bool u64(const char *s, uint64_t *ret)
{
	struct text t = skep_text_of(s);

	return skep_text_u64(&t, ret);
}

static void numbers(void **state)
{
	uint64_t v = 7;
	double d = 7;
	struct text t;

	(void)state;
	assert_true(u64(" \t42 x", &v));
	assert_int_equal(v, 42);
	assert_true(u64("18446744073709551615", &v));
	assert_true(v == UINT64_MAX);
	assert_false(u64("18446744073709551616", &v));
	assert_false(u64("99999999999999999999999", &v));
	assert_false(u64("-1", &v));
	assert_false(u64("+1", &v));
	assert_false(u64("1x", &v));
	assert_false(u64("", &v));
	assert_false(u64("  ", &v));

	t = skep_text_of("2.50 1.125 3 .5 1.x 1.1234567890");
	assert_true(skep_text_f64(&t, &d) && d == 2.5);
	assert_true(skep_text_f64(&t, &d) && d == 1.125);
	assert_true(skep_text_f64(&t, &d) && d == 3);
	assert_false(skep_text_f64(&t, &d)); /* .5 */
	assert_false(skep_text_f64(&t, &d));
	assert_false(skep_text_f64(&t, &d));
}

static void lines(void **state)
{
	struct text t = skep_text_of("one\n\ntwo  \r"), line;

	(void)state;
	assert_true(skep_text_line(&t, &line) && skep_text_is(line, "one"));
	assert_true(skep_text_line(&t, &line) && skep_text_len(line) == 0);
	assert_true(skep_text_line(&t, &line) && skep_text_is(skep_text_trim(line), "two"));
	assert_false(skep_text_line(&t, &line));
}

static void lists(void **state)
{
	uint64_t n = 99;

	(void)state;
	assert_true(skep_text_list(skep_text_of("0-3,8,10-11"), &n));
	assert_int_equal(n, 7);
	assert_true(skep_text_list(skep_text_of("0"), &n));
	assert_int_equal(n, 1);
	assert_true(skep_text_list(skep_text_of(""), &n)); /* as .../cpu/offline has it */
	assert_int_equal(n, 0);
	assert_false(skep_text_list(skep_text_of("3-1"), &n));
	assert_false(skep_text_list(skep_text_of("0,"), &n));
	assert_false(skep_text_list(skep_text_of("a"), &n));
	assert_false(skep_text_list(skep_text_of("0-18446744073709551615"), &n));
}

/* Larger than the buffer's first size, and read again when it is shorter. */
static void files(void **state)
{
	char path[] = "/tmp/skep-text.XXXXXX", line[8];
	int fd = mkstemp(path), dir = open("/tmp", O_PATH);
	struct text_buffer b = { 0 };
	struct text t;
	uint64_t v;

	(void)state;
	assert_true(fd >= 0 && dir >= 0);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(dprintf(fd, "%04d\n", i), 5);
	assert_int_equal(skep_text_read(&b, fd, &t), 0);
	assert_int_equal(skep_text_len(t), 25000);
	assert_memory_equal(t.end - 5, "4999\n", 5);
	assert_int_equal(ftruncate(fd, 6), 0);
	assert_int_equal(skep_text_read(&b, fd, &t), 0);
	assert_int_equal(skep_text_len(t), 6);
	assert_int_equal(skep_text_line_at(dir, path + 5, line, sizeof(line)), 0);
	assert_string_equal(line, "0000");
	assert_int_equal(skep_text_line_at(dir, path + 5, line, 4), -EMSGSIZE);
	assert_int_equal(skep_text_u64_at(dir, path + 5, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(skep_text_u64_at(dir, "skep-is-not-there", &v), -ENOENT);
	unlink(path);
	close(dir);
	close(fd);
	skep_text_buffer_free(&b);
}

static void too_large(void **state)
{
	char path[] = "/tmp/skep-text.XXXXXX";
	int fd = mkstemp(path);
	struct text_buffer b = { 0 };
	struct text t;

	(void)state;
	unlink(path);
	assert_int_equal(ftruncate(fd, TEXT_MOST + 1), 0);
	assert_int_equal(skep_text_read(&b, fd, &t), -EFBIG);
	close(fd);
	skep_text_buffer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(lines),	cmocka_unit_test(lists),
		cmocka_unit_test(files),   cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
