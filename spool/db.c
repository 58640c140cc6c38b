/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/db.c - opens, creates and quarantines the file; runs transactions; keeps the file within its limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "spool/db_priv.h"
#include "spool/spool_sql.h"

#define APPLICATION_ID 0x736b6570 /* "skep" */
#define SCHEMA_VERSION 1
#define PAGE_BYTES 8192u
#define BUSY_MS 5000
/* SQLite empties a write-ahead log of this size, and truncates a log that a burst has made larger to this size. */
#define WAL_PAGES 1000
/*
 * Without the reserve the file may still grow to this size: the saved state, which a restart needs after a crash, is
 * small.
 */
#define FLOOR_BYTES (4u << 20)
/* The spool returns free pages to the filesystem in steps of this many pages: 8 MiB. */
#define VACUUM_PAGES 1000

int64_t db_realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int errno_of(sqlite3 *sql, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_MISMATCH:
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	default:
		return sql && sqlite3_system_errno(sql) > 0 ? -sqlite3_system_errno(sql) : -EIO;
	}
}

int db_fail(struct spool_db *db, int rc)
{
	int err = errno_of(db->sql, rc);

	if (err < 0)
		snprintf(db->why, sizeof(db->why), "%s", db->sql ? sqlite3_errmsg(db->sql) : sqlite3_errstr(rc));
	return err;
}

const char *spool_why(const struct spool_db *db)
{
	return db->why;
}

int db_exec(struct spool_db *db, const char *sql)
{
	return db_fail(db, sqlite3_exec(db->sql, sql, NULL, NULL, NULL));
}

int db_statement(struct spool_db *db, enum db_statement which, const char *sql, sqlite3_stmt **ret)
{
	int rc;

	*ret = db->statements[which];
	if (*ret) {
		sqlite3_reset(*ret);
		sqlite3_clear_bindings(*ret);
		return 0;
	}
	rc = sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, &db->statements[which], NULL);
	*ret = db->statements[which];
	return db_fail(db, rc);
}

int db_run(struct spool_db *db, sqlite3_stmt *s)
{
	int rc = sqlite3_step(s), err = db_fail(db, rc);

	sqlite3_reset(s);
	return err;
}

/* Reads the first n columns of the first row; 0 without a row. */
static int numbers(struct spool_db *db, const char *sql, int64_t *ret, int n)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL);

	memset(ret, 0, (size_t)n * sizeof(*ret));
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	for (int i = 0; i < n && rc == SQLITE_ROW; i++)
		ret[i] = sqlite3_column_int64(s, i);
	rc = db_fail(db, rc);
	sqlite3_finalize(s);
	return rc;
}

int db_number(struct spool_db *db, const char *sql, int64_t *ret)
{
	return numbers(db, sql, ret, 1);
}

/* ---- opened ---------------------------------------------------------------------- */

static int make(struct spool_db *db)
{
	char sql[160];
	int err;

	/* SQLite applies these only to a file without tables. */
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %u; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL",
		 PAGE_BYTES);
	err = db_exec(db, sql);
	if (err == 0)
		err = db_exec(db, "BEGIN IMMEDIATE");
	if (err == 0)
		err = db_exec(db, spool_sql);
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", APPLICATION_ID,
		 SCHEMA_VERSION);
	return err == 0 ? db_exec(db, sql) : err;
}

/* Is the file a spool of skep, of a version that this skep reads?  *ret_empty: a new file without tables. */
static int is_ours(struct spool_db *db, bool *ret_empty)
{
	int64_t application, version, tables;
	int err = db_number(db, "PRAGMA application_id", &application);

	if (err == 0)
		err = db_number(db, "PRAGMA user_version", &version);
	if (err == 0)
		err = db_number(db, "SELECT count(*) FROM sqlite_schema", &tables);
	if (err != 0)
		return err;
	*ret_empty = tables == 0 && application == 0;
	if (*ret_empty)
		return 0;
	if (application != APPLICATION_ID) {
		snprintf(db->why, sizeof(db->why), "it is a database, but not a spool of skep");
		return -EBADMSG;
	}
	if (version != SCHEMA_VERSION) {
		snprintf(db->why, sizeof(db->why), "it is a spool of version %lld, this skep reads version %d; %s",
			 (long long)version, SCHEMA_VERSION,
			 version < SCHEMA_VERSION ? "move it away" : "upgrade skep");
		return -EBADMSG;
	}
	return 0;
}

