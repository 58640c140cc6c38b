/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db_state.c - the collector's saved state at the last commit: chunks, and a few values by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spool/db_priv.h"

int spool_chunk_put(struct spool_db *db, const void *body, size_t size, bool whole)
{
	sqlite3_stmt *s;
	int err = whole ? db_exec(db, "DELETE FROM chunk") : 0;

	if (err == 0)
		err = db_statement(db, DB_CHUNK_PUT, "INSERT INTO chunk (body) VALUES (?1)", &s);
	if (err != 0)
		return err;
	sqlite3_bind_blob64(s, 1, body, size, SQLITE_STATIC);
	return db_run(db, s);
}

int spool_chunks(struct spool_db *db, int (*cb)(void *arg, const void *body, size_t size), void *arg)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "SELECT body FROM chunk ORDER BY id", -1, &s, NULL), err = 0;

	while (err == 0 && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_ROW)
			err = cb(arg, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	}
	if (err == 0)
		err = db_fail(db, rc);
	sqlite3_finalize(s);
	return err;
}

int spool_state_put(struct spool_db *db, const char *name, const void *value, size_t size)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_STATE_PUT, "INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)", &s);

	if (err < 0)
		return err;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_blob64(s, 2, value, size, SQLITE_STATIC);
	return db_run(db, s);
}

int spool_state_get(struct spool_db *db, const char *name, void **ret, size_t *ret_size)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "SELECT value FROM state WHERE name = ?1", -1, &s, NULL), err;

	*ret = NULL;
	*ret_size = 0;
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		rc = sqlite3_step(s);
	}
	err = db_fail(db, rc);
	if (rc == SQLITE_ROW) {
		*ret_size = (size_t)sqlite3_column_bytes(s, 0);
		*ret = malloc(*ret_size + 1);
		if (*ret) {
			if (*ret_size) /* SQLite has NULL for an empty text */
				memcpy(*ret, sqlite3_column_blob(s, 0), *ret_size);
			((char *)*ret)[*ret_size] = '\0';
		} else {
			err = -ENOMEM;
		}
	}
	sqlite3_finalize(s);
	return err;
}
