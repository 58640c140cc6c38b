/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/copy.c - copies rows by two connections: one reads a month's file, the other writes the copy.
 * One connection with ATTACH cannot do both: an attached file inherits the other one's mode, read-only.
 */
#include "lake/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lake/copy_sql.h"
#include "lake/file.h"
#include "lake/schema_sql.h"

#define PAGE_SIZE 4096
#define OPS 20000 /* of SQLite's machine between two calls of `cancelled`: less than a millisecond */
#define RUN_ROOM 8 /* a list ends when less than this part of the room is left: one run's tasks must fit into it */

/* ?1: the run's row; ?2: the user. `key` becomes the run's row in the copy. */
static const struct table {
	const char *name, *key, *select;
	bool listed; /* in a copy of all runs, too */
} tables[] = {
	{ "run", "id", "SELECT * FROM run WHERE id = ?1", true },
	{ "task", "run", "SELECT * FROM task WHERE run = ?1", true },
	{ "rollup_run_tool", "run", "SELECT * FROM rollup_run_tool WHERE run = ?1", true },
	{ "rollup_run", "run", "SELECT * FROM rollup_run WHERE run = ?1", true },
	{ "proc_flat", "run", "SELECT * FROM proc WHERE run = ?1", false },
	{ "proc_facet", "", "SELECT * FROM proc_facet WHERE proc IN (SELECT id FROM proc WHERE run = ?1 AND uid = ?2)", false },
	{ "sample", "run", "SELECT * FROM sample WHERE run = ?1", false },
	{ "record", "run",
	  "SELECT * FROM record WHERE run = ?1 AND stream = (SELECT id FROM dict WHERE s = 'ledger')", false },
};
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

/* Columns that a copy lacks in rows of another user's process. */
static const char *const hidden[] = { "argv", "argv_total", "exe", "filename", "cwd" };

static const char used_names[] =
	"SELECT task FROM proc UNION SELECT tool FROM proc UNION SELECT boot FROM proc UNION SELECT state FROM proc "
	"UNION SELECT comm FROM proc UNION SELECT exe FROM proc UNION SELECT filename FROM proc "
	"UNION SELECT cwd FROM proc UNION SELECT cgroup FROM proc UNION SELECT container FROM proc "
	"UNION SELECT oom_cgroup FROM proc UNION SELECT task_id FROM proc UNION SELECT step FROM proc "
	"UNION SELECT unit FROM proc UNION SELECT scopes FROM proc "
	"UNION SELECT name FROM proc_facet UNION SELECT tool FROM sample UNION SELECT stream FROM record "
	"UNION SELECT tool FROM rollup_run_tool";

struct rows {
	sqlite3_stmt *from, *to;
	int key, uid;    /* columns; -1: none */
	uint64_t hidden; /* a bit for each column */
};

struct copy {
	const struct lake_copy *what;
	struct lake *lake;
	struct lake_why *why;
	sqlite3 *to;
	int fd;
	uint64_t max_bytes;
	struct lake_file from;
	struct rows rows[N_TABLES]; /* of the file `from` */
	int64_t n_runs;
	uint64_t left_out;
};

static int to_error(struct copy *c, int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		lake_say(c->why, "out of memory");
		return -ENOMEM;
	case SQLITE_FULL:
	case SQLITE_TOOBIG:
		lake_say(c->why, "the copy would have more than %llu MiB",
			 (unsigned long long)(c->max_bytes >> 20));
		return -EFBIG;
	case SQLITE_INTERRUPT:
		lake_say(c->why, "the copy was cancelled");
		return -ECANCELED;
	default:
		lake_say(c->why, "cannot write the copy: %s", sqlite3_errmsg(c->to));
		return -EIO;
	}
}

static int from_error(struct copy *c, int rc)
{
	return (rc & 0xff) == SQLITE_INTERRUPT ? to_error(c, rc) : lake_file_error(&c->from, rc);
}

