/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db_priv.h - shared by db.c (the file) and db_*.c (its tables).
 */
#ifndef SKEP_SPOOL_DB_PRIV_H
#define SKEP_SPOOL_DB_PRIV_H

#include <sqlite3.h>

#include "spool/db.h"

enum db_statement {
	DB_APPEND,
	DB_NEXT,
	DB_OLDEST_SAMPLE,
	DB_OLDEST,
	DB_DELETE,
	DB_SINK_MOVE,
	DB_TOTALS_AT,
	DB_LAG,
	DB_SINK_OLDEST,
	DB_DEAD_ADD,
	DB_CHUNK_PUT,
	DB_STATE_PUT,
	DB_STATEMENTS
};

struct db_totals {
	uint64_t last_id;
	int64_t total_n, total_bytes, dead_bytes;
};

struct spool_db {
	sqlite3 *sql;
	char *path;
	sqlite3_stmt *statements[DB_STATEMENTS];
	struct spool_limits limits;
	int64_t page_bytes;
	uint64_t last_id;
	int64_t total_n, total_bytes, dead_bytes;
	uint64_t acked;          /* spool_trim() deletes the batches up to this id, a step at each call */
	struct db_totals before; /* the totals before the transaction under way, for a rollback */
	uint64_t synced_ns;      /* monotonic: the last commit that waited for the disk */
	bool full;               /* PRAGMA synchronous is FULL: commits wait for the disk */
	char why[256];
};

int64_t db_realtime_ns(void);
int db_fail(struct spool_db *, int rc); /* returns SQLite's code as 0 or -errno; an error's text goes to `why` */
int db_exec(struct spool_db *, const char *sql);
int db_number(struct spool_db *, const char *sql, int64_t *ret); /* *ret is 0 without a row */
int db_drop_dead(struct spool_db *, int64_t *ret_bytes); /* drops the oldest dead letter; 0 bytes: there is none */
/* Prepares the statement at the first call and resets it at each further call. */
int db_statement(struct spool_db *, enum db_statement, const char *sql, sqlite3_stmt **ret);
int db_run(struct spool_db *, sqlite3_stmt *); /* runs a statement that returns no rows, and resets it */

/* db_batch.c: drops batches until `bytes` are free, at least one batch. -ENOSPC: no batch is left. */
int db_evict(struct spool_db *, uint64_t bytes, spool_gone_fn, void *arg);

#endif
