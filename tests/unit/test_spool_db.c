/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_spool_db.c - the spool's file: order, cursors, room, damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool/db.h"

static struct {
	char folder[64], path[128];
	struct spool_db *db;
	struct spool_limits limits;
	uint64_t gone[4096];
	unsigned n_gone;
	uint64_t gone_records;
	char counts[64];
} t;

static void reopen(void)
{
	char why[256];

	spool_db_close(t.db);
	assert_int_equal(spool_db_open(t.path, &t.limits, &t.db, why, sizeof(why)), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	snprintf(t.folder, sizeof(t.folder), "/tmp/skep-spool-XXXXXX");
	if (!mkdtemp(t.folder))
		return -1;
	snprintf(t.path, sizeof(t.path), "%s/spool.db", t.folder);
	reopen();
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	spool_db_close(t.db);
	snprintf(command, sizeof(command), "rm -rf %s", t.folder);
	return system(command);
}

static void on_gone(void *arg, uint64_t id, uint32_t n, const char *counts)
{
	(void)arg;
	t.gone[t.n_gone++ % 4096] = id;
	t.gone_records += n;
	snprintf(t.counts, sizeof(t.counts), "%s", counts);
}

static void append(uint64_t id, enum spool_kind kind, size_t size)
{
	char *body = malloc(size);

	assert_non_null(body);
	memset(body, (int)('a' + id % 26), size);
	assert_int_equal(spool_append(t.db, id, kind, 10, "s 10", body, size), 0);
	free(body);
}

static void append_all(uint64_t from, uint64_t to, enum spool_kind kind, size_t size)
{
	assert_int_equal(spool_begin(t.db), 0);
	for (uint64_t id = from; id <= to; id++)
		append(id, kind, size);
	assert_int_equal(spool_commit(t.db), 0);
}

static uint64_t next(uint64_t after)
{
	struct spool_row row;

	assert_int_equal(spool_next(t.db, after, &row), 0);
	if (row.id)
		assert_int_equal(*(const char *)row.body, 'a' + row.id % 26);
	return row.id;
}

static void trim_all(uint64_t upto)
{
	bool more;

	assert_int_equal(spool_trim(t.db, upto, &more), 0);
	assert_false(more);
}

static void in_order_and_durable(void **state)
{
	struct stat st;

	(void)state;
	append_all(1, 5, SPOOL_LIFE, 100);
	append_all(7, 8, SPOOL_SAMPLE, 100);
	reopen();
	assert_int_equal(spool_last_id(t.db), 8);
	assert_int_equal(next(0), 1);
	assert_int_equal(next(4), 5);
	assert_int_equal(next(5), 7); /* 6 never existed */
	assert_int_equal(next(8), 0);
	assert_int_equal(stat(t.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void rolled_back(void **state)
{
	(void)state;
	append_all(1, 1, SPOOL_LIFE, 100);
	assert_int_equal(spool_begin(t.db), 0);
	append(2, SPOOL_LIFE, 100);
	assert_int_equal(spool_last_id(t.db), 2);
	spool_rollback(t.db);
	assert_int_equal(spool_last_id(t.db), 1);
	assert_int_equal(next(1), 0);
	append_all(2, 2, SPOOL_LIFE, 100);
}

static void cursors(void **state)
{
	uint64_t at;
	struct spool_lag lag;

	(void)state;
	append_all(1, 4, SPOOL_LIFE, 1000);
	assert_int_equal(spool_sink_begin(t.db, "a", spool_last_id(t.db), &at), 0);
	assert_int_equal(at, 4); /* the sink gets the batches from now on */
	append_all(5, 8, SPOOL_LIFE, 1000);
	assert_int_equal(spool_sink_lag(t.db, "a", &lag), 0);
	assert_int_equal(lag.records, 40);
	assert_int_equal(lag.batches_bytes, 4000);
	assert_true(lag.oldest_ns > 0);
	assert_int_equal(spool_sink_move(t.db, "a", 6), 0);
	trim_all(6);
	assert_int_equal(spool_sink_lag(t.db, "a", &lag), 0);
	assert_int_equal(lag.records, 20);
	assert_int_equal(spool_sink_move(t.db, "a", 5), 0); /* never back */
	reopen();
	assert_int_equal(spool_sink_begin(t.db, "a", spool_last_id(t.db), &at), 0);
	assert_int_equal(at, 6);
	assert_int_equal(next(at), 7);
	assert_int_equal(spool_sink_move(t.db, "a", 8), 0);
	trim_all(8);
	reopen();
	assert_int_equal(spool_last_id(t.db), 8); /* no id is used twice, though the file has none */
	assert_int_equal(spool_sink_lag(t.db, "a", &lag), 0);
	assert_int_equal(lag.records, 0);
	assert_int_equal(lag.oldest_ns, 0);
	append_all(9, 9, SPOOL_LIFE, 1000);
	assert_int_equal(spool_sink_lag(t.db, "a", &lag), 0);
	assert_int_equal(lag.records, 10);
	assert_int_equal(spool_sink_forget(t.db, "a"), 0);
	assert_int_equal(spool_sink_begin(t.db, "a", spool_last_id(t.db), &at), 0);
	assert_int_equal(at, 9);
}

/* A file of another version is refused, with its version and what to do; nothing in it changes. */
static void of_another_version(void **state)
{
	static const struct {
		const char *pragma, *why;
	} versions[] = {
		{ "PRAGMA user_version = 2", "version 2, this skep reads version 1; upgrade skep" },
		{ "PRAGMA user_version = 0", "version 0, this skep reads version 1; move it away" },
	};
	struct spool_db *db;
	char why[256];
	sqlite3 *sql;

	(void)state;
	append_all(1, 4, SPOOL_LIFE, 1000);
	t.db = spool_db_close(t.db);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		assert_int_equal(sqlite3_open(t.path, &sql), SQLITE_OK);
		assert_int_equal(sqlite3_exec(sql, versions[i].pragma, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(sql);
		assert_int_equal(spool_db_open_read(t.path, &db, why, sizeof(why)), -EBADMSG);
		assert_non_null(strstr(why, versions[i].why));
		assert_int_equal(spool_db_open(t.path, &t.limits, &db, why, sizeof(why)), -EBADMSG);
		assert_non_null(strstr(why, versions[i].why));
	}
	assert_int_equal(sqlite3_open(t.path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "PRAGMA user_version = 1", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
	reopen();
	assert_int_equal(spool_last_id(t.db), 4);
}

static void room_is_made_of_samples_first(void **state)
{
	struct spool_size size;

	(void)state;
	t.limits.max_bytes = 2 << 20;
	reopen();
	append_all(1, 10, SPOOL_LIFE, 50000);
	append_all(11, 20, SPOOL_SAMPLE, 50000);
	append_all(21, 25, SPOOL_LIFE, 50000);
	assert_int_equal(spool_begin(t.db), 0);
	assert_int_equal(spool_make_room(t.db, 1 << 20, on_gone, NULL), 0);
	assert_int_equal(spool_commit(t.db), 0);
	assert_in_range(t.n_gone, 5, 10);
	for (unsigned i = 0; i < t.n_gone; i++)
		assert_int_equal(t.gone[i], 11 + i);
	assert_int_equal(t.gone_records, t.n_gone * 10);
	assert_string_equal(t.counts, "s 10");
	t.n_gone = 0;
	assert_int_equal(spool_begin(t.db), 0);
	assert_int_equal(spool_make_room(t.db, (2 << 20) - 100000, on_gone, NULL), 0);
	assert_int_equal(spool_commit(t.db), 0);
	assert_true(t.n_gone > 10);
	assert_int_equal(t.gone[t.n_gone - 1] > 20 || t.gone[t.n_gone - 1] <= 10, 1);
	/* The quota holds, however much is written. */
	for (uint64_t id = 100; id < 400; id++) {
		assert_int_equal(spool_begin(t.db), 0);
		assert_int_equal(spool_make_room(t.db, 20000, on_gone, NULL), 0);
		append(id, id % 2 ? SPOOL_LIFE : SPOOL_SAMPLE, 20000);
		assert_int_equal(spool_commit(t.db), 0);
	}
	assert_int_equal(spool_size(t.db, &size), 0);
	assert_in_range(size.file_bytes, 1 << 20, 3 << 20);
	assert_in_range(size.used_bytes, 1 << 20, 2 << 20);
}

static void nothing_left_to_take(void **state)
{
	(void)state;
	t.limits.max_bytes = 1 << 20;
	reopen();
	assert_int_equal(spool_begin(t.db), 0);
	assert_int_equal(spool_make_room(t.db, 2 << 20, on_gone, NULL), -ENOSPC);
	assert_string_equal(spool_why(t.db), "no room, and no batch left to delete");
	spool_rollback(t.db);
}

static void below_the_reserve_nothing_grows(void **state)
{
	struct spool_size before, after;

	(void)state;
	append_all(1, 200, SPOOL_LIFE, 50000);
	assert_int_equal(spool_size(t.db, &before), 0);
	t.limits.reserve_bytes = UINT64_MAX;
	spool_db_limits(t.db, &t.limits);
	assert_false(spool_has_reserve(t.db));
	for (uint64_t id = 201; id < 500; id++) {
		assert_int_equal(spool_begin(t.db), 0);
		assert_int_equal(spool_make_room(t.db, 50000, on_gone, NULL), 0);
		append(id, SPOOL_LIFE, 50000);
		assert_int_equal(spool_commit(t.db), 0);
	}
	assert_int_equal(spool_size(t.db, &after), 0);
	assert_in_range(after.used_bytes, 3 << 20, before.used_bytes + 65536);
	assert_int_equal(t.gone[0], 1);
}

static void expires(void **state)
{
	bool more;

	(void)state;
	append_all(1, 3, SPOOL_LIFE, 100);
	assert_int_equal(spool_expire(t.db, 1000, UINT64_MAX, on_gone, NULL, &more), 0);
	assert_false(more);
	assert_int_equal(t.n_gone, 0);
	assert_int_equal(spool_expire(t.db, INT64_MAX, UINT64_MAX, on_gone, NULL, &more), 0);
	assert_false(more);
	assert_int_equal(t.n_gone, 3);
	assert_int_equal(next(0), 0);
}

/* A transaction drops a bounded part of a backlog. A part that was rolled back is reported again, any other once. */
static void dropped_in_steps(void **state)
{
	unsigned steps = 0, reported = 0;
	uint64_t last = 300;
	bool more = true;

	(void)state;
	append_all(1, 600, SPOOL_LIFE, 64000); /* 36 MiB */
	for (; more; steps++) {
		assert_int_equal(spool_begin(t.db), 0);
		assert_int_equal(spool_trim(t.db, 300, &more), 0);
		assert_int_equal(spool_commit(t.db), 0);
		assert_in_range(next(0), 100 * (steps + 1), 150 * (steps + 1));
	}
	assert_in_range(steps, 3, 3);
	assert_int_equal(next(0), 301);
	for (more = true, steps = 0; more;) {
		assert_int_equal(spool_begin(t.db), 0);
		assert_int_equal(spool_expire(t.db, INT64_MAX, 590, on_gone, NULL, &more), 0);
		if (++steps == 2) {
			spool_rollback(t.db);
			assert_int_equal(next(0), last + 1);
			assert_true(t.n_gone > reported);
			t.n_gone = reported;
			continue;
		}
		assert_int_equal(spool_commit(t.db), 0);
		reported = t.n_gone;
		last = t.gone[reported - 1];
	}
	assert_in_range(steps, 4, 6);
	assert_int_equal(t.n_gone, 290);
	for (unsigned i = 0; i < t.n_gone; i++)
		assert_int_equal(t.gone[i], 301 + i);
	assert_int_equal(next(0), 591);
	reopen();
	assert_int_equal(next(0), 591);
}

/* Batches that all sinks have acknowledged make room before any other, also when no step has deleted them yet. */
static void acknowledged_ones_go_first(void **state)
{
	bool more;

	(void)state;
	t.limits.max_bytes = 24 << 20;
	reopen();
	append_all(1, 200, SPOOL_LIFE, 64000);
	append_all(201, 300, SPOOL_SAMPLE, 64000);
	assert_int_equal(spool_trim(t.db, 200, &more), 0);
	assert_true(more);
	assert_in_range(next(0), 100, 150);
	assert_int_equal(spool_begin(t.db), 0);
	assert_int_equal(spool_make_room(t.db, 15 << 20, on_gone, NULL), 0);
	assert_int_equal(spool_commit(t.db), 0);
	assert_true(next(0) > 150);
	assert_int_equal(t.n_gone, 0);
	assert_int_equal(next(200), 201);
}

static int count_dead(void *arg, int64_t number, uint64_t batch, const char *sink, int64_t at_ns, unsigned status,
		      const char *why, uint32_t n, const void *body, size_t size)
{
	unsigned *seen = arg;

	assert_true(number > 0 && at_ns > 0 && body && size > 0);
	(*seen)++;
	if (batch == 2) {
		assert_string_equal(sink, "");
		assert_string_equal(why, "bad checksum");
		assert_int_equal(n, 10);
	} else {
		assert_string_equal(sink, "hq");
		assert_int_equal(status, 400);
	}
	return 0;
}

static void the_dead(void **state)
{
	unsigned seen = 0;
	char *large = calloc(1, 30 << 20);
	uint64_t dropped;

	(void)state;
	assert_non_null(large);
	append_all(1, 3, SPOOL_LIFE, 100);
	assert_int_equal(spool_bury(t.db, 2, "bad checksum", on_gone, NULL), 0);
	assert_int_equal(t.n_gone, 1);
	assert_int_equal(next(1), 3);
	assert_int_equal(spool_dead_add(t.db, 3, "hq", 400, "no such field", 1, "x", 1), 0);
	assert_int_equal(spool_dead(t.db, count_dead, &seen), 0);
	assert_int_equal(seen, 2);
	for (int i = 0; i < 3; i++) /* 64 MiB at most: the spool has dropped the oldest */
		assert_int_equal(spool_dead_add(t.db, 9, "hq", 400, "large", 1, large, 30 << 20), 0);
	seen = 0;
	assert_int_equal(spool_dead(t.db, count_dead, &seen), 0);
	assert_int_equal(seen, 2);
	assert_int_equal(spool_dead_drop(t.db, "other", &dropped), 0);
	assert_int_equal(dropped, 0);
	assert_int_equal(spool_dead_drop(t.db, NULL, &dropped), 0);
	assert_int_equal(dropped, 2);
	free(large);
}

static int add_chunk(void *arg, const void *body, size_t size)
{
	strncat(arg, body, size);
	return 0;
}

static void what_was_known(void **state)
{
	char seen[64] = "";
	size_t size;
	void *value;

	(void)state;
	assert_int_equal(spool_chunk_put(t.db, "old", 3, true), 0);
	assert_int_equal(spool_chunk_put(t.db, "all,", 4, true), 0);
	assert_int_equal(spool_chunk_put(t.db, "changes,", 8, false), 0);
	assert_int_equal(spool_chunk_put(t.db, "more", 4, false), 0);
	assert_int_equal(spool_state_put(t.db, "mark", "\0\1\2", 3), 0);
	reopen();
	assert_int_equal(spool_chunks(t.db, add_chunk, seen), 0);
	assert_string_equal(seen, "all,changes,more");
	assert_int_equal(spool_state_get(t.db, "mark", &value, &size), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(value, "\0\1\2", 3);
	free(value);
	assert_int_equal(spool_state_get(t.db, "none", &value, &size), 0);
	assert_null(value);
}

static void ignore(void *arg, const char *finding)
{
	(void)arg;
	(void)finding;
}

/* Any damaged byte of the file gives an error or the right answer, and skepd can put the file aside. */
static void damage(void **state)
{
	char why[256], aside[256], first[256];
	struct stat st;
	int found = 0;

	(void)state;
	append_all(1, 20, SPOOL_LIFE, 20000);
	t.db = spool_db_close(t.db);
	assert_int_equal(stat(t.path, &st), 0);
	for (int i = 0; i < 12; i++) {
		off_t at = (off_t)i * st.st_size / 12 + (i % 3) * 7;
		struct spool_limits none = { 0 };
		char was[64], bad[64];
		int fd = open(t.path, O_RDWR), err;

		assert_true(fd >= 0);
		assert_int_equal(pread(fd, was, sizeof(was), at), sizeof(was));
		memset(bad, 0xa5, sizeof(bad));
		assert_int_equal(pwrite(fd, bad, sizeof(bad), at), sizeof(bad));
		err = spool_db_open(t.path, &none, &t.db, why, sizeof(why));
		if (err == 0) {
			struct spool_row row = { 0 };

			do
				err = spool_next(t.db, row.id, &row);
			while (err == 0 && row.id != 0);
			if (err == 0)
				err = spool_check(t.db, ignore, NULL);
		}
		if (err < 0) {
			assert_int_equal(err, -EBADMSG);
			found++;
		}
		t.db = spool_db_close(t.db);
		assert_int_equal(pwrite(fd, was, sizeof(was), at), sizeof(was));
		close(fd);
	}
	assert_true(found >= 1); /* the header; a body's checksum is its reader's to check */
	assert_int_equal(spool_db_quarantine(t.path, aside, sizeof(aside)), 0);
	assert_int_equal(access(aside, F_OK), 0);
	assert_int_not_equal(access(t.path, F_OK), 0);
	reopen();
	assert_int_equal(spool_last_id(t.db), 0);
	/* another one, within the same second or not */
	t.db = spool_db_close(t.db);
	strcpy(first, aside);
	assert_int_equal(spool_db_quarantine(t.path, aside, sizeof(aside)), 0);
	assert_string_not_equal(aside, first);
	assert_int_equal(access(first, F_OK) | access(aside, F_OK), 0);
	reopen();
}

static void not_a_spool(void **state)
{
	char why[256], path[200];
	struct spool_limits none = { 0 };
	struct spool_db *other;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/text", t.folder);
	f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fputs("this is no database\n", f);
	fclose(f);
	assert_int_equal(spool_db_open(path, &none, &other, why, sizeof(why)), -EBADMSG);
	assert_true(strlen(why) > 5);
	snprintf(path, sizeof(path), "%s/none/spool.db", t.folder);
	assert_int_equal(spool_db_open(path, &none, &other, why, sizeof(why)), -ENOENT);
	snprintf(path, sizeof(path), "%s/nothing", t.folder);
	assert_true(spool_db_open_read(path, &other, why, sizeof(why)) < 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void read_by_another(void **state)
{
	struct spool_size size;
	struct spool_db *reader;
	char why[256];

	(void)state;
	append_all(1, 3, SPOOL_LIFE, 100);
	assert_int_equal(spool_db_open_read(t.path, &reader, why, sizeof(why)), 0);
	append_all(4, 5, SPOOL_LIFE, 100);
	assert_int_equal(spool_size(reader, &size), 0);
	assert_int_equal(size.batches, 5);
	assert_int_equal(spool_sink_move(reader, "a", 1), -EROFS);
	spool_db_close(reader);
}

/* The spool reads and drops a backlog: the log beside the file stays small. */
static void backlog_leaves_the_log_small(void **state)
{
	char wal[sizeof(t.path) + 4];
	off_t most = 0;

	(void)state;
	for (uint64_t id = 1; id <= 600; id += 20)
		append_all(id, id + 19, SPOOL_LIFE, 64000);
	snprintf(wal, sizeof(wal), "%s-wal", t.path);
	for (uint64_t id = 1; id <= 600; id++) {
		struct stat st;

		assert_int_equal(next(id - 1), id);
		assert_int_equal(spool_begin(t.db), 0);
		assert_int_equal(spool_sink_move(t.db, "a", id), 0);
		trim_all(id);
		assert_int_equal(spool_commit(t.db), 0);
		assert_int_equal(stat(wal, &st), 0);
		most = st.st_size > most ? st.st_size : most;
	}
	assert_true(most < 24 << 20); /* 96 MiB while the statement of the last row stayed open */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(in_order_and_durable),
		TEST(backlog_leaves_the_log_small),
		TEST(rolled_back),
		TEST(cursors),
		TEST(of_another_version),
		TEST(room_is_made_of_samples_first),
		TEST(nothing_left_to_take),
		TEST(below_the_reserve_nothing_grows),
		TEST(expires),
		TEST(dropped_in_steps),
		TEST(acknowledged_ones_go_first),
		TEST(the_dead),
		TEST(what_was_known),
		TEST(damage),
		TEST(not_a_spool),
		TEST(read_by_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
