/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/file.c - opens the lake's folder and its month files for reading.
 */
#include "lake/file.h"

#include <dirent.h>
#include <errno.h>
#include <skep/upid.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void lake_say(struct lake_why *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text, w->size, fmt, ap);
	va_end(ap);
}

unsigned lake_month(int64_t ns)
{
	time_t sec = (time_t)(ns / 1000000000);
	struct tm tm;

	if (ns <= 0 || !gmtime_r(&sec, &tm) || tm.tm_year + 1900 > 9999)
		return 1970 * 12;
	return (unsigned)(tm.tm_year + 1900) * 12 + (unsigned)tm.tm_mon;
}

static int newest_first(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static int list_months(struct lake *l, struct lake_why *why)
{
	struct dirent *e;
	unsigned *grown;
	int err = 0;
	DIR *d;

	d = opendir(l->path);
	if (!d) {
		err = -errno;
		lake_say(why, "cannot read the lake %s: %s", l->path, strerror(errno));
		return err;
	}
	while ((e = readdir(d))) {
		unsigned y, m, part = 0;
		int end = 0, more = 0;

		if (sscanf(e->d_name, "lake-%4u-%2u%n", &y, &m, &end) != 2 || !end || !m || m > 12)
			continue;
		if (sscanf(e->d_name + end, ".%3u%n", &part, &more) == 1 && !part)
			continue;
		if (strcmp(e->d_name + end + more, ".db") != 0)
			continue;
		grown = realloc(l->months, (l->n_months + 1) * sizeof(*grown));
		if (!grown) {
			lake_say(why, "out of memory");
			err = -ENOMEM;
			break;
		}
		l->months = grown;
		l->months[l->n_months++] = (y * 12 + m - 1) * LAKE_PARTS + part;
	}
	closedir(d);
	if (!err && !l->n_months) {
		lake_say(why, "no lake in %s: it has no file lake-YYYY-MM.db", l->path);
		err = -ENOENT;
	}
	if (l->n_months)
		qsort(l->months, l->n_months, sizeof(*l->months), newest_first);
	return err;
}

int lake_open(const char *path, struct lake **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct lake *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	lake_say(&why, "out of memory");
	if (!l)
		return -ENOMEM;
	l->path = strdup(path);
	if (l->path)
		err = list_months(l, &why);
	if (err) {
		lake_close(l);
		return err;
	}
	*ret = l;
	return 0;
}

struct lake *lake_close(struct lake *l)
{
	if (!l)
		return NULL;
	free(l->months);
	free(l->path);
	free(l);
	return NULL;
}

int lake_file_error(struct lake_file *f, int rc)
{
	const char *text = f->sql ? sqlite3_errmsg(f->sql) : sqlite3_errstr(rc);

	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		lake_say(f->why, "%s: out of memory", f->path);
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		lake_say(f->why, "%s: locked by another program; try again", f->path);
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		lake_say(f->why, "%s: damaged (%s); try: sqlite3 FILE .recover", f->path, text);
		return -EUCLEAN;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_READONLY:
		lake_say(f->why, "%s: cannot be opened for reading (%s); its -wal and -shm files must be readable too",
			 f->path, text);
		return -EACCES;
	default:
		lake_say(f->why, "%s: %s", f->path, text);
		return -EIO;
	}
}

int lake_file_prepare(struct lake_file *f, const char *sql, sqlite3_stmt **ret)
{
	int rc = sqlite3_prepare_v2(f->sql, sql, -1, ret, NULL);

	return rc == SQLITE_OK ? 0 : lake_file_error(f, rc);
}

