/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores batches in the folder of month files (files.h).
 *
 * A batch may have records for several files.  The store writes one transaction in each of these files, and each
 * transaction notes the batch's key.  When the plugin host offers the batch again after a failure between two commits,
 * the store skips the files that have the key.  This is exact, because every attempt chooses the same file for a
 * record: the file with the row of the record's run, else the newest file of the record's month.  A month gets another
 * file only after a batch has succeeded.  The store writes to the newest file first: see seen_before().
 */
#include "sinks/lake/store.h"

#include <errno.h>
#include <limits.h>
#include <skep/sink/fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sinks/lake/files.h"
#include "sinks/lake/ingest.h"

#define OPEN_FILES 3 /* this month's file, a file with runs that began earlier, and one more */
#define NO_FILE    UINT_MAX

/*
 * The store checks the bounds after it has written a 64th of the lake's bound, and every ten seconds.  The lake exceeds
 * its bounds at most by the 64 MiB that a file grows meanwhile.
 */
#define LOOK_NS   (10 * INT64_C(1000000000))
#define LOOK_PART 64

/* After a new file has begun, the store looks up the keys of this many batches in the previous file too. */
#define LOOK_BACK 64

struct slot {
	struct db *db;
	unsigned number;
	uint64_t used;
};

struct store {
	struct store_options o;
	char *path;
	struct db_why *why;
	struct ingest ingest;
	struct retain_bounds bounds;
	struct idcache *home; /* maps a run to its file */
	struct slot slot[OPEN_FILES];
	uint64_t clock;
	unsigned newest[OPEN_FILES], turn; /* the newest file of recent months */
	unsigned look_back;
	int64_t looked_ns;
	uint64_t unlooked_bytes;
	struct retain_state kept;
	struct budget budget_before; /* the budget before the current attempt */
	unsigned *number; /* the file number of each record of the current batch */
	size_t number_room;
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

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Creates every missing part of the path, with mode 0750: only the owner and the group may see command lines. */
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
			/* a part may exist where mkdir() is not allowed (EROFS, EACCES) */
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
	if (!err && stat(path, &st) != 0) {
		err = -errno;
		snprintf(why->text, sizeof(why->text), "%s: %s", path, strerror(-err));
	} else if (!err && !S_ISDIR(st.st_mode)) {
		err = -ENOTDIR;
		snprintf(why->text, sizeof(why->text), "%s: is not a folder; give the sink's path option a folder",
			 path);
	}
	free(copy);
	return err;
}