static int execute(struct copy *c, const char *sql)
{
	int rc = sqlite3_exec(c->to, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : to_error(c, rc);
}

/* ---- rows ------------------------------------------------------------------------- */

/* Prepares the statement that writes the columns that `from` reads. */
static int prepare_to(struct copy *c, const struct table *t, struct rows *r)
{
	sqlite3_str *sql = sqlite3_str_new(c->to);
	int n = sqlite3_column_count(r->from), rc;
	char *text;

	r->key = r->uid = -1;
	r->hidden = 0;
	sqlite3_str_appendf(sql, "INSERT OR IGNORE INTO %s (", t->name);
	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(r->from, i);

		sqlite3_str_appendf(sql, "%s%s", i ? ", " : "", name ? name : "");
		if (name && strcmp(name, t->key) == 0)
			r->key = i;
		if (name && strcmp(name, "uid") == 0)
			r->uid = i;
		for (size_t k = 0; name && i < 64 && k < sizeof(hidden) / sizeof(hidden[0]); k++)
			if (strcmp(name, hidden[k]) == 0)
				r->hidden |= UINT64_C(1) << i;
	}
	sqlite3_str_appendall(sql, ") VALUES (");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(sql, "%s?%d", i ? ", " : "", i + 1);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	rc = text ? sqlite3_prepare_v2(c->to, text, -1, &r->to, NULL) : SQLITE_NOMEM;
	sqlite3_free(text);
	return rc == SQLITE_OK ? 0 : to_error(c, rc);
}

static int prepare_rows(struct copy *c, size_t table)
{
	struct rows *r = &c->rows[table];
	int err = r->to ? 0 : lake_file_prepare(&c->from, tables[table].select, &r->from);

	return err || r->to ? err : prepare_to(c, &tables[table], r);
}

static void drop_rows(struct copy *c)
{
	for (size_t i = 0; i < N_TABLES; i++) {
		sqlite3_finalize(c->rows[i].from);
		sqlite3_finalize(c->rows[i].to);
		c->rows[i] = (struct rows){ 0 };
	}
}

