/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the lake within its bounds.
 *
 * Retention does not delete single rows: it would have to scan all tables for dictionary strings that no row uses any
 * more, and free pages one by one.  A month is split into files instead (files.h), and one unlink() removes a file with
 * its dictionary.
 */
#include "sinks/lake/retain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "sinks/lake/files.h"

#define DAY_NS (86400 * INT64_C(1000000000))

/*
 * A file with a write in the last 10 min holds a run in progress.  Retention removes such a file only when no other
 * file is left, so that it does not cut a run in half.
 */
#define IN_USE_NS (600 * INT64_C(1000000000))

/* Of each day, this many (pipeline, tool) groups with the most CPU time outlive their file; the rest become one sum. */
#define GROUPS_KEPT "1000"

/* SQLite's sum() ends the statement above 2^63: this one stands there. */
#define SUM(c)                                                                                                   \
	"CASE WHEN total(" #c ") < 9.2e18 THEN (sum(" #c " >> 32) << 32) + sum(" #c " & 4294967295) "            \
	"ELSE 9223372036854775807 END " #c ", "
#define ADD(c)      #c " = " #c " + excluded." #c ", "
#define EACH(M)                                                                                              \
	M(processes) M(images) M(calls) M(forks) M(failures) M(cpu_ns) M(wall_ns) M(run_delay_ns) M(rchar_bytes) \
		M(wchar_bytes) M(read_bytes) M(write_bytes)
#define NAME(c)     #c ", "

