/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_sched.c - the probe "sched" without its kernel side: the tables that say who
 * is in which attachment, what /proc/pressure says, and its descriptor's promises.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "plugins/sched/state.h"

static const struct skep_detail_scope host = { .size = sizeof(host), .kind = SKEP_SCOPE_HOST };

static struct skep_detail_scope scope(uint32_t kind, uint64_t value)
{
	return (struct skep_detail_scope){ .size = sizeof(struct skep_detail_scope), .kind = kind, .value = value };
}

static void test_scope_bounds(void **state)
{
	static const struct {
		uint32_t kind;
		uint64_t value;
		int err;
	} cases[] = {
		{ SKEP_SCOPE_HOST, 0, 0 },
		{ SKEP_SCOPE_GROUP, 0, -EINVAL }, /* 0 is everybody who is in no group */
		{ SKEP_SCOPE_GROUP, 1, 0 },
		{ SKEP_SCOPE_GROUP, 254, 0 },
		{ SKEP_SCOPE_GROUP, 255, -EINVAL }, /* excluded */
		{ SKEP_SCOPE_GROUP, 256 + 7, -EINVAL },
		{ SKEP_SCOPE_CGROUP, 0, -EINVAL },
		{ SKEP_SCOPE_CGROUP, UINT64_MAX, 0 },
		{ SKEP_SCOPE_PID, 0, -EINVAL }, /* the idle threads */
		{ SKEP_SCOPE_PID, 1, 0 },
		{ SKEP_SCOPE_PID, INT32_MAX, 0 },
		{ SKEP_SCOPE_PID, 1ull << 32, -EINVAL },
		{ SKEP_SCOPE_PID + 1, 1, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct skep_detail_scope s = scope(cases[i].kind, cases[i].value);
		const char *why = "";

		assert_int_equal(detail_scope_check(&s, &why), cases[i].err);
		assert_int_equal(why != NULL, cases[i].err != 0);
	}
}

/* The whole host is everybody but the excluded; a group is its byte alone. */
static void test_scope_bytes(void **state)
{
	struct skep_detail_scope seven = scope(SKEP_SCOPE_GROUP, 7);
	struct detail_scopes s = { 0 };

	(void)state;
	detail_scope_add(&s, 0, DETAIL_RUNQLAT, &host, 0);
	detail_scope_add(&s, 3, DETAIL_OFFCPU, &seven, 0);
	for (unsigned byte = 0; byte < 255; byte++)
		assert_int_equal(s.of_byte[byte], byte == 7 ? 1u << 0 | 1u << 3 : 1u << 0);
	assert_int_equal(s.of_byte[255], 0);
	assert_int_equal(s.of_kind[DETAIL_RUNQLAT], 1u << 0);
	assert_int_equal(s.of_kind[DETAIL_ONCPU], 0);
	assert_int_equal(s.of_kind[DETAIL_OFFCPU], 1u << 3);
	assert_int_equal(s.of_pid | s.of_cgroup, 0);
}

static void test_scope_values(void **state)
{
	struct skep_detail_scope pid = scope(SKEP_SCOPE_PID, 4711), cgroup = scope(SKEP_SCOPE_CGROUP, 1ull << 40);
	struct detail_scopes s = { 0 };

	(void)state;
	detail_scope_add(&s, 15, DETAIL_ONCPU, &pid, 99);
	detail_scope_add(&s, 14, DETAIL_ONCPU, &cgroup, 0);
	assert_int_equal(s.of_pid, 1u << 15);
	assert_int_equal(s.of_cgroup, 1u << 14);
	assert_int_equal(s.value[15], 4711);
	assert_int_equal(s.start_ns[15], 99);
	assert_int_equal(s.value[14], 1ull << 40);
	assert_int_equal(s.of_kind[DETAIL_ONCPU], 1u << 15 | 1u << 14);
}

/* Of one that goes nothing stays, and the others keep all of theirs. */
static void test_scope_removed(void **state)
{
	struct skep_detail_scope pid = scope(SKEP_SCOPE_PID, 4711), cgroup = scope(SKEP_SCOPE_CGROUP, 5);
	struct skep_detail_scope seven = scope(SKEP_SCOPE_GROUP, 7);
	struct detail_scopes s = { 0 }, with;

	(void)state;
	detail_scope_add(&s, 1, DETAIL_RUNQLAT, &host, 0);
	detail_scope_add(&s, 2, DETAIL_RUNQLAT, &pid, 0);
	detail_scope_add(&s, 3, DETAIL_OFFCPU, &cgroup, 0);
	for (unsigned i = 0; i < 4; i++) {
		const struct skep_detail_scope *what[] = { &host, &seven, &cgroup, &pid };

		with = s;
		detail_scope_add(&with, 0, DETAIL_ONCPU, what[i], 0);
		assert_int_not_equal(memcmp(&with, &s, offsetof(struct detail_scopes, value)), 0);
		detail_scope_remove(&with, 0);
		assert_memory_equal(&with, &s, offsetof(struct detail_scopes, value));
	}
}

static void test_pressure(void **state)
{
	uint64_t some = 1, full = 1;

	(void)state;
	assert_int_equal(psi_parse("some avg10=0.00 avg60=0.12 avg300=0.40 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
				   &some, &full), 0);
	assert_int_equal(some, 17);
	assert_int_equal(full, 5);
	/* cpu before 5.13 */
	assert_int_equal(psi_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615\n", &some, &full), 0);
	assert_int_equal(some, UINT64_MAX);
	assert_int_equal(full, 0);
	some = full = 3;
	assert_int_equal(psi_parse("", &some, &full), -EBADMSG);
	assert_int_equal(psi_parse("some avg10=0.00\n", &some, &full), -EBADMSG);
	assert_int_equal(psi_parse("some avg10=0.00\nfull total=5\n", &some, &full), -EBADMSG);
	assert_int_equal(psi_parse("some total=1\nfull avg10=0.00\n", &some, &full), -EBADMSG);
	assert_int_equal(some, 3);
	assert_int_equal(full, 3);
}

/* A detail's stream is the one that the code emits it on, and the id comes first. */
static void test_details(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < DETAIL_KINDS; kind++) {
		const struct skep_stream *s = sched_streams[sched_details[kind].stream];

		assert_int_equal(sched_details[kind].stream, STREAM_DETAIL + kind);
		assert_int_equal(s->role, SKEP_ROLE_DETAIL);
		assert_string_equal(s->name + strlen("sched."), sched_details[kind].name);
		assert_string_equal(s->fields[0].name, "detail.id");
		assert_int_equal(s->fields[0].offset, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope_bounds),
		cmocka_unit_test(test_scope_bytes),
		cmocka_unit_test(test_scope_values),
		cmocka_unit_test(test_scope_removed),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
