/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of month files.
 *
 * A batch that reaches into several months is one transaction in each of their files,
 * and its key is noted in each: when it comes again after a failure between two
 * commits, the files that have it are skipped.  That is exact because a record's
 * month does not depend on the attempt: it is that of its run's row if any file has
 * one, else that of the record's own time.
 */
#include "sinks/lake/store.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sinks/common/fields.h"
#include "sinks/lake/ingest.h"

#define OPEN_FILES 3 /* this month's, the one of runs that began before, and one more */
#define NO_MONTH   UINT_MAX

struct slot {
	struct db *db;
	unsigned month;
	uint64_t used;
};

struct store {
	struct store_options o;
	char *path;
	struct db_why *why;
	struct ingest ingest;
	struct idcache *home; /* run to month */
	struct slot slot[OPEN_FILES];
	uint64_t clock;
	unsigned *month; /* of each record of the batch at hand */
	size_t month_room;
};

unsigned store_month(int64_t ns)
{
	time_t sec = (time_t)(ns / 1000000000);
	struct tm tm;

	if (ns <= 0 || !gmtime_r(&sec, &tm) || tm.tm_year + 1900 > 9999)
		return 1970 * 12;
	return (unsigned)(tm.tm_year + 1900) * 12 + (unsigned)tm.tm_mon;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Every part of the path that is missing; 0750: command lines are not for everybody. */
static int make_folders(const char *path, struct db_why *why)
{
	char *copy = strdup(path), *p;
	struct stat st;
	int err = 0;

	if (!copy) {
		snprintf(why->text, sizeof(why->text), "%s: out of memory", path);
		return -ENOMEM;
	}
	for (p = copy + 1; p[-1]; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0750) != 0 && errno != EEXIST) {
			/* a part may exist in a place where nothing can be made (EROFS, EACCES) */
			err = stat(copy, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -errno;
			if (err) {
				snprintf(why->text, sizeof(why->text), "cannot make the folder %s: %s", copy,
					 strerror(errno));
				break;
			}
		}
		*p = was;
		if (!was)
			break;
	}
	if (!err && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))) {
		err = -ENOTDIR;
		snprintf(why->text, sizeof(why->text), "%s: is not a folder; give the sink's path option a folder",
			 path);
	}
	free(copy);
	return err;
}

static char *month_path(const struct store *s, unsigned month)
{
	char *path;

	return asprintf(&path, "%s/lake-%04u-%02u.db", s->path, month / 12, month % 12 + 1) < 0 ? NULL : path;
}

/* A damaged file and what belongs to it get another name, and its place is free. */
static int set_aside(struct store *s, unsigned month)
{
	/*
	 * The file first: a -wal that is left behind by a crash between the renames then
	 * meets an empty new file, and SQLite deletes it instead of splicing it in.
	 */
	static const char *const suffix[] = { "", "-wal", "-shm" };
	char *path = month_path(s, month), *to = NULL;
	char stamp[32], reason[sizeof(s->why->text)];
	time_t now = time(NULL);
	struct tm tm;
	int err = -ENOMEM;

	snprintf(reason, sizeof(reason), "%s", s->why->text);
	if (!path || !gmtime_r(&now, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm))
		goto out;
	for (unsigned again = 0;; again++) {
		free(to);
		to = NULL;
		if (again ? asprintf(&to, "%s.corrupt-%s.%u", path, stamp, again) < 0
			  : asprintf(&to, "%s.corrupt-%s", path, stamp) < 0) {
			to = NULL;
			goto out;
		}
		if (access(to, F_OK) != 0)
			break;
	}
	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		char *a = NULL, *b = NULL;

		if (asprintf(&a, "%s%s", path, suffix[i]) < 0)
			a = NULL;
		if (asprintf(&b, "%s%s", to, suffix[i]) < 0)
			b = NULL;
		if (!a || !b)
			err = -ENOMEM;
		else
			err = rename(a, b) == 0 || errno == ENOENT ? 0 : -errno;
		free(a);
		free(b);
		if (err)
			goto out;
	}
	s->o.host->log(s->o.instance, SKEP_LOG_ERROR,
		       "%s; it is kept as %s (try: sqlite3 FILE .recover), a new file is begun and records go on",
		       reason, to);
	if (s->o.aside)
		s->o.host->counter_add(s->o.aside, 1);
out:
	if (err)
		snprintf(s->why->text, sizeof(s->why->text), "cannot set %s aside: %s", path ? path : "a damaged file",
			 strerror(-err));
	else
		snprintf(s->why->text, sizeof(s->why->text), "set aside: %.900s", reason);
	free(path);
	free(to);
	return err;
}

