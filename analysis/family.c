/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/family.c - joins images to processes, and processes to a tree.
 *
 * A parent must begin before its child (the report is ordered by start), so even
 * from a damaged lake the result has no cycles.
 */
#include "analysis/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <skep/hash.h>

/* A family while it is made. */
struct making {
	struct family *f;
	struct skep_hash_key key;
	uint32_t *by_upid; /* a hash table of first images, each + 1; 0: a free place */
	size_t mask;       /* places - 1 */
};

/* The place of the process's first image in the table, or the free one where it would be. */
static uint32_t *place_of(const struct making *m, const char *upid)
{
	const struct lake_process *processes = m->f->report->processes;
	size_t at = skep_hash(&m->key, upid, strlen(upid)) & m->mask;

	while (m->by_upid[at] && strcmp(processes[m->by_upid[at] - 1].upid, upid) != 0)
		at = (at + 1) & m->mask;
	return &m->by_upid[at];
}

/* The member with that identity. */
static uint32_t find(const struct making *m, const char *upid)
{
	const uint32_t first = *upid ? *place_of(m, upid) : 0;

	return first ? m->f->member_of[first - 1] : FAMILY_NONE;
}

/*
 * Adds an image to the chain of its process, by number.  Until the members have numbers, member_of[] of a first image
 * is the last one, and of any other FAMILY_NONE.
 */
static void chain(struct making *m, uint32_t image)
{
	struct family *f = m->f;
	const struct lake_process *processes = f->report->processes, *p = &processes[image];
	/* an image without an identity is a process of its own */
	uint32_t *place = *p->upid ? place_of(m, p->upid) : NULL, first = place ? *place : 0, before;

	f->next_image[image] = FAMILY_NONE;
	f->member_of[image] = image;
	if (!first) {
		if (place)
			*place = image + 1;
		return;
	}
	first--;
	before = f->member_of[first];
	f->member_of[image] = FAMILY_NONE;
	if (processes[before].image <= p->image) { /* the report is by start, then image: almost always */
		f->next_image[before] = image;
		f->member_of[first] = image;
		return;
	}
	if (processes[first].image > p->image) {
		*place = image + 1;
		f->next_image[image] = first;
		f->member_of[image] = before;
		f->member_of[first] = FAMILY_NONE;
		return;
	}
	for (before = first; processes[f->next_image[before]].image <= p->image; before = f->next_image[before])
		;
	f->next_image[image] = f->next_image[before];
	f->next_image[before] = image;
}

/* Chains the images of each process and numbers the processes by the index of their first image in the report. */
static void group(struct making *making)
{
	struct family *f = making->f;
	const uint32_t n = (uint32_t)f->report->n_processes;

	for (uint32_t i = 0; i < n; i++)
		chain(making, i);
	for (uint32_t i = 0; i < n; i++) {
		if (f->member_of[i] == FAMILY_NONE)
			continue;
		f->members[f->n++] = (struct family_member){ .first = i,
							     .last = f->member_of[i],
							     .parent = FAMILY_NONE,
							     .child = FAMILY_NONE,
							     .youngest = FAMILY_NONE,
							     .sibling = FAMILY_NONE };
	}
	for (uint32_t m = 0; m < f->n; m++) {
		for (uint32_t image = f->members[m].first; image != FAMILY_NONE; image = f->next_image[image])
			f->member_of[image] = m;
	}
}

static void relate(const struct making *making)
{
	struct family *f = making->f;
	const char *last = NULL; /* lake/processes.c has the parent's text once for processes that begin in a row */
	uint32_t p = FAMILY_NONE;

	for (uint32_t i = 0; i < f->n; i++) {
		struct family_member *m = &f->members[i], *parent;
		const char *upid = f->report->processes[m->first].parent_upid;

		if (upid != last)
			p = find(making, upid);
		last = upid;
		if (p == FAMILY_NONE || p >= i)
			continue;
		parent = &f->members[p];
		m->parent = p;
		if (parent->child == FAMILY_NONE)
			parent->child = i;
		else
			f->members[parent->youngest].sibling = i;
		parent->youngest = i;
	}
	f->root = find(making, f->report->run.root_upid);
}

int family_new(const struct lake_report *report, struct family **ret)
{
	const size_t n = report->n_processes;
	struct family *f = n < FAMILY_NONE ? calloc(1, sizeof(*f)) : NULL;
	struct making making = { .f = f, .key = skep_hash_key_new() };

	if (!f)
		return -ENOMEM;
	f->report = report;
	while (making.mask < 2 * n)
		making.mask = 2 * making.mask + 1;
	making.by_upid = calloc(making.mask + 1, sizeof(*making.by_upid));
	f->members = calloc(n + 1, sizeof(*f->members));
	f->member_of = calloc(n + 1, sizeof(*f->member_of));
	f->next_image = calloc(n + 1, sizeof(*f->next_image));
	if (!making.by_upid || !f->members || !f->member_of || !f->next_image) {
		free(making.by_upid);
		family_free(f);
		return -ENOMEM;
	}
	group(&making);
	relate(&making);
	free(making.by_upid);
	*ret = f;
	return 0;
}

struct family *family_free(struct family *f)
{
	if (!f)
		return NULL;
	free(f->members);
	free(f->member_of);
	free(f->next_image);
	free(f);
	return NULL;
}

const struct lake_process *family_last(const struct family *f, size_t member)
{
	return &f->report->processes[f->members[member].last];
}

uint64_t family_start_ns(const struct family *f, size_t member)
{
	return f->report->processes[f->members[member].first].start_ns;
}

uint64_t family_end_ns(const struct family *f, size_t member)
{
	return family_last(f, member)->end_ns;
}