static int find_totals(struct spool_db *db)
{
	int64_t in_batches, in_sinks;
	int err = db_number(db, "SELECT id FROM batch ORDER BY id DESC LIMIT 1", &in_batches);

	if (err == 0)
		err = db_number(db, "SELECT max(cursor) FROM sink", &in_sinks);
	if (err != 0)
		return err;
	db->last_id = (uint64_t)(in_batches > in_sinks ? in_batches : in_sinks);
	err = db_number(db, "SELECT max((SELECT coalesce(max(total_n), 0) FROM sink), "
			    "coalesce((SELECT total_n FROM batch ORDER BY id DESC LIMIT 1), 0))", &db->total_n);
	if (err == 0)
		err = db_number(db,
				"SELECT max((SELECT coalesce(max(total_bytes), 0) FROM sink), "
				"coalesce((SELECT total_bytes FROM batch ORDER BY id DESC LIMIT 1), 0))",
				&db->total_bytes);
	if (err == 0)
		err = db_number(db, "SELECT coalesce(sum(length(body)), 0) FROM dead", &db->dead_bytes);
	return err;
}

static int set_up(struct spool_db *db, bool read_only)
{
	bool empty = false;
	char sql[160];
	int err;

	sqlite3_extended_result_codes(db->sql, 1);
	sqlite3_busy_timeout(db->sql, BUSY_MS);
	err = is_ours(db, &empty);
	if (err < 0)
		return err;
	if (empty && read_only) {
		snprintf(db->why, sizeof(db->why), "it is empty");
		return -EBADMSG;
	}
	if (empty)
		err = make(db);
	if (err == 0 && !read_only) {
		snprintf(sql, sizeof(sql),
			 "PRAGMA trusted_schema = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = %d; "
			 "PRAGMA journal_size_limit = %u",
			 WAL_PAGES, WAL_PAGES * PAGE_BYTES);
		err = db_exec(db, sql);
		/* Debian's SQLite zeroes deleted rows: a dropped backlog would pass through the WAL once more */
		if (err == 0)
			err = db_exec(db, "PRAGMA secure_delete = OFF");
	}
	if (err == 0)
		err = db_number(db, "PRAGMA page_size", &db->page_bytes);
	return err == 0 ? find_totals(db) : err;
}

static int open_as(const char *path, int flags, struct spool_db **ret, char *why, size_t why_size)
{
	struct spool_db *db = calloc(1, sizeof(*db));
	int err, rc;

	*ret = NULL;
	snprintf(why, why_size, "no memory");
	if (!db)
		return -ENOMEM;
	db->path = strdup(path);
	if (!db->path) {
		free(db);
		return -ENOMEM;
	}
	rc = sqlite3_open_v2(path, &db->sql, flags | SQLITE_OPEN_NOMUTEX, NULL);
	err = rc == SQLITE_OK ? set_up(db, flags & SQLITE_OPEN_READONLY) : db_fail(db, rc);
	if (err != 0) {
		snprintf(why, why_size, "%s", db->why);
		spool_db_close(db);
		return err;
	}
	*ret = db;
	return 0;
}

int spool_db_open(const char *path, const struct spool_limits *limits, struct spool_db **ret, char *why,
		  size_t why_size)
{
	/* The file has the command lines of all users. SQLite creates its -wal and -shm with the mode of the file. */
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), err;

	*ret = NULL;
	if (fd < 0) {
		err = -errno;
		snprintf(why, why_size, "%s", strerror(-err));
		return err;
	}
	close(fd);
	err = open_as(path, SQLITE_OPEN_READWRITE, ret, why, why_size);
	if (err == 0)
		spool_db_limits(*ret, limits);
	return err;
}