static void slot_close(struct slot *slot)
{
	slot->db = db_close(slot->db);
	*slot = (struct slot){ 0 };
}

/*
 * The file of a month.  -ENOENT only without create.  -EUCLEAN: it was damaged and is set
 * aside; the next try finds none.
 */
static int store_db(struct store *s, unsigned month, bool create, struct db **ret)
{
	struct slot *slot = &s->slot[0];
	char *path;
	int err;

	for (size_t i = 0; i < OPEN_FILES; i++) {
		if (s->slot[i].db && s->slot[i].month == month) {
			slot = &s->slot[i];
			break;
		}
		if (s->slot[i].used < slot->used)
			slot = &s->slot[i];
	}
	if (slot->db && slot->month == month && db_in_place(slot->db)) {
		slot->used = ++s->clock;
		*ret = slot->db;
		return 0;
	}
	/* another month's, or the file was removed or replaced under us */
	slot_close(slot);
	path = month_path(s, month);
	if (!path) {
		snprintf(s->why->text, sizeof(s->why->text), "out of memory");
		return -ENOMEM;
	}
	err = db_open(path, &s->o.db, create, s->why, &slot->db);
	free(path);
	if (err == -EUCLEAN) {
		int moved = set_aside(s, month);

		return moved ? moved : err;
	}
	if (err)
		return err;
	slot->month = month;
	slot->used = ++s->clock;
	*ret = slot->db;
	return 0;
}

static void store_drop(struct store *s, unsigned month)
{
	for (size_t i = 0; i < OPEN_FILES; i++)
		if (s->slot[i].db && s->slot[i].month == month)
			slot_close(&s->slot[i]);
}

