/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db_sink.c - the offset of each sink, and the batches that receivers refused for good.
 */
#include <errno.h>
#include <string.h>

#include "spool/db_priv.h"

#define DEAD_BYTES_MAX (64 << 20)

/* Reads the totals of the last stored batch up to that id; *ret_found false: there is none. */
static int totals_at(struct spool_db *db, uint64_t id, int64_t *ret_n, int64_t *ret_bytes, bool *ret_found)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_TOTALS_AT,
			       "SELECT total_n, total_bytes FROM batch WHERE id <= ?1 ORDER BY id DESC LIMIT 1", &s),
	    rc;

	if (err < 0)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
	rc = sqlite3_step(s);
	*ret_found = rc == SQLITE_ROW;
	if (*ret_found) {
		*ret_n = sqlite3_column_int64(s, 0);
		*ret_bytes = sqlite3_column_int64(s, 1);
	}
	err = db_fail(db, rc);
	sqlite3_reset(s);
	return err;
}

/* Keeps the totals of an offset that does not change: the rows with these totals may have been deleted since. */
#define SINK_MOVE \
	"INSERT INTO sink (name, cursor, total_n, total_bytes) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE SET " \
	"cursor = max(cursor, excluded.cursor), total_n = max(total_n, excluded.total_n), " \
	"total_bytes = max(total_bytes, excluded.total_bytes)"

int spool_sink_move(struct spool_db *db, const char *name, uint64_t cursor)
{
	sqlite3_stmt *s = NULL;
	int64_t n = 0, bytes = 0;
	bool found = false;
	int err = cursor ? totals_at(db, cursor, &n, &bytes, &found) : 0;

	if (err == 0)
		err = db_statement(db, DB_SINK_MOVE, SINK_MOVE, &s);
	if (err < 0)
		return err;
	if (!found && cursor >= db->last_id) {
		n = db->total_n;
		bytes = db->total_bytes;
	}
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)cursor);
	sqlite3_bind_int64(s, 3, n);
	sqlite3_bind_int64(s, 4, bytes);
	return db_run(db, s);
}

int spool_sink_begin(struct spool_db *db, const char *name, uint64_t behind, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "SELECT cursor FROM sink WHERE name = ?1", -1, &s, NULL), err;

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		rc = sqlite3_step(s);
	}
	if (rc == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	err = db_fail(db, rc);
	sqlite3_finalize(s);
	if (err < 0 || rc == SQLITE_ROW)
		return err;
	*ret = behind;
	return spool_sink_move(db, name, behind);
}

int spool_sink_forget(struct spool_db *db, const char *name)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "DELETE FROM sink WHERE name = ?1", -1, &s, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		rc = sqlite3_step(s);
	}
	rc = db_fail(db, rc);
	sqlite3_finalize(s);
	return rc;
}

int spool_records(struct spool_db *db, uint64_t after, uint64_t upto, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "SELECT sum(n) FROM batch WHERE id > ?1 AND id <= ?2", -1, &s, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (int64_t)after);
		sqlite3_bind_int64(s, 2, (int64_t)upto);
		rc = sqlite3_step(s);
	}
	if (rc == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	rc = db_fail(db, rc);
	sqlite3_finalize(s);
	return rc;
}

int spool_sinks(struct spool_db *db, void (*cb)(void *arg, const char *name, uint64_t cursor), void *arg)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "SELECT name, cursor FROM sink ORDER BY name", -1, &s, NULL);

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_ROW)
			cb(arg, (const char *)sqlite3_column_text(s, 0), (uint64_t)sqlite3_column_int64(s, 1));
	}
	rc = db_fail(db, rc);
	sqlite3_finalize(s);
	return rc;
}

