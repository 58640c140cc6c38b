/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/stats.c - statistics of small samples.
 */
#include "analysis/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stats_sort(double *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), ascending);
}

double stats_quantile(const double *sorted, size_t n, double p)
{
	const double at = (double)(n - 1) * p;
	const size_t below = (size_t)at;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_sigma(const double *sorted, size_t n, double *scratch)
{
	const double median = stats_quantile(sorted, n, 0.5);

	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(sorted[i] - median);
	stats_sort(scratch, n);
	return 1.4826 * stats_quantile(scratch, n, 0.5);
}

double stats_max_covers(size_t n, double p)
{
	return 1 - pow(p, (double)n);
}

bool stats_upper_bound(const double *sorted, size_t n, double p, double confidence, double *ret)
{
	double below = 0; /* the probability that at most k of n values are below the quantile */

	for (size_t k = 0; k < n; k++) {
		const double log_ways = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);

		below += exp(log_ways + (double)k * log(p) + (double)(n - k) * log1p(-p));
		if (below >= confidence) {
			*ret = sorted[k];
			return true;
		}
	}
	return false;
}

/* A value of either sample. rank: twice its midrank, which is whole. */
struct ranked {
	double value;
	bool of_a;
	size_t rank;
};

static int by_value(const void *a, const void *b)
{
	return ascending(&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

/* Fills all, of room n_a + n_b, in ascending order. Returns the sum of t^3 - t over the groups of t equal values. */
static double rank_all(const double *a, size_t n_a, const double *b, size_t n_b, struct ranked *all)
{
	const size_t n = n_a + n_b;
	double ties = 0;

	for (size_t i = 0; i < n_a; i++)
		all[i] = (struct ranked){ a[i], true, 0 };
	for (size_t i = 0; i < n_b; i++)
		all[n_a + i] = (struct ranked){ b[i], false, 0 };
	qsort(all, n, sizeof(*all), by_value);
	for (size_t i = 0, end; i < n; i = end) {
		double t;

		for (end = i + 1; end < n && all[end].value <= all[i].value; end++)
			;
		for (size_t k = i; k < end; k++)
			all[k].rank = i + 1 + end;
		t = (double)(end - i);
		ties += t * t * t - t;
	}
	return ties;
}

/*
 * ways[k * (most + 1) + s]: the share of the divisions in which k of the first values are a's and their ranks add up to
 * s. Counts as doubles: there are up to 10^17, and a share is wanted.
 */
static double exact_p(const struct ranked *all, size_t n_a, size_t n, size_t sum, size_t most)
{
	double *ways = calloc((n_a + 1) * (most + 1), sizeof(*ways)), total = 0, extreme = 0;
	const size_t middle = n_a * (n + 1); /* twice the mean of a's sum of ranks */
	const size_t off = sum > middle ? sum - middle : middle - sum;

	if (!ways)
		return -1;
	ways[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = n_a < i + 1 ? n_a : i + 1; k > 0; k--)
			for (size_t s = all[i].rank; s <= most; s++)
				ways[k * (most + 1) + s] += ways[(k - 1) * (most + 1) + s - all[i].rank];
	for (size_t s = 0; s <= most; s++) {
		const double w = ways[n_a * (most + 1) + s];

		total += w;
		if ((s > middle ? s - middle : middle - s) >= off)
			extreme += w;
	}
	free(ways);
	return extreme / total;
}

static double normal_p(size_t n_a, size_t n_b, size_t sum, double ties)
{
	const double m = (double)n_a, k = (double)n_b, n = m + k;
	const double u = (double)sum / 2 - m * (m + 1) / 2, mean = m * k / 2;
	const double variance = m * k / 12 * (n + 1 - ties / (n * (n - 1)));
	const double off = fmax(fabs(u - mean) - 0.5, 0);

	return variance > 0 ? erfc(off / sqrt(2 * variance)) : 1;
}

double stats_mann_whitney(const double *a, size_t n_a, const double *b, size_t n_b)
{
	const size_t n = n_a + n_b;
	struct ranked *all;
	double ties, p;
	size_t sum = 0, most = 0;

	if (!n_a || !n_b)
		return 1;
	all = calloc(n, sizeof(*all));
	if (!all)
		return -1;
	ties = rank_all(a, n_a, b, n_b, all);
	for (size_t i = 0; i < n; i++) {
		sum += all[i].of_a ? all[i].rank : 0;
		most += i >= n_b ? all[i].rank : 0; /* the n_a largest */
	}
	p = n_a <= STATS_EXACT && n_b <= STATS_EXACT ? exact_p(all, n_a, n, sum, most) : normal_p(n_a, n_b, sum, ties);
	free(all);
	return p;
}

/*
 * How many of the smallest and of the largest differences lie outside of the interval (Hollander and Wolfe, chapter
 * 4.3); 0: the interval is infinite. -1: no memory.
 */
static long outside(size_t n_a, size_t n_b, double confidence)
{
	const double tail = (1 - confidence) / 2, m = (double)n_a, k = (double)n_b;
	const size_t most = n_a * n_b;
	double *ways, total = 0, below = 0;
	long c = 0;

	if (n_a > STATS_EXACT || n_b > STATS_EXACT) {
		double low = -8, high = 0; /* the tail's quantile of the normal distribution, by halving */

		for (int i = 0; i < 60; i++) {
			const double z = (low + high) / 2;

			if (erfc(-z / sqrt(2)) / 2 < tail)
				low = z;
			else
				high = z;
		}
		return (long)fmax(0, floor(m * k / 2 + low * sqrt(m * k * (m + k + 1) / 12)));
	}
	/* ways[j * (most + 1) + u]: in how many orders of j of a's values and the first ones of b's U is u */
	ways = calloc((n_a + 1) * (most + 1), sizeof(*ways));
	if (!ways)
		return -1;
	ways[0] = 1;
	for (size_t i = 0; i <= n_b; i++) /* a value of a with i of b's below it adds i to U */
		for (size_t j = 1; j <= n_a; j++)
			for (size_t u = i; u <= most; u++)
				ways[j * (most + 1) + u] += ways[(j - 1) * (most + 1) + u - i];
	for (size_t u = 0; u <= most; u++)
		total += ways[n_a * (most + 1) + u];
	for (size_t u = 0; u <= most; u++) {
		below += ways[n_a * (most + 1) + u] / total;
		if (below > tail)
			break;
		c = (long)u + 1;
	}
	free(ways);
	return c;
}

int stats_hodges_lehmann(const double *a, size_t n_a, const double *b, size_t n_b, double confidence,
			 struct stats_shift *ret)
{
	const size_t n = n_a * n_b;
	double *differences = calloc(n, sizeof(*differences));
	const long c = outside(n_a, n_b, confidence);

	if (!differences || c < 0) {
		free(differences);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_a; i++)
		for (size_t k = 0; k < n_b; k++)
			differences[i * n_b + k] = b[k] - a[i];
	stats_sort(differences, n);
	*ret = (struct stats_shift){ stats_quantile(differences, n, 0.5), -INFINITY, INFINITY, c > 0 };
	if (c > 0) {
		ret->low = differences[c - 1];
		ret->high = differences[n - (size_t)c];
	}
	free(differences);
	return 0;
}

int stats_holm(double *p, size_t n)
{
	double *sorted = calloc(n + 1, sizeof(*sorted)), *adjusted = calloc(n + 1, sizeof(*adjusted));

	if (!sorted || !adjusted) {
		free(sorted);
		free(adjusted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		sorted[i] = p[i];
	stats_sort(sorted, n);
	for (size_t i = 0; i < n; i++) {
		const double here = fmin(1, (double)(n - i) * sorted[i]);

		adjusted[i] = i ? fmax(here, adjusted[i - 1]) : here;
	}
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (sorted[k] < p[i])
			k++;
		p[i] = adjusted[k];
	}
	free(sorted);
	free(adjusted);
	return 0;
}

bool stats_regression(const double *x, const double *y, size_t n, struct stats_line *ret)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;

	if (n < 3)
		return false;
	for (size_t i = 0; i < n; i++) {
		mean_x += x[i] / (double)n;
		mean_y += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mean_x) * (x[i] - mean_x);
		xy += (x[i] - mean_x) * (y[i] - mean_y);
		yy += (y[i] - mean_y) * (y[i] - mean_y);
	}
	if (xx <= 0 || yy <= 0)
		return false;
	ret->slope = xy / xx;
	ret->intercept = mean_y - ret->slope * mean_x;
	ret->r2 = xy * xy / (xx * yy);
	ret->residual = sqrt(fmax(0, yy - ret->slope * xy) / (double)(n - 2));
	ret->mean_x = mean_x;
	ret->spread_x = xx;
	ret->n = n;
	return true;
}

/* The probability that |T| is below t, in closed form (Abramowitz and Stegun 26.7.3 and 26.7.4). */
static double student_within(double t, size_t freedom)
{
	const double theta = atan(t / sqrt((double)freedom)), c = cos(theta);
	double term = freedom % 2 ? c : 1, sum = 0;

	for (size_t i = freedom % 2 ? 3 : 2; i <= freedom; i += 2) {
		sum += term;
		term *= c * c * (double)(i - 1) / (double)i;
	}
	return freedom % 2 ? 2 / M_PI * (theta + sin(theta) * sum) : sin(theta) * sum;
}

double stats_predict(const struct stats_line *line, double x, double p)
{
	const double n = (double)line->n, off = x - line->mean_x;
	const size_t freedom = line->n > 1002 ? 1000 : line->n - 2; /* more change the quantile by less than 0.1 % */
	double low = 0, high = 1e6;

	for (int i = 0; i < 100; i++) {
		const double t = (low + high) / 2;

		if ((1 + student_within(t, freedom)) / 2 < p)
			low = t;
		else
			high = t;
	}
	return line->intercept + line->slope * x + high * line->residual * sqrt(1 + 1 / n + off * off / line->spread_x);
}