int spool_db_lock(const char *path, int *ret_fd)
{
	char name[4096];
	int n = snprintf(name, sizeof(name), "%s.lock", path), err;

	*ret_fd = -1;
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	*ret_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*ret_fd < 0)
		return -errno;
	if (flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(*ret_fd);
	*ret_fd = -1;
	return err;
}

int spool_db_open_read(const char *path, struct spool_db **ret, char *why, size_t why_size)
{
	return open_as(path, SQLITE_OPEN_READONLY, ret, why, why_size);
}

struct spool_db *spool_db_close(struct spool_db *db)
{
	if (!db)
		return NULL;
	for (size_t i = 0; i < DB_STATEMENTS; i++)
		sqlite3_finalize(db->statements[i]);
	sqlite3_close(db->sql);
	free(db->path);
	free(db);
	return NULL;
}

void spool_db_limits(struct spool_db *db, const struct spool_limits *limits)
{
	char sql[96];

	db->limits = *limits;
	/* A second limit above spool_make_room's: an eighth more, as a commit also writes offsets and lines. */
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %llu",
		 limits->max_bytes ? (unsigned long long)(limits->max_bytes / 8 * 9 / (uint64_t)db->page_bytes + 256)
				   : 4294967294ull);
	db_exec(db, sql);
}

int spool_db_quarantine(const char *path, char *ret, size_t size)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char from[4096], to[4096 + 64];
	time_t now = time(NULL);
	struct tm tm;
	char when[32], more[16] = "";
	int err = 0;

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	for (unsigned again = 0; again == 0 || access(ret, F_OK) == 0; again++) { /* never over another damaged file */
		if (again)
			snprintf(more, sizeof(more), ".%u", again);
		snprintf(ret, size, "%s.corrupt-%s%s", path, when, more);
	}
	/* Rename all three: SQLite would read a remaining log as the log of the new file. */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, parts[i]);
		snprintf(to, sizeof(to), "%s%s", ret, parts[i]);
		if (rename(from, to) < 0 && errno != ENOENT && err == 0)
			err = -errno;
	}
	return err;
}

uint64_t spool_last_id(const struct spool_db *db)
{
	return db->last_id;
}

void spool_ids_after(struct spool_db *db, uint64_t id)
{
	if (id > db->last_id)
		db->last_id = id;
}

/* ---- transactions ------------------------------------------------------------------ */

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int spool_begin(struct spool_db *db)
{
	uint64_t now = monotonic_ns();
	bool full = db->limits.sync_ns == 0 || now - db->synced_ns >= db->limits.sync_ns;
	int err = 0;

	/*
	 * An unfinished statement is an open read transaction.  SQLite restarts its log only without readers, so the
	 * log grew with the backlog that skepd read.
	 */
	sqlite3_reset(db->statements[DB_NEXT]);
	/*
	 * With NORMAL a crash of skepd loses nothing, and a crash of the host loses the last commits.  With FULL the
	 * commit waits for the disk.  SQLite allows the change only outside of a transaction.
	 */
	if (full != db->full)
		err = db_exec(db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
	if (err < 0)
		return err;
	db->full = full;
	if (full)
		db->synced_ns = now;
	db->before = (struct db_totals){ db->last_id, db->total_n, db->total_bytes, db->dead_bytes };
	return db_exec(db, "BEGIN IMMEDIATE");
}

void spool_rollback(struct spool_db *db)
{
	char why[sizeof(db->why)];

	memcpy(why, db->why, sizeof(why)); /* keep the reason of the failure; ROLLBACK may set another */
	if (!sqlite3_get_autocommit(db->sql))
		db_exec(db, "ROLLBACK");
	memcpy(db->why, why, sizeof(why));
	db->last_id = db->before.last_id;
	db->total_n = db->before.total_n;
	db->total_bytes = db->before.total_bytes;
	db->dead_bytes = db->before.dead_bytes;
}

/* Returns a step of free pages to the filesystem. */
static void give_back(struct spool_db *db)
{
	int64_t freed;

	if (db_number(db, "PRAGMA freelist_count", &freed) == 0 && freed > 2 * VACUUM_PAGES) {
		char sql[64];

		snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES);
		db_exec(db, sql);
	}
}

