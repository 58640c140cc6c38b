/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/rows.h - a cursor over the rows that answer one question.  Internal to lake/.
 */
#ifndef SKEP_LAKE_ROWS_H
#define SKEP_LAKE_ROWS_H

#include "lake/file.h"

struct server_rows;

/* A value for ?1, ?2, ... of a question. */
struct lake_value {
	enum { LAKE_V_NULL, LAKE_V_NUMBER, LAKE_V_TEXT, LAKE_V_TEXTS } type;
	int64_t number;          /* TEXTS: how many */
	const char *text;        /* borrowed until the cursor is closed */
	const char *const *list; /* the same; ClickHouse alone */
};

#define LAKE_NUMBER(n_) ((struct lake_value){ .type = LAKE_V_NUMBER, .number = (int64_t)(n_) })
/* NULL: SQL's NULL. */
#define LAKE_TEXT(s_) ((struct lake_value){ .type = LAKE_V_TEXT, .text = (s_) })
#define LAKE_TEXTS(list_, n_) ((struct lake_value){ .type = LAKE_V_TEXTS, .number = (n_), .list = (list_) })

/*
 * One question in the words of both back ends: the same columns in the same order, the same values.
 *
 * To ClickHouse, conditions on columns of the table's key stand in PREWHERE: with FINAL, a server reads every column of
 * the rows that WHERE then leaves out (18.16: 40 times as long for a run that a million rows lack).  Rows that FINAL
 * merges have one key, so they pass together or fail together.  Other columns may differ between them: they stay in
 * WHERE.
 */
struct lake_question {
	const char *sqlite, *clickhouse;
	const char *clickhouse_runs; /* of LAKE_OF_RUN(); NULL: the question is about one run at a time */
};

/*
 * ClickHouse's words for what a table has of one run, and of several: then the last column is the run's place in the
 * list, from 1 on.  of_runs_: the same columns, but a constant for each column that lake_reports() does not promise.
 */
#define LAKE_OF_RUN(columns_, of_runs_, table_)                                                                   \
	.clickhouse = "SELECT " columns_ " FROM " table_ " FINAL PREWHERE run = ?2 WHERE boot_id = ?3",           \
	.clickhouse_runs = "SELECT " of_runs_ ", indexOf([?3], concat(run, ' ', boot_id)) AS nth FROM " table_     \
			   " FINAL PREWHERE run IN (?2) WHERE nth > 0"

/* A list in ClickHouse as SQLite has it: "a\0b\0". */
#define LAKE_LIST(column_) "arrayStringConcat(arrayMap(x -> concat(x, '\\0'), " column_ "))"

struct lake_rows {
	struct lake_file *file; /* borrowed */
	sqlite3_stmt *sqlite;
	struct server_rows *clickhouse; /* NULL: SQLite */
};

/*
 * Asks a file.  A question need not use all values.  0, and the caller closes the cursor; or -errno with the reason in
 * the file's why.
 */
int lake_rows_open(struct lake_file *, const struct lake_question *, const struct lake_value *, size_t n,
		   struct lake_rows *ret);
/*
 * The same about a run. ?1: its row in SQLite; ?2, ?3: its id and boot id.  A file of a batch asks for all runs of the
 * batch at once, and keeps the rows until each of them asks for its own.
 */
int lake_rows_of_run(struct lake_file *, const struct lake_question *, const struct lake_key *, struct lake_rows *ret);
/* Moves to the next row. 1; 0: there is none, and the answer is whole; -errno with the reason. */
int lake_rows_next(struct lake_rows *);
/* For a caller that needs no more rows: reads a server's answer to its end, to know that it is whole. 0 or -errno. */
int lake_rows_finish(struct lake_rows *);
void lake_rows_close(struct lake_rows *);

/* Values of the row that the cursor stands on; columns count from 0.  NULL is 0, and "". */
int64_t lake_rows_number(const struct lake_rows *, int column);
double lake_rows_real(const struct lake_rows *, int column);
/* The bytes of a text or list, valid until the next row; a text has a NUL behind it. */
const char *lake_rows_bytes(const struct lake_rows *, int column, size_t *ret_n);
const char *lake_rows_text(const struct lake_rows *, int column, struct arena *); /* NULL: no memory */
/* Copies a list "a\0b\0" to the arena, NULL-terminated. NULL: no memory. */
const char *const *lake_rows_list(const struct lake_rows *, int column, struct arena *);

#endif
