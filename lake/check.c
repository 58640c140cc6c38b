/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/check.c - checks a file: SQLite's own check of its pages, numbers that name no row, and whether the sums agree
 * with the rows.  The sink adds rows and sums in one transaction, so a difference is a defect of skep, or another
 * program has changed the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lake/file.h"
#include "lake/status.h"

#define PROBLEM_LINES "10"

/* The columns of the tables rollup_*, and their values by a row of proc_rows: as roll_up() in sinks/lake/ingest.c. */
#define EACH(M)                                                                                                \
	M(processes, "coalesce(last, 0) <> 0")                                                                 \
	M(images, "(" EXECED " OR NOT " REPLACED ")")                                                          \
	M(calls, "(" EXECED " AND coalesce(wrapper, 0) = 0)")                                                  \
	M(forks, "NOT (" EXECED " OR " REPLACED ")")                                                           \
	M(failures, "(coalesce(exit_code, 0) > 0 OR coalesce(signal, 0) <> 0)")                                \
	M(cpu_ns, "cpu_ns")                                                                                    \
	M(wall_ns, "CASE WHEN coalesce(wrapper, 0) = 0 AND start_ns > 0 AND end_ns > start_ns THEN end_ns - start_ns END") \
	M(run_delay_ns, "run_delay_ns")                                                                        \
	M(rchar_bytes, "rchar_bytes")                                                                          \
	M(wchar_bytes, "wchar_bytes")                                                                          \
	M(read_bytes, "read_bytes")                                                                            \
	M(write_bytes, "write_bytes")
#define EXECED   "coalesce(execed, 0) <> 0"
#define REPLACED "coalesce(state = (SELECT id FROM dict WHERE s = 'replaced'), 0)"

/* The columns of usage_hour that a host's ledger fills, by a row of `record`: as usage_add() in sinks/lake/usage.c. */
#define EACH_POST(M)                                                                                           \
	M(capacity_ns, POST("cpu", REFERENCE))                                                                 \
	M(busy_ns, POST("cpu", PART "IN ('processes', 'excluded')"))                                           \
	M(idle_ns, POST("cpu", PART "= 'idle'"))                                                               \
	M(rx_bytes, POST("net.rx", REFERENCE))                                                                 \
	M(tx_bytes, POST("net.tx", REFERENCE))                                                                 \
	M(read_bytes, POST("disk.read", REFERENCE))                                                            \
	M(write_bytes, POST("disk.write", REFERENCE))
#define POST(account, more)                                                                                    \
	"CASE WHEN json_extract(fields, '$.account') = '" account "' AND " more                                \
	" THEN max(CAST(json_extract(fields, '$.amount') AS INTEGER), 0) END"
#define REFERENCE "json_extract(fields, '$.kind') = 'reference'"
#define PART      "json_extract(fields, '$.kind') = 'part' AND json_extract(fields, '$.item') "

/* Both sides of a sum: k_NAME is the value that the file keeps, r_NAME the same sum over the rows. */
#define NAME(n, row)    #n,
#define KEPT(n, row)    #n " k_" #n ", 0 r_" #n ", "
#define OF_ROW(n, row)  "0, " row ", "
#define OF_ROWS(n, row) "0, sum(" row "), "
#define OF_SUMS(n, row) "0, sum(" #n "), "
#define NOTHING(n, row) "0, 0, "
#define SUM(n, row)     "sum(k_" #n "), coalesce(sum(r_" #n "), 0), "
#define DIFFERS(n, row) "sum(k_" #n ") <> coalesce(sum(r_" #n "), 0) OR "

#define MOST         "max(k_most), max(r_most) "
#define MOST_DIFFERS "max(k_most) <> max(r_most)"
#define RUNS         "sum(k_runs), coalesce(sum(r_runs), 0) "
#define RUNS_DIFFER  "sum(k_runs) <> coalesce(sum(r_runs), 0)"

#define RUN_OF  "'run ' || coalesce((SELECT run FROM run WHERE id = x.run), '-')"
#define TEXT(x) "coalesce((SELECT s FROM dict WHERE id = " x "), '?')"
#define DAY     "86400000000000"

static const char *const rolled[] = { EACH(NAME) "rss_max_bytes", NULL };
static const char *const used[] = { EACH_POST(NAME) "runs_ns", NULL };

/* Why a sum may be more than its rows have. */
enum { NEVER, SUMMED = 1, OTHER_DAYS = 2 };

/*
 * A question gives a row for each difference: its name, and for each column the kept value and the sum over the rows.
 * Where a row has no start, all days are compared as one, because the sink took the record's time.
 */
