/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/stats.h - statistics of small samples, none of which assumes a distribution: times and peaks of tasks have
 * long tails and few values. Any thread; nothing is kept. Values are finite.
 */
#ifndef SKEP_ANALYSIS_STATS_H
#define SKEP_ANALYSIS_STATS_H

#include <stdbool.h>
#include <stddef.h>

void stats_sort(double *values, size_t n);

/* Of values in ascending order, n > 0. Between two values it interpolates, as R's quantile(type = 7) does. */
double stats_quantile(const double *sorted, size_t n, double p);
/* 1.4826 times the median absolute deviation from the median: sigma, if the values are normal. scratch: room for n. */
double stats_sigma(const double *sorted, size_t n, double *scratch);

/*
 * The probability with which the largest of n values is at least the population's quantile p: 1 - p^n
 * (Wilks, Ann. Math. Statist. 12, 1941).
 */
double stats_max_covers(size_t n, double p);
/*
 * Sets *ret to the smallest of the values that is an upper bound of the population's quantile p with this confidence.
 * false: n values are too few for one.
 */
bool stats_upper_bound(const double *sorted, size_t n, double p, double confidence, double *ret);

/*
 * Mann and Whitney's test of two samples: the two-sided p. Exact up to STATS_EXACT values a side, with ties as well
 * (the distribution of midranks over all divisions of these values); above them the normal approximation, corrected for
 * ties and continuity. -1: no memory. An empty sample, or values that are all equal: 1.
 */
#define STATS_EXACT 30
double stats_mann_whitney(const double *a, size_t n_a, const double *b, size_t n_b);

/* Hodges and Lehmann's shift: the median of all differences b - a, with an interval of at least this confidence. */
struct stats_shift {
	double estimate, low, high;
	bool bounded; /* false: the samples are too small for the interval, which is infinite */
};
/* 0 or -ENOMEM; n_a, n_b > 0. */
int stats_hodges_lehmann(const double *a, size_t n_a, const double *b, size_t n_b, double confidence,
			 struct stats_shift *ret);

/* Adjusts the p of n tests, in place: the probability of any false one stays below what each is compared with. */
int stats_holm(double *p, size_t n); /* 0 or -ENOMEM */

/* Least squares. false: fewer than three points, or x or y is constant. */
struct stats_line {
	double slope, intercept, r2;
	double residual; /* standard deviation of the residuals, n - 2 degrees of freedom */
	double mean_x, spread_x; /* the mean of x, and the sum of squared distances from it */
	size_t n;
};
bool stats_regression(const double *x, const double *y, size_t n, struct stats_line *ret);
/* The bound below which the next y at x lies with probability p, if the residuals are normal. */
double stats_predict(const struct stats_line *, double x, double p);

/*
 * A change in a series: the division into an earlier and a later part with the largest E-divisive statistic, that is
 * m k / (m + k) times the energy distance of m and k values (Matteson and James, JASA 109, 2014). Only divisions whose
 * later part is larger on average count: callers search series of durations for what became slower.
 */
struct stats_change {
	size_t at; /* the first value of the later part */
	double statistic;
};
/* least: values of each part. 1; 0: there is no such division; -ENOMEM. */
int stats_change_find(const double *values, size_t n, size_t least, struct stats_change *ret);
/*
 * How often a random order of the values has a division with at least this statistic: a permutation test, which
 * accounts for the search. The orders are the same in every call. -1: no memory.
 */
#define STATS_PERMUTATIONS 10000
double stats_change_p(const double *values, size_t n, size_t least, double statistic);

#endif
