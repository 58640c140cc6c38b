/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/rows.c - a prepared statement of SQLite, or the answer of a ClickHouse server, as a cursor.
 */
#include "lake/rows.h"

#include "lake/batch.h"
#include "lake/saturate.h"
#include "lake/server.h"

int lake_rows_open(struct lake_file *f, const struct lake_question *q, const struct lake_value *values, size_t n,
		   struct lake_rows *ret)
{
	struct lake_rows r = { .file = f };
	int err;

	err = f->server ? server_rows_open(f->server, f->why, q->clickhouse, values, n, &r.clickhouse)
			: lake_file_prepare(f, q->sqlite, &r.sqlite);
	if (err)
		return err;
	/* SQLite refuses a value that the statement does not use; binding fails for no other reason */
	for (size_t i = 0; r.sqlite && i < n; i++) {
		if (values[i].type == LAKE_V_NUMBER)
			(void)sqlite3_bind_int64(r.sqlite, (int)i + 1, values[i].number);
		else if (values[i].type == LAKE_V_TEXT)
			(void)sqlite3_bind_text(r.sqlite, (int)i + 1, values[i].text, -1, SQLITE_STATIC);
	}
	*ret = r;
	return 0;
}

int lake_rows_of_run(struct lake_file *f, const struct lake_question *q, const struct lake_key *key,
		     struct lake_rows *ret)
{
	const struct lake_value values[] = { LAKE_NUMBER(key->row), LAKE_TEXT(key->run), LAKE_TEXT(key->boot_id) };

	if (f->batch && q->clickhouse_runs) {
		*ret = (struct lake_rows){ .file = f };
		return lake_batch_rows(f->batch, f, q, key, &ret->clickhouse);
	}
	return lake_rows_open(f, q, values, 3, ret);
}

int lake_rows_next(struct lake_rows *r)
{
	int rc;

	if (r->clickhouse)
		return server_rows_next(r->clickhouse);
	rc = sqlite3_step(r->sqlite);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : lake_file_error(r->file, rc);
}

int lake_rows_finish(struct lake_rows *r)
{
	int err = r->clickhouse != NULL;

	while (err > 0)
		err = server_rows_next(r->clickhouse);
	return err;
}

void lake_rows_close(struct lake_rows *r)
{
	server_rows_close(r->clickhouse);
	sqlite3_finalize(r->sqlite);
	*r = (struct lake_rows){ 0 };
}

int64_t lake_rows_number(const struct lake_rows *r, int column)
{
	int64_t n = r->clickhouse ? server_rows_number(r->clickhouse, column)
				  : sqlite3_column_int64(r->sqlite, column);

	*r->file->saturated |= n == LAKE_SUM_MOST;
	return n;
}

double lake_rows_real(const struct lake_rows *r, int column)
{
	return r->clickhouse ? server_rows_real(r->clickhouse, column) : sqlite3_column_double(r->sqlite, column);
}

const char *lake_rows_bytes(const struct lake_rows *r, int column, size_t *ret_n)
{
	const char *bytes;

	if (r->clickhouse)
		return server_rows_text(r->clickhouse, column, ret_n);
	/* Only SQLite's function for texts ends them with a NUL. */
	bytes = sqlite3_column_type(r->sqlite, column) == SQLITE_TEXT
			? (const char *)sqlite3_column_text(r->sqlite, column)
			: sqlite3_column_blob(r->sqlite, column);
	*ret_n = bytes ? (size_t)sqlite3_column_bytes(r->sqlite, column) : 0;
	return bytes ? bytes : "";
}

const char *lake_rows_text(const struct lake_rows *r, int column, struct arena *a)
{
	size_t n = 0;
	const char *bytes = lake_rows_bytes(r, column, &n);

	return arena_copy(a, bytes, n);
}

const char *const *lake_rows_list(const struct lake_rows *r, int column, struct arena *a)
{
	size_t n = 0;
	const char *bytes = lake_rows_bytes(r, column, &n);

	return lake_list(bytes, n, a);
}
