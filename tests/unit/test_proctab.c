/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_proctab.c - the table by identity and by pid, through growth and reuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/process/proctab.h"

static void count_one(struct proc *p, void *arg)
{
	(void)p;
	++*(size_t *)arg;
}

static void by_identity_and_by_pid(void **state)
{
	struct proctab *t = proctab_new();
	struct skep_upid a = { .pid = 7, .start_ns = 100 }, b = { .pid = 7, .start_ns = 200 },
			 c = { .pid = 8, .start_ns = 100 };
	struct proc *pa = proctab_add(t, &a), *pb = proctab_add(t, &b);
	size_t dropped = 0;

	(void)state;
	assert_ptr_equal(proctab_find(t, &a), pa);
	assert_ptr_equal(proctab_find(t, &b), pb);
	assert_null(proctab_find(t, &c));
	assert_ptr_equal(proctab_holder(t, 7), pb);
	pb->flags |= PROC_EXITED;
	assert_ptr_equal(proctab_holder(t, 7), pa);
	pa->flags |= PROC_FINAL;
	assert_null(proctab_holder(t, 7));
	proctab_remove(t, pa);
	assert_null(proctab_find(t, &a));
	assert_ptr_equal(proctab_find(t, &b), pb);
	assert_int_equal(proctab_count(t), 1);
	/* the table reuses the entry's memory, cleared */
	pa = proctab_add(t, &c);
	assert_int_equal(pa->flags, 0);
	assert_int_equal(pa->upid.pid, 8);
	proctab_free(t, count_one, &dropped);
	assert_int_equal(dropped, 2);
	assert_null(proctab_free(NULL, count_one, NULL));
}

static void churn(void **state)
{
	enum { N = 20000 };
	struct proctab *t = proctab_new();
	size_t left = 0, walked = 0;

	(void)state;
	for (uint32_t i = 1; i <= N; i++) {
		struct skep_upid u = { .pid = i, .start_ns = i * 3ull };

		assert_non_null(proctab_add(t, &u));
	}
	for (uint32_t i = 1; i <= N; i++) {
		struct skep_upid u = { .pid = i, .start_ns = i * 3ull };

		assert_non_null(proctab_find(t, &u));
		if (i % 3)
			proctab_remove(t, proctab_find(t, &u));
	}
	for (uint32_t i = 1; i <= N; i++) {
		struct skep_upid u = { .pid = i, .start_ns = i * 3ull };

		assert_int_equal(proctab_find(t, &u) != NULL, i % 3 == 0);
	}
	for (struct proc *p = proctab_first(t); p; p = p->next) {
		assert_int_equal(p->upid.pid % 3, 0);
		walked++;
	}
	assert_int_equal(walked, N / 3);
	assert_int_equal(proctab_count(t), N / 3);
	proctab_free(t, count_one, &left);
	assert_int_equal(left, N / 3);
}

static void closed_is_remembered(void **state)
{
	struct proctab *t = proctab_new();
	struct skep_upid a = { .pid = 7, .start_ns = 100 }, b = { .pid = 7, .start_ns = 101 }, nobody = { 0 };
	size_t n = 0;

	(void)state;
	assert_false(proctab_closed(t, &a));
	assert_false(proctab_closed(t, &nobody));
	proctab_close(t, &a);
	assert_true(proctab_closed(t, &a));
	assert_false(proctab_closed(t, &b));
	proctab_free(t, count_one, &n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_identity_and_by_pid),
		cmocka_unit_test(churn),
		cmocka_unit_test(closed_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
