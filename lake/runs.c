/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/runs.c - lists runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/batch.h"
#include "lake/run.h"
#include "lake/saturate.h"

struct runs_answer {
	struct lake_runs runs; /* first member: lake_runs_free casts the caller's pointer back */
	struct arena arena;
	size_t room;
	/* JSON lists: runs of older files in which a run of a newer file began; in which a job or a command began */
	const char *parents, *parents_of_jobs;
};

static const char sums_of_run[] =
	"SELECT processes, images, failures, cpu_ns, run_delay_ns, rchar_bytes, wchar_bytes, read_bytes, write_bytes, "
	"rss_max_bytes FROM rollup_run WHERE run = ?1"; /* ClickHouse: columns of the list itself */

/* Reads ten columns from this one on. */
static void read_sums(const struct lake_rows *rows, int column, struct lake_run *r)
{
	struct lake_totals *t = &r->totals;
	uint64_t *const number[] = {
		&t->processes,   &t->images,      &r->failures,   &t->cpu_ns,      &t->run_delay_ns,
		&t->rchar_bytes, &t->wchar_bytes, &t->read_bytes, &t->write_bytes, &t->rss_peak_bytes,
	};

	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)lake_rows_number(rows, column + (int)i);
	lake_run_memory(r);
}

/* Fills in the totals from the roll-up of the run in this row. sums: an answer to sums_of_run. 0 or -errno. */
static int run_sums(struct lake_rows *sums, int64_t row, struct lake_run *r)
{
	int err;

	(void)sqlite3_reset(sums->sqlite); /* its result is the one of the last step */
	(void)sqlite3_bind_int64(sums->sqlite, 1, row);
	while ((err = lake_rows_next(sums)) > 0)
		read_sums(sums, 0, r);
	return err;
}

/*
 * ?1, ?2: runs_answer.parents, parents_of_jobs of the files before.  A run begins after its parent: where two files
 * have them, the run is in the newer file, which is read first.  The lists lack parents that are in the run's own file:
 * the question looks there itself, by an index.
 */
static const struct lake_question parents_elsewhere = {
	.sqlite = "SELECT json_group_array(parent), json_group_array(parent) FILTER (WHERE job) FROM (SELECT parent, EXISTS "
		  "(SELECT 1 FROM run WHERE parent_run = parent AND origin IN ('shell', 'command')) AS job FROM (SELECT "
		  "DISTINCT parent_run AS parent FROM run WHERE parent_run > '') AS p WHERE NOT EXISTS (SELECT 1 FROM run WHERE "
		  "run = parent AND state <> '') UNION ALL SELECT value, value IN (SELECT value FROM json_each(?2)) FROM "
		  "json_each(?1))",
};

/*
 * ?7: enum lake_outcome; ?10: the most rows, -1: all; ?13, ?14: as ?1, ?2 above.  Only the asked conditions stand in
 * the text: SQLite chooses an index by them.  The caller frees it.
 */
static char *matching_sqlite(const struct lake_runs_query *q)
{
	char *sql = NULL;

	if (asprintf(&sql,
		     "SELECT " LAKE_RUN_COLUMNS " FROM run r WHERE coalesce(r.start_ns, 0) BETWEEN ?5 AND ?6%s%s%s%s%s%s "
		     "AND (coalesce(r.end_ns, 0) = 0 OR r.end_ns > ?11) AND CASE ?7 WHEN 0 THEN 1 "
		     "WHEN 1 THEN coalesce(r.end_ns, 0) = 0 WHEN 2 THEN r.exit_code > 0 OR r.signal <> 0 "
		     "ELSE r.exit_code = 0 AND coalesce(r.signal, 0) = 0 END "
		     "AND (?12 OR CASE r.origin WHEN 'session' THEN r.run NOT IN (SELECT parent_run FROM run) AND "
		     "r.run NOT IN (SELECT value FROM json_each(?13)) "
		     "WHEN 'shell' THEN r.run NOT IN (SELECT parent_run FROM run WHERE origin IN ('shell', 'command')) AND "
		     "r.run NOT IN (SELECT value FROM json_each(?14)) AND NOT "
		     "(" LAKE_RUN_SMALL " AND (coalesce(r.end_ns, 0) > 0 OR r.start_ns > (strftime('%%s') - 10) * 1000000000)) "
		     "ELSE 1 END) ORDER BY r.start_ns DESC, r.run DESC LIMIT ?10",
		     q->engine ? " AND r.engine = ?1" : "", q->pipeline ? " AND r.pipeline = ?2" : "",
		     q->job ? " AND (r.job = ?3 AND r.job <> '' OR r.id IN (SELECT run FROM task WHERE job = ?3 AND job <> ''))"
			    : "",
		     q->uid ? " AND r.uid = ?4" : "", q->within ? " AND r.parent_run = ?8" : "",
		     q->host ? " AND r.host = ?9" : "") < 0)
		sql = NULL;
	return sql;
}