/* The new file's connection runs these statements, with the old file attached as `old`. */
static const char keep_days[] = "CREATE TEMP TABLE kept AS SELECT day, p.s pipeline, t.s tool, " EACH(
	SUM) "max(rss_max_bytes) rss_max_bytes "
	     "FROM (SELECT *, row_number() OVER (PARTITION BY day ORDER BY cpu_ns DESC) > " GROUPS_KEPT
	     " rest FROM old.rollup_day) r "
	     "JOIN old.dict p ON p.id = CASE rest WHEN 1 THEN 0 ELSE r.pipeline END "
	     "JOIN old.dict t ON t.id = CASE rest WHEN 1 THEN 0 ELSE r.tool END GROUP BY 1, 2, 3;"
	     "BEGIN;" /* remove_one() has locked the old file already */
	     "INSERT INTO main.batch_seen (key, time_ns) SELECT k, 0 FROM temp.mark;"
	     "INSERT OR IGNORE INTO main.meta (key, value) VALUES ('other_days', '1');"
	     "INSERT OR IGNORE INTO main.dict (s) SELECT pipeline FROM kept UNION SELECT tool FROM kept;"
	     "INSERT INTO main.rollup_day (day, pipeline, tool, " EACH(
		     NAME) "rss_max_bytes) "
			   "SELECT day, p.id, t.id, " EACH(
				   NAME) "rss_max_bytes FROM kept JOIN main.dict p ON p.s = kept.pipeline "
					 "JOIN main.dict t ON t.s = kept.tool WHERE true ON CONFLICT (day, pipeline, tool) DO UPDATE SET " EACH(
						 ADD) "rss_max_bytes = max(rss_max_bytes, excluded.rss_max_bytes)";

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int run_sql(sqlite3 *sql, char *text)
{
	int rc = text ? sqlite3_exec(sql, text, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return rc;
}

/*
 * Adds a file's sums per day to the current file, exactly once.  A crash before the removal leaves a mark in the
 * current file, and the next attempt finds the mark.  The mark is the file's own random name: another file may get its
 * inode later, and a backup or a link changes its times.
 */
static int carry_days(const char *from, const char *to, int64_t first_day)
{
	sqlite3 *sql = NULL;
	int rc;

	rc = sqlite3_open_v2(to, &sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_busy_timeout(sql, 1000);
		rc = run_sql(sql, sqlite3_mprintf("PRAGMA temp_store = MEMORY; ATTACH %Q AS old", from));
	}
	if (rc == SQLITE_OK)
		rc = run_sql(sql,
			     sqlite3_mprintf("CREATE TEMP TABLE mark AS SELECT 'removed/' || value k FROM old.meta "
					     "WHERE key = 'file'"));
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(sql, keep_days, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = run_sql(sql, sqlite3_mprintf("DELETE FROM main.rollup_day WHERE day < %lld; COMMIT",
						  (long long)first_day));
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		rc = SQLITE_OK; /* the current file has these sums already */
	sqlite3_close_v2(sql); /* rolls back an open transaction */
	return rc;
}

/* Removes a file. -EAGAIN: another program writes to it. *ret_sums_lost: removed, but its sums per day are lost. */
static int remove_one(const char *folder, unsigned number, unsigned current, int64_t first_day, struct db_why *why,
		      bool *ret_sums_lost)
{
	char *path = files_path(folder, number), *to = files_path(folder, current);
	sqlite3 *lock = NULL;
	int rc = SQLITE_OK, err = -ENOMEM;

	if (!path || !to)
		goto out;
	err = 0;
	if (access(path, F_OK) == 0) {
		/* A later writer finds the file gone: store.c checks for this after it has begun its transaction. */
		rc = sqlite3_open_v2(path, &lock, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(lock, "BEGIN IMMEDIATE", NULL, NULL, NULL);
		if (rc == SQLITE_OK)
			rc = carry_days(path, to, first_day);
		if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED)
			err = -EAGAIN;
	}
	/* When the file is damaged or the disk full, the sums are lost, but retention still removes the file. */
	if (!err)
		err = files_remove(folder, number);
	*ret_sums_lost |= !err && rc != SQLITE_OK;
	if (err)
		snprintf(why->text, sizeof(why->text), "%s: cannot remove it to keep the lake within its bounds: %s",
			 path, strerror(-err));
out:
	sqlite3_close_v2(lock);
	free(path);
	free(to);
	return err;
}

/* Returns the moment at which a file's month ends. */
static int64_t end_of(unsigned number)
{
	unsigned month = number / FILES_PARTS + 1;
	struct tm tm = { .tm_year = (int)(month / 12) - 1900, .tm_mon = (int)(month % 12), .tm_mday = 1 };

	return (int64_t)timegm(&tm) * 1000000000;
}

uint64_t retain_bound(const char *folder, const struct retain_bounds *b)
{
	uint64_t bound = b->max_bytes ? b->max_bytes : UINT64_MAX, share;
	struct statvfs fs;

	if (b->max_share && statvfs(folder, &fs) == 0) {
		share = (uint64_t)((double)fs.f_blocks * (double)fs.f_frsize * (double)b->max_share / 100);
		bound = share < bound ? share : bound;
	}
	if (bound == UINT64_MAX)
		return 0;
	return bound < RETAIN_LEAST ? RETAIN_LEAST : bound;
}

bool retain_has_room(const char *folder, const struct retain_bounds *b, bool held, uint64_t *ret_free)
{
	/* a sixteenth more ends a hold, so that the lake does not store and hold in turn at the limit */
	uint64_t want = held ? b->min_free + b->min_free / 16 : b->min_free;
	struct statvfs fs;

	if (!b->min_free || statvfs(folder, &fs) != 0)
		return true;
	*ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	return *ret_free >= want;
}

/* Returns the oldest file that may be removed; in_use: consider files with a run in progress too. */
static struct files_one *oldest(const struct files *f, unsigned current, int64_t now, bool in_use)
{
	for (size_t i = f->n; i-- > 0;)
		if (f->one[i].number != current && f->one[i].bytes && (in_use || f->one[i].write_ns < now - IN_USE_NS))
			return &f->one[i];
	return NULL;
}

/*
 * Returns the oldest file that max_age removes.  A file with a write after its month is as old as its last write:
 * records without a time, or from a wrong clock, are in files of months long past.
 */
static struct files_one *past_age(const struct files *f, unsigned current, int64_t now, int64_t horizon)
{
	for (size_t i = f->n; i-- > 0;) {
		struct files_one *one = &f->one[i];

		if (one->number != current && one->bytes && one->write_ns < now - IN_USE_NS &&
		    one->write_ns < horizon && end_of(one->number) < horizon)
			return one;
	}
	return NULL;
}

static struct files_one *goes_next(const struct files *f, unsigned current, int64_t now)
{
	struct files_one *one = oldest(f, current, now, false);

	return one ? one : oldest(f, current, now, true);
}

int retain(const char *folder, unsigned current, const struct retain_bounds *b, struct db_why *why,
	   struct retain_state *ret)
{
	struct retain_state s = { 0 };
	int64_t now = now_ns(), horizon = b->max_age_ns ? now - (int64_t)b->max_age_ns : 0;
	struct files files;
	struct files_one *one;
	uint64_t bound;
	int err;

	err = files_list(folder, &files);
	if (err) {
		snprintf(why->text, sizeof(why->text), "%s: %s", folder, strerror(-err));
		return -EIO;
	}
	for (size_t i = 0; i < files.n; i++)
		s.bytes += files.one[i].bytes;
	bound = retain_bound(folder, b);
	while (!err) {
		one = past_age(&files, current, now, horizon);
		if (!one && bound && s.bytes > bound)
			one = goes_next(&files, current, now);
		if (!one)
			break;
		err = remove_one(folder, one->number, current, horizon / DAY_NS, why, &s.sums_lost);
		if (err)
			break;
		s.bytes -= one->bytes;
		one->bytes = 0;
		s.removed++;
	}
	one = goes_next(&files, current, now);
	if (one) {
		char *path = files_path(folder, one->number);

		snprintf(s.next, sizeof(s.next), "%s", path ? path + strlen(folder) + 1 : "?");
		s.next_bytes = one->bytes;
		free(path);
	}
	s.bound = bound;
	s.full = bound && s.bytes > bound && s.bytes - bound > bound / 4;
	files_free(&files);
	*ret = s;
	return err;
}
