/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/file.c - opens the lake's folder and its month files for reading.
 */
#include "lake/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/upid.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lake/saturate.h"
#include "lake/server.h"

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

/* A server is one file: its tables have all months. */
static int open_server(struct lake *l, struct lake_why *why)
{
	l->months = calloc(1, sizeof(*l->months));
	if (!l->months)
		return -ENOMEM;
	l->n_months = 1;
	return server_open(l->path, why, &l->server);
}

int lake_open(const char *path, struct lake **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct lake *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	lake_say(&why, "out of memory");
	if (!l)
		return -ENOMEM;
	l->fd = -1;
	l->path = strdup(path);
	if (l->path)
		err = lake_is_address(path) ? open_server(l, &why) : list_months(l, &why);
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
	if (l->fd >= 0)
		close(l->fd);
	server_close(l->server);
	for (size_t i = 0; i < l->n_unread; i++)
		free(l->unread[i]);
	free(l->unread);
	free(l->months);
	free(l->path);
	free(l);
	return NULL;
}

size_t lake_unread(const struct lake *l, const char *const **ret)
{
	*ret = (const char *const *)l->unread;
	return l->n_unread;
}

bool lake_is_saturated(const struct lake *l, const struct lake_report *r)
{
	const struct lake_totals *t = r ? &r->run.totals : NULL;
	const uint64_t most = LAKE_SUM_MOST;

	return l->saturated || (t && (t->cpu_ns == most || t->run_delay_ns == most || t->rchar_bytes == most ||
				      t->wchar_bytes == most || t->read_bytes == most || t->write_bytes == most));
}