/* The row that `from` stands on; `as`: the run's row in the copy. */
static int copy_row(struct copy *c, const struct rows *r, int64_t as)
{
	bool others = r->uid >= 0 && (sqlite3_column_type(r->from, r->uid) == SQLITE_NULL ||
				      (uint64_t)sqlite3_column_int64(r->from, r->uid) != c->what->uid);
	int n = sqlite3_column_count(r->from), rc = SQLITE_OK;

	for (int i = 0; i < n && rc == SQLITE_OK; i++) {
		bool hide = others && i < 64 && (r->hidden & UINT64_C(1) << i);

		if (i == r->key)
			rc = sqlite3_bind_int64(r->to, i + 1, as);
		else if (!hide)
			rc = sqlite3_bind_value(r->to, i + 1, sqlite3_column_value(r->from, i));
		else if (strncmp(sqlite3_column_name(r->from, i), "argv", 4) == 0)
			rc = sqlite3_bind_null(r->to, i + 1);
		else
			rc = sqlite3_bind_int64(r->to, i + 1, 0); /* "" in dict */
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_step(r->to);
	(void)sqlite3_reset(r->to); /* its error is that of the step */
	return rc == SQLITE_DONE ? 0 : to_error(c, rc);
}

static int copy_run(struct copy *c, int64_t row, int64_t as, bool whole)
{
	int err = 0, rc;

	for (size_t i = 0; i < N_TABLES && !err; i++) {
		struct rows *r = &c->rows[i];

		if (!whole && !tables[i].listed)
			continue;
		err = prepare_rows(c, i);
		if (err)
			break;
		sqlite3_bind_int64(r->from, 1, row);
		sqlite3_bind_int64(r->from, 2, (sqlite3_int64)c->what->uid); /* not all have it */
		while (!err && (rc = sqlite3_step(r->from)) != SQLITE_DONE)
			err = rc == SQLITE_ROW ? copy_row(c, r, as) : from_error(c, rc);
		sqlite3_reset(r->from);
	}
	return err;
}

/* ---- one run ----------------------------------------------------------------------- */

static int copy_names(struct copy *c)
{
	sqlite3_stmt *ids = NULL, *find = NULL, *add = NULL;
	int rc, err = lake_file_prepare(&c->from, "SELECT id, s FROM dict WHERE id = ?1", &find);

	if (err)
		return err;
	rc = sqlite3_prepare_v2(c->to, used_names, -1, &ids, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(c->to, "INSERT OR IGNORE INTO dict (id, s) VALUES (?1, ?2)", -1, &add, NULL);
	while (rc == SQLITE_OK && !err && (rc = sqlite3_step(ids)) == SQLITE_ROW) {
		sqlite3_bind_int64(find, 1, sqlite3_column_int64(ids, 0));
		rc = sqlite3_step(find);
		if (rc == SQLITE_ROW) {
			sqlite3_bind_int64(add, 1, sqlite3_column_int64(ids, 0));
			sqlite3_bind_value(add, 2, sqlite3_column_value(find, 1));
			rc = sqlite3_step(add);
			(void)sqlite3_reset(add);
		} else if (rc != SQLITE_DONE) {
			err = from_error(c, rc);
		}
		(void)sqlite3_reset(find);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	}
	if (!err && rc != SQLITE_DONE)
		err = to_error(c, rc);
	sqlite3_finalize(ids);
	sqlite3_finalize(find);
	sqlite3_finalize(add);
	return err;
}

/* Losses have no run: `skep show` reads those of the run's time, also in later files, whose ids of texts differ. */
static int copy_losses(struct copy *c, int64_t start, int64_t end)
{
	static const char select[] =
		"SELECT l.time_ns, i.s, t.s, p.s, l.count FROM loss l JOIN dict i ON i.id = l.instance JOIN dict t ON "
		"t.id = l.stream JOIN dict p ON p.id = l.place WHERE l.time_ns BETWEEN ?1 AND ?2";
	static const char name[] = "INSERT OR IGNORE INTO dict (s) VALUES (?2), (?3), (?4)";
	static const char insert[] =
		"INSERT INTO loss (time_ns, instance, stream, place, count) VALUES (?1, (SELECT id FROM dict WHERE s = ?2), "
		"(SELECT id FROM dict WHERE s = ?3), (SELECT id FROM dict WHERE s = ?4), ?5)";
	sqlite3_stmt *from = NULL, *to[2] = { NULL, NULL };
	int rc, err = lake_file_prepare(&c->from, select, &from);

	if (err)
		return err;
	sqlite3_bind_int64(from, 1, start);
	sqlite3_bind_int64(from, 2, end);
	rc = sqlite3_prepare_v2(c->to, name, -1, &to[0], NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(c->to, insert, -1, &to[1], NULL);
	if (rc != SQLITE_OK)
		err = to_error(c, rc);
	while (!err && (rc = sqlite3_step(from)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			err = from_error(c, rc);
			break;
		}
		for (int k = 0; k < 2 && !err; k++) {
			for (int i = 0; i < 5; i++) /* the first statement has no ?1 and ?5 to bind: harmless */
				(void)sqlite3_bind_value(to[k], i + 1, sqlite3_column_value(from, i));
			rc = sqlite3_step(to[k]);
			(void)sqlite3_reset(to[k]);
			err = rc == SQLITE_DONE ? 0 : to_error(c, rc);
		}
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to[0]);
	sqlite3_finalize(to[1]);
	return err;
}

static int open_month(struct copy *c, unsigned month)
{
	int err = lake_file_open(c->lake, month, c->why, &c->from);

	if (!err && c->what->cancelled)
		sqlite3_progress_handler(c->from.sql, OPS, c->what->cancelled, c->what->arg);
	return err;
}

static void close_month(struct copy *c)
{
	drop_rows(c);
	lake_file_close(&c->from);
}

static int span_of(struct copy *c, int64_t row, int64_t *ret_start, int64_t *ret_end)
{
	sqlite3_stmt *s = NULL;
	int rc, err = lake_file_prepare(&c->from, "SELECT start_ns, end_ns FROM run WHERE id = ?1", &s);

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, row);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		*ret_start = sqlite3_column_int64(s, 0);
		*ret_end = sqlite3_column_int64(s, 1);
	} else {
		err = from_error(c, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc); /* lake_run_find saw it */
	}
	sqlite3_finalize(s);
	return err;
}

static int copy_one(struct copy *c)
{
	struct arena ids = { 0 };
	struct lake_key run = { 0 };
	int64_t start = 0, end = 0;
	int err = lake_run_find(c->lake, c->what->run, &c->what->uid, c->why, &ids, &run);

	arena_free(&ids);
	if (!err)
		err = open_month(c, run.month);
	if (err)
		return err;
	err = copy_run(c, run.row, run.row, true);
	if (!err)
		err = copy_names(c);
	if (!err)
		err = span_of(c, run.row, &start, &end);
	if (!end)
		end = INT64_MAX;
	if (!err)
		err = copy_losses(c, start, end);
	close_month(c);
	for (size_t i = 0; i < c->lake->n_months && !err; i++) {
		unsigned other = c->lake->months[i] / LAKE_PARTS;

		if (c->lake->months[i] == run.month || other < lake_month(start) || other > lake_month(end))
			continue;
		err = open_month(c, c->lake->months[i]);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		if (!err)
			err = copy_losses(c, start, end);
		close_month(c);
	}
	return err;
}

/* ---- all runs ---------------------------------------------------------------------- */

static int is_full(struct copy *c, bool *ret)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(c->to, "PRAGMA page_count", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(s, 0) * PAGE_SIZE > c->max_bytes - c->max_bytes / RUN_ROOM;
	sqlite3_finalize(s);
	return rc == SQLITE_ROW ? 0 : to_error(c, rc);
}

static int copy_month(struct copy *c)
{
	sqlite3_stmt *s = NULL;
	int rc, err = lake_file_prepare(&c->from,
					"SELECT id FROM run WHERE uid = ?1 AND coalesce(start_ns, 0) >= ?2 "
					"ORDER BY start_ns DESC, run DESC", &s);
	bool full = c->left_out > 0;

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)c->what->uid);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)c->what->since_ns);
	while (!err && (rc = sqlite3_step(s)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW)
			err = from_error(c, rc);
		else if (full)
			c->left_out++;
		else
			err = copy_run(c, sqlite3_column_int64(s, 0), ++c->n_runs, false);
		if (!err && !full)
			err = is_full(c, &full);
	}
	sqlite3_finalize(s);
	return err;
}

