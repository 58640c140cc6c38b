/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/batch.c - reads several runs, and asks a server for all of them at once.
 */
#include "lake/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/server.h"

/* A batch is in memory as the server sent it: some 700 bytes for each image. */
#define IMAGES_MOST 20000
#define RUNS_MOST   200

/* The answer to one question, about all runs of the batch. */
struct part {
	const struct lake_question *question;
	struct server_rows *rows; /* owns the bytes */
	const char *bytes;
	struct range {
		size_t nth, from, to; /* bytes from..to are rows of the nth run */
	} *ranges; /* by run, then as they came */
	size_t n, room;
};

struct lake_batch {
	struct lake_key *keys;
	struct lake_run_list runs;
	struct part *parts;
	size_t n_parts, part_room;
	int err; /* a question failed: no other is asked */
	struct arena arena;
};

int lake_run_list_add(struct lake_run_list *l, struct arena *a, const char *id, const char *boot_id)
{
	const size_t size = strlen(id) + 1 + strlen(boot_id);
	char *name = arena_alloc(a, size + 1);
	size_t room = l->room; /* of both lists */
	void *grown = name ? answer_grow(l->ids, l->n, &room, sizeof(*l->ids)) : NULL;

	if (grown) {
		l->ids = grown;
		grown = answer_grow(l->names, l->n, &l->room, sizeof(*l->names));
	}
	if (!grown)
		return -ENOMEM;
	l->names = grown;
	stpcpy(stpcpy(stpcpy(name, id), " "), boot_id);
	l->ids[l->n] = id;
	l->names[l->n++] = name;
	l->bytes += strlen(id) + size + strlen("'','',");
	return 0;
}

void lake_run_list_free(struct lake_run_list *l)
{
	free(l->ids);
	free(l->names);
	*l = (struct lake_run_list){ 0 };
}

static int by_run(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int nomem(struct lake_file *f)
{
	return lake_file_error(f, SQLITE_NOMEM);
}

/* Finds out which rows are whose: the last column says it. */
static int split(const struct lake_batch *b, struct lake_file *f, struct part *p, size_t size)
{
	for (size_t at = 0, end; at < size; at = end) {
		const char *row = p->bytes + at, *newline = memchr(row, '\n', size - at), *tab;
		struct range *last = p->n ? &p->ranges[p->n - 1] : NULL;
		size_t nth;
		void *grown;

		end = (size_t)(newline - p->bytes) + 1; /* the last row has one too: server_rows_rest() */
		tab = memrchr(row, '\t', (size_t)(newline - row));
		nth = tab ? strtoul(tab + 1, NULL, 10) : 0;
		if (!nth || nth > b->runs.n)
			return server_rows_strange(p->rows, "its answer has a row of a run that was not asked for");
		if (last && last->nth == nth) {
			last->to = end;
			continue;
		}
		grown = answer_grow(p->ranges, p->n, &p->room, sizeof(*p->ranges));
		if (!grown)
			return nomem(f);
		p->ranges = grown;
		p->ranges[p->n++] = (struct range){ nth, at, end };
	}
	if (p->n)
		qsort(p->ranges, p->n, sizeof(*p->ranges), by_run);
	return 0;
}

static int ask(struct lake_batch *b, struct lake_file *f, const struct lake_question *q)
{
	const struct lake_value values[] = { LAKE_NUMBER(0), LAKE_RUN_IDS(&b->runs), LAKE_RUN_NAMES(&b->runs) };
	void *grown = answer_grow(b->parts, b->n_parts, &b->part_room, sizeof(*b->parts));
	struct part *p;
	size_t size = 0;
	int err;

	if (!grown)
		return nomem(f);
	b->parts = grown;
	p = &b->parts[b->n_parts++];
	*p = (struct part){ .question = q };
	err = server_rows_open(f->server, f->why, q->clickhouse_runs, values, 3, &p->rows);
	if (!err)
		err = server_rows_rest(p->rows, &p->bytes, &size);
	return err ? err : split(b, f, p, size);
}

/* The rows of one run, one after another. */
static int rows_of(const struct part *p, struct lake_file *f, size_t nth, struct server_rows **ret)
{
	size_t low = 0, high = p->n, size = 0, n = 0;
	char *bytes;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->ranges[middle].nth < nth)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < p->n && p->ranges[i].nth == nth; i++)
		size += p->ranges[i].to - p->ranges[i].from;
	bytes = malloc(size + 1);
	for (size_t i = low; bytes && i < p->n && p->ranges[i].nth == nth; i++) {
		const size_t more = p->ranges[i].to - p->ranges[i].from;

		memcpy(bytes + n, p->bytes + p->ranges[i].from, more);
		n += more;
	}
	return server_rows_of(f->server, f->why, bytes, n, ret);
}

