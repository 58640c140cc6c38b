/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_counters.c - differences that never wrap, and user + system = cpu.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/counters.h"

static void differences_are_clamped(void **state)
{
	struct skep_counters a = { .cpu_ns = 10, .read_bytes = 5, .cancelled_write_bytes = 1 };
	struct skep_counters b = { .cpu_ns = 4, .read_bytes = 6 }, d;

	(void)state;
	assert_int_equal(counters_sub(&a, &b, &d), 1);
	assert_int_equal(d.cpu_ns, 6);
	assert_int_equal(d.read_bytes, 0);
	assert_int_equal(d.cancelled_write_bytes, 1);
	assert_int_equal(counters_raise(&a, &b), 2); /* cpu and cancelled decrease */
	assert_int_equal(a.cpu_ns, 10);
	assert_int_equal(a.read_bytes, 6);
	assert_int_equal(counters_raise(&a, &a), 0);
}

static void the_kernels_rules(void **state)
{
	struct skep_counters c = { .cpu_ns = 1000 };

	(void)state;
	assert_int_equal(counters_system_ns(&c), 0); /* no tick hit the process: all of its time is user time */
	c.stime_ns = 4000000;
	assert_int_equal(counters_system_ns(&c), 1000);
	c.utime_ns = 12000000;
	assert_int_equal(counters_system_ns(&c), 250);
	c.stime_ns = 0;
	assert_int_equal(counters_system_ns(&c), 0);
	/* three years of 100 CPUs, and a value that only a broken probe sends */
	c.cpu_ns = 10000000000000000000u;
	c.utime_ns = c.stime_ns = c.cpu_ns / 2;
	assert_int_equal(counters_system_ns(&c), c.cpu_ns / 2);
	c.cpu_ns = c.utime_ns = c.stime_ns = UINT64_MAX;
	assert_int_equal(counters_system_ns(&c), UINT64_MAX / 2);
}

static void halves_add_up(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct skep_counters c[3];
		uint64_t user, system, users = 0, systems = 0;

		for (int k = 0; k < 3; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			c[k] = (struct skep_counters){
				.cpu_ns = (random >> 20) % 1000000 + (k ? c[k - 1].cpu_ns : 0),
				.utime_ns = (random >> 30) % 5 * 4000000,
				.stime_ns = (random >> 40) % 5 * 4000000,
			};
		}
		for (int k = 0; k < 2; k++) {
			counters_split(&c[k], &c[k + 1], &user, &system);
			assert_int_equal(user + system, c[k + 1].cpu_ns - c[k].cpu_ns);
			users += user;
			systems += system;
		}
		assert_int_equal(users + systems, c[2].cpu_ns - c[0].cpu_ns);
		counters_split(&c[1], &c[0], &user, &system);
		assert_true(c[1].cpu_ns <= c[0].cpu_ns || user + system == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_clamped),
		cmocka_unit_test(the_kernels_rules),
		cmocka_unit_test(halves_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
