/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/order.c: lists of all lengths, sorted and not, with equal keys and with keys that differ in one byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lake/order.h"

#define MOST 3000

static uint64_t random64(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* How a test makes keys out of random numbers. */
static uint64_t as_it_is(uint64_t r)
{
	return r;
}

static uint64_t few_keys(uint64_t r)
{
	return r % 7;
}

static uint64_t high_byte(uint64_t r)
{
	return r << 56 | 5;
}

static uint64_t one_key(uint64_t r)
{
	(void)r;
	return UINT64_MAX;
}

static uint64_t (*const makes[])(uint64_t) = { as_it_is, few_keys, high_byte, one_key };

static void test_order(void **state)
{
	struct lake_order *list = calloc(MOST, 2 * sizeof(*list));
	uint64_t seed = 1;

	(void)state;
	assert_non_null(list);
	for (size_t n = 0; n < MOST; n = n < 70 ? n + 1 : 2 * n)
		for (size_t m = 0; m < sizeof(makes) / sizeof(makes[0]); m++) {
			uint64_t sum = 0, sum_sorted = 0;

			for (size_t i = 0; i < n; i++) {
				list[i] = (struct lake_order){ makes[m](random64(&seed)), i };
				sum += list[i].key * (i + 1);
			}
			for (int again = 0; again < 2; again++) { /* then it is in order */
				lake_order_sort(list, n, list + n);
				for (size_t i = 1; i < n; i++) {
					assert_true(list[i - 1].key <= list[i].key);
					assert_true(list[i - 1].key < list[i].key || list[i - 1].at < list[i].at);
				}
			}
			for (size_t i = 0; i < n; i++)
				sum_sorted += list[i].key * (list[i].at + 1); /* each key has its place still */
			assert_true(sum == sum_sorted);
		}
	free(list);
}

static int downwards(const void *a, const void *b, void *arg)
{
	const struct lake_order *x = a, *y = b;

	*(size_t *)arg += 1;
	return (x->at < y->at) - (x->at > y->at);
}

static void test_ties(void **state)
{
	struct lake_order list[] = { { 1, 4 }, { 2, 0 }, { 2, 2 }, { 2, 1 }, { 3, 9 }, { 4, 1 }, { 4, 3 } };
	static const size_t want[] = { 4, 2, 1, 0, 9, 3, 1 };
	size_t calls = 0;

	(void)state;
	lake_order_ties(list, 7, downwards, &calls);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(list[i].at, want[i]);
	assert_true(calls > 0);
	lake_order_ties(list, 0, downwards, &calls);
}

/* What ends at a time is no more when the next begins. */
static void test_edges(void **state)
{
	struct lake_edge *edges = calloc(MOST, 4 * sizeof(*edges));
	uint64_t seed = 2;
	size_t n = 0;

	(void)state;
	assert_non_null(edges);
	for (uint64_t i = 0; i < MOST; i++) { /* one after another, in any order */
		const uint64_t at = (i * 1103) % MOST;

		edges[n++] = (struct lake_edge){ at, 2.5 };
		edges[n++] = (struct lake_edge){ at + 1, -2.5 };
	}
	lake_edges_sort(edges, n, edges + n);
	for (size_t i = 1; i < n; i++) {
		assert_true(edges[i - 1].ns <= edges[i].ns);
		assert_false(edges[i - 1].ns == edges[i].ns && edges[i - 1].change > 0 && edges[i].change < 0);
	}
	assert_true(lake_edges_most(edges, n) == 2.5);
	n = 0;
	for (size_t i = 0; i < 100; i++) { /* all at once, for random times */
		edges[n++] = (struct lake_edge){ 7, 1 };
		edges[n++] = (struct lake_edge){ 8 + random64(&seed) % 50, -1 };
	}
	lake_edges_sort(edges, n, edges + n);
	assert_true(lake_edges_most(edges, n) == 100);
	assert_true(lake_edges_most(edges, 0) == 0);
	free(edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
