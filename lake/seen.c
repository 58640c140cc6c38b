/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/seen.c - single processes as evidence: the last process of a run, and the processes that hold a GPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/usage.h"

/* More samples of one time are not read: a host has hundreds of processes, and a question asks for minutes. */
#define SEEN_MOST "100000"

struct seen_answer {
	struct lake_seen_list list; /* first member: lake_seen_list_free casts the caller's pointer back */
	struct arena arena;
	size_t room;
};

static struct lake_seen *add(struct seen_answer *a)
{
	void *grown = answer_grow(a->list.one, a->list.n, &a->room, sizeof(*a->list.one));

	if (!grown)
		return NULL;
	a->list.one = grown;
	a->list.one[a->list.n] = (struct lake_seen){ .tool = "", .upid = "", .run = "" };
	return &a->list.one[a->list.n++];
}

struct lake_seen_list *lake_seen_list_free(struct lake_seen_list *list)
{
	struct seen_answer *a = (struct seen_answer *)list;

	if (!a)
		return NULL;
	free(list->one);
	arena_free(&a->arena);
	free(a);
	return NULL;
}

/* ---- the last process of a run ---------------------------------------------------- */

/* ?1, ?2: id and boot id of the run; ?3: until.  lake_run_find() would read all runs for the beginnings of ids. */
static const struct lake_question last_of_run = {
	.sqlite =
		"SELECT d.s, p.end_ns FROM proc p JOIN dict d ON d.id = p.tool WHERE p.run = (SELECT id FROM run WHERE "
		"run = ?1) AND p.wrapper = 0 AND p.end_ns BETWEEN 1 AND ?3 ORDER BY p.end_ns DESC, p.cpu_ns DESC, d.s LIMIT 1",
	.clickhouse = "SELECT tool, end_ns FROM proc FINAL PREWHERE run = ?1 WHERE boot_id = ?2 AND wrapper = 0 AND "
		      "end_ns BETWEEN 1 AND ?3 ORDER BY end_ns DESC, cpu_ns DESC, tool LIMIT 1",
};

struct asking {
	struct seen_answer *answer;
	const struct lake_value *values;
	size_t n;
};

static int read_last(struct lake_file *f, void *arg)
{
	const struct asking *asking = arg;
	struct seen_answer *a = asking->answer;
	struct lake_rows rows = { 0 };
	struct lake_seen *seen;
	int err = lake_rows_open(f, &last_of_run, asking->values, asking->n, &rows);

	while (!err && (err = lake_rows_next(&rows)) > 0) {
		seen = add(a);
		if (!seen) {
			err = lake_file_error(f, SQLITE_NOMEM);
			break;
		}
		seen->tool = lake_rows_text(&rows, 0, &a->arena);
		seen->time_ns = (uint64_t)lake_rows_number(&rows, 1);
		err = seen->tool ? 0 : lake_file_error(f, SQLITE_NOMEM);
	}
	lake_rows_close(&rows);
	return err ? err : a->list.n > 0; /* a run is whole in one file */
}

int lake_last_process(struct lake *l, const char *run, const char *boot_id, uint64_t until_ns,
		      struct lake_seen_list **ret, char *why_text, size_t why_size)
{
	const struct lake_value values[] = { LAKE_TEXT(run), LAKE_TEXT(boot_id), LAKE_NUMBER(until_ns) };
	struct lake_why why = { why_text, why_size };
	struct seen_answer *a = calloc(1, sizeof(*a));
	int err;

	lake_say(&why, "out of memory");
	if (!a)
		return -ENOMEM;
	err = lake_each_file(l, &why, read_last, &(struct asking){ a, values, sizeof(values) / sizeof(values[0]) },
			     NULL);
	if (err)
		lake_seen_list_free(&a->list);
	else
		*ret = &a->list;
	return err;
}

/* ---- processes that hold a GPU ----------------------------------------------------- */

