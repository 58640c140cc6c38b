/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_track_container.c - the container of a process: its cgroup at the end of each image, also when that
 * cgroup has gone or moved, or another probe reported it; the limits of containers that a task starts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "core/identify/container.h"
#include "tests/unit/folder.h"
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

static void limit(const char *dir, const char *id, const char *memory, const char *cpu)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/docker/%s", dir, id);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/docker/%s/memory.max", dir, id);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(memory, file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/docker/%s/cpu.max", dir, id);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(cpu, file);
	fclose(file);
}

static void child(uint32_t pid, uint32_t parent, uint64_t cgroup_id, const char *cgroup, const char *environ)
{
	struct skep_process_fork fork = { .parent = { .pid = parent, .start_ns = T0 },
					  .cgroup_id = 1, .comm = str("x") };
	struct skep_process_exec rec = { .cgroup_id = cgroup_id, .cgroup = str(cgroup), .comm = str("x"),
					 .exe = str("/bin/x"),
					 .environ = { environ, (uint32_t)strlen(environ), (uint32_t)strlen(environ) } };

	tell(&f, SKEP_ROLE_PROC_FORK, T0, pid, T0, &fork);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 1 * MS, pid, T0, &rec);
}

static int open_it(void **state);
static int close_it(void **state);

/* A task in a user's session starts one container after another: the task's limits are the largest of theirs. */
static void granted(void **state)
{
	char dir[] = "/tmp/skep-track-XXXXXX", info[64], docker[64];
	FILE *file;

	assert_non_null(mkdtemp(dir));
	snprintf(info, sizeof(info), "%s/mountinfo", dir);
	snprintf(docker, sizeof(docker), "%s/docker", dir);
	assert_int_equal(mkdir(docker, 0755), 0);
	limit(dir, ID, "134217728\n", "50000 100000\n");
	limit(dir, OTHER, "67108864\n", "100000 100000\n");
	file = fopen(info, "w");
	assert_non_null(file);
	fprintf(file, "30 1 0:2 / %s rw - cgroup2 cgroup2 rw\n", dir);
	fclose(file);
	close_it(state);
	fixture_mountinfo = info;
	open_it(state);
	fixture_mountinfo = "/nonexistent";

	fork_in(15, 1);
	exec(15, T0 + 1 * MS, 1, "/user.slice/user-0.slice/session-1.scope");
	child(16, 15, 1, "/user.slice/user-0.slice/session-1.scope", "SKEP_TASK=align");
	child(17, 16, 7, "/docker/" ID, "");
	child(18, 16, 8, "/docker/" OTHER, "");
	end(18, T0 + 2 * MS, 8);
	/* within a container that its starter is in as well */
	child(19, 17, 7, "/docker/" ID, "SKEP_TASK=inside");
	end(19, T0 + 3 * MS, 7);
	end(17, T0 + 4 * MS, 7);
	end(16, T0 + 5 * MS, 1);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(f.tasks[0].task, "inside");
	assert_int_equal(f.tasks[0].r.granted_memory_bytes, 0);
	assert_string_equal(f.tasks[1].task, "align");
	assert_int_equal(f.tasks[1].r.granted_memory_bytes, 128 << 20);
	assert_true(f.tasks[1].r.granted_cpus == 1);
	assert_string_equal(f.tasks[1].granted_source, "cgroup");
	/* nobody asked for a limit */
	assert_int_equal(f.tasks[1].r.requested_memory_bytes, 0);
	assert_true(f.tasks[1].r.requested_cpus == 0);
	assert_string_equal(f.tasks[1].requested_source, "");
	/* its root's container; two that it started are none */
	assert_string_equal(f.tasks[0].container, ID);
	assert_string_equal(f.tasks[0].unit, "");
	assert_string_equal(f.tasks[1].container, "");
	assert_string_equal(f.tasks[1].unit, "session-1.scope");
	folder_remove(dir);
}

/* A task outside that starts one container, and a run in a container: the unit is none that a runtime made. */
static void contained(void **state)
{
	static const char scope[] = "/system.slice/docker-" OTHER ".scope";
	struct record_run record;
	const struct run *run;

	(void)state;
	fork_in(20, 1);
	exec(20, T0 + 1 * MS, 1, "/user.slice/user-0.slice/session-1.scope");
	child(21, 20, 1, "/user.slice/user-0.slice/session-1.scope", "SKEP_TASK=align");
	child(22, 21, 7, "/docker/" ID, "");
	end(22, T0 + 2 * MS, 7);
	end(21, T0 + 3 * MS, 1);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	assert_string_equal(f.tasks[0].container, ID);
	assert_string_equal(f.tasks[0].unit, "session-1.scope");

	assert_int_equal(run_new(&f.track->runs, &(struct run_spec){ .id = "r", .root = 30 }, T0, (struct run **)&run), 0);
	assert_int_equal(track_run_root(f.track, (struct run *)(uintptr_t)run, T0), 0);
	exec(30, T0 + 4 * MS, 8, scope);
	end(30, T0 + 5 * MS, 8);
	fixture_settle(&f);
	run_record(run, &record);
	assert_int_equal(record.container.len, 64);
	assert_memory_equal(record.container.ptr, OTHER, 64);
	assert_int_equal(record.unit.len, 0);
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
		TEST(granted),
		TEST(contained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