int lake_skip(struct lake *l, int err, const struct lake_why *why)
{
	char **grown;

	if (err == -ENOENT) /* retention removed it: its rows are not in the lake any more */
		return 0;
	if (err == -ENOMEM || l->fd >= 0 || l->server)
		return err;
	for (size_t i = 0; i < l->n_unread; i++)
		if (strcmp(l->unread[i], why->text) == 0)
			return 0;
	grown = reallocarray(l->unread, l->n_unread + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->unread = grown;
	grown[l->n_unread] = strdup(why->text);
	if (!grown[l->n_unread])
		return -ENOMEM;
	l->n_unread++;
	return 0;
}

static int whole_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	(void)vfs;
	return snprintf(ret, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* SQLite opens with O_NOFOLLOW (3.31 and later), and "/proc/self/fd/N" is a link. */
static int open_followed(const char *name, int flags, int mode)
{
	if (strncmp(name, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0)
		flags &= ~O_NOFOLLOW;
	return open(name, flags, mode);
}

const char *lake_vfs(void)
{
	static sqlite3_vfs own;
	sqlite3_vfs *usual = own.zName ? NULL : sqlite3_vfs_find(NULL);

	if (usual) {
		usual->xSetSystemCall(usual, "open", (sqlite3_syscall_ptr)open_followed);
		own = *usual;
		own.zName = "skep-fd";
		own.pNext = NULL;
		own.xFullPathname = whole_name;
		(void)sqlite3_vfs_register(&own, 0); /* fails only for want of memory: then opening fails */
	}
	return "skep-fd";
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
		lake_say(f->why,
			 "%s: damaged (%s); to save its readable rows see \"Damaged files\" in skep-lake(7)",
			 f->path, text);
		return -EUCLEAN;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_READONLY:
		if (faccessat(AT_FDCWD, f->path, R_OK, AT_EACCESS) != 0) {
			int err = -errno;

			lake_say(f->why, "%s: cannot be read: %s; its owner and its group may read it", f->path,
				 strerror(-err));
			return err;
		}
		lake_say(f->why, "%s: cannot be opened for reading (%s); its -wal and -shm files must be readable too",
			 f->path, text);
		return -EACCES;
	case SQLITE_IOERR: {
		int os = f->sql ? sqlite3_system_errno(f->sql) : EIO;

		lake_say(f->why, "%s: %s (%s)%s", f->path, text, strerror(os),
			 os == EIO ? "; see the kernel's messages: dmesg" : "; move it away if skep did not make it");
		return -EIO;
	}
	case SQLITE_ERROR:
		/* the version is ours, but its tables are not: its skep was built between two versions */
		if (strncmp(text, "no such ", strlen("no such ")) == 0) {
			lake_say(f->why, "%s: its tables are those of an older skep (%s); move it away", f->path, text);
			return -ENOTSUP;
		}
		/* fall through */
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
static int begin(struct lake_file *f, int64_t *ret_version, int64_t *ret_app, int64_t *ret_objects)
{
	static const char *const pragma[] = { "PRAGMA user_version", "PRAGMA application_id",
					      "SELECT count(*) FROM sqlite_schema" };
	int64_t value[3] = { 0 };
	int rc;

	sqlite3_busy_timeout(f->sql, 2000);
	rc = lake_saturate(f->sql);
	/* Another program may have written the file: its views and indexes may call only harmless functions. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(f->sql, "PRAGMA trusted_schema = OFF; BEGIN", NULL, NULL, NULL);
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
	*ret_objects = value[2];
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

char *lake_file_path(const struct lake *l, unsigned number)
{
	unsigned month = number / LAKE_PARTS, part = number % LAKE_PARTS;
	char *path;
	int n;

	if (l->fd >= 0)
		n = asprintf(&path, "/proc/self/fd/%d", l->fd);
	else if (part)
		n = asprintf(&path, "%s/lake-%04u-%02u.%u.db", l->path, month / 12, month % 12 + 1, part);
	else
		n = asprintf(&path, "%s/lake-%04u-%02u.db", l->path, month / 12, month % 12 + 1);
	return n < 0 ? NULL : path;
}

int lake_file_open(struct lake *l, unsigned number, struct lake_why *why, struct lake_file *ret)
{
	struct lake_file f = { .why = why, .copy = l->fd >= 0, .saturated = &l->saturated };
	int64_t version = 0, app = 0, objects = 0;
	char *uri = NULL;
	int rc, err = -ENOMEM;

	lake_say(why, "out of memory");
	if (l->server) {
		*ret = (struct lake_file){ .server = l->server, .path = strdup(l->path), .why = why,
					    .saturated = &l->saturated, .batch = l->batch };
		return ret->path ? 0 : -ENOMEM;
	}
	f.path = lake_file_path(l, number);
	if (!f.path)
		goto out;
	rc = sqlite3_open_v2(f.path, &f.sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			     l->fd >= 0 ? lake_vfs() : NULL);
	if (rc == SQLITE_OK)
		rc = begin(&f, &version, &app, &objects);
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
			rc = begin(&f, &version, &app, &objects);
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
	if (!objects) {
		err = -ENOENT;
		lake_say(why, "%s: is empty: the sink has not written to it yet", f.path);
		goto out;
	}
	err = -ENOTSUP;
	if (app != LAKE_APPLICATION_ID) {
		lake_say(why, "%s: is not a lake's file", f.path);
		goto out;
	}
	if (version != LAKE_SCHEMA_VERSION) {
		lake_say(why, "%s: has schema version %lld, this skep reads version %d; %s", f.path, (long long)version,
			 LAKE_SCHEMA_VERSION, version < LAKE_SCHEMA_VERSION ? "move it away" : "upgrade skep");
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

int lake_each_file(struct lake *l, struct lake_why *why, int (*read)(struct lake_file *, void *arg), void *arg,
		   int *ret_unread)
{
	struct lake_file f;
	int err = 0, unread = 0;
	bool any = false, done = false;

	for (size_t i = 0; !err && !done && i < l->n_months; i++) {
		err = lake_file_open(l, l->months[i], why, &f);
		if (!err) {
			err = read(&f, arg);
			done = err > 0;
			err = err > 0 ? 0 : err;
			lake_file_close(&f);
		}
		any |= !err;
		if (err && err != -ENOENT)
			unread = err;
		if (err)
			err = lake_skip(l, err, why);
	}
	if (ret_unread)
		*ret_unread = any ? 0 : unread;
	return err;
}

int lake_each_of_time(struct lake *l, struct lake_file *open, unsigned number, uint64_t from, uint64_t to,
		      int (*read)(struct lake_file *, void *arg), void *arg)
{
	const unsigned first = lake_month((int64_t)from), last = to < INT64_MAX ? lake_month((int64_t)to) : 9999 * 12;
	int err = 0;

	for (size_t i = l->n_months; !err && i-- > 0;) {
		struct lake_file f;

		if (l->months[i] == number) {
			err = read(open, arg);
		} else if (l->months[i] / LAKE_PARTS >= first && l->months[i] / LAKE_PARTS <= last) {
			err = lake_file_open(l, l->months[i], open->why, &f);
			if (!err) {
				err = read(&f, arg);
				lake_file_close(&f);
			}
			if (err)
				err = lake_skip(l, err, open->why);
		}
	}
	return err;
}

const char *lake_text(sqlite3_stmt *s, int column, struct arena *a)
{
	const void *text = sqlite3_column_text(s, column);

	return arena_copy(a, text ? text : "", text ? (size_t)sqlite3_column_bytes(s, column) : 0);
}

const char *const *lake_list(const char *bytes, size_t len, struct arena *a)
{
	char *copy = arena_copy(a, bytes, len);
	size_t n = 0;
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
