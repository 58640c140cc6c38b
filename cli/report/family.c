/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/family.c - joins images to processes, and processes to a tree.
 *
 * A parent must begin before its child (the report is ordered by start), so even
 * from a damaged lake the result has no cycles.
 */
#include "cli/report/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Identities begin with the same boot id, so comparing hashes is faster than comparing texts. */
struct identity {
	uint64_t hash;
	size_t image; /* its index in the report */
};

static uint64_t hash_of(const struct family *f, const char *upid)
{
	return skep_hash(&f->key, upid, strlen(upid));
}

static int by_identity(const void *a, const void *b, void *arg)
{
	const struct lake_process *processes = arg;
	const struct identity *i = a, *j = b;
	const struct lake_process *x = &processes[i->image], *y = &processes[j->image];
	int order;

	if (i->hash != j->hash)
		return i->hash < j->hash ? -1 : 1;
	order = strcmp(x->upid, y->upid);
	if (order == 0 && x->image != y->image)
		order = x->image < y->image ? -1 : 1;
	if (order == 0)
		order = i->image < j->image ? -1 : i->image > j->image;
	return order;
}

static bool same_process(const struct lake_process *x, const struct lake_process *y)
{
	return *x->upid && strcmp(x->upid, y->upid) == 0; /* an image without an identity is a process of its own */
}

/* The member with that identity. */
static size_t find(const struct family *f, const struct identity *sorted, const char *upid)
{
	const struct lake_process *processes = f->report->processes;
	size_t low = 0, high = f->report->n_processes;
	uint64_t hash = hash_of(f, upid);

	if (!*upid)
		return FAMILY_NONE;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct identity *i = &sorted[middle];
		int order = i->hash != hash ? (i->hash < hash ? -1 : 1) : strcmp(processes[i->image].upid, upid);

		if (order == 0)
			return f->member_of[i->image];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return FAMILY_NONE;
}

/* Chains the images of each process and numbers the processes by the index of their first image in the report. */
static void group(struct family *f, const struct identity *sorted)
{
	const struct lake_process *processes = f->report->processes;
	size_t n = f->report->n_processes;

	for (size_t i = 0; i < n; i++)
		f->member_of[i] = FAMILY_NONE;
	for (size_t i = 0; i < n; i++) {
		size_t image = sorted[i].image, before = i ? sorted[i - 1].image : 0;

		f->next_image[image] = FAMILY_NONE;
		/* For now: the first image of its process. */
		f->member_of[image] = image;
		if (i && sorted[i - 1].hash == sorted[i].hash && same_process(&processes[before], &processes[image])) {
			f->next_image[before] = image;
			f->member_of[image] = f->member_of[before];
		}
	}
	for (size_t i = 0; i < n; i++) {
		struct family_member *m;

		if (f->member_of[i] != i)
			continue;
		m = &f->members[f->n];
		*m = (struct family_member) { .first = i,
					      .last = i,
					      .parent = FAMILY_NONE,
					      .child = FAMILY_NONE,
					      .youngest = FAMILY_NONE,
					      .sibling = FAMILY_NONE };
		m->start_ns = processes[i].start_ns;
		for (size_t image = i; image != FAMILY_NONE; image = f->next_image[image])
			m->last = image;
		m->end_ns = processes[m->last].end_ns;
		f->n++;
	}
	/* The first image of a process has its lowest index in the report, so the numbers rise with i. */
	for (size_t m = 0; m < f->n; m++) {
		for (size_t image = f->members[m].first; image != FAMILY_NONE; image = f->next_image[image])
			f->member_of[image] = m;
	}
}

static void relate(struct family *f, const struct identity *sorted)
{
	for (size_t i = 0; i < f->n; i++) {
		struct family_member *m = &f->members[i], *parent;
		size_t p = find(f, sorted, f->report->processes[m->first].parent_upid);

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
	f->root = find(f, sorted, f->report->run.root_upid);
}

int family_new(const struct lake_report *report, struct family **ret)
{
	size_t n = report->n_processes;
	struct identity *sorted = NULL;
	struct family *f = calloc(1, sizeof(*f));
	int rc = -ENOMEM;

	if (!f)
		return -ENOMEM;
	f->report = report;
	f->key = skep_hash_key_new();
	f->members = calloc(n + 1, sizeof(*f->members));
	f->member_of = calloc(n + 1, sizeof(*f->member_of));
	f->next_image = calloc(n + 1, sizeof(*f->next_image));
	sorted = calloc(n + 1, sizeof(*sorted));
	if (!f->members || !f->member_of || !f->next_image || !sorted)
		goto out;
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct identity){ hash_of(f, report->processes[i].upid), i };
	qsort_r(sorted, n, sizeof(*sorted), by_identity, report->processes);
	group(f, sorted);
	relate(f, sorted);
	*ret = f;
	f = NULL;
	rc = 0;
out:
	free(sorted);
	family_free(f);
	return rc;
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