int spool_commit(struct spool_db *db)
{
	int err = db_exec(db, "COMMIT");

	if (err < 0) {
		spool_rollback(db);
		return err;
	}
	give_back(db);
	return 0;
}

/* ---- room --------------------------------------------------------------------------- */

bool spool_has_reserve(const struct spool_db *db)
{
	struct statvfs fs;
	char folder[4096];
	char *slash;

	if (db->limits.reserve_bytes == 0)
		return true;
	snprintf(folder, sizeof(folder), "%s", db->path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	if (statvfs(slash ? folder : ".", &fs) < 0)
		return true; /* a full disk then fails the write */
	return (uint64_t)fs.f_bavail * fs.f_frsize >= db->limits.reserve_bytes;
}

/* Bytes of the file's pages in use. */
static int used(struct spool_db *db, int64_t *ret)
{
	int64_t pages, freed;
	int err = db_number(db, "PRAGMA page_count", &pages);

	if (err == 0)
		err = db_number(db, "PRAGMA freelist_count", &freed);
	*ret = err == 0 ? (pages - freed) * db->page_bytes : 0;
	return err;
}

int spool_make_room(struct spool_db *db, uint64_t bytes, spool_gone_fn gone, void *arg)
{
	uint64_t wanted = db->limits.max_bytes;
	int64_t now;
	int err = used(db, &now);

	if (err < 0)
		return err;
	/* Below the reserve the file does not grow: new batches replace the oldest ones. */
	if (!spool_has_reserve(db) && (wanted == 0 || (uint64_t)now < wanted))
		wanted = (uint64_t)now > FLOOR_BYTES ? (uint64_t)now : FLOOR_BYTES;
	if (wanted == 0)
		return 0;
	while ((uint64_t)now + bytes > wanted) {
		err = db_evict(db, (uint64_t)now + bytes - wanted, gone, arg);
		if (err < 0)
			return err;
		err = used(db, &now);
		if (err < 0)
			return err;
	}
	return 0;
}

int spool_size(struct spool_db *db, struct spool_size *ret)
{
	int64_t in_use = 0, pages = 0, batches[2] = { 0 }, dead[2] = { 0 }, oldest = 0;
	int err = used(db, &in_use);

	if (err == 0)
		err = db_number(db, "PRAGMA page_count", &pages);
	if (err == 0)
		/* one pass for both sums: of 50 GiB it takes half a minute */
		err = numbers(db, "SELECT count(*), sum(n) FROM batch", batches, 2);
	if (err == 0)
		err = numbers(db, "SELECT count(*), sum(n) FROM dead", dead, 2);
	if (err == 0)
		err = db_number(db, "SELECT made_ns FROM batch ORDER BY id LIMIT 1", &oldest);
	*ret = (struct spool_size){
		.file_bytes = (uint64_t)(pages * db->page_bytes),
		.used_bytes = (uint64_t)in_use,
		.batches = (uint64_t)batches[0],
		.records = (uint64_t)batches[1],
		.dead_batches = (uint64_t)dead[0],
		.dead_records = (uint64_t)dead[1],
		.oldest_ns = oldest,
	};
	return err;
}

int spool_check(struct spool_db *db, void (*cb)(void *arg, const char *finding), void *arg)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db->sql, "PRAGMA quick_check", -1, &s, NULL), found = 0;

	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0)
			continue;
		found++;
		cb(arg, (const char *)sqlite3_column_text(s, 0));
	}
	rc = db_fail(db, rc);
	sqlite3_finalize(s);
	return rc < 0 ? rc : found ? -EBADMSG : 0;
}
