/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/order.h - sorts long lists by a number, and sums of what begins and ends.
 *
 * A run may have a million processes, which a report sorts several times: qsort(), which calls a function for each
 * comparison, took a quarter of its instructions.
 */
#ifndef SKEP_LAKE_ORDER_H
#define SKEP_LAKE_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct lake_order {
	uint64_t key;
	size_t at;
};
/* By key; those of one key stay in their order.  scratch: room for n. */
void lake_order_sort(struct lake_order *, size_t n, struct lake_order *scratch);

/* Then sorts those of one key, by a function as for qsort_r(). */
void lake_order_ties(struct lake_order *, size_t n, int (*order)(const void *, const void *, void *), void *arg);

/* At this time a sum changes: of cores in use, of peaks of memory. */
struct lake_edge {
	uint64_t ns;
	double change;
};
/* By time; at one time what ends (change < 0) is before what begins.  scratch: room for n. */
void lake_edges_sort(struct lake_edge *, size_t n, struct lake_edge *scratch);
double lake_edges_most(const struct lake_edge *, size_t n); /* the largest sum at any time, of sorted edges */

#endif
