/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/leaves.c - which processes have children: a process that waits for a child looks asleep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

static int upid_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const struct lake_process *analysis_busiest_parent(const struct analysis *a, double seconds)
{
	const struct lake_report *r = a->report;
	const char **parents = calloc(r->n_processes + 1, sizeof(const char *)), *busiest = NULL;
	size_t n = 0, most = 0;

	for (size_t i = 0; parents && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		if (p->start_ns && p->end_ns > p->start_ns && (double)(p->end_ns - p->start_ns) < seconds * 1e9 &&
		    p->parent_upid)
			parents[n++] = p->parent_upid;
	}
	if (n)
		qsort(parents, n, sizeof(*parents), upid_order);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && strcmp(parents[i], parents[end]) == 0; end++)
			;
		if (end - i > most && *parents[i]) {
			most = end - i;
			busiest = parents[i];
		}
	}
	free(parents);
	for (size_t i = 0; busiest && i < r->n_processes; i++)
		if (strcmp(busiest, r->processes[i].upid) == 0)
			return &r->processes[i];
	return NULL;
}

struct child {
	const char *parent; /* upid */
	uint64_t start_ns;
};

static int child_order(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	const int order = strcmp(x->parent, y->parent);

	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Did a child begin while this image ran? children: in the order of child_order. */
static bool has_child(const struct lake_process *p, const struct child *children, size_t n)
{
	const struct child begin = { p->upid, p->start_ns };
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (child_order(&children[middle], &begin) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && strcmp(children[low].parent, p->upid) == 0 &&
	       (!p->end_ns || children[low].start_ns <= p->end_ns);
}

int analysis_leaves_find(struct analysis *a)
{
	const struct lake_report *r = a->report;
	struct child *children = calloc(r->n_processes + 1, sizeof(*children));

	a->leaf = calloc(r->n_processes + 1, sizeof(*a->leaf));
	if (!children || !a->leaf) {
		free(children);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		children[i] = (struct child){ p->parent_upid ? p->parent_upid : "", p->start_ns };
	}
	if (r->n_processes)
		qsort(children, r->n_processes, sizeof(*children), child_order);
	for (size_t i = 0; i < r->n_processes; i++)
		a->leaf[i] = !has_child(&r->processes[i], children, r->n_processes);
	free(children);
	return 0;
}
