/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db_batch.c - the table of batches: appends, reads in order, deletes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "spool/db_priv.h"

/* Of one call of spool_trim or spool_expire: a transaction that takes SQLite some 10 ms. New batches wait for it. */
#define STEP_BYTES (8 << 20)
#define STEP_BATCHES 1024u

/* Bytes of the file that a row takes: SQLite fills its pages to about nine tenths. */
static int64_t bytes_of(size_t body)
{
	return (int64_t)(body + body / 8 + 256);
}

int spool_append(struct spool_db *db, uint64_t id, enum spool_kind kind, uint32_t n, const char *counts,
		 const void *body, size_t size)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_APPEND,
			       "INSERT INTO batch (id, kind, n, made_ns, total_n, total_bytes, counts, body) "
			       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
			       &s);

	if (err < 0)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
	sqlite3_bind_int(s, 2, (int)kind);
	sqlite3_bind_int64(s, 3, n);
	sqlite3_bind_int64(s, 4, db_realtime_ns());
	sqlite3_bind_int64(s, 5, db->total_n + n);
	sqlite3_bind_int64(s, 6, db->total_bytes + (int64_t)size);
	sqlite3_bind_text(s, 7, counts, -1, SQLITE_STATIC);
	sqlite3_bind_blob64(s, 8, body, size, SQLITE_STATIC);
	err = db_run(db, s);
	if (err < 0)
		return err;
	db->total_n += n;
	db->total_bytes += (int64_t)size;
	if (id > db->last_id)
		db->last_id = id;
	return 0;
}

int spool_next(struct spool_db *db, uint64_t after, struct spool_row *ret)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_NEXT,
			       "SELECT id, n, made_ns, counts, body FROM batch WHERE id > ?1 ORDER BY id LIMIT 1", &s),
	    rc;

	*ret = (struct spool_row){ 0 };
	if (err < 0)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)after);
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW) {
		err = db_fail(db, rc);
		sqlite3_reset(s);
		return err;
	}
	*ret = (struct spool_row){
		.id = (uint64_t)sqlite3_column_int64(s, 0),
		.n = (uint32_t)sqlite3_column_int64(s, 1),
		.made_ns = sqlite3_column_int64(s, 2),
		.counts = (const char *)sqlite3_column_text(s, 3),
		.body = sqlite3_column_blob(s, 4),
		.size = (size_t)sqlite3_column_bytes(s, 4),
	};
	return 0; /* db_statement or spool_begin resets the statement later: *ret borrows from the row */
}

static int take_out(struct spool_db *db, uint64_t id)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_DELETE, "DELETE FROM batch WHERE id = ?1", &s);

	if (err < 0)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
	return db_run(db, s);
}

/* Reports the oldest batch of the query to the callback, if any, and deletes it. *ret_bytes 0: no batch fits. */
static int take_oldest(struct spool_db *db, enum db_statement which, const char *sql, int64_t before_ns, uint64_t upto,
		       spool_gone_fn gone, void *arg, int64_t *ret_bytes)
{
	sqlite3_stmt *s;
	uint64_t id;
	int err = db_statement(db, which, sql, &s), rc;

	*ret_bytes = 0;
	if (err < 0)
		return err;
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW || (before_ns && sqlite3_column_int64(s, 4) >= before_ns) ||
	    (uint64_t)sqlite3_column_int64(s, 0) > upto) {
		err = rc == SQLITE_ROW ? 0 : db_fail(db, rc);
		sqlite3_reset(s);
		return err;
	}
	id = (uint64_t)sqlite3_column_int64(s, 0);
	*ret_bytes = bytes_of((size_t)sqlite3_column_int64(s, 3));
	if (gone)
		gone(arg, id, (uint32_t)sqlite3_column_int64(s, 1), (const char *)sqlite3_column_text(s, 2));
	sqlite3_reset(s);
	return take_out(db, id);
}

#define OLDEST "SELECT id, n, counts, length(body), made_ns FROM batch "

int db_evict(struct spool_db *db, uint64_t bytes, spool_gone_fn gone, void *arg)
{
	int64_t freed = 0, some;
	int err;

	do {
		err = take_oldest(db, DB_OLDEST, OLDEST "ORDER BY id LIMIT 1", 0, db->acked, NULL, NULL, &some);
		if (err == 0 && some == 0)
			err = db_drop_dead(db, &some); /* no sink gets dead letters any more */
		if (err == 0 && some == 0)
			err = take_oldest(db, DB_OLDEST_SAMPLE, OLDEST "WHERE kind = 1 ORDER BY id LIMIT 1", 0,
					  UINT64_MAX, gone, arg, &some);
		if (err == 0 && some == 0)
			err = take_oldest(db, DB_OLDEST, OLDEST "ORDER BY id LIMIT 1", 0, UINT64_MAX, gone, arg, &some);
		freed += some;
	} while (err == 0 && some > 0 && (uint64_t)freed < bytes);
	if (err == 0 && freed == 0) {
		snprintf(db->why, sizeof(db->why), "no room, and no batch left to delete");
		return -ENOSPC;
	}
	return err;
}

/* Drops the oldest batches, up to STEP_BYTES and STEP_BATCHES of them. */
static int take_step(struct spool_db *db, int64_t before_ns, uint64_t upto, spool_gone_fn gone, void *arg,
		     bool *ret_more)
{
	int64_t freed = 0, some = 1;
	int err = 0;

	for (unsigned n = 0; err == 0 && some > 0 && n < STEP_BATCHES && freed < STEP_BYTES; n++) {
		err = take_oldest(db, DB_OLDEST, OLDEST "ORDER BY id LIMIT 1", before_ns, upto, gone, arg, &some);
		freed += some;
	}
	*ret_more = err == 0 && some > 0;
	return err;
}

int spool_trim(struct spool_db *db, uint64_t upto, bool *ret_more)
{
	if (upto > db->acked)
		db->acked = upto;
	return take_step(db, 0, upto, NULL, NULL, ret_more);
}

int spool_expire(struct spool_db *db, int64_t before_ns, uint64_t upto, spool_gone_fn gone, void *arg, bool *ret_more)
{
	return take_step(db, before_ns, upto, gone, arg, ret_more);
}

int spool_bury(struct spool_db *db, uint64_t id, const char *why, spool_gone_fn gone, void *arg)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "SELECT n, counts, body FROM batch WHERE id = ?1", -1, &s, NULL), err = 0;

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (sqlite3_int64)id);
		rc = sqlite3_step(s);
	}
	if (rc == SQLITE_ROW) {
		err = spool_dead_add(db, id, "", 0, why, (uint32_t)sqlite3_column_int64(s, 0),
				     sqlite3_column_blob(s, 2), (size_t)sqlite3_column_bytes(s, 2));
		if (err == 0)
			gone(arg, id, (uint32_t)sqlite3_column_int64(s, 0), (const char *)sqlite3_column_text(s, 1));
	} else {
		err = db_fail(db, rc);
	}
	sqlite3_finalize(s);
	return err == 0 ? take_out(db, id) : err;
}
