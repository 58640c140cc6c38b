/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_stats.c - statistics, against R 4.2 (wilcox.test, quantile, mad, p.adjust, lm), scipy 1.10 and
 * published tables.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/stats.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Permeability of a membrane: the example of Hollander and Wolfe, chapter 4, and of R's wilcox.test. */
static const double at_term[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 };
static const double earlier[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };

static void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected))))
		fail_msg("%.15g, expected %.15g", value, expected);
}

static void test_quantiles(void **state)
{
	double sorted[COUNT(at_term)], scratch[COUNT(at_term)];

	(void)state;
	memcpy(sorted, at_term, sizeof(sorted));
	stats_sort(sorted, COUNT(sorted));
	near(stats_quantile(sorted, COUNT(sorted), 0.1), 0.793); /* R */
	near(stats_quantile(sorted, COUNT(sorted), 0.5), 1.415);
	near(stats_quantile(sorted, COUNT(sorted), 0.95), 1.901);
	near(stats_quantile(sorted, COUNT(sorted), 1), 1.91);
	near(stats_quantile(sorted, 1, 0.95), 0.73);
	near(stats_sigma(sorted, COUNT(sorted), scratch), 0.630105); /* R's mad() */
}

/* How many values are needed for a confidence of 95 %: Wilks' table. */
static void test_bounds(void **state)
{
	static const struct {
		double p;
		size_t needed;
	} wilks[] = { { 0.5, 5 }, { 0.8, 14 }, { 0.9, 29 }, { 0.95, 59 }, { 0.99, 299 } };
	double values[400], bound = -1;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++)
		values[i] = (double)i;
	for (size_t i = 0; i < COUNT(wilks); i++) {
		const size_t n = wilks[i].needed;

		assert_true(stats_max_covers(n, wilks[i].p) >= 0.95);
		assert_true(stats_max_covers(n - 1, wilks[i].p) < 0.95);
		assert_true(stats_upper_bound(values, n, wilks[i].p, 0.95, &bound));
		near(bound, (double)(n - 1));
		bound = -1;
		assert_false(stats_upper_bound(values, n - 1, wilks[i].p, 0.95, &bound));
		near(bound, -1);
	}
	/* with 93 values the second largest is enough for 95 %, 95 % (the same table) */
	assert_true(stats_upper_bound(values, 93, 0.95, 0.95, &bound));
	near(bound, 91);
	assert_true(stats_upper_bound(values, 92, 0.95, 0.95, &bound));
	near(bound, 91);
}

static void test_two_samples(void **state)
{
	static const double tied_a[] = { 1, 2, 2, 3, 5 }, tied_b[] = { 2, 3, 4, 5, 5, 6 }, same[] = { 7, 7, 7, 7 };
	static const double low[] = { 1, 2, 3, 4 }, high[] = { 5, 6, 7, 8 };
	double a[40], b[35];

	(void)state;
	near(stats_mann_whitney(at_term, COUNT(at_term), earlier, COUNT(earlier)), 0.254412254412254); /* R */
	near(stats_mann_whitney(earlier, COUNT(earlier), at_term, COUNT(at_term)), 0.254412254412254);
	near(stats_mann_whitney(tied_a, COUNT(tied_a), tied_b, COUNT(tied_b)), 64.0 / 462); /* all 462 divisions */
	near(stats_mann_whitney(low, 4, high, 4), 2.0 / 70); /* the smallest p of four and four */
	near(stats_mann_whitney(low, 3, high, 3), 2.0 / 20); /* three and three never reach 0.05 */
	near(stats_mann_whitney(same, 4, same, 4), 1);
	near(stats_mann_whitney(same, 0, same, 4), 1);
	for (size_t i = 0; i < COUNT(a); i++)
		a[i] = (double)(i * 37 % 101) / 10;
	for (size_t i = 0; i < COUNT(b); i++)
		b[i] = (double)(i * 53 % 97) / 10 + 1.5;
	near(stats_mann_whitney(a, COUNT(a), b, COUNT(b)), 0.17233092280113071); /* scipy, asymptotic */
}

static void test_shift(void **state)
{
	static const double a[] = { 1, 2, 3 }, b[] = { 4, 5, 6 };
	double large_a[40], large_b[40];
	struct stats_shift shift;

	(void)state;
	assert_int_equal(stats_hodges_lehmann(earlier, COUNT(earlier), at_term, COUNT(at_term), 0.95, &shift), 0);
	near(shift.estimate, 0.305); /* R */
	near(shift.low, -0.15);
	near(shift.high, 0.76);
	assert_true(shift.bounded);
	assert_int_equal(stats_hodges_lehmann(a, 3, b, 3, 0.95, &shift), 0);
	near(shift.estimate, 3);
	assert_false(shift.bounded);
	for (size_t i = 0; i < 40; i++) {
		large_a[i] = (double)i;
		large_b[i] = (double)i + 100;
	}
	assert_int_equal(stats_hodges_lehmann(large_a, 40, large_b, 40, 0.95, &shift), 0);
	near(shift.estimate, 100);
	assert_true(shift.bounded && shift.low < 100 && shift.low > 90 && shift.high > 100 && shift.high < 110);
}

