/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scope.c - skep/scope.h: the valid scopes, the slots of attachments, and attachments from beginning to
 * end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <skep/scope.h>

enum { KIND_RUNQLAT, KIND_ONCPU, KIND_OFFCPU };

static void add(struct skep_scopes *s, unsigned slot, unsigned kind, const struct skep_detail_scope *scope,
		uint64_t start_ns)
{
	const struct skep_attached a = {
		.used = true, .kind = kind, .scope = *scope, .pidfd = -1, .who.start_ns = start_ns
	};

	skep_scopes_add(s, slot, &a);
}

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
		{ SKEP_SCOPE_GROUP, 0, -EINVAL }, /* 0 is the group of every process without a group */
		{ SKEP_SCOPE_GROUP, 1, 0 },
		{ SKEP_SCOPE_GROUP, 63, 0 },
		{ SKEP_SCOPE_GROUP, 64, -EINVAL }, /* that bit is not a group */
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

		assert_int_equal(skep_scope_check(&s, &why), cases[i].err);
		assert_int_equal(why != NULL, cases[i].err != 0);
	}
}

/* The whole host is every process but the excluded; a group is its byte alone. */
static void test_scope_bytes(void **state)
{
	struct skep_detail_scope seven = scope(SKEP_SCOPE_GROUP, 7);
	struct skep_scopes s = { 0 };

	(void)state;
	add(&s, 0, KIND_RUNQLAT, &host, 0);
	add(&s, 3, KIND_OFFCPU, &seven, 0);
	for (unsigned byte = 0; byte < 128; byte++)
		assert_int_equal(s.of_byte[byte], byte % 64 == 7 ? 1u << 0 | 1u << 3 : 1u << 0);
	for (unsigned byte = 128; byte < 256; byte++) /* excluded */
		assert_int_equal(s.of_byte[byte], 0);
	assert_int_equal(s.of_kind[KIND_RUNQLAT], 1u << 0);
	assert_int_equal(s.of_kind[KIND_ONCPU], 0);
	assert_int_equal(s.of_kind[KIND_OFFCPU], 1u << 3);
	assert_int_equal(s.of_pid | s.of_cgroup, 0);
}

static void test_scope_values(void **state)
{
	struct skep_detail_scope pid = scope(SKEP_SCOPE_PID, 4711), cgroup = scope(SKEP_SCOPE_CGROUP, 1ull << 40);
	struct skep_scopes s = { 0 };

	(void)state;
	add(&s, 15, KIND_ONCPU, &pid, 99);
	add(&s, 14, KIND_ONCPU, &cgroup, 0);
	assert_int_equal(s.of_pid, 1u << 15);
	assert_int_equal(s.of_cgroup, 1u << 14);
	assert_int_equal(s.value[15], 4711);
	assert_int_equal(s.start_ns[15], 99);
	assert_int_equal(s.value[14], 1ull << 40);
	assert_int_equal(s.of_kind[KIND_ONCPU], 1u << 15 | 1u << 14);
}

/* An attachment that ends leaves nothing, and the others keep all of theirs. */
static void test_scope_removed(void **state)
{
	struct skep_detail_scope pid = scope(SKEP_SCOPE_PID, 4711), cgroup = scope(SKEP_SCOPE_CGROUP, 5);
	struct skep_detail_scope seven = scope(SKEP_SCOPE_GROUP, 7);
	struct skep_scopes s = { 0 }, with;

	(void)state;
	add(&s, 1, KIND_RUNQLAT, &host, 0);
	add(&s, 2, KIND_RUNQLAT, &pid, 0);
	add(&s, 3, KIND_OFFCPU, &cgroup, 0);
	for (unsigned i = 0; i < 4; i++) {
		const struct skep_detail_scope *what[] = { &host, &seven, &cgroup, &pid };

		with = s;
		add(&with, 0, KIND_ONCPU, what[i], 0);
		assert_int_not_equal(memcmp(&with, &s, offsetof(struct skep_scopes, value)), 0);
		skep_scopes_remove(&with, 0);
		assert_memory_equal(&with, &s, offsetof(struct skep_scopes, value));
	}
}

