/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/report.c - reads one whole run: its processes, tools, samples, ledger and losses.
 */
#include <errno.h>
#include <stdlib.h>

#include "lake/answer.h"
#include "lake/run.h"

/* The lake had it a moment ago. */
static int is_gone(const struct lake_file *f)
{
	lake_say(f->why, "%s: the run was removed just now, to keep the lake within its bounds", f->path);
	return -ENOENT;
}

static int read_run(struct answer *a, const struct lake_key *key)
{
	struct lake_rows rows = { 0 };
	int64_t row;
	int err = lake_rows_of_run(a->file, &lake_run_of_key, key, &rows);

	if (err)
		return err;
	err = lake_rows_next(&rows);
	if (err > 0)
		err = lake_run_read(&rows, &a->arena, &row, &a->report.run);
	else if (err == 0)
		err = is_gone(a->file);
	if (!err)
		err = lake_rows_finish(&rows);
	lake_rows_close(&rows);
	return err;
}

/* Reads the rest of a report, without which an audit does. */
static int read_rest(struct lake *l, struct answer *a, const struct lake_key *run, bool all)
{
	int err = lake_tasks_read(a->file, run, &a->arena, &a->report);

	if (!err)
		err = lake_samples_read(a, run);
	if (!err && all)
		err = lake_ledger_read(a, run);
	if (!err && all)
		err = lake_losses_read(l, a, run->month);
	if (!err) {
		lake_network_know(&a->report);
		err = lake_sum_up(a);
	}
	if (!err)
		err = lake_tasks_sum(a);
	return err || !all ? err : lake_streams_read(l, a, run);
}

int lake_report_of_key(struct lake *l, const struct lake_key *run, enum answer_parts parts, uint64_t losses_to,
		       struct lake_why *why, struct lake_report **ret)
{
	struct lake_file f = { 0 };
	struct answer *a = calloc(1, sizeof(*a));
	int err;

	if (!a) {
		lake_say(why, "out of memory");
		return -ENOMEM;
	}
	err = lake_file_open(l, run->month, why, &f);
	if (err)
		goto out;
	a->file = &f;
	a->few_arguments = l->few_arguments && parts == ANSWER_ALL;
	err = names_init(&a->names, &f, &a->arena);
	if (!err)
		err = read_run(a, run);
	if (!err)
		err = lake_processes_read(a, run);
	if (!err)
		err = parts == ANSWER_AUDIT ? lake_streams_audit(a, run)
					  : read_rest(l, a, run, parts == ANSWER_ALL);
	if (!err && losses_to)
		err = lake_losses_each(l, a, run->month, losses_to);
out:
	names_free(&a->names);
	idmap_free(&a->kinds);
	lake_file_close(&f);
	free(a->extra);
	a->extra = NULL;
	free(a->facet);
	a->facet = NULL;
	free(a->span);
	a->span = NULL;
	a->file = NULL;
	if (err) {
		lake_report_free(&a->report);
		return err;
	}
	*ret = &a->report;
	return 0;
}

int lake_report(struct lake *l, const char *which, struct lake_report **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct arena arena = { 0 };
	struct lake_key run = { 0 };
	int err = lake_run_find(l, which, NULL, &why, &arena, &run);

	if (!err)
		err = lake_report_of_key(l, &run, ANSWER_ALL, 0, &why, ret);
	arena_free(&arena);
	return err;
}

struct lake_report *lake_report_free(struct lake_report *r)
{
	struct answer *a = (struct answer *)r;

	if (!a)
		return NULL;
	free(r->tasks);
	free(r->tools);
	free(r->processes);
	free(r->samples);
	free(r->ledger);
	free(r->losses);
	lake_streams_free(r);
	free(a->by_tool);
	free(a->by_task);
	arena_free(&a->arena);
	free(a);
	return NULL;
}
