/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_track_container.c - the container of a process: its cgroup at the end of each image, also when that
 * cgroup has gone or moved, or another probe reported it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/identify/container.h"
#include "tests/unit/track_fixture.h"

#define T0 (1000 * SECOND)
#define ID "3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2d4a6c"
#define OTHER "a0b1c2d3e4f5061728394a5b6c7d8e9f0011223344556677889900aabbccddee"

static struct fixture f;
static struct containers *table;

static void exec(uint32_t pid, uint64_t time_ns, uint64_t cgroup_id, const char *cgroup)
{
	struct skep_process_exec rec = {
		.cgroup_id = cgroup_id, .cgroup = str(cgroup), .comm = str("x"), .exe = str("/bin/x")
	};

	tell(&f, SKEP_ROLE_PROC_EXEC, time_ns, pid, T0, &rec);
}

static void end(uint32_t pid, uint64_t time_ns, uint64_t cgroup_id)
{
	struct skep_process_exit rec = { .cgroup_id = cgroup_id };
	struct skep_process_final final = { .cgroup_id = cgroup_id };

	tell(&f, SKEP_ROLE_PROC_EXIT, time_ns, pid, T0, &rec);
	tell(&f, SKEP_ROLE_PROC_FINAL, time_ns, pid, T0, &final);
}

static void fork_in(uint32_t pid, uint64_t cgroup_id)
{
	struct skep_process_fork rec = { .cgroup_id = cgroup_id, .comm = str("x") };

	tell(&f, SKEP_ROLE_PROC_FORK, T0, pid, T0, &rec);
}

/* A runtime's init: forked outside, moved, executed inside, and so both of its images end inside. */
static void moved_before_exec(void **state)
{
	(void)state;
	fork_in(10, 1);
	exec(10, T0 + 1 * MS, 1, "/system.slice/containerd.service");
	exec(10, T0 + 2 * MS, 7, "/docker/" ID);
	end(10, T0 + 3 * MS, 7);
	assert_string_equal(fixture_image(&f, 10, 0)->container, "");
	assert_string_equal(fixture_image(&f, 10, 1)->container, ID);
	assert_string_equal(fixture_image(&f, 10, 1)->cgroup, "/docker/" ID);
	assert_string_equal(fixture_image(&f, 10, 2)->container, ID);
}

/* Only its exit names its cgroup, whose path a probe reported. */
static void moved_after_exec(void **state)
{
	struct skep_str path = str("/docker/" ID);

	(void)state;
	cgroups_known(f.cgroups, 7, &path);
	fork_in(11, 1);
	exec(11, T0 + 1 * MS, 1, "/user.slice/user-0.slice/session-1.scope");
	end(11, T0 + 3 * MS, 7);
	assert_string_equal(fixture_image(&f, 11, 1)->container, ID);
	assert_string_equal(fixture_image(&f, 11, 1)->cgroup, "/docker/" ID);
}

/* A fork that never executes: no record of it has a path. */
static void forked_inside(void **state)
{
	struct skep_str path = str("/docker/" ID "/docker/" OTHER);

	(void)state;
	fork_in(12, 9);
	cgroups_known(f.cgroups, 9, &path);
	end(12, T0 + 3 * MS, 9);
	assert_string_equal(fixture_image(&f, 12, 0)->container, OTHER);
}

/* So many cgroups came and went that the table has forgotten this one; the process remembers its path. */
static void forgotten(void **state)
{
	(void)state;
	fork_in(13, 7);
	exec(13, T0 + 1 * MS, 7, "/docker/" ID);
	for (uint64_t id = 100; id < 100 + CGROUP_MAX; id++) {
		struct skep_str path = str("/x");

		cgroups_known(f.cgroups, id, &path);
	}
	assert_false(cgroups_known(f.cgroups, 7, NULL));
	end(13, T0 + 3 * MS, 7);
	assert_string_equal(fixture_image(&f, 13, 1)->container, ID);
}

static void contexts(void **state)
{
	struct skep_upid upid = { .pid = 14, .start_ns = T0 };
	struct skep_context context;

	(void)state;
	fork_in(14, 7);
	exec(14, T0 + 1 * MS, 7, "/docker/" ID);
	track_context(f.track, &upid, &context);
	assert_int_equal(context.container.len, 64);
	assert_memory_equal(context.container.ptr, ID, 64);
	track_cgroup_context(f.track, 7, &context);
	assert_int_equal(context.container.len, 64);
	assert_memory_equal(context.container.ptr, ID, 64);
	assert_int_equal(context.run.len, 0);
	track_cgroup_context(f.track, 8, &context);
	assert_int_equal(context.container.len, 0);
}

static int open_it(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	table = containers_new(NULL, &diag);
	diag_clear(&diag);
	if (!table)
		return -1;
	fixture_open(&f, false, T0 - SECOND);
	f.now_ns = T0;
	cgroups_identify(f.cgroups, table);
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	fixture_close(&f);
	table = containers_free(table);
	return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_it, close_it)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(moved_before_exec),
		TEST(moved_after_exec),
		TEST(forked_inside),
		TEST(forgotten),
		TEST(contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
