/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/audit.c - reads what a run executed, with the runs that began in it: most of what a session executes belongs to
 * runs of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"

/* A run that began in another one. */
struct child {
	struct lake_key key;
	const char *parent;
	uint64_t start_ns, end_ns;
	bool in; /* the audit has it */
};

struct reading {
	struct lake *lake;
	struct lake_why *why;
	struct arena arena;
	struct child *children; /* by parent, then start, then id */
	size_t n_children;
	size_t *found; /* children in the audit: indexes */
	size_t n_found;
};

/* ?1: the boot id.  A run's children begin after it. */
static const struct lake_question with_parent = {
	.sqlite = "SELECT id, run, parent_run, start_ns, end_ns FROM run WHERE parent_run <> '' AND boot_id = ?1",
	.clickhouse = "SELECT 0, run, parent_run, start_ns, end_ns FROM run FINAL WHERE parent_run <> '' AND boot_id = ?1",
};

static int add_child(struct reading *in, struct lake_file *f, unsigned month, const char *boot_id,
		     const struct lake_rows *rows)
{
	const struct child c = {
		.key = { .month = month, .row = lake_rows_number(rows, 0), .boot_id = boot_id,
			 .run = lake_rows_text(rows, 1, &in->arena) },
		.parent = lake_rows_text(rows, 2, &in->arena),
		.start_ns = (uint64_t)lake_rows_number(rows, 3),
		.end_ns = (uint64_t)lake_rows_number(rows, 4),
	};
	void *grown = in->children;

	if ((in->n_children & (in->n_children - 1)) == 0) /* full at 0, 1, 2, 4, 8 ... */
		grown = reallocarray(grown, in->n_children ? 2 * in->n_children : 1, sizeof(c));
	if (grown) /* the old list is gone, also if a text could not be copied */
		in->children = grown;
	if (!grown || !c.key.run || !c.parent)
		return lake_file_error(f, SQLITE_NOMEM);
	in->children[in->n_children++] = c;
	return 0;
}

static int read_children(struct reading *in, unsigned month, const char *boot_id)
{
	const struct lake_value value = LAKE_TEXT(boot_id);
	struct lake_rows rows = { 0 };
	struct lake_file f = { 0 };
	int err = lake_file_open(in->lake, month, in->why, &f);

	if (err)
		return err;
	err = lake_rows_open(&f, &with_parent, &value, 1, &rows);
	while (!err && (err = lake_rows_next(&rows)) > 0)
		err = add_child(in, &f, month, boot_id, &rows);
	lake_rows_close(&rows);
	lake_file_close(&f);
	return err;
}

static int by_parent(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	const int order = strcmp(x->parent, y->parent);

	if (order)
		return order;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strcmp(x->key.run, y->key.run);
}

static int by_start(const void *a, const void *b, void *arg)
{
	const struct child *children = arg;
	const struct child *x = &children[*(const size_t *)a], *y = &children[*(const size_t *)b];

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strcmp(x->key.run, y->key.run);
}

/* Adds the children of a run. */
static void find_children(struct reading *in, const char *run)
{
	size_t low = 0, high = in->n_children;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(in->children[middle].parent, run) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < in->n_children && strcmp(in->children[low].parent, run) == 0; low++)
		if (!in->children[low].in) {
			in->children[low].in = true;
			in->found[in->n_found++] = low;
		}
}

/* Finds the runs within the run, and within those.  A damaged lake may have a circle of parents. */
static int find_all(struct reading *in, const struct lake_key *key)
{
	struct lake *l = in->lake;
	int err = 0;

	for (size_t i = 0; !err && i < l->n_months; i++) {
		if (!l->server && l->months[i] / LAKE_PARTS < key->month / LAKE_PARTS)
			continue;
		err = read_children(in, l->months[i], key->boot_id);
		if (err)
			err = lake_skip(l, err, in->why);
	}
	if (err || !in->n_children)
		return err;
	in->found = calloc(in->n_children, sizeof(*in->found));
	if (!in->found) {
		lake_say(in->why, "out of memory");
		return -ENOMEM;
	}
	qsort(in->children, in->n_children, sizeof(*in->children), by_parent);
	for (size_t i = 0; i < in->n_children; i++)
		in->children[i].in = strcmp(in->children[i].key.run, key->run) == 0;
	find_children(in, key->run);
	for (size_t i = 0; i < in->n_found; i++)
		find_children(in, in->children[in->found[i]].key.run);
	if (in->n_found)
		qsort_r(in->found, in->n_found, sizeof(*in->found), by_start, in->children);
	return 0;
}

/* When the last of the runs within the run ended; 1: there is none; INT64_MAX: one has not ended. */
static uint64_t last_end(const struct reading *in)
{
	uint64_t last = 1;

	for (size_t i = 0; i < in->n_found; i++) {
		const struct child *c = &in->children[in->found[i]];

		if (!c->end_ns)
			return INT64_MAX;
		last = c->end_ns > last ? c->end_ns : last;
	}
	return last;
}

static int read_all(struct reading *in, const struct lake_key *key, struct lake_audit *audit)
{
	int err;

	audit->runs = calloc(in->n_found + 1, sizeof(struct lake_report *));
	if (!audit->runs) {
		lake_say(in->why, "out of memory");
		return -ENOMEM;
	}
	err = lake_report_of_key(in->lake, key, ANSWER_AUDIT, last_end(in), in->why, &audit->runs[0]);
	audit->n = !err;
	for (size_t i = 0; !err && i < in->n_found; i++) {
		err = lake_report_of_key(in->lake, &in->children[in->found[i]].key, ANSWER_AUDIT, 0, in->why,
					 &audit->runs[audit->n]);
		audit->n += !err;
	}
	return err;
}

int lake_audit(struct lake *l, const char *which, struct lake_audit **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct reading in = { .lake = l, .why = &why };
	struct lake_audit *audit = calloc(1, sizeof(*audit));
	struct lake_key key = { 0 };
	int err = audit ? 0 : -ENOMEM;

	if (!audit) {
		lake_say(&why, "out of memory");
	} else if (l->fd >= 0) {
		/* a copy (lake/copy.c) lacks rows: its chain would differ, and would not say so */
		err = -ENOTSUP;
		lake_say(&why, "an audit needs the lake itself: a copy of your own runs has no opened files, no connections "
			 "and no runs within a run; members of group skep may read skepd's lake");
	}
	if (!err)
		err = lake_run_find(l, which, NULL, &why, &in.arena, &key);
	if (!err)
		err = find_all(&in, &key);
	if (!err)
		err = read_all(&in, &key, audit);
	if (!err)
		*ret = audit;
	else
		lake_audit_free(audit);
	free(in.children);
	free(in.found);
	arena_free(&in.arena);
	return err;
}

struct lake_audit *lake_audit_free(struct lake_audit *audit)
{
	if (!audit)
		return NULL;
	for (size_t i = 0; i < audit->n; i++)
		lake_report_free(audit->runs[i]);
	free(audit->runs);
	free(audit);
	return NULL;
}
