/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/change.c - changes in a series of few values: E-divisive with a permutation test.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/stats.h"

/*
 * The best division of the values in this order. apart: the distances of all values, n by n.  When a value moves from
 * the later to the earlier part, only its own distances change sides, so all divisions take n * n steps.
 */
static struct stats_change best(const double *values, const double *apart, const size_t *order, size_t n, size_t least)
{
	struct stats_change found = { 0, -1 };
	double sum = 0, before = 0, within_before = 0, within_after = 0, between = 0;

	for (size_t i = 0; i < n; i++) {
		sum += values[order[i]];
		for (size_t k = i + 1; k < n; k++)
			within_after += apart[order[i] * n + order[k]];
	}
	for (size_t at = 1; at + least <= n; at++) {
		const double *of = apart + order[at - 1] * n, m = (double)at, k = (double)(n - at);
		double energy;

		before += values[order[at - 1]];
		for (size_t i = 0; i + 1 < at; i++) {
			within_before += of[order[i]];
			between -= of[order[i]];
		}
		for (size_t i = at; i < n; i++) {
			within_after -= of[order[i]];
			between += of[order[i]];
		}
		if (at < least || before / m >= (sum - before) / k)
			continue;
		energy = 2 * between / (m * k) - 2 * within_before / (m * m) - 2 * within_after / (k * k);
		if (m * k / (m + k) * energy > found.statistic)
			found = (struct stats_change){ at, m * k / (m + k) * energy };
	}
	return found;
}

/* The distances, and the order of the values as they are. -ENOMEM: both are NULL. */
static int prepare(const double *values, size_t n, double **ret_apart, size_t **ret_order)
{
	double *apart = calloc(n * n + 1, sizeof(*apart));
	size_t *order = calloc(n + 1, sizeof(*order));

	*ret_apart = NULL;
	*ret_order = NULL;
	if (!apart || !order) {
		free(apart);
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		order[i] = i;
		for (size_t k = 0; k < n; k++)
			apart[i * n + k] = fabs(values[i] - values[k]);
	}
	*ret_apart = apart;
	*ret_order = order;
	return 0;
}

int stats_change_find(const double *values, size_t n, size_t least, struct stats_change *ret)
{
	struct stats_change found;
	double *apart;
	size_t *order;
	int err = prepare(values, n, &apart, &order);

	if (err)
		return err;
	found = best(values, apart, order, n, least);
	free(apart);
	free(order);
	if (found.statistic <= 0)
		return 0;
	*ret = found;
	return 1;
}

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

double stats_change_p(const double *values, size_t n, size_t least, double statistic)
{
	uint64_t state = 1;
	double *apart;
	size_t *order, as_large = 1; /* the order of the values as they are */

	if (prepare(values, n, &apart, &order) != 0)
		return -1;
	for (size_t round = 1; round < STATS_PERMUTATIONS; round++) {
		for (size_t i = n; i > 1; i--) {
			const size_t k = (size_t)(next_random(&state) % i), swapped = order[i - 1];

			order[i - 1] = order[k];
			order[k] = swapped;
		}
		/* another order of the same sums may round differently */
		as_large += best(values, apart, order, n, least).statistic >= statistic * (1 - 1e-9);
	}
	free(apart);
	free(order);
	return (double)as_large / STATS_PERMUTATIONS;
}
