/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db_priv.h - between db.c (the file) and db_*.c (its tables).
 */
#ifndef SKEP_SPOOL_DB_PRIV_H
#define SKEP_SPOOL_DB_PRIV_H

#include <sqlite3.h>

#include "spool/db.h"

enum db_statement {
	DB_APPEND,
	DB_TRIM,
	DB_NEXT,
	DB_OLDEST_SAMPLE,
	DB_OLDEST,
	DB_DELETE,
	DB_SINK_MOVE,
	DB_TOTALS_AT,
	DB_LAG,
	DB_SINK_OLDEST,
	DB_DEAD_ADD,
	DB_PROCESS_PUT,
	DB_PROCESS_DELETE,
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
	struct db_totals before; /* the transaction under way */
	uint64_t synced_ns;      /* monotonic: the last commit that waited for the disk */
	bool full;               /* commits wait for the disk now */
	char why[256];
};

int64_t db_realtime_ns(void);
int db_fail(struct spool_db *, int rc); /* SQLite's code as a negative errno, its words to `why` */
int db_exec(struct spool_db *, const char *sql);
int db_number(struct spool_db *, const char *sql, int64_t *ret); /* 0 where there is no row */
int db_drop_dead(struct spool_db *, int64_t *ret_bytes); /* the oldest; 0 bytes: there is none */
/* Prepared once, reset each time. */
int db_statement(struct spool_db *, enum db_statement, const char *sql, sqlite3_stmt **ret);
int db_run(struct spool_db *, sqlite3_stmt *); /* one that gives no rows */

/* db_batch.c: takes out batches of at least that many bytes, or one at the least. -ENOSPC: there is none. */
int db_evict(struct spool_db *, uint64_t bytes, spool_gone_fn, void *arg);

#endif