/* ---- attachments ------------------------------------------------------------- */

static char why[256];
static uint64_t over;
static unsigned overs;

__attribute__((format(printf, 3, 4))) static int on_fail(struct skep_instance *inst, int err, const char *fmt, ...)
{
	va_list args;

	(void)inst;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return err;
}

static bool by_pid(struct skep_instance *inst, uint32_t pid, struct skep_upid *ret)
{
	(void)inst;
	*ret = (struct skep_upid){ .pid = pid, .start_ns = 77 };
	return true;
}

static void detail_over(struct skep_instance *inst, uint64_t id, const char *text)
{
	(void)inst;
	(void)text;
	over = id;
	overs++;
}

static const struct skep_host mock = {
	.size = sizeof(mock), .fail = on_fail, .process_by_pid = by_pid, .detail_over = detail_over,
};

static void test_attached_room(void **state)
{
	struct skep_attached attached[SKEP_SCOPE_SLOTS] = { 0 };
	struct skep_detail_scope s = host, wrong = scope(SKEP_SCOPE_GROUP, 255);
	unsigned slot = 99;

	(void)state;
	assert_int_equal(skep_attached_begin(NULL, &mock, attached, 0, &wrong, &slot), -EINVAL);
	assert_non_null(strstr(why, "not 255"));
	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++) {
		s.id = 100 + i;
		assert_int_equal(skep_attached_begin(NULL, &mock, attached, 1, &s, &slot), 0);
		assert_int_equal(slot, i);
	}
	assert_int_equal(skep_attached_n(attached), SKEP_SCOPE_SLOTS);
	assert_int_equal(skep_attached_begin(NULL, &mock, attached, 1, &s, &slot), -EBUSY);
	assert_int_equal(skep_attached_find(attached, 107), 7);
	assert_int_equal(skep_attached_find(attached, 99), SKEP_SCOPE_SLOTS);
	skep_attached_end(&attached[7]);
	assert_int_equal(skep_attached_find(attached, 107), SKEP_SCOPE_SLOTS);
	assert_int_equal(skep_attached_n(attached), SKEP_SCOPE_SLOTS - 1);
	s.id = 200;
	assert_int_equal(skep_attached_begin(NULL, &mock, attached, 1, &s, &slot), 0);
	assert_int_equal(slot, 7);
	assert_false(skep_attached_ended(&attached[7])); /* the plugin host never ends */
}

static void test_attached_process(void **state)
{
	struct skep_attached attached[SKEP_SCOPE_SLOTS] = { 0 };
	struct skep_detail_scope s;
	unsigned slot = 99;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	s = scope(SKEP_SCOPE_PID, (uint64_t)pid);
	s.id = 5;
	assert_int_equal(skep_attached_begin(NULL, &mock, attached, 2, &s, &slot), 0);
	assert_int_equal(attached[slot].who.pid, pid);
	assert_int_equal(attached[slot].who.start_ns, 77);
	if (attached[slot].pidfd < 0) { /* a sandbox that refuses pidfd_open() */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip();
	}
	assert_false(skep_attached_ended(&attached[slot]));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(skep_attached_ended(&attached[slot]));
	skep_attached_over(NULL, &mock, &attached[slot]);
	skep_attached_over(NULL, &mock, &attached[slot]);
	assert_int_equal(over, 5);
	assert_int_equal(overs, 1);
	skep_attached_end(&attached[slot]);
	/* no process has the pid any more, or not at once */
	assert_int_equal(skep_attached_begin(NULL, &mock, attached, 2, &s, &slot), -ESRCH);
	assert_int_equal(skep_attached_n(attached), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope_bounds),
		cmocka_unit_test(test_scope_bytes),
		cmocka_unit_test(test_scope_values),
		cmocka_unit_test(test_scope_removed),
		cmocka_unit_test(test_attached_room),
		cmocka_unit_test(test_attached_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
