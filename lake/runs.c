/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/runs.c - lists runs, and finds the run that an id, a name or "last" means.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/file.h"

struct runs_answer {
	struct lake_runs runs; /* first member: lake_runs_free casts the caller's pointer back */
	struct arena arena;
	size_t room;
};

int lake_run_read(struct lake_file *f, sqlite3_stmt *s, struct arena *a, int64_t *ret_row, struct lake_run *ret)
{
	struct lake_run r = { 0 };
	const char **const text[] = { &r.id,     &r.name,    &r.pipeline, &r.host, &r.boot_id,
				      &r.kernel, &r.version, &r.state,    &r.cwd };
	uint64_t *const number[] = {
		&r.uid,
		&r.start_ns,
		&r.end_ns,
		NULL,
		&r.signal,
		&r.cpus,
		&r.interval_ns,
		&r.rss_peak_bytes,
		&r.processes_seen,
		&r.rusage_cpu_ns,
		&r.lost_kernel,
		&r.lost_queue,
		&r.lost_spool,
		&r.lost_sink,
	};
	int at = 1;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		*text[i] = lake_text(s, at++, a);
		if (!*text[i])
			goto nomem;
	}
	r.argv = lake_list(s, at++, a);
	r.root_upid = lake_upid(a, r.boot_id, (uint64_t)sqlite3_column_int64(s, at),
				(uint64_t)sqlite3_column_int64(s, at + 1));
	at += 2;
	if (!r.argv || !r.root_upid)
		goto nomem;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++, at++) {
		if (number[i])
			*number[i] = (uint64_t)sqlite3_column_int64(s, at);
		else
			r.exit_code = sqlite3_column_int64(s, at);
	}
	*ret_row = sqlite3_column_int64(s, 0);
	*ret = r;
	return 0;
nomem:
	return lake_file_error(f, SQLITE_NOMEM);
}

int lake_run_sums(struct lake_file *f, int64_t row, struct lake_run *r)
{
	struct lake_totals *t = &r->totals;
	uint64_t *const number[] = {
		&t->processes,   &t->images,      &r->failures,   &t->cpu_ns,      &t->run_delay_ns,
		&t->rchar_bytes, &t->wchar_bytes, &t->read_bytes, &t->write_bytes, &t->rss_peak_bytes,
	};
	sqlite3_stmt *s = NULL;
	int rc, err;

	err = lake_file_prepare(
		f,
		"SELECT sum(processes), sum(images), sum(failures), sum(cpu_ns), sum(run_delay_ns), sum(rchar_bytes), "
		"sum(wchar_bytes), sum(read_bytes), sum(write_bytes), max(rss_max_bytes) FROM rollup_run_tool WHERE "
		"run = ?1",
		&s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, row);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
			*number[i] = (uint64_t)sqlite3_column_int64(s, (int)i);
	else
		err = lake_file_error(f, rc);
	sqlite3_finalize(s);
	if (r->rss_peak_bytes > t->rss_peak_bytes)
		t->rss_peak_bytes = r->rss_peak_bytes;
	return err;
}

static int add_month(struct lake_file *f, struct runs_answer *answer, size_t limit)
{
	sqlite3_stmt *s = NULL;
	int64_t row = 0;
	int rc, err;

	err = lake_file_prepare(f, "SELECT " LAKE_RUN_COLUMNS " FROM run r ORDER BY r.start_ns DESC, r.id DESC", &s);
	while (!err && (!limit || answer->runs.n < limit)) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_DONE)
			break;
		if (rc != SQLITE_ROW) {
			err = lake_file_error(f, rc);
			break;
		}
		if (answer->runs.n == answer->room) {
			size_t room = answer->room ? 2 * answer->room : 32;
			struct lake_run *grown = realloc(answer->runs.runs, room * sizeof(*grown));

			if (!grown) {
				err = lake_file_error(f, SQLITE_NOMEM);
				break;
			}
			answer->runs.runs = grown;
			answer->room = room;
		}
		err = lake_run_read(f, s, &answer->arena, &row, &answer->runs.runs[answer->runs.n]);
		if (!err)
			err = lake_run_sums(f, row, &answer->runs.runs[answer->runs.n]);
		if (!err)
			answer->runs.n++;
	}
	sqlite3_finalize(s);
	return err;
}