/*
 * The same for ClickHouse, which has no sub-queries that refer to the query around them: "FROM run FINAL WHERE ...", for
 * the columns that a caller puts before it.  The caller frees it.
 */
static char *matching_clickhouse(const struct lake_runs_query *q)
{
	static const char *const outcomes[] = {
		[LAKE_ANY] = "",
		[LAKE_RUNS] = " AND end_ns = 0",
		[LAKE_FAILED] = " AND (exit_code > 0 OR signal != 0)",
		[LAKE_OK] = " AND exit_code = 0 AND signal = 0",
	};
	char limit[48] = "", alive[64] = "", *asked = NULL, *listed = NULL, *chosen = NULL;

	if (q->limit)
		snprintf(limit, sizeof(limit), "LIMIT %zu", q->limit);
	if (q->alive_ns)
		snprintf(alive, sizeof(alive), " AND (end_ns = 0 OR end_ns > %" PRIu64 ")", q->alive_ns);
	/* the order of the table task has runs, not jobs: the runs of the job's tasks are looked for without FINAL */
	if (asprintf(&asked, "start_ns BETWEEN ?5 AND ?6%s%s%s%s%s%s%s%s", q->engine ? " AND engine = ?1" : "",
		     q->pipeline ? " AND pipeline = ?2" : "",
		     q->job ? " AND (job = ?3 OR (boot_id, run) IN (SELECT boot_id, run FROM task FINAL "
			      "PREWHERE run IN (SELECT run FROM task WHERE job = ?3) WHERE job = ?3))"
			    : "",
		     q->uid ? " AND uid_user = ?4" : "", q->host ? " AND host = ?9" : "",
		     q->within ? " AND parent_run = ?8" : "", alive, outcomes[q->outcome]) < 0)
		asked = NULL;
	if (asked && asprintf(&listed, " AND NOT (origin = 'session' AND run IN (SELECT parent_run FROM run FINAL)) AND NOT "
				       "(origin = 'shell' AND run IN (SELECT parent_run FROM run FINAL WHERE origin IN "
				       "('shell', 'command'))) AND NOT (" LAKE_RUN_SMALL_CLICKHOUSE("%s")
				       " AND (end_ns > 0 OR start_ns > toUInt64(toUInt32(now()) - 10) * 1000000000))",
			      asked) < 0)
		listed = NULL;
	if (listed && asprintf(&chosen, "FROM run FINAL WHERE %s%s ORDER BY start_ns DESC, run DESC %s", asked,
			       q->sessions ? "" : listed, limit) < 0)
		chosen = NULL;
	free(asked);
	free(listed);
	return chosen;
}

/* Runs and their sums.  runs_: the rows of the runs; which_: their ids. */
#define RUNS_WITH_SUMS(runs_, which_)                                                                                 \
	"SELECT " LAKE_RUN_COLUMNS_CLICKHOUSE ", sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7, sum8, sum9 "          \
	"FROM (SELECT * " runs_ ") AS r ANY LEFT JOIN (SELECT run, boot_id, sum(last) AS sum0, "                       \
	"countIf(execed OR state != 'replaced') AS sum1, countIf(exit_code > 0 OR signal != 0) AS sum2, "              \
	LAKE_SUM_CLICKHOUSE("cpu_ns") " AS sum3, " LAKE_SUM_CLICKHOUSE("run_delay_ns") " AS sum4, "                    \
	LAKE_SUM_CLICKHOUSE("rchar_bytes") " AS sum5, " LAKE_SUM_CLICKHOUSE("wchar_bytes") " AS sum6, "                \
	LAKE_SUM_CLICKHOUSE("read_bytes") " AS sum7, " LAKE_SUM_CLICKHOUSE("write_bytes") " AS sum8, "                 \
	"max(rss_peak_bytes) AS sum9 FROM proc FINAL PREWHERE run IN (" which_ ") GROUP BY run, boot_id) AS s "        \
	"USING (run, boot_id) ORDER BY start_ns DESC, run DESC"