static int copy_all(struct copy *c)
{
	int err = 0;

	for (size_t i = 0; i < c->lake->n_months && !err; i++) {
		err = open_month(c, c->lake->months[i]);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		if (!err)
			err = copy_month(c);
		close_month(c);
	}
	return err;
}

/* ---- the file ---------------------------------------------------------------------- */

/* For a folder without O_TMPFILE: NFS, and overlayfs before 6.2. */
static int file_by_name(const char *folder)
{
	char *name;
	int fd, err;

	if (asprintf(&name, "%s/.skep-copy-XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	err = -errno;
	if (fd >= 0)
		(void)unlink(name);
	free(name);
	return fd < 0 ? err : fd;
}

int lake_copy_file(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? file_by_name(folder) : -errno;
}

/* The space that a copy may take in the lake's folder. */
static uint64_t disk_room(const struct copy *c)
{
	struct statvfs fs;
	uint64_t free_bytes = statvfs(c->lake->path, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;

	return free_bytes > c->what->keep_free ? (free_bytes - c->what->keep_free) / 4 : 0;
}

static int open_to(struct copy *c)
{
	uint64_t room = disk_room(c);
	bool on_disk = room >= LAKE_COPY_MEMORY;
	char name[32], *sql = NULL;
	int rc, err;

	if (!on_disk)
		room = LAKE_COPY_MEMORY;
	if (room < c->max_bytes)
		c->max_bytes = room;
	c->fd = on_disk ? lake_copy_file(c->lake->path) : memfd_create("skep-copy", MFD_CLOEXEC);
	if (c->fd < 0) {
		err = on_disk ? c->fd : -errno;
		lake_say(c->why, "cannot make a file in %s: %s", on_disk ? c->lake->path : "memory", strerror(-err));
		return err;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", c->fd);
	rc = sqlite3_open_v2(name, &c->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, lake_vfs());
	if (rc != SQLITE_OK)
		return to_error(c, rc);
	if (c->what->cancelled)
		sqlite3_progress_handler(c->to, OPS, c->what->cancelled, c->what->arg);
	/* Without a journal a failed statement leaves the file broken: any failure discards the copy. */
	sql = sqlite3_mprintf("PRAGMA page_size = %d; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
			      "PRAGMA secure_delete = ON; PRAGMA max_page_count = %llu; BEGIN; %s; %s; "
			      "PRAGMA user_version = %d; PRAGMA application_id = %d",
			      PAGE_SIZE, (sqlite3_uint64)(c->max_bytes / PAGE_SIZE), schema_sql, copy_sql,
			      LAKE_SCHEMA_VERSION, LAKE_APPLICATION_ID);
	err = sql ? execute(c, sql) : to_error(c, SQLITE_NOMEM);
	sqlite3_free(sql);
	return err;
}

int lake_copy(struct lake *l, const struct lake_copy *what, int *ret_fd, uint64_t *ret_left_out, char *why_text,
	      size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct copy c = { .what = what, .lake = l, .why = &why, .fd = -1, .max_bytes = what->max_bytes };
	int err = open_to(&c), rc;

	if (!err)
		err = what->run ? copy_one(&c) : copy_all(&c);
	if (!err)
		err = execute(&c, "COMMIT");
	rc = sqlite3_close(c.to);
	if (!err && rc != SQLITE_OK)
		err = -EIO;
	if (err) {
		if (c.fd >= 0)
			close(c.fd);
		return err;
	}
	*ret_fd = c.fd;
	*ret_left_out = c.left_out;
	return 0;
}

int lake_open_copy(int fd, struct lake **ret)
{
	struct lake *l = calloc(1, sizeof(*l));

	if (l) {
		l->fd = fd;
		l->path = strdup("of your own runs");
		l->months = calloc(1, sizeof(*l->months));
		l->n_months = 1;
	}
	if (!l || !l->path || !l->months) {
		if (l)
			lake_close(l);
		else
			close(fd);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}
