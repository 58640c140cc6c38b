/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of a run's tasks, up to their bound. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "core/process/attempts.h"

/* The name of task i; valid until the next call. */
static const struct skep_str *name(unsigned i)
{
	static char text[32];
	static struct skep_str str;
	uint32_t len = (uint32_t)snprintf(text, sizeof(text), "task %u", i);

	str = (struct skep_str){ text, len, len };
	return &str;
}

static void test_counts(void **state)
{
	struct attempts *a = NULL;

	(void)state;
	assert_int_equal(attempts_of(a, name(1)), 0);
	attempts_clear(a, name(1));
	for (unsigned round = 1; round <= 3; round++)
		for (unsigned i = 0; i < 100; i++)
			assert_int_equal(attempts_next(&a, name(i)), round);
	attempts_clear(a, name(7));
	assert_int_equal(attempts_of(a, name(7)), 0);
	assert_int_equal(attempts_of(a, name(8)), 3);
	assert_int_equal(attempts_next(&a, name(7)), 1);
	assert_int_equal(attempts_of(a, name(100)), 0);
	attempts_free(a);
}

/* A run of more tasks than are counted: the counted ones go on, the others are not known. */
static void test_most(void **state)
{
	struct attempts *a = NULL;

	(void)state;
	for (unsigned i = 0; i < ATTEMPTS_MOST; i++)
		assert_int_equal(attempts_next(&a, name(i)), 1);
	for (unsigned i = ATTEMPTS_MOST; i < ATTEMPTS_MOST + 1000; i++)
		assert_int_equal(attempts_next(&a, name(i)), 0);
	assert_int_equal(attempts_of(a, name(ATTEMPTS_MOST)), 0);
	for (unsigned i = 0; i < ATTEMPTS_MOST; i += 97)
		assert_int_equal(attempts_next(&a, name(i)), 2);
	attempts_free(a);
}

struct copy {
	struct attempts *to;
	uint64_t key[2];
	unsigned n;
};

static void copy_one(void *arg, uint64_t text, uint32_t count)
{
	struct copy *c = arg;

	assert_int_equal(attempts_restore(&c->to, c->key, text, count), 0);
	c->n++;
}

static void test_saved(void **state)
{
	struct copy c = { .to = NULL }, none = { .to = NULL };
	struct attempts *a = NULL;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		(void)attempts_next(&a, name(i));
	(void)attempts_next(&a, name(5));
	attempts_key(a, c.key);
	attempts_changed(a, false, copy_one, &c);
	assert_int_equal(c.n, 1000);
	assert_int_equal(attempts_of(c.to, name(5)), 2);
	assert_int_equal(attempts_next(&c.to, name(6)), 2);
	attempts_saved(a);
	attempts_changed(a, false, copy_one, &none);
	assert_int_equal(none.n, 0);
	(void)attempts_next(&a, name(5));
	attempts_changed(a, false, copy_one, &c);
	assert_int_equal(c.n, 1001);
	assert_int_equal(attempts_of(c.to, name(5)), 3);
	attempts_free(a);
	attempts_free(c.to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
