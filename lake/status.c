/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/status.c - counts what the files of a lake hold, and how fast the lake grows.
 */
#include "lake/status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "lake/file.h"

#define GROWTH_DAYS 7

const char *const lake_status_tables[LAKE_STATUS_TABLES] = {
	"run", "task", "proc", "proc_facet", "sample", "loss", "record", "rollup_day", "dict",
};

struct day {
	size_t file;
	int64_t day;
	uint64_t processes;
};

struct status_answer {
	struct lake_status status; /* first member: lake_status_free casts the caller's pointer back */
	struct day *days;
	size_t n_days, day_room;
	bool rows, problem;
};

static struct lake_file_status *file_new(struct status_answer *a)
{
	struct lake_status *s = &a->status;
	struct lake_file_status *grown = reallocarray(s->files, s->n_files + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	s->files = grown;
	grown[s->n_files] = (struct lake_file_status){ 0 };
	return &grown[s->n_files++];
}

static uint64_t size_of(const char *path, const char *suffix)
{
	struct stat st;
	char *name;
	uint64_t size = 0;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return 0;
	if (stat(name, &st) == 0)
		size = (uint64_t)st.st_size;
	free(name);
	return size;
}

/* A query of numbers alone; NULL reads as 0. */
static int numbers(struct lake_file *f, const char *sql, uint64_t *ret, int n)
{
	sqlite3_stmt *s = NULL;
	int rc, err = lake_file_prepare(f, sql, &s);

	if (err)
		return err;
	rc = sqlite3_step(s);
	for (int i = 0; i < n && rc == SQLITE_ROW; i++)
		ret[i] = (uint64_t)sqlite3_column_int64(s, i);
	if (rc != SQLITE_ROW)
		err = lake_file_error(f, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc);
	sqlite3_finalize(s);
	return err;
}

static int count_rows(struct lake_file *f, struct lake_file_status *s)
{
	int err = 0;

	for (size_t i = 0; i < LAKE_STATUS_TABLES && !err; i++) {
		/* The view proc would join two tables for each row. */
		bool images = strcmp(lake_status_tables[i], "proc") == 0;
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", images ? "proc_row" : lake_status_tables[i]);
		err = numbers(f, sql, &s->rows[i], 1);
	}
	return err;
}

static int add_day(struct status_answer *a, int64_t day, uint64_t processes)
{
	if (a->n_days == a->day_room) {
		size_t room = a->day_room ? 2 * a->day_room : 64;
		struct day *grown = reallocarray(a->days, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		a->days = grown;
		a->day_room = room;
	}
	a->days[a->n_days++] = (struct day){ a->status.n_files - 1, day, processes };
	return 0;
}

/*
 * The days of the file's month and later.  Retention adds the sums of a removed file to the newest one: those of
 * earlier months are of earlier days, those of an earlier part of the same month are mixed with its own.
 */
static int read_days(struct status_answer *a, struct lake_file *f, int64_t first, struct lake_file_status *s)
{
	sqlite3_stmt *q = NULL;
	int rc, err = lake_file_prepare(f, "SELECT day, sum(processes) FROM rollup_day WHERE day >= ?1 GROUP BY day", &q);

	if (err)
		return err;
	sqlite3_bind_int64(q, 1, first);
	while (!err && (rc = sqlite3_step(q)) != SQLITE_DONE) {
		uint64_t processes = (uint64_t)sqlite3_column_int64(q, 1);

		err = rc == SQLITE_ROW ? add_day(a, sqlite3_column_int64(q, 0), processes) : lake_file_error(f, rc);
		s->processes += err ? 0 : processes;
	}
	sqlite3_finalize(q);
	return err;
}

/* The day on which a month begins, counted from 1970. */
static int64_t day_of(unsigned month)
{
	struct tm tm = { .tm_year = (int)(month / 12) - 1900, .tm_mon = (int)(month % 12), .tm_mday = 1 };

	return (int64_t)timegm(&tm) / 86400;
}

static int read_file(struct status_answer *a, struct lake_file *f, unsigned number, struct lake_file_status *s)
{
	uint64_t value[6] = { 0 };
	int err;

	s->version = LAKE_SCHEMA_VERSION;
	err = numbers(f,
		      "SELECT freelist_count, page_size, (SELECT count(*) FROM run), (SELECT max(id) FROM dict), "
		      "(SELECT min(start_ns) FROM run WHERE start_ns > 0), (SELECT max(time_ns) FROM batch_seen) "
		      "FROM pragma_freelist_count, pragma_page_size",
		      value, 6);
	if (!err)
		err = read_days(a, f, day_of(number / LAKE_PARTS), s);
	if (!err && a->rows)
		err = count_rows(f, s);
	if (err)
		return err;
	s->free_bytes = value[0] * value[1];
	s->runs = value[2];
	s->names = value[3];
	s->first_ns = value[4];
	s->last_ns = value[5];
	return 0;
}

static int add_file(struct status_answer *a, struct lake *l, unsigned number, struct lake_why *why)
{
	char *path = lake_file_path(l, number);
	struct lake_file_status *s = path ? file_new(a) : NULL;
	struct lake_file f;
	int err;

	if (!s) {
		free(path);
		return -ENOMEM;
	}
	s->name = strdup(path + strlen(l->path) + 1);
	s->processes_known = number % LAKE_PARTS == 0;
	for (size_t i = 0; i < l->n_months; i++)
		s->processes_known |= l->months[i] + 1 == number;
	s->bytes = size_of(path, "");
	s->wal_bytes = size_of(path, "-wal");
	free(path);
	if (!s->name)
		return -ENOMEM;
	err = lake_file_open(l, number, why, &f);
	if (!err) {
		err = read_file(a, &f, number, s);
		lake_file_close(&f);
	}
	if (err == -ENOMEM)
		return err;
	if (err == -ENOENT) { /* retention removed it just now */
		free(s->name);
		a->status.n_files--;
		return 0;
	}
	a->problem |= err != 0;
	if (err)
		s->problem = strdup(why->text);
	return err && !s->problem ? -ENOMEM : 0;
}

/* Damaged files that the sink has renamed: skep reads none of them. */
static int add_renamed(struct status_answer *a, const struct lake *l)
{
	struct dirent *e;
	int err = 0;
	DIR *d = opendir(l->path);

	while (d && !err && (e = readdir(d))) {
		const char *at = strstr(e->d_name, ".db.corrupt-");
		size_t n = strlen(e->d_name);
		struct lake_file_status *s;
		char *path;

		if (strncmp(e->d_name, "lake-", 5) != 0 || !at || strcmp(e->d_name + n - 4, "-wal") == 0 ||
		    strcmp(e->d_name + n - 4, "-shm") == 0)
			continue;
		s = asprintf(&path, "%s/%s", l->path, e->d_name) < 0 ? NULL : file_new(a);
		if (!s) {
			err = -ENOMEM;
			break;
		}
		s->name = strdup(e->d_name);
		s->bytes = size_of(path, "");
		s->wal_bytes = size_of(path, "-wal");
		if (asprintf(&s->problem,
			     "%s: damaged, and renamed by skepd; remove it, or save its readable rows: \"Damaged files\" in skep-lake(7)",
			     path) < 0)
			s->problem = NULL;
		free(path);
		err = s->name && s->problem ? 0 : -ENOMEM;
	}
	if (d)
		closedir(d);
	return err;
}

/*
 * The newest day is not over, and the oldest may have begun in its middle: only days between the two are whole.  A day
 * without a row between them had no process.
 */
static void growth(struct status_answer *a)
{
	struct lake_status *s = &a->status;
	int64_t newest = 0, oldest = INT64_MAX, whole;
	double bytes = 0;

	for (size_t i = 0; i < a->n_days; i++) {
		newest = a->days[i].day > newest ? a->days[i].day : newest;
		oldest = a->days[i].day < oldest ? a->days[i].day : oldest;
	}
	whole = a->n_days ? newest - oldest - 1 : 0;
	if (whole > GROWTH_DAYS)
		whole = GROWTH_DAYS;
	if (a->problem || whole < 2)
		return;
	for (size_t i = 0; i < a->n_days; i++) {
		const struct lake_file_status *f = &s->files[a->days[i].file];

		if (a->days[i].day < newest && a->days[i].day >= newest - whole && f->processes)
			bytes += (double)f->bytes * ((double)a->days[i].processes / (double)f->processes);
	}
	if (bytes <= 0)
		return; /* a record of a wrong clock began a day far ahead */
	s->growth_days = (unsigned)whole;
	s->growth_bytes_a_day = bytes / (double)whole;
}

int lake_status(struct lake *l, bool rows, struct lake_status **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct status_answer *a = calloc(1, sizeof(*a));
	struct statvfs fs;
	int err = a ? 0 : -ENOMEM;

	if (a)
		a->rows = rows;
	for (size_t i = 0; i < l->n_months && !err; i++)
		err = add_file(a, l, l->months[i], &why);
	if (!err) {
		growth(a);
		err = add_renamed(a, l);
	}
	if (err) {
		lake_say(&why, "out of memory");
		lake_status_free(a ? &a->status : NULL);
		return err;
	}
	if (statvfs(l->path, &fs) == 0) {
		a->status.fs_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
		a->status.fs_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	}
	*ret = &a->status;
	return 0;
}

struct lake_status *lake_status_free(struct lake_status *s)
{
	struct status_answer *a = (struct status_answer *)s;

	if (!a)
		return NULL;
	for (size_t i = 0; i < s->n_files; i++) {
		free(s->files[i].name);
		free(s->files[i].problem);
	}
	free(s->files);
	free(a->days);
	free(a);
	return NULL;
}
