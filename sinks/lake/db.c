/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens one month's SQLite file for writing, creates its tables, and runs prepared statements on it.
 */
#include "sinks/lake/db.h"

#include <errno.h>
#include <fcntl.h>
#include <skep/utf8.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/schema_sql.h"
#include "sinks/lake/columns.h"

/* How many batch keys a file keeps. The plugin host offers a failed batch again soon, or first after a crash. */
#define SEEN_KEPT 20000

#define ROLLUP_SUMS                                                                                            \
	"processes, images, calls, forks, failures, cpu_ns, wall_ns, run_delay_ns, rchar_bytes, wchar_bytes, " \
	"read_bytes, write_bytes, rss_max_bytes"
#define ADD(c) #c " = " #c " + excluded." #c ", "
#define SUM_VALUES "?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16"
#define ADD_SUMS                                                                                               \
	"DO UPDATE SET " ADD(processes) ADD(images) ADD(calls) ADD(forks) ADD(failures) ADD(cpu_ns) ADD(wall_ns) \
	ADD(run_delay_ns) ADD(rchar_bytes) ADD(wchar_bytes) ADD(read_bytes) ADD(write_bytes)                     \
	"rss_max_bytes = max(rss_max_bytes, excluded.rss_max_bytes)"
#define ROLLUP(table, key, values)                                                                             \
	"INSERT INTO " table " (" key ", " ROLLUP_SUMS ") VALUES (" values "," SUM_VALUES ") ON CONFLICT (" key ") " ADD_SUMS

#define IF_SAME_PASS(same) "CASE WHEN excluded.pass = pass THEN " same " ELSE 0 END"
#define IN_PASS(same, newer, older) \
	"CASE WHEN excluded.pass = pass THEN " same " WHEN excluded.pass > pass THEN " newer " ELSE " older " END"

static const char *const statement_text[DB_STATEMENTS] = {
	[DB_BEGIN] = "BEGIN IMMEDIATE",
	[DB_COMMIT] = "COMMIT",
	[DB_DICT_FIND] = "SELECT id FROM dict WHERE s = ?1",
	[DB_DICT_ADD] = "INSERT INTO dict (s) VALUES (?1)",
	[DB_RUN_FIND] = "SELECT id FROM run WHERE run = ?1",
	[DB_RUN_STUB] = "INSERT INTO run (run, start_ns) VALUES (?1, ?2)",
	[DB_SEEN_FIND] = "SELECT 1 FROM batch_seen WHERE key = ?1",
	[DB_SEEN_ADD] = "INSERT INTO batch_seen (key, time_ns) VALUES (?1, ?2)",
	[DB_SEEN_PRUNE] = "DELETE FROM batch_seen WHERE rowid <= ?1",
	[DB_SUMMED_ADD] = "INSERT INTO meta (key, value) VALUES ('rows_summed', ?1) "
			  "ON CONFLICT (key) DO UPDATE SET value = value + excluded.value",
	[DB_FACET_ADD] = "INSERT OR IGNORE INTO proc_facet (proc, name, value) VALUES (?1, ?2, ?3)",
	[DB_RECORD_ADD] = "INSERT INTO record (time_ns, stream, run, upid, fields) VALUES (?1, ?2, ?3, ?4, ?5)",
	[DB_ROLLUP_TOOL] = ROLLUP("rollup_run_tool", "run, tool", "?1,?2"),
	[DB_ROLLUP_RUN] = ROLLUP("rollup_run", "run", "?1"),
	[DB_ROLLUP_DAY] = ROLLUP("rollup_day", "day, pipeline, tool", "?1,?2,?3"),
	/*
	 * A container's row has its last pass in known_ns and memory_bytes, and by itself: further records of this pass
	 * add to it. Records of an earlier pass, which a batch brings late, count as a pass of their own.
	 */
	[DB_USAGE_ADD] = "INSERT INTO usage_hour VALUES (?1,?2,?3,?4,?5,?6,?7+?22,?8,?9,?10,?11,?12,max(?13,?23),?14,?15,"
			 "?16,?17,?18,?19,?20,?21,?22,?23) ON CONFLICT (host, item, hour, boot) DO UPDATE SET "
			 "first_ns = min(first_ns, excluded.first_ns), last_ns = max(last_ns, excluded.last_ns), "
			 "known_ns = known_ns + excluded.known_ns - "
			 IF_SAME_PASS("min(pass_known_ns, excluded.pass_known_ns)") ", "
			 ADD(capacity_ns) ADD(busy_ns) ADD(idle_ns) ADD(runs_ns) ADD(daemons_ns)
			 "memory_bytes = max(memory_bytes, excluded.memory_bytes + "
			 IF_SAME_PASS("pass_memory_bytes") "), "
			 "memory_limit_bytes = max(memory_limit_bytes, excluded.memory_limit_bytes), "
			 ADD(rx_bytes) ADD(tx_bytes) ADD(read_bytes) ADD(write_bytes)
			 "idle_minutes = idle_minutes | excluded.idle_minutes, "
			 "other_minutes = other_minutes | excluded.other_minutes, "
			 "pass = max(pass, excluded.pass), pass_known_ns = "
			 IN_PASS("max(pass_known_ns, excluded.pass_known_ns)", "excluded.pass_known_ns", "pass_known_ns")
			 ", pass_memory_bytes = "
			 IN_PASS("pass_memory_bytes + excluded.pass_memory_bytes", "excluded.pass_memory_bytes",
				 "pass_memory_bytes"),
	[DB_ARGV_ADD] = "INSERT INTO proc_argv (argv, total) VALUES (?1, ?2)",
};