int lake_runs(struct lake *l, size_t limit, struct lake_runs **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct runs_answer *answer = calloc(1, sizeof(*answer));
	struct lake_file f;
	int err = 0;

	if (!answer) {
		lake_say(&why, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; !err && i < l->n_months && (!limit || answer->runs.n < limit); i++) {
		err = lake_file_open(l, l->months[i], &why, &f);
		if (err == -ENOENT) {
			err = 0;
			continue;
		}
		if (err)
			break;
		err = add_month(&f, answer, limit);
		lake_file_close(&f);
	}
	if (err) {
		lake_runs_free(&answer->runs);
		return err;
	}
	*ret = &answer->runs;
	return 0;
}

struct lake_runs *lake_runs_free(struct lake_runs *runs)
{
	struct runs_answer *answer = (struct runs_answer *)runs;

	if (!answer)
		return NULL;
	free(answer->runs.runs);
	arena_free(&answer->arena);
	free(answer);
	return NULL;
}

/* The runs found so far; the search begins with the newest month. */
struct candidates {
	bool name;
	unsigned name_month;
	int64_t name_row;
	size_t prefixes;
	unsigned prefix_month;
	int64_t prefix_row;
	char list[512]; /* ids with the beginning, for a message; cut after a whole id */
};

static void list_id(struct candidates *c, const char *id)
{
	size_t used = strlen(c->list), n = strlen(id);

	if (used + n + sizeof(", ") + sizeof("...") > sizeof(c->list)) {
		if (used < 3 || strcmp(c->list + used - 3, "...") != 0)
			strcat(c->list, "...");
		return;
	}
	if (used)
		strcat(c->list, ", ");
	strcat(c->list, id);
}

static bool is_last(const char *which)
{
	return strcmp(which, "last") == 0;
}

/* Searches one month. 1: found a run that ends the search; 0: search on; or -errno. */
static int find_in(struct lake_file *f, unsigned month, const char *which, struct candidates *c, int64_t *ret_row)
{
	static const char newest[] = "SELECT r.id, r.run, 0, 0 FROM run r ORDER BY r.start_ns DESC, r.id DESC LIMIT 1";
	/* kind: exact id, exact name, beginning of an id */
	static const char fitting[] =
		"SELECT r.id, r.run, r.run = ?1, r.name = ?1, substr(r.run, 1, length(?1)) = ?1 FROM run r "
		"WHERE r.run = ?1 OR r.name = ?1 OR substr(r.run, 1, length(?1)) = ?1 "
		"ORDER BY r.start_ns DESC, r.id DESC";
	sqlite3_stmt *s = NULL;
	int rc, err;

	err = lake_file_prepare(f, is_last(which) ? newest : fitting, &s);
	if (err)
		return err;
	sqlite3_bind_text(s, 1, which, -1, SQLITE_STATIC); /* fails for `newest`, which has no parameter: harmless */
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		int64_t row = sqlite3_column_int64(s, 0);

		if (is_last(which) || sqlite3_column_int(s, 2)) {
			*ret_row = row;
			err = 1;
			break;
		}
		if (sqlite3_column_int(s, 3) && !c->name) {
			c->name = true;
			c->name_month = month;
			c->name_row = row;
		}
		if (sqlite3_column_int(s, 4)) {
			const char *id = (const char *)sqlite3_column_text(s, 1);

			if (!c->prefixes++) {
				c->prefix_month = month;
				c->prefix_row = row;
			}
			list_id(c, id ? id : "");
		}
	}
	if (!err && rc != SQLITE_DONE)
		err = lake_file_error(f, rc);
	sqlite3_finalize(s);
	return err;
}

int lake_run_find(struct lake *l, const char *which, struct lake_why *why, unsigned *ret_month, int64_t *ret_row)
{
	struct candidates c = { 0 };
	struct lake_file f;
	int err;

	if (!*which) {
		lake_say(why, "no run given; give an id, the beginning of one, a name, or \"last\"");
		return -ENOENT;
	}
	for (size_t i = 0; i < l->n_months; i++) {
		err = lake_file_open(l, l->months[i], why, &f);
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		err = find_in(&f, l->months[i], which, &c, ret_row);
		lake_file_close(&f);
		if (err < 0)
			return err;
		if (err) {
			*ret_month = l->months[i];
			return 0;
		}
	}
	if (c.name) {
		*ret_month = c.name_month;
		*ret_row = c.name_row;
		return 0;
	}
	if (c.prefixes == 1) {
		*ret_month = c.prefix_month;
		*ret_row = c.prefix_row;
		return 0;
	}
	if (c.prefixes) {
		lake_say(why, "%zu runs begin with \"%s\": %s", c.prefixes, which, c.list);
		return -EEXIST;
	}
	if (is_last(which))
		lake_say(why, "there is no run in the lake %s yet", l->path);
	else
		lake_say(why, "no run \"%s\" in the lake %s; `skep runs` lists them", which, l->path);
	return -ENOENT;
}
