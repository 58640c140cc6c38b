/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/leaves.c - which processes have children: a process that waits for a child looks asleep.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/finding.h"

const struct lake_process *analysis_busiest_parent(const struct analysis *a, double seconds)
{
	const struct lake_report *r = a->report;
	const struct family *f = a->family;
	size_t *children = calloc(f->n + 1, sizeof(*children)), busiest = 0;

	for (size_t i = 0; children && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];
		const uint32_t parent = f->members[f->member_of[i]].parent;

		if (parent == FAMILY_NONE || !p->start_ns || p->end_ns <= p->start_ns ||
		    (double)(p->end_ns - p->start_ns) >= seconds * 1e9)
			continue;
		children[parent]++;
		busiest = children[parent] > children[busiest] ? parent : busiest;
	}
	busiest = children && children[busiest] ? f->members[busiest].first : SIZE_MAX;
	free(children);
	return busiest == SIZE_MAX ? NULL : &r->processes[busiest];
}

/* The image of the process that ran at a time. *at: an image that began before it. */
static uint32_t image_at(const struct family *f, uint32_t *at, uint64_t ns)
{
	const struct lake_process *processes = f->report->processes, *p;
	uint32_t next;

	while ((next = f->next_image[*at]) != FAMILY_NONE && processes[next].start_ns <= ns)
		*at = next;
	p = &processes[*at];
	return p->start_ns <= ns && (!p->end_ns || ns <= p->end_ns) ? *at : FAMILY_NONE;
}

int analysis_leaves_find(struct analysis *a)
{
	const struct lake_report *r = a->report;
	const struct family *f;
	uint32_t *now; /* by member: its image at the start of the process that is looked at */

	if (!a->family && family_new(r, &a->own_family) != 0)
		return -ENOMEM;
	a->family = f = a->family ? a->family : a->own_family;
	now = calloc(f->n + 1, sizeof(*now));
	a->leaf = calloc(r->n_processes + 1, sizeof(*a->leaf));
	if (!now || !a->leaf) {
		free(now);
		return -ENOMEM;
	}
	for (size_t m = 0; m < f->n; m++)
		now[m] = f->members[m].first;
	for (size_t i = 0; i < r->n_processes; i++)
		a->leaf[i] = true;
	for (size_t i = 0; i < r->n_processes; i++) { /* by start */
		const uint32_t parent = f->members[f->member_of[i]].parent;
		uint32_t image;

		if (parent == FAMILY_NONE)
			continue;
		image = image_at(f, &now[parent], r->processes[i].start_ns);
		if (image != FAMILY_NONE)
			a->leaf[image] = false;
	}
	free(now);
	return 0;
}
