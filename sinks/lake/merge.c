/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges two collectors' records of the same image of a process into one row.
 */
#include "sinks/lake/merge.h"

#include <string.h>

#include "sinks/lake/procrow.h"

#define DAY_NS (86400 * INT64_C(1000000000))

enum image_state image_state(struct skep_str s)
{
	static const struct {
		const char *name;
		enum image_state state;
	} states[] = {
		{ "running", IMAGE_RUNNING }, { "zombie", IMAGE_LOST },       { "lost", IMAGE_LOST },
		{ "replaced", IMAGE_REPLACED }, { "excluded", IMAGE_EXCLUDED },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (s.len == strlen(states[i].name) && memcmp(s.ptr, states[i].name, s.len) == 0)
			return states[i].state;
	return IMAGE_ENDED;
}

int64_t image_day(int64_t ns)
{
	return ns > 0 ? ns / DAY_NS : 0;
}

int image_find(struct db *db, const struct skep_upid *upid, int64_t number, int64_t boot, struct image *ret)
{
	struct image found = { 0 };
	struct skep_str text = { 0 };
	sqlite3_stmt *s;
	int rc, err;

	err = db_statement(db, DB_IMAGE_FIND, &s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, (int64_t)upid->start_ns);
	sqlite3_bind_int64(s, 2, upid->pid);
	sqlite3_bind_int64(s, 3, number);
	sqlite3_bind_int64(s, 4, boot);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		found.id = sqlite3_column_int64(s, 0);
		found.run = sqlite3_column_int64(s, 1);
		found.task = sqlite3_column_int64(s, 2);
		found.tool = sqlite3_column_int64(s, 3);
		found.task_id = sqlite3_column_int64(s, 4);
		found.step = sqlite3_column_int64(s, 5);
		found.scopes = sqlite3_column_int64(s, 6);
		text.ptr = (const char *)sqlite3_column_text(s, 8);
		text.len = (uint32_t)sqlite3_column_bytes(s, 8);
		found.state = image_state(text);
		for (int i = 0; i < ROLLED_NUMBERS; i++)
			found.value[i] = sqlite3_column_int64(s, 9 + i);
		found.day = image_day(found.value[ROLLED_START] ? found.value[ROLLED_START] : found.value[ROLLED_END]);
		text.ptr = (const char *)sqlite3_column_text(s, 7);
		text.len = (uint32_t)sqlite3_column_bytes(s, 7);
		err = db_dict(db, text.ptr, text.len, &found.pipeline);
	} else if (rc != SQLITE_DONE) {
		err = db_error(db, rc, "looking for an image");
	}
	sqlite3_reset(s);
	if (!err)
		*ret = found;
	return err;
}

int image_roll_up(struct rollup *by_run, struct rollup *by_day, struct db *db, const struct image *m, int sign)
{
	int64_t start = m->value[ROLLED_START], end = m->value[ROLLED_END], sum[ROLLUP_SUMS];
	bool wrapper = m->value[ROLLED_WRAPPER], execed = m->value[ROLLED_EXECED],
	     replaced = m->state == IMAGE_REPLACED;
	int err;

	sum[ROLLUP_PROCESSES] = m->value[ROLLED_LAST] != 0;
	sum[ROLLUP_IMAGES] = execed || !replaced; /* not the forked image that an exec replaces */
	sum[ROLLUP_CALLS] = execed && !wrapper;
	sum[ROLLUP_FORKS] = !execed && !replaced;
	sum[ROLLUP_FAILURES] = m->value[ROLLED_EXIT_CODE] > 0 || m->value[ROLLED_SIGNAL] != 0;
	sum[ROLLUP_CPU] = m->value[ROLLED_CPU];
	sum[ROLLUP_WALL] = !wrapper && start && end > start ? end - start : 0;
	sum[ROLLUP_RUN_DELAY] = m->value[ROLLED_RUN_DELAY];
	sum[ROLLUP_RCHAR] = m->value[ROLLED_RCHAR];
	sum[ROLLUP_WCHAR] = m->value[ROLLED_WCHAR];
	sum[ROLLUP_READ] = m->value[ROLLED_READ];
	sum[ROLLUP_WRITE] = m->value[ROLLED_WRITE];
	sum[ROLLUP_RSS_MAX] = m->value[ROLLED_RSS_PEAK];
	/* A maximum cannot be subtracted: the run or day did reach that value. */
	for (int i = 0; sign < 0 && i < ROLLUP_SUMS; i++)
		sum[i] = i == ROLLUP_RSS_MAX ? 0 : -sum[i];
	err = rollup_add(by_run, db, (int64_t[]){ m->run, m->task, m->tool }, sum);
	return err ? err : rollup_add(by_day, db, (int64_t[]){ m->day, m->pipeline, m->tool }, sum);
}

/* Ranks a run; of two runs the higher rank wins: 2 a run that a user began, 1 any other run, 0 no run. */
static int run_rank(struct db *db, int64_t run, int *ret)
{
	sqlite3_stmt *s;
	int rc, err;

	*ret = run != 0;
	err = run ? db_statement(db, DB_RUN_ORIGIN, &s) : 0;
	if (err || !run)
		return err;
	sqlite3_bind_int64(s, 1, run);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret += sqlite3_column_int(s, 0);
	else if (rc != SQLITE_DONE)
		err = db_error(db, rc, "looking for a run's origin");
	sqlite3_reset(s);
	return err;
}

static int knowledge(const struct image *m)
{
	return m->state < IMAGE_ENDED ? (int)m->state : IMAGE_ENDED;
}

static void place(struct image *m, const struct image *where)
{
	m->run = where->run;
	m->task = where->task;
	m->task_id = where->task_id;
	m->step = where->step;
	m->scopes = where->scopes;
	m->pipeline = where->pipeline;
}

int image_merge(struct rollup *by_run, struct rollup *by_day, struct db *db, const struct image *stored,
		struct image *next, bool *ret_insert)
{
	struct image merged = *stored;
	int of_stored = 0, of_next = 0, err = 0;
	bool better = knowledge(next) > knowledge(stored);

	if (next->run != stored->run) {
		err = run_rank(db, stored->run, &of_stored);
		if (!err)
			err = run_rank(db, next->run, &of_next);
	}
	if (err)
		return err;
	if (better)
		merged = *next;
	if (of_next > of_stored)
		place(&merged, next);
	else if (next->run != stored->run)
		place(&merged, stored);
	err = image_roll_up(by_run, by_day, db, stored, -1);
	if (!err)
		err = image_roll_up(by_run, by_day, db, &merged, 1);
	*next = merged;
	*ret_insert = better;
	return err;
}

static int run_with(struct db *db, enum db_statement which, const int64_t *value, int n, const char *what)
{
	sqlite3_stmt *s;
	int err = db_statement(db, which, &s);

	for (int i = 0; !err && i < n; i++)
		sqlite3_bind_int64(s, i + 1, value[i]);
	return err ? err : db_run_statement(db, s, what);
}

int image_merged(struct db *db, const struct image *stored, const struct image *next)
{
	int64_t move[] = { stored->id, next->id };
	int err;

	if (next->id == stored->id)
		return procrow_place(db, next->id, next->run,
				     (int64_t[PROC_PLACES]){ next->task, next->task_id, next->step, next->scopes });
	/* Facets from another collector's probes stay with the row. */
	err = run_with(db, DB_FACETS_MOVE, move, 2, "keeping facets");
	if (!err)
		err = run_with(db, DB_FACETS_REMOVE, move, 1, "removing facets");
	return err ? err : run_with(db, DB_IMAGE_REMOVE, move, 1, "removing an image's other row");
}
