/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_io_iolat.c - the detail iolat without its kernel side: rows into records, and the promises of the
 * table of details.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include <skep/hist.h>

#include "plugins/io/state.h"

static struct iolat_record got;
static struct skep_upid got_who;
static char device[64];
static unsigned n_got;

static void on_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *rec)
{
	(void)inst;
	assert_int_equal(stream, STREAM_IOLAT);
	assert_int_equal(time_ns, 99);
	memcpy(&got, rec, sizeof(got));
	snprintf(device, sizeof(device), "%.*s", (int)got.device.len, got.device.ptr); /* is ours only now */
	got_who = who ? *who : (struct skep_upid){ 0 };
	n_got++;
}

static const struct skep_host host = { .size = sizeof(host), .emit = on_emit };

static void test_row(void **state)
{
	static struct disk vda = { .dev = 254u << 20 | 16u, .name = "vdb" };
	struct io_probe st = { .host = &host, .disks = { .at = &vda, .n = 1 } };
	struct iolat_key key = { .dev = vda.dev, .op = IO_DISCARD, .slot = 3 };
	struct iolat_row row = { .operations = 7, .bytes = 4096, .errors = 2, .sum_ns = { 1000, 300, 700 } };

	(void)state;
	row.times[IOLAT_DURATION][40] = 5;
	row.times[IOLAT_DURATION][IO_LATENCY_SLOTS - 1] = 1;
	row.times[IOLAT_QUEUE][0] = 6;
	st.iolat.attached[3] =
		(struct skep_attached) { .used = true, .scope.id = 11, .who = { .pid = 5, .start_ns = 6 } };
	iolat_emit(NULL, &st, &key, &row, 99);
	assert_int_equal(n_got, 1);
	assert_int_equal(got.id, 11);
	assert_int_equal(got_who.pid, 5);
	assert_string_equal(device, "vdb");
	assert_memory_equal(got.operation.ptr, "discard", got.operation.len);
	assert_int_equal(got.count, 7);
	assert_int_equal(got.bytes, 4096);
	assert_int_equal(got.errors, 2);
	assert_int_equal(got.sum_ns, 1000);
	/* as many slots as have values; none where the queue notes no times */
	assert_int_equal(got.duration.n, IO_LATENCY_SLOTS);
	assert_int_equal(skep_hist_count(&got.duration), 6);
	assert_int_equal(got.queue.n, 1);
	assert_int_equal(got.queue.sum, 300);
	assert_int_equal(got.service.n, 0);
	assert_int_equal(got.service.sum, 700);
}

/* A device outside of our list is named by its number; an unknown kind of operation counts as "other". */
static void test_unknown(void **state)
{
	struct io_probe st = { .host = &host };
	struct iolat_key key = { .dev = 4095u << 20 | 0xfffffu, .op = 60000, .slot = 0 };
	struct iolat_row row = { .operations = 1 };

	(void)state;
	st.iolat.attached[0] = (struct skep_attached){ .used = true, .scope.id = 1 };
	iolat_emit(NULL, &st, &key, &row, 99);
	assert_string_equal(device, "4095:1048575");
	assert_memory_equal(got.operation.ptr, "other", got.operation.len);
	assert_int_equal(got_who.pid, 0);
}

/* A detail's stream has its name, and the id comes first. */
static void test_details(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_DETAILS; i++) {
		const struct skep_stream *s;

		assert_in_range(io_details[i].stream, 0, N_STREAMS - 1);
		s = io_streams[io_details[i].stream];
		assert_int_equal(s->role, SKEP_ROLE_DETAIL);
		assert_string_equal(s->name + strlen("io."), io_details[i].name);
		assert_string_equal(s->fields[0].name, "detail.id");
		assert_int_equal(s->fields[0].offset, 0);
		assert_int_not_equal(io_details[i].scopes, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
