/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/losses.c - reads how many records were lost during a run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/saturate.h"

/* ?1, ?2: the time span; ?3, ?4: the host. The back end sums the losses: there are few streams and places. */
static const struct lake_question in_span = {
	.sqlite = "SELECT i.s, t.s, p.s, sum(l.count) FROM loss l JOIN dict i ON i.id = l.instance JOIN dict t ON "
		  "t.id = l.stream JOIN dict p ON p.id = l.place WHERE l.time_ns BETWEEN ?1 AND ?2 GROUP BY 1, 2, 3",
	.clickhouse = "SELECT instance, stream, place, sum(count) FROM loss FINAL WHERE time_ns BETWEEN ?1 AND ?2 "
		      "AND host = ?3 AND boot_id = ?4 GROUP BY instance, stream, place",
};

/* The same, each by itself. */
static const struct lake_question each_in_span = {
	.sqlite = "SELECT i.s, t.s, p.s, l.count, l.time_ns FROM loss l JOIN dict i ON i.id = l.instance JOIN dict t ON "
		  "t.id = l.stream JOIN dict p ON p.id = l.place WHERE l.time_ns BETWEEN ?1 AND ?2",
	.clickhouse = "SELECT instance, stream, place, count, time_ns FROM loss FINAL WHERE time_ns BETWEEN ?1 AND ?2 "
		      "AND host = ?3 AND boot_id = ?4",
};

/* Adds a loss to the one of the same place, or to the list. */
static int add_loss(struct answer *a, const struct lake_loss *l)
{
	struct lake_report *r = &a->report;
	void *grown;

	for (size_t i = 0; !l->time_ns && i < r->n_losses; i++) {
		struct lake_loss *have = &r->losses[i];

		if (strcmp(have->instance, l->instance) == 0 && strcmp(have->stream, l->stream) == 0 &&
		    strcmp(have->where, l->where) == 0) {
			lake_add(&have->count, l->count);
			return 0;
		}
	}
	grown = answer_grow(r->losses, r->n_losses, &a->loss_room, sizeof(*r->losses));
	if (!grown)
		return lake_file_error(a->file, SQLITE_NOMEM);
	r->losses = grown;
	r->losses[r->n_losses++] = *l;
	return 0;
}

struct reading {
	struct answer *answer;
	uint64_t to;
	bool each;
};

static int read_losses(struct lake_file *f, void *arg)
{
	const struct reading *in = arg;
	struct answer *a = in->answer;
	const struct lake_value values[] = { LAKE_NUMBER(a->report.run.start_ns), LAKE_NUMBER(in->to),
					     LAKE_TEXT(a->report.run.host), LAKE_TEXT(a->report.run.boot_id) };
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(f, in->each ? &each_in_span : &in_span, values, 4, &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		const struct lake_loss l = {
			.instance = lake_rows_text(&rows, 0, &a->arena),
			.stream = lake_rows_text(&rows, 1, &a->arena),
			.where = lake_rows_text(&rows, 2, &a->arena),
			.count = (uint64_t)lake_rows_number(&rows, 3),
			.time_ns = in->each ? (uint64_t)lake_rows_number(&rows, 4) : 0,
		};

		err = l.instance && l.stream && l.where ? add_loss(a, &l) : lake_file_error(f, SQLITE_NOMEM);
		if (err)
			break;
	}
	lake_rows_close(&rows);
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct lake_loss *x = a, *y = b;
	int order = x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? -1 : 1) : strcmp(x->instance, y->instance);

	if (!order)
		order = strcmp(x->stream, y->stream);
	if (!order)
		order = strcmp(x->where, y->where);
	return order ? order : (x->count > y->count) - (x->count < y->count);
}

/* Adds all losses until `to`, from the files of every month that the run touched: a loss has no run. */
static int read_span(struct lake *l, struct answer *a, unsigned month, uint64_t to, bool each)
{
	int err = lake_each_of_time(l, a->file, month, a->report.run.start_ns, to, read_losses,
				    &(struct reading){ a, to, each });

	if (!err && a->report.n_losses)
		qsort(a->report.losses, a->report.n_losses, sizeof(*a->report.losses), by_place);
	return err;
}

int lake_losses_read(struct lake *l, struct answer *a, unsigned month)
{
	return read_span(l, a, month, a->report.run.end_ns ? a->report.run.end_ns : INT64_MAX, false);
}

int lake_losses_each(struct lake *l, struct answer *a, unsigned month, uint64_t to)
{
	const struct lake_run *run = &a->report.run;

	if (!run->end_ns)
		to = INT64_MAX;
	return read_span(l, a, month, run->end_ns > to ? run->end_ns : to, true);
}