/* Begins the transaction with the first read of the file; fails here if the file cannot be read. */
static int begin(struct lake_file *f, int64_t *ret_version, int64_t *ret_app)
{
	static const char *const pragma[] = { "PRAGMA user_version", "PRAGMA application_id",
					      "SELECT count(*) FROM sqlite_schema" };
	int64_t value[3] = { 0 };
	int rc;

	sqlite3_busy_timeout(f->sql, 2000);
	rc = sqlite3_exec(f->sql, "BEGIN", NULL, NULL, NULL);
	for (size_t i = 0; rc == SQLITE_OK && i < 3; i++) {
		sqlite3_stmt *s = NULL;

		rc = sqlite3_prepare_v2(f->sql, pragma[i], -1, &s, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(s);
		if (rc == SQLITE_ROW) {
			value[i] = sqlite3_column_int64(s, 0);
			rc = SQLITE_OK;
		}
		sqlite3_finalize(s);
	}
	*ret_version = value[0];
	*ret_app = value[1];
	return rc;
}

/* Returns "file:/a%3fb?immutable=1"; the caller frees it. NULL: no memory. */
static char *immutable_uri(const char *path)
{
	static const char hex[] = "0123456789abcdef";
	char *uri = malloc(strlen("file:") + 3 * strlen(path) + sizeof("?immutable=1")), *p = uri;

	if (!uri)
		return NULL;
	p = stpcpy(p, "file:");
	for (; *path; path++) {
		if (*path == '%' || *path == '?' || *path == '#') {
			*p++ = '%';
			*p++ = hex[(unsigned char)*path >> 4];
			*p++ = hex[*path & 15];
		} else {
			*p++ = *path;
		}
	}
	strcpy(p, "?immutable=1");
	return uri;
}

static bool has_wal(const char *path)
{
	struct stat st;
	bool has = true;
	char *wal;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return true;
	has = stat(wal, &st) == 0 && st.st_size > 0;
	free(wal);
	return has;
}

int lake_file_open(const struct lake *l, unsigned number, struct lake_why *why, struct lake_file *ret)
{
	struct lake_file f = { .why = why };
	unsigned month = number / LAKE_PARTS;
	int64_t version = 0, app = 0;
	char *uri = NULL;
	int rc, err = -ENOMEM;

	lake_say(why, "out of memory");
	if (number % LAKE_PARTS)
		rc = asprintf(&f.path, "%s/lake-%04u-%02u.%u.db", l->path, month / 12, month % 12 + 1,
			      number % LAKE_PARTS);
	else
		rc = asprintf(&f.path, "%s/lake-%04u-%02u.db", l->path, month / 12, month % 12 + 1);
	if (rc < 0) {
		f.path = NULL;
		goto out;
	}
	rc = sqlite3_open_v2(f.path, &f.sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = begin(&f, &version, &app);
	/*
	 * A reader of a WAL file needs its -shm file, and cannot create it when the file system or folder is
	 * read-only.  Without a writer (the last writer removes the -wal file) the database file is complete: SQLite
	 * reads it as immutable.
	 */
	if (((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) && !has_wal(f.path)) {
		uri = immutable_uri(f.path);
		if (!uri)
			goto out;
		sqlite3_close_v2(f.sql);
		f.sql = NULL;
		rc = sqlite3_open_v2(uri, &f.sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
		if (rc == SQLITE_OK)
			rc = begin(&f, &version, &app);
	}
	if (rc != SQLITE_OK && access(f.path, F_OK) != 0 && errno == ENOENT) {
		err = -ENOENT;
		lake_say(why, "%s: was removed just now, to keep the lake within its bounds", f.path);
		goto out;
	}
	if (rc != SQLITE_OK) {
		err = lake_file_error(&f, rc);
		goto out;
	}
	err = -ENOTSUP;
	if (app != LAKE_APPLICATION_ID) {
		lake_say(why, "%s: is not a lake's file", f.path);
		goto out;
	}
	if (version != LAKE_SCHEMA_VERSION) {
		lake_say(why, "%s: has schema version %lld, this skep reads version %d; %s", f.path, (long long)version,
			 LAKE_SCHEMA_VERSION,
			 version > LAKE_SCHEMA_VERSION ? "upgrade skep" : "let this version's skepd open it once");
		goto out;
	}
	err = 0;
	*ret = f;
out:
	free(uri);
	if (err)
		lake_file_close(&f);
	return err;
}

void lake_file_close(struct lake_file *f)
{
	sqlite3_close_v2(f->sql);
	free(f->path);
	f->sql = NULL;
	f->path = NULL;
}

const char *lake_text(sqlite3_stmt *s, int column, struct arena *a)
{
	const void *text = sqlite3_column_text(s, column);

	return arena_copy(a, text ? text : "", text ? (size_t)sqlite3_column_bytes(s, column) : 0);
}

const char *const *lake_list(sqlite3_stmt *s, int column, struct arena *a)
{
	const void *blob = sqlite3_column_blob(s, column);
	size_t len = blob ? (size_t)sqlite3_column_bytes(s, column) : 0, n = 0;
	char *copy = arena_copy(a, blob, len);
	const char **list;

	if (!copy)
		return NULL;
	for (size_t at = 0; at < len; at += strlen(copy + at) + 1)
		n++;
	list = arena_alloc(a, (n + 1) * sizeof(*list));
	if (!list)
		return NULL;
	n = 0;
	for (size_t at = 0; at < len; at += strlen(copy + at) + 1)
		list[n++] = copy + at;
	return list;
}

const char *lake_upid(struct arena *a, const char *boot_id, uint64_t pid, uint64_t start)
{
	struct skep_upid upid = { .start_ns = start, .pid = (uint32_t)pid };
	char text[SKEP_UPID_TEXT];

	skep_upid_text(boot_id, &upid, text);
	return arena_copy(a, text, strlen(text));
}