/* Renames a damaged file with its -wal and -shm; the next open creates a new file. */
static int set_aside(struct store *s, unsigned number)
{
	/*
	 * The file itself first: when a crash leaves its -wal behind, SQLite finds an empty new file and deletes the
	 * -wal instead of replaying it.
	 */
	static const char *const suffix[] = { "", "-wal", "-shm" };
	char *path = files_path(s->path, number), *to = NULL;
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
		       "%s; it is kept as %s (skep-lake(7), \"Damaged files\", saves its rows), a new file is begun and records go on",
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
 * Opens a file, or returns the open one.  -ENOENT: missing, and create is false.  -EUCLEAN: damaged, and set aside, so
 * that the next call finds no file.
 */
static int store_db(struct store *s, unsigned number, bool create, struct db **ret)
{
	struct slot *slot = &s->slot[0];
	char *path;
	int err;

	for (size_t i = 0; i < OPEN_FILES; i++) {
		if (s->slot[i].db && s->slot[i].number == number) {
			slot = &s->slot[i];
			break;
		}
		if (s->slot[i].used < slot->used)
			slot = &s->slot[i];
	}
	if (slot->db && slot->number == number && db_in_place(slot->db)) {
		slot->used = ++s->clock;
		*ret = slot->db;
		return 0;
	}
	/* the slot holds another file, or another program removed or replaced this one */
	slot_close(slot);
	path = files_path(s->path, number);
	if (!path) {
		snprintf(s->why->text, sizeof(s->why->text), "out of memory");
		return -ENOMEM;
	}
	err = db_open(path, &s->o.db, create, s->why, &slot->db);
	free(path);
	if (err == -EUCLEAN) {
		int moved = set_aside(s, number);

		return moved ? moved : err;
	}
	if (err)
		return err;
	slot->number = number;
	slot->used = ++s->clock;
	*ret = slot->db;
	return 0;
}

static void store_drop(struct store *s, unsigned number)
{
	for (size_t i = 0; i < OPEN_FILES; i++)
		if (s->slot[i].db && s->slot[i].number == number)
			slot_close(&s->slot[i]);
}

static int store_list(struct store *s, struct files *ret)
{
	int err = files_list(s->path, ret);

	if (err)
		snprintf(s->why->text, sizeof(s->why->text), "%s: %s", s->path, strerror(-err));
	return err && err != -ENOMEM ? -EIO : err;
}

/* Returns the file that new records of a month go to. */
static int store_newest(struct store *s, unsigned month, unsigned *ret)
{
	unsigned number = month * FILES_PARTS;
	struct files files;
	int err;

	for (size_t i = 0; i < OPEN_FILES; i++) {
		if (s->newest[i] / FILES_PARTS == month) {
			*ret = s->newest[i];
			return 0;
		}
	}
	err = store_list(s, &files);
	if (err)
		return err;
	for (size_t i = files.n; i-- > 0;)
		if (files.one[i].number / FILES_PARTS == month)
			number = files.one[i].number;
	files_free(&files);
	s->newest[s->turn++ % OPEN_FILES] = number;
	*ret = number;
	return 0;
}

static bool is_open(const struct store *s, unsigned number)
{
	for (size_t i = 0; i < OPEN_FILES; i++)
		if (s->slot[i].db && s->slot[i].number == number)
			return true;
	return false;
}

static int set_aside_open(struct store *s, unsigned number)
{
	int err;

	store_drop(s, number);
	idcache_clear(s->home); /* the runs of the damaged file have no row any more */
	err = set_aside(s, number);
	return err ? err : -EUCLEAN;
}

/* Looks for a run in a file; a file that this store may not write counts as without the run. */
static int run_is_in(struct store *s, struct skep_str run, unsigned number, bool *ret_found)
{
	struct db *db;
	int64_t id;
	int err;

	err = store_db(s, number, false, &db);
	if (!err) {
		err = db_run_find(db, run.ptr, run.len, &id);
		if (err == -EUCLEAN)
			return set_aside_open(s, number);
	}
	if (err && err != -ENOENT && err != -ENOTSUP)
		return err;
	*ret_found = !err;
	return 0;
}

/*
 * Finds the file of a run that is not in the cache: the file with the run's row, else `own`.  The store calls it once
 * per run.  from: no file with a smaller number can have the row.
 */
static int find_home(struct store *s, struct skep_str run, unsigned own, unsigned from, unsigned *ret)
{
	struct files files = { 0 };
	bool found = false;
	int err;

	err = run_is_in(s, run, own, &found);
	*ret = own;
	if (err || found)
		return err;
	err = store_list(s, &files);
	for (size_t i = 0; !err && !found && i < files.n && files.one[i].number >= from; i++) {
		if (files.one[i].number == own || !files.one[i].is_there)
			continue;
		err = run_is_in(s, run, files.one[i].number, &found);
		if (!err && found)
			*ret = files.one[i].number;
	}
	files_free(&files);
	return err;
}

static int record_file(struct store *s, const struct skep_batch *batch, const struct skep_record *r, unsigned *ret)
{
	const struct binding *b = ingest_binding(&s->ingest, r->stream);
	unsigned month, own = 0, from = 0;
	struct skep_str run;
	int64_t known;
	int err;

	if (!b) {
		snprintf(s->why->text, sizeof(s->why->text), "out of memory");
		return -ENOMEM;
	}
	s->ingest.offset = skep_record_realtime_offset(batch, r);
	month = store_month(ingest_time(&s->ingest, r->time_ns));
	run = ingest_run(b, r);
	if (!run.len)
		return store_newest(s, month, ret);
	if (idcache_get(s->home, run.ptr, run.len, &known)) {
		*ret = (unsigned)known;
		return 0;
	}
	if (b->table && b->table->statement == DB_RUN_PUT && b->start && r->data) {
		int64_t start = ingest_time(&s->ingest, (uint64_t)skep_field_i64(b->start, r->data));

		/* the run's own record says when the run began: no earlier file has a row of the run */
		if (start) {
			month = store_month(start);
			from = month * FILES_PARTS;
		}
	}
	err = store_newest(s, month, &own);
	if (!err)
		err = find_home(s, run, own, from, ret);
	if (!err)
		idcache_put(s->home, run.ptr, run.len, *ret);
	return err;
}

/*
 * Looks for the batch's key in the previous file of the month: a batch that failed in another file may have been
 * committed there before this file existed.  store_apply() writes a batch to the larger number first, so a key that
 * this function finds in the smaller one is from an earlier attempt.
 */
static int seen_before(struct store *s, unsigned number, const char *key, bool *ret_seen)
{
	struct db *db;
	int err;

	if (!s->look_back || number % FILES_PARTS == 0)
		return 0;
	err = store_db(s, number - 1, false, &db);
	if (!err)
		err = db_seen(db, key, ret_seen);
	if (!err || err == -ENOENT || err == -ENOTSUP)
		return 0;
	/* when store_db() could not open the file, it has set the file aside already */
	if (err == -EUCLEAN && is_open(s, number - 1))
		return set_aside_open(s, number - 1);
	if (err != -EIO)
		return err;
	/* An unreadable file must not stop the lake.  Storing a batch twice is better than losing it. */
	s->o.host->log(s->o.instance, SKEP_LOG_WARNING,
		       "%s; whether it has the batch is not known: the batch is written", s->why->text);
	store_drop(s, number - 1);
	return 0;
}

/* Writes the batch's records that belong to one file, in one transaction. */
static int apply_file(struct store *s, const struct skep_batch *batch, unsigned number)
{
	uint32_t refused = s->ingest.refused, cut = s->ingest.rows_cut;
	uint64_t rows = 0, written = s->ingest.written;
	bool seen = false;
	struct db *db;
	int err = 0;

	if (batch->key)
		err = seen_before(s, number, batch->key, &seen);
	if (!err)
		err = store_db(s, number, true, &db);
	if (err)
		return err;
	err = db_begin(db);
	/* Another skep's retention removes a file under the lock that db_begin() has just taken: see retain.c. */
	if (!err && !db_in_place(db)) {
		db_rollback(db);
		store_drop(s, number);
		idcache_clear(s->home);
		memset(s->newest, 0, sizeof(s->newest)); /* else the next attempt creates the removed file again */
		snprintf(s->why->text, sizeof(s->why->text), "a file of the lake was removed while it was written to");
		return -EAGAIN;
	}
	s->budget_before = s->ingest.budget;
	if (!err && !seen && batch->key)
		err = db_seen(db, batch->key, &seen);
	for (uint32_t i = 0; !err && !seen && i < batch->n; i++) {
		if (s->number[i] != number)
			continue;
		s->ingest.offset = skep_record_realtime_offset(batch, batch->records[i]);
		err = ingest_record(&s->ingest, db, batch->records[i]);
		rows++;
	}
	if (!err && !seen)
		err = ingest_finish(&s->ingest, db);
	if (!err && s->ingest.refused > refused)
		err = db_summed_add(db, s->ingest.refused - refused);
	if (!err && !seen && batch->key)
		err = db_seen_add(db, batch->key, now_ns());
	if (!err)
		err = db_commit(db);
	if (!err) {
		if (seen && s->o.again)
			s->o.host->counter_add(s->o.again, 1);
		if (!seen && s->o.rows)
			s->o.host->counter_add(s->o.rows, rows - (s->ingest.refused - refused));
		if (s->o.cut)
			s->o.host->counter_add(s->o.cut, s->ingest.rows_cut - cut);
		return 0;
	}
	db_rollback(db);
	ingest_abort(&s->ingest);
	s->ingest.refused = refused;
	s->ingest.rows_cut = cut;
	s->ingest.written = written;
	s->ingest.budget = s->budget_before; /* users pay for stored rows, not for attempts */
	if (err == -EUCLEAN)
		return set_aside_open(s, number);
	if (err == -EIO || err == -ENOSPC)
		store_drop(s, number); /* the next attempt opens the file anew: the folder may be another one by then */
	return err;
}

/* Continues the month in a new file when the current file has reached its share of the bound. */
static int next_file(struct store *s, unsigned *current)
{
	uint64_t share = s->kept.bound / RETAIN_SHARE;
	struct files files;
	int err;

	if (!share || *current % FILES_PARTS == FILES_PARTS - 1)
		return 0;
	err = store_list(s, &files);
	if (err)
		return err;
	for (size_t i = 0; i < files.n; i++) {
		if (files.one[i].number != *current || files.one[i].bytes < share)
			continue;
		store_drop(s, *current); /* closing the last connection removes the file's -wal */
		for (size_t k = 0; k < OPEN_FILES; k++)
			if (s->newest[k] == *current)
				s->newest[k]++;
		*current += 1;
		s->look_back = LOOK_BACK;
		break;
	}
	files_free(&files);
	return 0;
}

/* Closes and forgets the files that retention has removed. */
static void store_removed(struct store *s, const struct retain_state *state)
{
	for (size_t i = 0; i < OPEN_FILES; i++)
		if (s->slot[i].db && !db_in_place(s->slot[i].db))
			slot_close(&s->slot[i]);
	idcache_clear(s->home);
	memset(s->newest, 0, sizeof(s->newest));
	if (s->o.removed)
		s->o.host->counter_add(s->o.removed, state->removed);
	s->o.host->log(s->o.instance, state->sums_lost ? SKEP_LOG_WARNING : SKEP_LOG_INFO,
		       "%s: removed %llu of the oldest files to keep the lake within its bounds%s", s->path,
		       (unsigned long long)state->removed,
		       state->sums_lost ? "; a damaged file or a full disk: not all sums per day could be kept"
					: "; sums per day are kept");
}

/*
 * Checks the bounds and removes files.  A failure fails no batch: the next check tries again.  full: the disk is full
 * or fails, so retention runs even when the current file cannot be opened.
 */
static void store_keep(struct store *s, bool full)
{
	struct retain_state state = { 0 };
	unsigned current;
	struct db *db;
	int err;

	s->looked_ns = s->ingest.now_ns;
	s->unlooked_bytes = 0;
	err = store_newest(s, store_month(now_ns()), &current);
	if (err)
		goto out; /* retention removes nothing while the current file is unknown */
	if (s->kept.bound && !full)
		err = next_file(s, &current);
	if (!err)
		err = store_db(s, current, !full, &db); /* the current file receives the sums of removed files */
	if (!err || err == -ENOSPC || err == -EIO || (full && err == -ENOENT))
		err = retain(s->path, current, &s->bounds, s->why, &state);
	if (state.removed)
		store_removed(s, &state);
out:
	if (err) {
		s->o.host->log(s->o.instance, SKEP_LOG_WARNING, "%s", s->why->text);
		return;
	}
	state.held = s->kept.held;
	state.free_bytes = s->kept.free_bytes;
	s->kept = state;
	s->ingest.full = state.full;
}

static void store_look(struct store *s, uint64_t bytes)
{
	s->unlooked_bytes += bytes;
	if (!s->looked_ns || s->ingest.now_ns - s->looked_ns >= LOOK_NS ||
	    (s->kept.bound && s->unlooked_bytes >= s->kept.bound / LOOK_PART))
		store_keep(s, false);
}

/* Looks at the bounds while the store cannot write, and keeps the reason for that. */
static void store_look_anyway(struct store *s)
{
	struct db_why why = *s->why;

	store_keep(s, true);
	*s->why = why;
}

/* -EDQUOT: others have filled the file system. */
static int store_room(struct store *s)
{
	bool was = s->kept.held;

	s->kept.held = !retain_has_room(s->path, &s->bounds, was, &s->kept.free_bytes);
	if (!s->kept.held)
		return 0;
	snprintf(s->why->text, sizeof(s->why->text),
		 "%s: its file system has %llu MiB free, less than min_free (%llu MiB): records wait until there is more",
		 s->path, (unsigned long long)(s->kept.free_bytes >> 20),
		 (unsigned long long)(s->bounds.min_free >> 20));
	if (s->o.held)
		s->o.host->counter_add(s->o.held, 1);
	if (!s->looked_ns || s->ingest.now_ns - s->looked_ns >= LOOK_NS)
		store_look_anyway(s); /* the lake may be over its own bounds */
	return -EDQUOT;
}

const struct retain_state *store_state(const struct store *s)
{
	return &s->kept;
}

void store_bound(struct store *s, const struct retain_bounds *bounds)
{
	s->bounds = *bounds;
	budget_set(&s->ingest.budget, retain_bound(s->path, bounds));
	s->looked_ns = 0;
}

/* Returns the largest file number that the batch still has to be written to. */
static bool newest_of(const struct store *s, uint32_t n, unsigned *ret_number)
{
	bool found = false;

	for (uint32_t i = 0; i < n; i++) {
		if (s->number[i] == NO_FILE || (found && s->number[i] <= *ret_number))
			continue;
		*ret_number = s->number[i];
		found = true;
	}
	return found;
}

int store_apply(struct store *s, const struct skep_batch *batch, struct db_why *why, uint32_t *ret_refused)
{
	unsigned *grown, number = 0;
	int err = 0;

	why->text[0] = '\0';
	s->why = why;
	for (size_t i = 0; i < OPEN_FILES; i++)
		if (s->slot[i].db)
			s->slot[i].db->why = why;
	s->ingest.host_offset = batch->realtime_offset_ns;
	s->ingest.boot_id = batch->boot_id;
	s->ingest.host = batch->host_name ? batch->host_name : "";
	s->ingest.now_ns = monotonic_ns();
	err = store_room(s);
	if (err)
		return err;
	if (batch->n > s->number_room) {
		grown = realloc(s->number, batch->n * sizeof(*grown));
		if (!grown) {
			snprintf(why->text, sizeof(why->text), "out of memory");
			return -ENOMEM;
		}
		s->number = grown;
		s->number_room = batch->n;
	}
	for (uint32_t i = 0; !err && i < batch->n; i++) {
		const struct skep_record *r = batch->records[i];

		s->number[i] = NO_FILE;
		if (r && r->stream)
			err = record_file(s, batch, r, &s->number[i]);
	}
	while (!err && newest_of(s, batch->n, &number)) {
		err = apply_file(s, batch, number);
		for (uint32_t i = 0; i < batch->n; i++)
			if (s->number[i] == number)
				s->number[i] = NO_FILE;
	}
	if (!err) {
		s->look_back -= s->look_back > 0;
		store_look(s, s->ingest.written);
		s->ingest.written = 0;
		*ret_refused = s->ingest.refused < batch->n ? s->ingest.refused : batch->n;
		s->ingest.refused = 0;
	} else if (err == -ENOSPC || err == -EIO) {
		store_look_anyway(s);
	}
	return err;
}

int store_open(const struct store_options *o, struct db_why *why, struct store **ret)
{
	struct store *s = calloc(1, sizeof(*s));
	struct db *db;
	unsigned number;
	int err = -ENOMEM;

	snprintf(why->text, sizeof(why->text), "out of memory");
	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->why = why;
	s->bounds = o->bounds;
	s->path = strdup(o->path);
	s->home = idcache_new();
	if (!s->path || !s->home || ingest_init(&s->ingest) != 0)
		goto out;
	err = make_folders(s->path, why);
	if (err)
		goto out;
	budget_set(&s->ingest.budget, retain_bound(s->path, &s->bounds));
	s->look_back = LOOK_BACK;
	err = store_newest(s, store_month(now_ns()), &number);
	if (!err)
		err = store_db(s, number, true, &db);
	if (err == -ENOSPC || err == -EIO)
		store_look_anyway(s);
	if (err == -EUCLEAN || err == -ENOSPC || err == -EIO) /* the file was set aside, or retention has freed space */
		err = store_db(s, number, true, &db);
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
	free(s->number);
	free(s->path);
	free(s);
	return NULL;
}