static int add_run(struct lake_file *f, const struct lake_rows *rows, struct lake_rows *sums,
		   struct runs_answer *answer)
{
	size_t room = answer->room ? 2 * answer->room : 32;
	int64_t row = 0;
	int err;

	if (answer->runs.n == answer->room) {
		struct lake_run *grown = realloc(answer->runs.runs, room * sizeof(*grown));

		if (!grown)
			return lake_file_error(f, SQLITE_NOMEM);
		answer->runs.runs = grown;
		answer->room = room;
	}
	err = lake_run_read(rows, &answer->arena, &row, &answer->runs.runs[answer->runs.n]);
	if (!err && rows->clickhouse)
		read_sums(rows, LAKE_RUN_COLUMNS_N, &answer->runs.runs[answer->runs.n]);
	else if (!err)
		err = run_sums(sums, row, &answer->runs.runs[answer->runs.n]);
	answer->runs.n += !err;
	return err;
}

struct asking {
	struct runs_answer *answer;
	const struct lake_runs_query *query;
	size_t files; /* that are to come; more if some cannot be read */
};

/* Before an older file is read. 0 or -errno. */
static int add_parents(struct lake_file *f, struct runs_answer *answer)
{
	const struct lake_value values[] = { LAKE_TEXT(answer->parents), LAKE_TEXT(answer->parents_of_jobs) };
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(f, &parents_elsewhere, values, sizeof(values) / sizeof(values[0]), &rows);

	while (!err && (err = lake_rows_next(&rows)) > 0) {
		answer->parents = lake_rows_text(&rows, 0, &answer->arena);
		answer->parents_of_jobs = lake_rows_text(&rows, 1, &answer->arena);
		err = answer->parents && answer->parents_of_jobs ? 0 : lake_file_error(f, SQLITE_NOMEM);
	}
	lake_rows_close(&rows);
	return err;
}

/*
 * A server that chooses runs out of 100,000 and reads all their columns takes 0.2 s (18.16): for FINAL it merges all of
 * them before it chooses.  So it is first asked which runs these are, then for them, by the table's order.
 */
#define LISTED_MOST 1000          /* runs */
#define LISTED_TEXT (96 << 10)    /* bytes of their ids: a query has 256 KiB at most */

/* Asks which runs match.  0 or -errno; the caller frees the list; its texts are in the arena. */
static int choose(struct lake_file *f, const char *matching, const struct lake_value *values, size_t n,
		  struct arena *a, struct lake_run_list *ret)
{
	struct lake_question question = { 0 };
	struct lake_rows rows = { 0 };
	char *sql = NULL;
	int err;

	if (asprintf(&sql, "SELECT run, boot_id %s", matching) < 0)
		return lake_file_error(f, SQLITE_NOMEM);
	question.clickhouse = sql;
	err = lake_rows_open(f, &question, values, n, &rows);
	free(sql);
	while (!err && (err = lake_rows_next(&rows)) > 0) {
		const char *id = lake_rows_text(&rows, 0, a), *boot_id = lake_rows_text(&rows, 1, a);

		err = id && boot_id ? lake_run_list_add(ret, a, id, boot_id) : -ENOMEM;
		if (err)
			err = lake_file_error(f, SQLITE_NOMEM);
	}
	lake_rows_close(&rows);
	return err;
}

/* Asks for the rows of the runs that match; ret: a cursor, which the caller closes; no rows: nothing was asked. */
static int ask_server(struct lake_file *f, const struct lake_runs_query *q, const struct lake_value *values, size_t n,
		      struct lake_rows *ret)
{
	static const struct lake_question of_list = {
		.clickhouse = RUNS_WITH_SUMS("FROM run FINAL PREWHERE run IN (?1) WHERE indexOf([?2], "
					     "concat(run, ' ', boot_id)) > 0", "?1"),
	};
	char *matching = matching_clickhouse(q), *sql = NULL;
	struct lake_run_list chosen = { 0 };
	struct arena arena = { 0 };
	int err = matching ? 0 : lake_file_error(f, SQLITE_NOMEM);
	bool few = q->limit && q->limit <= LISTED_MOST;

