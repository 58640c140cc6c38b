/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_filetable.c - rows of files in user space: records of a ring become paths, also records with wrong
 * lengths; attachments share one table and leave it; and the records that "opens" makes of a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "plugins/files/state.h"

static struct {
	struct skep_file_path h;
	char data[8192 + 4096 + 64];
} rec;

static size_t record(uint64_t id, const char *components, size_t path_len, const char *given, uint32_t flags)
{
	size_t given_len = given ? strlen(given) + 1 : 0;

	memset(&rec, 0, sizeof(rec));
	rec.h = (struct skep_file_path) {
		.id = id,
		.key.pid = 7,
		.path_len = (uint32_t)path_len,
		.given_len = (uint32_t)given_len,
		.flags = flags,
	};
	memcpy(rec.data, components, path_len);
	if (given)
		memcpy(rec.data + path_len, given, given_len);
	return sizeof(rec.h) + path_len + given_len;
}

static void path_is(struct skep_filetable *t, const char *components, size_t len, const char *given, uint32_t flags,
		    const char *want)
{
	static uint64_t id;
	const struct skep_file_row *row;

	assert_int_equal(skep_filetable_path(t, &rec, record(++id, components, len, given, flags)), 0);
	row = skep_filetable_get(t, id, &rec.h.key);
	assert_non_null(row);
	assert_string_equal(row->path, want);
	assert_int_equal(row->key.pid, 7);
}

static void test_paths(void **state)
{
	struct skep_filetable t = { .value_size = sizeof(struct opens_row) };

	(void)state;
	path_is(&t, "f\0dir\0", 6, NULL, 0, "/dir/f");
	path_is(&t, "", 0, NULL, 0, "/");
	path_is(&t, "f\0dir\0", 6, NULL, SKEP_FILE_CUT, ".../dir/f");
	path_is(&t, "dir\0", 4, "gone", SKEP_FILE_GIVEN, "/dir/gone");
	path_is(&t, "dir\0", 4, "./gone", SKEP_FILE_GIVEN, "/dir/gone");
	path_is(&t, "dir\0", 4, "../gone", SKEP_FILE_GIVEN, "/dir/../gone");
	path_is(&t, "", 0, "/gone", SKEP_FILE_GIVEN, "/gone");
	path_is(&t, "", 0, "", SKEP_FILE_GIVEN, ""); /* the kernel side could not read the path */
	skep_filetable_free(&t);
}

static void test_bad_records(void **state)
{
	struct skep_filetable t = { .value_size = sizeof(struct opens_row) };
	size_t size = record(1, "f\0dir\0", 6, "x", SKEP_FILE_GIVEN);

	(void)state;
	for (size_t n = 0; n < size; n++)
		assert_int_equal(skep_filetable_path(&t, &rec, n), -EBADMSG);
	record(0, "f\0", 2, NULL, 0);
	assert_int_equal(skep_filetable_path(&t, &rec, sizeof(rec)), -EBADMSG);
	record(1, "f\0", 2, NULL, 0);
	rec.h.path_len = UINT32_MAX;
	rec.h.given_len = 7; /* in 32 bits the sum of both lengths wraps to a small number */
	assert_int_equal(skep_filetable_path(&t, &rec, sizeof(rec)), -EBADMSG);
	size = record(1, "no end", 6, NULL, 0);
	assert_int_equal(skep_filetable_path(&t, &rec, size), -EBADMSG);
	/* longer than any program can name */
	memset(rec.data, 'x', 4097);
	rec.h.path_len = 0;
	rec.h.given_len = 4097;
	rec.h.flags = SKEP_FILE_GIVEN;
	assert_int_equal(skep_filetable_path(&t, &rec, sizeof(rec)), -EBADMSG);
	assert_int_equal(t.n, 0);
	skep_filetable_free(&t);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* Compares the table with a plain array: while rows are added and removed, each id finds its own row. */
static void test_table(void **state)
{
	enum { IDS = 2000 };
	struct skep_filetable t = { .value_size = sizeof(uint64_t) };
	static bool there[IDS + 1];
	uint64_t seed = 1;
	size_t n = 0;

	(void)state;
	for (int step = 0; step < 40000; step++) {
		uint64_t id = 1 + next_random(&seed) % IDS;
		const struct skep_file_key key = { .ino = id };

		if (there[id] && next_random(&seed) % 2) {
			size_t at = 0;

			while (!t.at[at] || t.at[at]->id != id)
				at++;
			skep_filetable_remove(&t, at);
			there[id] = false;
			n--;
		} else {
			struct skep_file_row *row = skep_filetable_get(&t, id, &key);

			assert_non_null(row);
			assert_int_equal(row->key.ino, id);
			assert_int_equal(row->reported[0], there[id] ? id : 0);
			row->reported[0] = id;
			n += !there[id];
			there[id] = true;
		}
		assert_int_equal(t.n, n);
	}
	for (uint64_t id = 1; id <= IDS; id++) {
		const struct skep_file_key key = { .ino = id };

		assert_int_equal(skep_filetable_get(&t, id, &key)->reported[0], there[id] ? id : 0);
	}
	skep_filetable_free(&t);
}

static void test_record(void **state)
{
	struct skep_filetable t = { .value_size = sizeof(struct opens_row) };
	const struct skep_file_key key = { .pid = 1, .what = ENOENT }, odd = { .pid = 1, .what = 4000 };
	struct skep_file_row *row = skep_filetable_get(&t, 1, &key);
	struct opens_row now = { .opens = 5, .writes = 3, .created = 1, .failed = 2 };
	struct files_record rec;
	const struct opens_record *got = &rec.opens;

	(void)state;
	assert_true(opens_kind.record(row, &now, &rec));
	assert_int_equal(got->opens, 5);
	assert_string_equal(got->error.ptr, "ENOENT");
	memcpy(row->reported, &now, sizeof(now));
	assert_false(opens_kind.record(row, &now, &rec));
	now.failed += 4;
	assert_true(opens_kind.record(row, &now, &rec));
	assert_int_equal(got->opens + got->writes + got->created, 0);
	assert_int_equal(got->failed, 4);
	assert_true(opens_kind.record(skep_filetable_get(&t, 2, &odd), &now, &rec));
	assert_string_equal(got->error.ptr, "errno 4000");
	skep_filetable_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