static const struct {
	const char *table, *sql;
	const char *const *columns;
	unsigned more; /* why it may have more */
} questions[] = {
	{ "rollup_run_tool",
	  "SELECT " RUN_OF " || ', tool ' || " TEXT("x.tool") ", " EACH(SUM) MOST
	  "FROM (SELECT run, tool, " EACH(KEPT) "rss_max_bytes k_most, 0 r_most FROM rollup_run_tool UNION ALL "
	  "SELECT run, tool, " EACH(OF_ROWS) "0, coalesce(max(rss_peak_bytes), 0) FROM proc_rows GROUP BY run, tool) x "
	  "GROUP BY run, tool HAVING " EACH(DIFFERS) MOST_DIFFERS,
	  rolled, SUMMED },
	{ "rollup_run",
	  "SELECT " RUN_OF ", " EACH(SUM) MOST
	  "FROM (SELECT run, " EACH(KEPT) "rss_max_bytes k_most, 0 r_most FROM rollup_run UNION ALL "
	  "SELECT run, " EACH(OF_SUMS) "0, max(rss_max_bytes) FROM rollup_run_tool GROUP BY run) x "
	  "GROUP BY run HAVING " EACH(DIFFERS) MOST_DIFFERS,
	  rolled, NEVER },
	{ "rollup_day",
	  "WITH known AS (SELECT NOT EXISTS (SELECT 1 FROM proc_rows WHERE coalesce(start_ns, 0) <= 0) n) "
	  "SELECT CASE WHEN day THEN date(day * 86400, 'unixepoch') ELSE 'all days' END || ', tool ' || " TEXT("x.tool") ", "
	  EACH(SUM) MOST
	  "FROM (SELECT day * (SELECT n FROM known) day, tool, " EACH(KEPT) "rss_max_bytes k_most, 0 r_most FROM rollup_day "
	  "UNION ALL SELECT coalesce(start_ns, 0) / " DAY " * (SELECT n FROM known), tool, " EACH(OF_ROWS)
	  "0, coalesce(max(rss_peak_bytes), 0) FROM proc_rows GROUP BY 1, 2) x "
	  "GROUP BY day, tool HAVING " EACH(DIFFERS) MOST_DIFFERS,
	  rolled, SUMMED | OTHER_DAYS },
	{ "usage_hour",
	  "SELECT 'all hours', " EACH_POST(SUM) RUNS
	  "FROM (SELECT 1 one, " EACH_POST(KEPT) "runs_ns k_runs, 0 r_runs FROM usage_hour WHERE item = 0 UNION ALL "
	  "SELECT 1, " EACH_POST(OF_ROW) "0, 0 FROM record WHERE stream = (SELECT id FROM dict WHERE s = 'ledger') AND run = 0 "
	  "AND time_ns > 0 UNION ALL "
	  "SELECT 1, " EACH_POST(NOTHING) "0, max(cpu_ns, 0) FROM sample WHERE run <> 0 AND start_ns > 0) "
	  "GROUP BY one HAVING " EACH_POST(DIFFERS) RUNS_DIFFER,
	  used, SUMMED },
};

/* Numbers that must name a row of another table. */
#define IN_DICT(x) x " NOT IN (SELECT id FROM dict)"
static const struct {
	const char *what, *sql;
} links[] = {
	{ "rows of proc_row have no proc_kind", "SELECT count(*) FROM proc_row WHERE kind NOT IN (SELECT id FROM proc_kind)" },
	{ "rows of proc_row have no proc_argv",
	  "SELECT count(*) FROM proc_row WHERE argv <> 0 AND argv NOT IN (SELECT id FROM proc_argv)" },
	{ "rows of proc_row have no run", "SELECT count(*) FROM proc_row WHERE run <> 0 AND run NOT IN (SELECT id FROM run)" },
	{ "rows of task have no run", "SELECT count(*) FROM task WHERE run <> 0 AND run NOT IN (SELECT id FROM run)" },
	{ "rows of sample have no run", "SELECT count(*) FROM sample WHERE run <> 0 AND run NOT IN (SELECT id FROM run)" },
	{ "rows of proc_facet have no process",
	  "SELECT count(*) FROM proc_facet WHERE proc NOT IN (SELECT id FROM proc_row)" },
	{ "rows of proc_kind have a text that is not in dict",
	  "SELECT count(*) FROM proc_kind WHERE " IN_DICT("task") " OR " IN_DICT("tool") " OR " IN_DICT("boot") " OR "
	  IN_DICT("state") " OR " IN_DICT("comm") " OR " IN_DICT("exe") " OR " IN_DICT("filename") " OR " IN_DICT("cwd") " OR "
	  IN_DICT("cgroup") " OR " IN_DICT("container") " OR " IN_DICT("oom_cgroup") " OR " IN_DICT("task_id") " OR "
	  IN_DICT("step") " OR " IN_DICT("scopes") " OR " IN_DICT("unit") },
	{ "rows of sample have a tool that is not in dict", "SELECT count(*) FROM sample WHERE " IN_DICT("tool") },
	{ "rows of record have a stream that is not in dict", "SELECT count(*) FROM record WHERE " IN_DICT("stream") },
};