int lake_batch_rows(struct lake_batch *b, struct lake_file *f, const struct lake_question *q,
		    const struct lake_key *key, struct server_rows **ret)
{
	size_t i;

	for (i = 0; i < b->n_parts && b->parts[i].question != q; i++)
		;
	if (i == b->n_parts)
		b->err = ask(b, f, q);
	return b->err ? b->err : rows_of(&b->parts[i], f, key->nth, ret);
}

/* ---- the runs ---------------------------------------------------------------------- */

static int batch_begin(struct lake_batch *b, const struct lake_run *const *runs, size_t n)
{
	int err;

	*b = (struct lake_batch){ .keys = calloc(n, sizeof(*b->keys)) };
	err = b->keys ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < n; i++) {
		b->keys[i] = (struct lake_key){ .run = runs[i]->id, .boot_id = runs[i]->boot_id, .nth = i + 1 };
		err = lake_run_list_add(&b->runs, &b->arena, runs[i]->id, runs[i]->boot_id);
	}
	return err;
}

static void batch_end(struct lake_batch *b)
{
	for (size_t i = 0; i < b->n_parts; i++) {
		server_rows_close(b->parts[i].rows);
		free(b->parts[i].ranges);
	}
	free(b->parts);
	free(b->keys);
	lake_run_list_free(&b->runs);
	arena_free(&b->arena);
}

/* Reads a run by its key, which is in the lake's batch; key NULL: finds it first. */
static int read_one(struct lake *l, const struct lake_key *key, const struct lake_run *run, struct lake_why *why,
		    lake_take_fn *take, void *arg)
{
	struct lake_report *r = NULL;
	struct arena arena = { 0 };
	struct lake_key found;
	int err = 0;

	if (!key)
		err = lake_run_find(l, run->id, NULL, why, &arena, &found);
	if (!err)
		err = lake_report_of_key(l, key ? key : &found, ANSWER_EARLIER, 0, why, &r);
	arena_free(&arena);
	if (err == -ENOMEM)
		return err;
	err = take(arg, run, r, why->text);
	lake_report_free(r);
	return err;
}

/* *broken: the server gave no answer to an earlier batch, and is not asked again; why has the reason. */
static int read_batch(struct lake *l, const struct lake_run *const *runs, size_t n, struct lake_why *why, bool *broken,
		      lake_take_fn *take, void *arg)
{
	struct lake_batch b;
	int err = batch_begin(&b, runs, n);

	l->batch = &b;
	for (size_t i = 0; !err && i < n; i++) {
		err = *broken ? take(arg, runs[i], NULL, why->text) : read_one(l, &b.keys[i], runs[i], why, take, arg);
		*broken |= b.err != 0;
	}
	l->batch = NULL;
	batch_end(&b);
	return err;
}

int lake_reports(struct lake *l, const struct lake_run *const *runs, size_t n, lake_take_fn *take, void *arg)
{
	char text[512] = "";
	struct lake_why why = { text, sizeof(text) };
	bool broken = false;
	int err = 0;

	for (size_t i = 0, end; !err && i < n; i = end) {
		uint64_t images = 0;

		if (!l->server) {
			err = read_one(l, NULL, runs[i], &why, take, arg);
			end = i + 1;
			continue;
		}
		for (end = i; end < n && end - i < RUNS_MOST; end++) {
			images += runs[end]->totals.images;
			if (end > i && images > IMAGES_MOST)
				break;
		}
		err = read_batch(l, runs + i, end - i, &why, &broken, take, arg);
	}
	return err;
}
