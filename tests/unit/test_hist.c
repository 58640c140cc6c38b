/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_hist.c - skep/hist.h and skep/bpf/hist.bpf.h find the same slot, as OpenTelemetry defines it for an
 * exponential histogram of scale 2.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>

#include <skep/hist.h>

#ifndef __always_inline /* glibc has it, others do not */
#define __always_inline inline __attribute__((always_inline))
#endif
#undef SKEP_HIST_SLOTS
#include <skep/bpf/hist.bpf.h>

/*
 * By definition: bucket i is (base^i, base^(i+1)], base = 2^(1/4). Long double: exact to well below one for the values
 * tried.
 */
static uint32_t slot_by_definition(uint64_t v)
{
	if (v < 2)
		return (uint32_t)v;
	for (uint32_t k = 2; k < SKEP_HIST_SLOTS - 1; k++)
		if ((long double)v <= exp2l((long double)(k - 1) / 4))
			return k;
	return SKEP_HIST_SLOTS - 1;
}

static void same(uint64_t v)
{
	assert_int_equal(skep_hist_slot(v), slot_by_definition(v));
	assert_int_equal(skep_hist_slot_of(v), skep_hist_slot(v));
}

static void slots(void **state)
{
	uint64_t x = 88172645463325252u;

	(void)state;
	for (uint64_t v = 0; v < 70000; v++)
		same(v);
	for (uint32_t bit = 1; bit < 64; bit++) {
		same((UINT64_C(1) << bit) - 1);
		same(UINT64_C(1) << bit);
		same((UINT64_C(1) << bit) + 1);
		/* on both sides of each bound that is no whole number */
		for (int q = 1; q < 4; q++) {
			uint64_t at = (uint64_t)exp2l(bit + q / 4.0L);

			/*
			 * The slots' bounds have 32 bits: above, a value closer to a bound than one part in 2^31 may be
			 * in either slot.
			 */
			uint64_t near = bit > 31 ? UINT64_C(1) << (bit - 30) : 1;

			if (bit > 62)
				continue;
			same(at - near);
			same(at + near);
			if (bit <= 31)
				same(at);
		}
	}
	for (int i = 0; i < 100000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		same(x >> (x & 63));
	}
	assert_int_equal(skep_hist_slot(UINT64_MAX), SKEP_HIST_SLOTS - 1);
}

static void quantiles(void **state)
{
	uint64_t slots[SKEP_HIST_SLOTS] = { 0 };
	struct skep_hist h = { .slots = slots, .n = SKEP_HIST_SLOTS };

	(void)state;
	assert_true(skep_hist_quantile(&h, 0.5) == 0);
	for (uint64_t v = 1; v <= 100000; v++) {
		slots[skep_hist_slot_of(v)]++;
		h.sum += v;
	}
	assert_int_equal(skep_hist_count(&h), 100000);
	for (int p = 1; p <= 100; p++) {
		double q = skep_hist_quantile(&h, p / 100.0);

		assert_true(fabs(q - p * 1000.0) <= p * 1000.0 * 0.1893);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots),
		cmocka_unit_test(quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