/* ?1: the first 8 characters of the boot id, with which a upid begins; ?2, ?3: the time. */
static const struct lake_question of_gpus = {
	.sqlite = "SELECT upid, time_ns, fields, 0 FROM record WHERE stream = (SELECT id FROM dict WHERE s = "
		  "'process.sample') AND time_ns BETWEEN ?2 AND ?3 AND substr(upid, 1, length(?1)) = ?1 AND "
		  "fields LIKE '%\"gpu.held_ns\":%' ORDER BY time_ns, upid, fields LIMIT " SEEN_MOST,
	.clickhouse = "SELECT upid, time_ns, fields, 0 FROM record FINAL PREWHERE stream = 'process.sample' AND "
		      "time_ns BETWEEN ?2 AND ?3 WHERE substring(upid, 1, length(?1)) = ?1 AND "
		      "position(fields, '\"gpu.held_ns\":') > 0 ORDER BY time_ns, upid, fields LIMIT " SEEN_MOST,
};

static struct lake_seen *seen_of(struct seen_answer *a, const char *upid)
{
	for (size_t i = 0; i < a->list.n; i++)
		if (strcmp(a->list.one[i].upid, upid) == 0)
			return &a->list.one[i];
	return add(a);
}

static int read_sample(struct lake_file *f, const struct lake_rows *rows, struct seen_answer *a)
{
	size_t n;
	struct lake_seen *seen;
	const char *fields;
	const uint64_t at = (uint64_t)lake_rows_number(rows, 1);
	uint64_t held, busy;

	fields = lake_rows_bytes(rows, 2, &n);
	held = lake_json_number(fields, "\"gpu.held_ns\":");
	busy = lake_json_number(fields, "\"gpu.busy_ns\":");
	if (!held && !busy)
		return 0;
	seen = seen_of(a, lake_rows_bytes(rows, 0, &n));
	if (!seen)
		return lake_file_error(f, SQLITE_NOMEM);
	if (!*seen->upid)
		seen->upid = lake_rows_text(rows, 0, &a->arena);
	/* the files come newest first: what an older one has must not replace a later sample */
	if (at >= seen->last_ns) { /* fields stay valid: the row is the same */
		seen->tool = lake_json_text(fields, "\"tool\":", &a->arena);
		seen->run = lake_json_text(fields, "\"run\":", &a->arena);
		seen->last_ns = at;
	}
	if (!seen->upid || !seen->tool || !seen->run)
		return lake_file_error(f, SQLITE_NOMEM);
	seen->held |= held > 0;
	/* when it was last busy, else its last sample */
	if ((busy && !seen->busy) || ((busy || !seen->busy) && at > seen->time_ns))
		seen->time_ns = at;
	seen->busy |= busy > 0;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct lake_seen *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return strcmp(x->upid, y->upid);
}

/* A run's samples are in the file of the month in which it began. */
static int read_gpus(struct lake_file *f, void *arg)
{
	const struct asking *asking = arg;
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(f, &of_gpus, asking->values, asking->n, &rows);

	while (!err && (err = lake_rows_next(&rows)) > 0)
		err = read_sample(f, &rows, asking->answer);
	lake_rows_close(&rows);
	return err;
}

int lake_gpu_processes(struct lake *l, const char *boot_id, uint64_t from_ns, uint64_t to_ns,
		       struct lake_seen_list **ret, char *why_text, size_t why_size)
{
	char boot[9] = "";
	const struct lake_value values[] = { LAKE_TEXT(boot), LAKE_NUMBER(from_ns), LAKE_NUMBER(to_ns) };
	struct lake_why why = { why_text, why_size };
	struct seen_answer *a = calloc(1, sizeof(*a));
	int err;

	lake_say(&why, "out of memory");
	if (!a)
		return -ENOMEM;
	memcpy(boot, boot_id, strnlen(boot_id, sizeof(boot) - 1));
	err = lake_each_file(l, &why, read_gpus, &(struct asking){ a, values, sizeof(values) / sizeof(values[0]) },
			     NULL);
	if (err) {
		lake_seen_list_free(&a->list);
		return err;
	}
	if (a->list.n)
		qsort(a->list.one, a->list.n, sizeof(*a->list.one), by_time);
	*ret = &a->list;
	return 0;
}