int spool_sink_lag(struct spool_db *db, const char *name, struct spool_lag *ret)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_LAG, "SELECT cursor, total_n, total_bytes FROM sink WHERE name = ?1", &s), rc;
	int64_t cursor = 0;

	*ret = (struct spool_lag){ 0 };
	if (err < 0)
		return err;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		cursor = sqlite3_column_int64(s, 0);
		ret->records = (uint64_t)(db->total_n - sqlite3_column_int64(s, 1));
		ret->batches_bytes = (uint64_t)(db->total_bytes - sqlite3_column_int64(s, 2));
	}
	err = db_fail(db, rc);
	sqlite3_reset(s);
	if (err == 0)
		err = db_statement(db, DB_SINK_OLDEST, "SELECT made_ns FROM batch WHERE id > ?1 ORDER BY id LIMIT 1",
				   &s);
	if (err < 0)
		return err;
	sqlite3_bind_int64(s, 1, cursor);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		ret->oldest_ns = sqlite3_column_int64(s, 0);
	err = db_fail(db, rc);
	sqlite3_reset(s);
	return err;
}

/* ---- dead letters ---------------------------------------------------------------- */

int db_drop_dead(struct spool_db *db, int64_t *ret_bytes)
{
	int err;

	*ret_bytes = 0;
	if (db->dead_bytes <= 0)
		return 0;
	err = db_number(db, "SELECT length(body) FROM dead ORDER BY id LIMIT 1", ret_bytes);
	if (err == 0)
		err = db_exec(db, "DELETE FROM dead WHERE id = (SELECT min(id) FROM dead)");
	if (err == 0)
		db->dead_bytes -= *ret_bytes > 0 && *ret_bytes < db->dead_bytes ? *ret_bytes : db->dead_bytes;
	return err;
}

int spool_dead_add(struct spool_db *db, uint64_t batch, const char *sink, unsigned status, const char *why, uint32_t n,
		   const void *body, size_t size)
{
	sqlite3_stmt *s;
	int64_t dropped;
	int err = 0;

	while (db->dead_bytes + (int64_t)size > DEAD_BYTES_MAX && db->dead_bytes > 0 && err == 0)
		err = db_drop_dead(db, &dropped);
	if (err == 0)
		err = db_statement(
			db, DB_DEAD_ADD,
			"INSERT INTO dead (batch, sink, at_ns, status, why, n, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			&s);
	if (err != 0)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)batch);
	sqlite3_bind_text(s, 2, sink, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, db_realtime_ns());
	sqlite3_bind_int64(s, 4, status);
	sqlite3_bind_text(s, 5, why ? why : "", -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, n);
	sqlite3_bind_blob64(s, 7, body, size, SQLITE_STATIC);
	err = db_run(db, s);
	if (err == 0)
		db->dead_bytes += (int64_t)size;
	return err;
}

int spool_dead(struct spool_db *db, spool_dead_fn cb, void *arg)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(
		    db->sql, "SELECT id, batch, sink, at_ns, status, why, n, body FROM dead ORDER BY id", -1, &s, NULL),
	    err = 0;

	while (err == 0 && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_ROW)
			err = cb(arg, sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1),
				 (const char *)sqlite3_column_text(s, 2), sqlite3_column_int64(s, 3),
				 (unsigned)sqlite3_column_int64(s, 4), (const char *)sqlite3_column_text(s, 5),
				 (uint32_t)sqlite3_column_int64(s, 6), sqlite3_column_blob(s, 7),
				 (size_t)sqlite3_column_bytes(s, 7));
	}
	if (err == 0)
		err = db_fail(db, rc);
	sqlite3_finalize(s);
	return err;
}

int spool_dead_drop(struct spool_db *db, const char *sink, uint64_t *ret_n)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "DELETE FROM dead WHERE ?1 IS NULL OR sink = ?1", -1, &s, NULL), err;

	if (rc == SQLITE_OK) {
		if (sink)
			sqlite3_bind_text(s, 1, sink, -1, SQLITE_STATIC);
		rc = sqlite3_step(s);
	}
	*ret_n = (uint64_t)sqlite3_changes(db->sql);
	err = db_fail(db, rc);
	sqlite3_finalize(s);
	return err < 0 ? err : db_number(db, "SELECT coalesce(sum(length(body)), 0) FROM dead", &db->dead_bytes);
}