static void test_many_tests(void **state)
{
	double p[] = { 0.01, 0.04, 0.03, 0.005, 0.2 };
	static const double adjusted[] = { 0.04, 0.09, 0.09, 0.025, 0.2 }; /* R's p.adjust(method = "holm") */

	(void)state;
	assert_int_equal(stats_holm(p, COUNT(p)), 0);
	for (size_t i = 0; i < COUNT(p); i++)
		near(p[i], adjusted[i]);
	assert_int_equal(stats_holm(p, 0), 0);
}

/* The speed of cars of the 1920s and the distance in which they stopped: R's data set `cars`. */
static void test_line(void **state)
{
	static const double speed[] = { 4,  4,  7,  7,  8,  9,  10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13,
					13, 13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 17, 17, 17, 18, 18, 18,
					18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25 };
	static const double distance[] = { 2,  10, 4,  22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34,
					   34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40, 32, 40, 50, 42, 56, 76,
					   84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85 };
	struct stats_line line;

	(void)state;
	assert_true(stats_regression(speed, distance, COUNT(speed), &line));
	near(line.intercept, -17.57909489051089);
	near(line.slope, 3.93240875912409);
	near(line.r2, 0.651079380758251);
	near(line.residual, 15.3795867488199);
	near(stats_predict(&line, 10, 0.95), 48.0670919768153); /* R's predict(interval = "prediction", level = 0.9) */
	near(stats_predict(&line, 30, 0.95), 128.361331774726);
	assert_true(stats_regression(speed, distance, 11, &line)); /* an odd number of degrees of freedom */
	near(stats_predict(&line, 10, 0.95), 36.7017104447183);
	near(stats_predict(&line, 30, 0.95), 117.361578333712);
	assert_false(stats_regression(speed, distance, 2, &line));
	assert_false(stats_regression(speed, (const double[]){ 1, 1, 1 }, 3, &line));
}

/* Water of the Nile at Aswan, 1871 to 1970, less from 1899 on: R's data set `Nile`, the example of many papers. */
static void test_change(void **state)
{
	static const double nile[] = {
		1120, 1160,  963, 1210, 1160, 1160,  813, 1230, 1370, 1140,  995,  935, 1110,  994, 1020,  960,
		1180,  799,  958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100,  774,  840,  874,  694,
		 940,  833,  701,  916,  692, 1020, 1050,  969,  831,  726,  456,  824,  702, 1120, 1100,  832,
		 764,  821,  768,  845,  864,  862,  698,  845,  744,  796, 1040,  759,  781,  865,  845,  944,
		 984,  897,  822, 1010,  771,  676,  649,  846,  812,  742,  801, 1040,  860,  874,  848,  890,
		 744,  749,  838, 1050,  918,  986,  797,  923,  975,  815, 1020,  906,  901, 1170,  912,  746,
		 919,  718,  714,  740,
	};
	static const double eight[] = { 10.1, 9.8, 10.3, 9.9, 13.2, 12.9, 13.1, 13.4 };
	double less[COUNT(nile)], falls[COUNT(eight)];
	struct stats_change change = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(nile); i++)
		less[i] = -nile[i];
	assert_int_equal(stats_change_find(less, COUNT(less), 4, &change), 1);
	assert_int_equal(change.at, 28);
	near(change.statistic, 4956.656825396825); /* scipy: m k / (m + k) * energy_distance()^2 */
	near(stats_change_p(less, COUNT(less), 4, change.statistic), 1.0 / STATS_PERMUTATIONS);
	assert_int_equal(stats_change_find(eight, COUNT(eight), 3, &change), 1);
	assert_int_equal(change.at, 4);
	near(change.statistic, 11.675);
	/* 1 / 70 of all 40,320 orders */
	assert_true(fabs(stats_change_p(eight, COUNT(eight), 3, change.statistic) - 1.0 / 70) < 0.003);
	for (size_t i = 0; i < COUNT(eight); i++)
		falls[i] = eight[COUNT(eight) - 1 - i];
	assert_int_equal(stats_change_find(falls, 8, 4, &change), 0); /* what becomes faster is none */
	assert_int_equal(stats_change_find(eight, 7, 4, &change), 0); /* too few for a division */
	assert_int_equal(stats_change_find(eight, 0, 4, &change), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles), cmocka_unit_test(test_bounds),     cmocka_unit_test(test_two_samples),
		cmocka_unit_test(test_shift),     cmocka_unit_test(test_many_tests), cmocka_unit_test(test_line),
		cmocka_unit_test(test_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