	if (!err && few)
		err = choose(f, matching, values, n, &arena, &chosen);
	few &= chosen.bytes <= LISTED_TEXT;
	if (!err && few && chosen.n) {
		const struct lake_value list[] = { LAKE_RUN_IDS(&chosen), LAKE_RUN_NAMES(&chosen) };

		err = lake_rows_open(f, &of_list, list, 2, ret);
	} else if (!err && !few) {
		if (asprintf(&sql, RUNS_WITH_SUMS("%s", "SELECT run %s"), matching, matching) < 0)
			sql = NULL;
		err = sql ? lake_rows_open(f, &(struct lake_question){ .clickhouse = sql }, values, n, ret)
			  : lake_file_error(f, SQLITE_NOMEM);
	}
	lake_run_list_free(&chosen);
	free(matching);
	free(sql);
	arena_free(&arena);
	return err;
}

static int ask_file(struct lake_file *f, const struct lake_runs_query *q, const struct lake_value *values, size_t n,
		    struct lake_rows *ret)
{
	char *sql = matching_sqlite(q);
	int err = sql ? lake_rows_open(f, &(struct lake_question){ .sqlite = sql }, values, n, ret)
		      : lake_file_error(f, SQLITE_NOMEM);

	free(sql);
	return err;
}

static int add_month(struct lake_file *f, void *arg)
{
	struct asking *asking = arg;
	const struct lake_runs_query *q = asking->query;
	struct runs_answer *answer = asking->answer;
	const struct lake_value values[] = {
		LAKE_TEXT(q->engine),
		LAKE_TEXT(q->pipeline),
		LAKE_TEXT(q->job),
		q->uid ? LAKE_NUMBER(*q->uid) : LAKE_TEXT(NULL),
		LAKE_NUMBER(q->since_ns),
		LAKE_NUMBER(q->until_ns ? (int64_t)q->until_ns - 1 : INT64_MAX),
		LAKE_NUMBER(q->outcome),
		LAKE_TEXT(q->within),
		LAKE_TEXT(q->host),
		LAKE_NUMBER(q->limit ? (int64_t)(q->limit - answer->runs.n) : -1),
		LAKE_NUMBER(q->alive_ns),
		LAKE_NUMBER(q->sessions),
		LAKE_TEXT(answer->parents),
		LAKE_TEXT(answer->parents_of_jobs),
	};
	const size_t n = sizeof(values) / sizeof(values[0]);
	struct lake_rows rows = { 0 }, sums = { 0 };
	int err = (f->server ? ask_server : ask_file)(f, q, values, n, &rows);

	if (!err && !f->server)
		err = lake_rows_open(f, &(struct lake_question){ .sqlite = sums_of_run }, NULL, 0, &sums);
	while (!err && rows.file && (err = lake_rows_next(&rows)) > 0)
		err = add_run(f, &rows, &sums, answer);
	lake_rows_close(&sums);
	lake_rows_close(&rows);
	if (err || (q->limit && answer->runs.n >= q->limit))
		return err ? err : 1;
	return --asking->files == 0 || q->sessions ? 0 : add_parents(f, answer);
}

int lake_runs(struct lake *l, const struct lake_runs_query *query, struct lake_runs **ret, char *why_text,
	      size_t why_size)
{
	const struct lake_runs_query q = query ? *query : (struct lake_runs_query){ 0 };
	struct lake_why why = { why_text, why_size };
	struct runs_answer *answer = calloc(1, sizeof(*answer));
	int err, unread = 0;

	if (!answer) {
		lake_say(&why, "out of memory");
		return -ENOMEM;
	}
	err = lake_each_file(l, &why, add_month, &(struct asking){ answer, &q, l->n_months }, &unread);
	if (!err && unread && !answer->runs.n)
		err = unread; /* no file can be read: why has the message of the last */
	if (err) {
		lake_runs_free(&answer->runs);
		return err;
	}
	*ret = &answer->runs;
	return 0;
}

struct lake_runs *lake_runs_free(struct lake_runs *runs)
{
	struct runs_answer *answer = (struct runs_answer *)runs;

	if (!answer)
		return NULL;
	free(answer->runs.runs);
	arena_free(&answer->arena);
	free(answer);
	return NULL;
}