static int db_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_INTERRUPT:
		return -EAGAIN;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
	case SQLITE_ERROR: /* the statements are valid, so the file's tables do not match its version */
		return -EUCLEAN;
	case SQLITE_CONSTRAINT:
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
	case SQLITE_RANGE:
	case SQLITE_MISUSE:
		return -EINVAL;
	default: /* IOERR CANTOPEN READONLY PERM AUTH PROTOCOL NOLFS */
		return -EIO;
	}
}

static void db_say(struct db *db, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void db_say(struct db *db, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(db->why->text, sizeof(db->why->text), fmt, ap);
	va_end(ap);
}

int db_error(struct db *db, int rc, const char *what)
{
	int err = db_errno(rc);
	int os = db->sql ? sqlite3_system_errno(db->sql) : 0;

	if (err == -EAGAIN)
		db_say(db, "%s: %s: locked by another program", db->path, what);
	else if (err == -EIO && os)
		db_say(db, "%s: %s: %s (%s)", db->path, what, sqlite3_errstr(rc), strerror(os));
	else
		db_say(db, "%s: %s: %s", db->path, what, db->sql ? sqlite3_errmsg(db->sql) : sqlite3_errstr(rc));
	return err;
}

static int db_exec(struct db *db, const char *text, const char *what)
{
	int rc = sqlite3_exec(db->sql, text, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_error(db, rc, what);
}

/* Runs a query that returns a single number. */
static int db_number(struct db *db, const char *text, int64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int rc, err = 0;

	rc = sqlite3_prepare_v2(db->sql, text, -1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	else
		err = db_error(db, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc, "reading its header");
	sqlite3_finalize(s);
	return err;
}

static int db_simple(struct db *db, enum db_statement which, const char *what)
{
	sqlite3_stmt *s;
	int err = db_statement(db, which, &s);

	return err ? err : db_run_statement(db, s, what);
}

/* Creates the tables of a new file, or refuses a file of another version, inside the caller's transaction. */
static int db_tables(struct db *db)
{
	int64_t version, app, objects;
	char text[128];
	int err;

	err = db_number(db, "PRAGMA user_version", &version);
	if (!err)
		err = db_number(db, "PRAGMA application_id", &app);
	if (!err)
		err = db_number(db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (err)
		return err;
	if (objects == 0) {
		snprintf(text, sizeof(text), "PRAGMA application_id = %d; PRAGMA user_version = %d", DB_APPLICATION_ID,
			 DB_SCHEMA_VERSION);
		err = db_exec(db, schema_sql, "creating its tables");
		return err ? err : db_exec(db, text, "noting its version");
	}
	if (app != DB_APPLICATION_ID) {
		db_say(db, "%s: is a SQLite file of another program; move it away or give the sink another path",
		       db->path);
		return -ENOTSUP;
	}
	if (version != DB_SCHEMA_VERSION) {
		db_say(db, "%s: has schema version %lld, this skep writes version %d; %s or give the sink another path",
		       db->path, (long long)version, DB_SCHEMA_VERSION,
		       version < DB_SCHEMA_VERSION ? "move it away" : "upgrade skep");
		return -ENOTSUP;
	}
	return 0;
}

static int db_set_up(struct db *db, const struct db_options *o)
{
	int64_t version = 0;
	int err;

	sqlite3_extended_result_codes(db->sql, 1);
	sqlite3_busy_timeout(db->sql, o->busy_ms);
	/* This first read detects a file that is not a database, before skep writes anything. */
	err = db_number(db, "PRAGMA user_version", &version);
	if (err)
		return err;
	/*
	 * page_size and auto_vacuum matter only before the first table: with "incremental", `skep lake vacuum` can give
	 * free pages back beside this writer.  SQLite cuts the WAL back to the limit once no reader holds
	 * it; without a limit a WAL grew to 170 GB (sui#5815).
	 */
	err = db_exec(db,
		      "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 67108864;"
		      "PRAGMA wal_autocheckpoint = 4000; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -4096; PRAGMA trusted_schema = OFF",
		      "setting it up");
	if (!err)
		err = db_exec(db, o->full_sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
			      "setting it up");
	if (!err)
		err = db_begin(db);
	if (err)
		return err;
	err = db_tables(db);
	if (!err)
		err = db_commit(db);
	if (err)
		db_rollback(db);
	return err;
}

int db_open(const char *path, const struct db_options *o, bool create, struct db_why *why, struct db **ret)
{
	struct db *db = calloc(1, sizeof(*db));
	struct stat st;
	int rc, fd, err = -ENOMEM;

	snprintf(why->text, sizeof(why->text), "%s: out of memory", path);
	if (!db)
		return -ENOMEM;
	db->why = why;
	db->path = strdup(path);
	db->dict = idcache_new();
	db->runs = idcache_new();
	db->kinds = idcache_new();
	db->argvs = idcache_new();
	if (!db->path || !db->dict || !db->runs || !db->kinds || !db->argvs)
		goto out;
	if (create) {
		/*
		 * Only the owner and the group may read command lines; SQLite gives -wal and -shm the mode of the file.
		 * skep itself opens only a new file, because closing a descriptor would drop the locks of this
		 * process's other connections.
		 */
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
		if (fd >= 0) {
			close(fd);
		} else if (errno != EEXIST) {
			err = errno == ENOSPC ? -ENOSPC : -EIO;
			db_say(db, "%s: %s", path, strerror(errno));
			goto out;
		}
	} else if (access(path, F_OK) != 0) {
		err = errno == ENOENT ? -ENOENT : -EIO;
		db_say(db, "%s: %s", path, strerror(errno));
		goto out;
	}
	rc = sqlite3_open_v2(path, &db->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK) {
		err = db_error(db, rc, "opening it");
		goto out;
	}
	err = db_set_up(db, o);
	if (err)
		goto out;
	if (stat(path, &st) != 0) {
		err = -EIO;
		db_say(db, "%s: %s", path, strerror(errno));
		goto out;
	}
	db->dev = st.st_dev;
	db->ino = st.st_ino;
	why->text[0] = '\0';
	*ret = db;
	return 0;
out:
	db_close(db);
	return err;
}

struct db *db_close(struct db *db)
{
	if (!db)
		return NULL;
	for (size_t i = 0; i < DB_STATEMENTS; i++)
		sqlite3_finalize(db->statement[i]);
	sqlite3_close_v2(db->sql);
	idcache_free(db->dict);
	idcache_free(db->runs);
	idcache_free(db->kinds);
	idcache_free(db->argvs);
	free(db->path);
	free(db);
	return NULL;
}

bool db_in_place(const struct db *db)
{
	struct stat st;

	return stat(db->path, &st) == 0 && st.st_dev == db->dev && st.st_ino == db->ino;
}

int db_statement(struct db *db, enum db_statement which, sqlite3_stmt **ret)
{
	const char *text = statement_text[which];
	char *made = NULL;
	int rc;

	if (db->statement[which]) {
		*ret = db->statement[which];
		return 0;
	}
	if (which == DB_KIND_ADD)
		text = made = columns_insert_kind();
	for (size_t i = 0; !text && i < tables_n; i++)
		if (tables[i].statement == which)
			text = made = columns_insert(&tables[i]);
	if (!text)
		return db_error(db, SQLITE_NOMEM, "preparing");
	rc = sqlite3_prepare_v3(db->sql, text, -1, SQLITE_PREPARE_PERSISTENT, &db->statement[which], NULL);
	sqlite3_free(made);
	if (rc != SQLITE_OK)
		return db_error(db, rc, "preparing a statement");
	*ret = db->statement[which];
	return 0;
}

int db_run_statement(struct db *db, sqlite3_stmt *s, const char *what)
{
	int rc = sqlite3_step(s), err = 0;

	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		err = db_error(db, rc, what);
	sqlite3_reset(s);
	return err;
}

int db_bind_text(struct db *db, sqlite3_stmt *st, int at, const char *s, size_t n)
{
	char *clean;

	if (skep_utf8_valid(s, n) == n) { /* nearly every text is valid */
		sqlite3_bind_text64(st, at, s, n, SQLITE_STATIC, SQLITE_UTF8);
		return 0;
	}
	clean = sqlite3_malloc64(3 * (uint64_t)n);
	if (!clean)
		return db_error(db, SQLITE_NOMEM, "keeping a text");
	n = skep_utf8_clean(s, n, clean);
	sqlite3_bind_text64(st, at, clean, n, sqlite3_free, SQLITE_UTF8);
	return 0;
}

int db_begin(struct db *db)
{
	return db_simple(db, DB_BEGIN, "beginning to write");
}

int db_commit(struct db *db)
{
	return db_simple(db, DB_COMMIT, "committing");
}

void db_rollback(struct db *db)
{
	/* SQLite rolls back by itself after some errors (full disk, I/O) */
	if (!sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	/* the caches may hold ids that the transaction assigned */
	idcache_clear(db->dict);
	idcache_clear(db->runs);
	idcache_clear(db->kinds);
	idcache_clear(db->argvs);
}

/* Returns the id that a statement finds for a text; -ENOENT: no row. */
static int db_find(struct db *db, enum db_statement which, const char *s, size_t n, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc, err;

	err = db_statement(db, which, &st);
	if (!err)
		err = db_bind_text(db, st, 1, s, n);
	if (err)
		return err;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	else
		err = rc == SQLITE_DONE ? -ENOENT : db_error(db, rc, "looking up a name");
	sqlite3_reset(st);
	return err;
}

int db_seen(struct db *db, const char *key, bool *ret_seen)
{
	int64_t one;
	int err = db_find(db, DB_SEEN_FIND, key, strlen(key), &one);

	if (err && err != -ENOENT)
		return err;
	*ret_seen = !err;
	return 0;
}

int db_summed_add(struct db *db, uint32_t n)
{
	sqlite3_stmt *s;
	int err = db_statement(db, DB_SUMMED_ADD, &s);

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, n);
	return db_run_statement(db, s, "noting records that are summed");
}

int db_seen_add(struct db *db, const char *key, int64_t time_ns)
{
	sqlite3_stmt *s;
	int64_t row;
	int err;

	err = db_statement(db, DB_SEEN_ADD, &s);
	if (err)
		return err;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, time_ns);
	err = db_run_statement(db, s, "noting the batch");
	if (err)
		return err;
	row = sqlite3_last_insert_rowid(db->sql);
	if (row % 256 || row <= SEEN_KEPT)
		return 0;
	err = db_statement(db, DB_SEEN_PRUNE, &s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, row - SEEN_KEPT);
	return db_run_statement(db, s, "forgetting old batches");
}

int db_dict(struct db *db, const char *s, size_t n, int64_t *ret_id)
{
	return db_dict_at(db, 0, s, n, ret_id);
}

int db_dict_at(struct db *db, size_t place, const char *s, size_t n, int64_t *ret_id)
{
	sqlite3_stmt *st;
	int err;

	if (!n) {
		*ret_id = 0;
		return 0;
	}
	if (idcache_get_at(db->dict, place, s, n, ret_id))
		return 0;
	err = db_find(db, DB_DICT_FIND, s, n, ret_id);
	if (err == -ENOENT && db->closed) {
		*ret_id = 0;
		return 0;
	}
	if (err == -ENOENT) {
		err = db_statement(db, DB_DICT_ADD, &st);
		if (!err)
			err = db_bind_text(db, st, 1, s, n);
		if (err)
			return err;
		err = db_run_statement(db, st, "adding a name");
		if (!err) {
			db->added += n;
			*ret_id = sqlite3_last_insert_rowid(db->sql);
		}
	}
	if (!err)
		idcache_put(db->dict, s, n, *ret_id);
	return err;
}

int db_run_find(struct db *db, const char *s, size_t n, int64_t *ret_id)
{
	int err;

	if (idcache_get(db->runs, s, n, ret_id))
		return 0;
	err = db_find(db, DB_RUN_FIND, s, n, ret_id);
	if (!err)
		idcache_put(db->runs, s, n, *ret_id);
	return err;
}

int db_run(struct db *db, const char *s, size_t n, int64_t start_ns, int64_t *ret_id)
{
	sqlite3_stmt *st;
	int err;

	if (!n) {
		*ret_id = 0;
		return 0;
	}
	err = db_run_find(db, s, n, ret_id);
	if (err != -ENOENT)
		return err;
	err = db_statement(db, DB_RUN_STUB, &st);
	if (!err)
		err = db_bind_text(db, st, 1, s, n);
	if (err)
		return err;
	sqlite3_bind_int64(st, 2, start_ns);
	err = db_run_statement(db, st, "adding a run");
	if (err)
		return err;
	*ret_id = sqlite3_last_insert_rowid(db->sql);
	idcache_put(db->runs, s, n, *ret_id);
	return 0;
}
