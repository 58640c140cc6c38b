/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/vacuum.c - checks a file, and gives the space of its free pages back while skepd writes to it.
 *
 * VACUUM would hold the write lock while it writes the whole file anew, into a -wal of the same size that the sink's
 * retention counts: it could remove an older file to make room.  VACUUM INTO and a rename would leave skepd with the
 * old file open, whose -wal has the new file's name.  A file whose auto_vacuum is "incremental" moves some pages in each
 * transaction instead; the sink makes such files.  A damaged file whose rows a user saved (skep-lake(7)) has it off.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lake/file.h"
#include "lake/status.h"

#define STEP_PAGES   "128" /* of 8 KiB: about 2 ms in a step, and 1 MiB of -wal */
#define INCREMENTAL  2 /* PRAGMA auto_vacuum */

struct work {
	sqlite3 *sql;
	const char *path;
	struct lake_vacuum *of;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t bytes_of(const char *path)
{
	struct stat st;
	uint64_t bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
	char *wal;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return bytes;
	if (stat(wal, &st) == 0)
		bytes += (uint64_t)st.st_size;
	free(wal);
	return bytes;
}

/* Keeps the first problem. 0 or -ENOMEM. */
static int problem(struct lake_vacuum *of, const char *path, const char *what, const char *remedy)
{
	if (of->problem)
		return 0;
	if (asprintf(&of->problem, "%s: %s; %s", path, what, remedy) < 0) {
		of->problem = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int number(struct work *w, const char *sql, int64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(w->sql, sql, -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc == SQLITE_ROW ? 0 : problem(w->of, w->path, sqlite3_errmsg(w->sql), "nothing was changed in it");
}

static int timed(struct work *w, const char *sql)
{
	uint64_t began = now_ns(), took;
	int rc = sqlite3_exec(w->sql, sql, NULL, NULL, NULL);

	took = now_ns() - began;
	if (rc == SQLITE_OK && took > w->of->longest_ns)
		w->of->longest_ns = took;
	return rc;
}

static int give_back(struct work *w)
{
	int64_t left = 0, before = INT64_MAX, mode = 0, page = 0;
	int rc = SQLITE_OK, err = number(w, "PRAGMA auto_vacuum", &mode);

	if (!err)
		err = number(w, "PRAGMA freelist_count", &left);
	if (!err)
		err = number(w, "PRAGMA page_size", &page);
	w->of->free_bytes = (uint64_t)(left * page);
	w->of->whole = left > 0 && mode != INCREMENTAL;
	/* a writer may free more pages meanwhile: the loop ends when a step leaves as many as the one before */
	while (!err && rc == SQLITE_OK && mode == INCREMENTAL && left > 0 && left < before) {
		before = left;
		rc = timed(w, "PRAGMA incremental_vacuum(" STEP_PAGES ")");
		if (rc == SQLITE_OK)
			err = number(w, "PRAGMA freelist_count", &left);
	}
	if (!err && rc != SQLITE_OK)
		err = problem(w->of, w->path, sqlite3_errmsg(w->sql), "the rest of its free pages stays; try again");
	return err;
}

/*
 * Empties the -wal: what it holds moves to the file first beside writers, so that they wait for the rest alone.  A
 * reader that needs it, or a writer, keeps it as it is.
 */
static void empty_wal(struct work *w)
{
	sqlite3_wal_checkpoint_v2(w->sql, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	sqlite3_busy_timeout(w->sql, 0);
	(void)timed(w, "PRAGMA wal_checkpoint(TRUNCATE)");
}

int lake_vacuum(struct lake *l, size_t i, struct lake_vacuum *ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct lake_vacuum of = { 0 };
	struct work w = { .of = &of };
	struct lake_file f;
	uint64_t before;
	char *path;
	int rc, err;

	if (i >= l->n_months)
		return -ENODATA;
	path = lake_file_path(l, l->months[i]);
	of.name = path ? strdup(path + strlen(l->path) + 1) : NULL;
	if (!of.name) {
		free(path);
		lake_say(&why, "out of memory");
		return -ENOMEM;
	}
	w.path = path;
	err = lake_file_open(l, l->months[i], &why, &f);
	if (!err) {
		err = lake_check_pages(&f, &of.problem);
		lake_file_close(&f);
	}
	if (err && err != -ENOMEM) {
		of.problem = strdup(why.text);
		err = of.problem ? 0 : -ENOMEM;
	}
	if (err || of.problem)
		goto out;
	before = bytes_of(path);
	rc = sqlite3_open_v2(path, &w.sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(w.sql, 2000);
	if (rc == SQLITE_OK && sqlite3_db_readonly(w.sql, "main") == 1)
		err = problem(&of, path, "is in order, but this user may not write to it", "run it as root or as the user of skepd");
	else if (rc == SQLITE_OK)
		err = give_back(&w);
	else
		err = problem(&of, path, sqlite3_errstr(rc), "nothing was changed in it");
	if (!err && !of.problem)
		empty_wal(&w);
	if (!err && bytes_of(path) < before)
		of.given_back = before - bytes_of(path);
out:
	sqlite3_close_v2(w.sql);
	free(path);
	if (err) {
		lake_say(&why, "out of memory");
		free(of.name);
		free(of.problem);
		return err;
	}
	*ret = of;
	return 0;
}
