/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/order.c - a radix sort: byte by byte of the key, from the lowest on, and only bytes in which keys differ.
 */
#include "lake/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BYTES   8
#define VALUES  256
#define FEW     32 /* so many are faster by insertion than by eight tables of 256 */

/* Both kinds of lists have a key of 64 bits before another 64. */
struct item {
	uint64_t key;
	unsigned char rest[8];
};
_Static_assert(sizeof(struct item) == sizeof(struct lake_order) && sizeof(struct item) == sizeof(struct lake_edge), "");

static struct item get(const void *list, size_t i)
{
	struct item item;

	memcpy(&item, (const char *)list + i * sizeof(item), sizeof(item));
	return item;
}

static void put(void *list, size_t i, struct item item)
{
	memcpy((char *)list + i * sizeof(item), &item, sizeof(item));
}

static void insert(void *list, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct item item = get(list, i);
		size_t to = i;

		for (; to > 0 && get(list, to - 1).key > item.key; to--)
			put(list, to, get(list, to - 1));
		put(list, to, item);
	}
}

/* Moves the items to `to` by a byte of the key; count: how often the byte has each value. */
static void move(const void *from, void *to, size_t n, unsigned byte, const size_t *count)
{
	size_t next[VALUES], sum = 0;

	for (unsigned v = 0; v < VALUES; v++) {
		next[v] = sum;
		sum += count[v];
	}
	for (size_t i = 0; i < n; i++) {
		const struct item item = get(from, i);

		put(to, next[item.key >> (8 * byte) & (VALUES - 1)]++, item);
	}
}

static void sort(void *list, size_t n, void *scratch)
{
	size_t count[BYTES][VALUES] = { { 0 } };
	void *from = list, *to = scratch;
	uint64_t last = 0;
	bool sorted = true;

	if (n <= FEW) {
		insert(list, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const uint64_t key = get(list, i).key;

		for (unsigned byte = 0; byte < BYTES; byte++)
			count[byte][key >> (8 * byte) & (VALUES - 1)]++;
		sorted &= key >= last;
		last = key;
	}
	for (unsigned byte = 0; byte < BYTES && !sorted; byte++) {
		void *const was = from;

		if (count[byte][last >> (8 * byte) & (VALUES - 1)] == n) /* the same in all keys */
			continue;
		move(from, to, n, byte, count[byte]);
		from = to;
		to = was;
	}
	if (from != list)
		memcpy(list, from, n * sizeof(struct item));
}

void lake_order_sort(struct lake_order *list, size_t n, struct lake_order *scratch)
{
	sort(list, n, scratch);
}

void lake_order_ties(struct lake_order *list, size_t n, int (*order)(const void *, const void *, void *), void *arg)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && list[end].key == list[i].key; end++)
			;
		if (end - i > 1)
			qsort_r(list + i, end - i, sizeof(*list), order, arg);
	}
}

void lake_edges_sort(struct lake_edge *edges, size_t n, struct lake_edge *scratch)
{
	sort(edges, n, scratch);
	for (size_t i = 0, end; i < n; i = end) {
		size_t to = i, begins = 0;

		for (end = i + 1; end < n && edges[end].ns == edges[i].ns; end++)
			;
		for (size_t k = i; k < end && end - i > 1; k++) {
			if (edges[k].change < 0)
				edges[to++] = edges[k];
			else
				scratch[begins++] = edges[k];
		}
		if (begins)
			memcpy(edges + to, scratch, begins * sizeof(*edges));
	}
}

double lake_edges_most(const struct lake_edge *edges, size_t n)
{
	double now = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		now += edges[i].change;
		most = now > most ? now : most;
	}
	return most;
}