static int newest_first(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The months that have a file. free() *ret_months. */
static int list_months(struct store *s, unsigned **ret_months, size_t *ret_n)
{
	unsigned *months = NULL, *grown;
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	d = opendir(s->path);
	if (!d) {
		snprintf(s->why->text, sizeof(s->why->text), "%s: %s", s->path, strerror(errno));
		return -EIO;
	}
	while ((e = readdir(d))) {
		unsigned y, m;
		int end = 0;

		if (sscanf(e->d_name, "lake-%4u-%2u.db%n", &y, &m, &end) != 2 || !end || e->d_name[end] || !m || m > 12)
			continue;
		grown = realloc(months, (n + 1) * sizeof(*months));
		if (!grown) {
			snprintf(s->why->text, sizeof(s->why->text), "out of memory");
			free(months);
			closedir(d);
			return -ENOMEM;
		}
		months = grown;
		months[n++] = y * 12 + m - 1;
	}
	closedir(d);
	if (n)
		qsort(months, n, sizeof(*months), newest_first);
	*ret_months = months;
	*ret_n = n;
	return 0;
}

static int set_aside_open(struct store *s, unsigned month)
{
	int err;

	store_drop(s, month);
	idcache_clear(s->home); /* the runs that it held have no row any more */
	err = set_aside(s, month);
	return err ? err : -EUCLEAN;
}

/* Whether this month's file has the run; a file that is not ours to write does not. */
static int run_is_in(struct store *s, struct skep_str run, unsigned month, bool *ret_found)
{
	struct db *db;
	int64_t id;
	int err;

	err = store_db(s, month, false, &db);
	if (!err) {
		err = db_run_find(db, run.ptr, run.len, &id);
		if (err == -EUCLEAN)
			return set_aside_open(s, month);
	}
	if (err && err != -ENOENT && err != -ENOTSUP)
		return err;
	*ret_found = !err;
	return 0;
}

/*
 * The month of a run that is not known here: where a file has its row, else `own`.
 * Once per run.  from: no earlier month can have it.
 */
static int find_home(struct store *s, struct skep_str run, unsigned own, unsigned from, unsigned *ret)
{
	unsigned *months = NULL;
	bool found = false;
	size_t n = 0;
	int err;

	err = run_is_in(s, run, own, &found);
	*ret = own;
	if (err || found)
		return err;
	err = list_months(s, &months, &n);
	for (size_t i = 0; !err && !found && i < n && months[i] >= from; i++) {
		if (months[i] == own)
			continue;
		err = run_is_in(s, run, months[i], &found);
		if (!err && found)
			*ret = months[i];
	}
	free(months);
	return err;
}

static int record_month(struct store *s, const struct skep_record *r, unsigned *ret)
{
	const struct binding *b = ingest_binding(&s->ingest, r->stream);
	unsigned own, from = 0;
	struct skep_str run;
	int64_t month;
	int err;

	if (!b) {
		snprintf(s->why->text, sizeof(s->why->text), "out of memory");
		return -ENOMEM;
	}
	own = store_month(ingest_time(&s->ingest, r->time_ns));
	run = ingest_run(b, r);
	if (!run.len) {
		*ret = own;
		return 0;
	}
	if (idcache_get(s->home, run.ptr, run.len, &month)) {
		*ret = (unsigned)month;
		return 0;
	}
	if (b->table && b->table->statement == DB_RUN_PUT && b->start && r->data) {
		int64_t start = ingest_time(&s->ingest, (uint64_t)field_i64(b->start, r->data));

		/* its own record says when it began: only a stub could be elsewhere, and only later */
		if (start)
			own = from = store_month(start);
	}
	err = find_home(s, run, own, from, ret);
	if (!err)
		idcache_put(s->home, run.ptr, run.len, *ret);
	return err;
}

/* What of the batch belongs into one month's file, in one transaction. */
static int apply_month(struct store *s, const struct skep_batch *batch, unsigned month)
{
	uint64_t rows = 0;
	bool seen = false;
	struct db *db;
	int err;

	err = store_db(s, month, true, &db);
	if (err)
		return err;
	err = db_begin(db);
	if (!err && batch->key)
		err = db_seen(db, batch->key, &seen);
	for (uint32_t i = 0; !err && !seen && i < batch->n; i++) {
		if (s->month[i] != month)
			continue;
		err = ingest_record(&s->ingest, db, batch->records[i]);
		rows++;
	}
	if (!err && !seen)
		err = ingest_finish(&s->ingest, db);
	if (!err && !seen && batch->key)
		err = db_seen_add(db, batch->key, now_ns());
	if (!err)
		err = db_commit(db);
	if (!err) {
		if (seen && s->o.again)
			s->o.host->counter_add(s->o.again, 1);
		if (!seen && s->o.rows)
			s->o.host->counter_add(s->o.rows, rows);
		return 0;
	}
	db_rollback(db);
	ingest_abort(&s->ingest);
	if (err == -EUCLEAN)
		return set_aside_open(s, month);
	if (err == -EIO || err == -ENOSPC)
		store_drop(s, month); /* the next try opens it anew: the folder may be another by then */
	return err;
}

int store_apply(struct store *s, const struct skep_batch *batch, struct db_why *why)
{
	unsigned *grown;
	int err = 0;

	why->text[0] = '\0';
	s->why = why;
	for (size_t i = 0; i < OPEN_FILES; i++)
		if (s->slot[i].db)
			s->slot[i].db->why = why;
	s->ingest.offset = batch->realtime_offset_ns;
	if (batch->n > s->month_room) {
		grown = realloc(s->month, batch->n * sizeof(*grown));
		if (!grown) {
			snprintf(why->text, sizeof(why->text), "out of memory");
			return -ENOMEM;
		}
		s->month = grown;
		s->month_room = batch->n;
	}
	for (uint32_t i = 0; !err && i < batch->n; i++) {
		const struct skep_record *r = batch->records[i];

		s->month[i] = NO_MONTH;
		if (r && r->stream)
			err = record_month(s, r, &s->month[i]);
	}
	for (uint32_t i = 0; !err && i < batch->n; i++) {
		unsigned month = s->month[i];

		if (month == NO_MONTH)
			continue;
		err = apply_month(s, batch, month);
		for (uint32_t k = i; k < batch->n; k++)
			if (s->month[k] == month)
				s->month[k] = NO_MONTH;
	}
	return err;
}

int store_open(const struct store_options *o, struct db_why *why, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));
	struct db *db;
	int err = -ENOMEM;

	snprintf(why->text, sizeof(why->text), "out of memory");
	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->why = why;
	s->path = strdup(o->path);
	s->home = idcache_new();
	if (!s->path || !s->home || ingest_init(&s->ingest, o->boot_id) != 0)
		goto out;
	err = make_folders(s->path, why);
	if (err)
		goto out;
	err = store_db(s, store_month(now_ns()), true, &db);
	if (err == -EUCLEAN) /* set aside: there is room for a new one */
		err = store_db(s, store_month(now_ns()), true, &db);
	if (err)
		goto out;
	*ret = s;
	return 0;
out:
	store_close(s);
	return err;
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < OPEN_FILES; i++)
		slot_close(&s->slot[i]);
	ingest_free(&s->ingest);
	idcache_free(s->home);
	free(s->month);
	free(s->path);
	free(s);
	return NULL;
}