/* Keeps the first problem of a damaged file. 0 or -ENOMEM. */
static int damaged(const struct lake_file *f, const char *what, char **ret)
{
	if (asprintf(ret, "%s: %s; it is damaged: to save its readable rows see \"Damaged files\" in skep-lake(7)", f->path,
		     what) >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

int lake_check_pages(struct lake_file *f, char **ret_problem)
{
	sqlite3_stmt *s = NULL;
	int rc = SQLITE_DONE, err = lake_file_prepare(f, "PRAGMA integrity_check(" PROBLEM_LINES ")", &s);

	*ret_problem = NULL;
	while (!err && !*ret_problem && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *line = (const char *)sqlite3_column_text(s, 0);

		if (!line || strcmp(line, "ok") != 0)
			err = damaged(f, line ? line : "out of memory", ret_problem);
	}
	if (!err && !*ret_problem && rc != SQLITE_DONE)
		err = lake_file_error(f, rc);
	sqlite3_finalize(s);
	return err;
}

static int number(struct lake_file *f, const char *sql, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int rc, err = lake_file_prepare(f, sql, &s);

	if (err)
		return err;
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	else
		err = lake_file_error(f, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc);
	sqlite3_finalize(s);
	return err;
}

static int check_links(struct lake_file *f, struct lake_check *of)
{
	uint64_t n = 0;
	char what[96];
	int err = 0;

	for (size_t i = 0; !err && !of->problem && i < sizeof(links) / sizeof(links[0]); i++) {
		err = number(f, links[i].sql, &n);
		if (err || n == 0)
			continue;
		snprintf(what, sizeof(what), "%" PRIu64 " %s", n, links[i].what);
		err = damaged(f, what, &of->problem);
	}
	return err;
}

/* A row of an answer: each column that differs. */
static void take_row(sqlite3_stmt *s, size_t which, bool more, struct lake_check *of)
{
	const char *row = (const char *)sqlite3_column_text(s, 0);

	for (int i = 0; questions[which].columns[i]; i++) {
		struct lake_difference d = {
			.table = questions[which].table,
			.column = questions[which].columns[i],
			.kept = (uint64_t)sqlite3_column_int64(s, 2 * i + 1),
			.rows = (uint64_t)sqlite3_column_int64(s, 2 * i + 2),
		};

		if (d.kept == d.rows || (more && d.kept > d.rows))
			continue;
		of->n_differences++;
		if (of->n_shown == LAKE_CHECK_SHOWN)
			continue;
		snprintf(d.of, sizeof(d.of), "%s", row ? row : "?");
		of->shown[of->n_shown++] = d;
	}
}

/* more: the reasons that hold for this file. */
static int compare(struct lake_file *f, size_t which, unsigned more, struct lake_check *of)
{
	sqlite3_stmt *s = NULL;
	int rc = SQLITE_DONE, err = lake_file_prepare(f, questions[which].sql, &s);

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
		take_row(s, which, questions[which].more & more, of);
	if (!err && rc != SQLITE_DONE)
		err = lake_file_error(f, rc);
	sqlite3_finalize(s);
	return err;
}

static int check(struct lake_file *f, struct lake_check *of)
{
	uint64_t other_days = 0;
	unsigned more = NEVER;
	int err = lake_check_pages(f, &of->problem);

	if (!err && !of->problem)
		err = number(f, "SELECT count(*) FROM run", &of->runs);
	if (!err && !of->problem)
		err = number(f, "SELECT count(*) FROM proc_row", &of->images);
	if (!err && !of->problem)
		err = check_links(f, of);
	if (!err && !of->problem)
		err = number(f, "SELECT coalesce(sum(CAST(value AS INTEGER)), 0) FROM meta WHERE key = 'rows_summed'", &of->summed);
	if (!err && !of->problem)
		err = number(f, "SELECT count(*) FROM meta WHERE key = 'other_days'", &other_days);
	more |= of->summed ? SUMMED : 0;
	more |= other_days ? OTHER_DAYS : 0;
	for (size_t i = 0; !err && !of->problem && i < sizeof(questions) / sizeof(questions[0]); i++)
		err = compare(f, i, more, of);
	return err;
}

int lake_check(struct lake *l, size_t i, struct lake_check *ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct lake_check of = { 0 };
	struct lake_file f;
	char *path;
	int err;

	if (i >= l->n_months)
		return -ENODATA;
	path = lake_file_path(l, l->months[i]);
	of.name = path ? strdup(path + strlen(l->path) + 1) : NULL;
	free(path);
	err = of.name ? lake_file_open(l, l->months[i], &why, &f) : -ENOMEM;
	if (!err) {
		err = check(&f, &of);
		lake_file_close(&f);
	}
	if (err && err != -ENOMEM && !of.problem) {
		of.problem = strdup(why.text);
		err = of.problem ? 0 : -ENOMEM;
	}
	if (err) {
		lake_say(&why, "out of memory");
		lake_check_end(&of);
		return err;
	}
	*ret = of;
	return 0;
}

void lake_check_end(struct lake_check *c)
{
	free(c->name);
	free(c->problem);
	*c = (struct lake_check){ 0 };
}
