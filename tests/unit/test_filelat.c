/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_filelat.c - the detail "filelat" without its kernel side: how a row becomes a record, and that its
 * stream and its detail match those in the code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plugins/files/state.h"

static void test_record(void **state)
{
	struct skep_filetable t = { .value_size = sizeof(struct filelat_row) };
	const struct skep_file_key key = { .pid = 5, .what = FILELAT_SYNC }, others = { .what = FILELAT_READ },
				   odd = { .pid = 5, .what = 99 };
	struct skep_file_row *row = skep_filetable_get(&t, 1, &key);
	struct filelat_row now = { .bytes = 100, .errors = 1, .sum_ns = 5000 };
	struct files_record got;
	const struct filelat_record *rec = &got.filelat;

	(void)state;
	assert_false(filelat_kind.record(row, &now, &got)); /* no call has ended */
	now.slots[0] = 1;
	now.slots[SKEP_HIST_SLOTS - 1] = 2;
	assert_true(filelat_kind.record(row, &now, &got));
	assert_int_equal(rec->calls, 3);
	assert_int_equal(rec->bytes, 100);
	assert_int_equal(rec->errors, 1);
	assert_int_equal(rec->sum_ns, 5000);
	assert_int_equal(rec->duration.sum, 5000);
	assert_string_equal(rec->operation.ptr, "sync");
	assert_int_equal(rec->path.len, 0);
	memcpy(row->reported, &now, sizeof(now));
	assert_false(filelat_kind.record(row, &now, &got));
	now.slots[40] = 7;
	now.sum_ns += 70;
	assert_true(filelat_kind.record(row, &now, &got));
	assert_int_equal(rec->calls, 7);
	assert_int_equal(rec->bytes, 0);
	assert_int_equal(rec->sum_ns, 70);
	assert_int_equal(got.slots[40], 7);
	assert_int_equal(got.slots[SKEP_HIST_SLOTS - 1], 0);

	assert_true(filelat_kind.record(skep_filetable_get(&t, 2, &others), &now, &got));
	assert_string_equal(rec->path.ptr, "other");
	assert_string_equal(rec->operation.ptr, "read");
	assert_true(filelat_kind.record(skep_filetable_get(&t, 3, &odd), &now, &got));
	assert_string_equal(rec->operation.ptr, "");
	skep_filetable_free(&t);
}

static void test_stream(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_DETAILS; i++) {
		const struct skep_stream *stream = files_streams[files_details[i].stream];

		assert_int_equal(stream->role, SKEP_ROLE_DETAIL);
		assert_int_equal(stream->fields[0].offset, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
