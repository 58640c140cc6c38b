/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_cgroup.c - cgroup paths: noted from records, found by a walk, bounded; limits, of folders and of real
 * cgroups; the clock; the verdict bytes.
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
#include <sys/stat.h>
#include <unistd.h>

#include "core/identify/cgroup.h"
#include "core/base/clock.h"
#include "core/plugin/verdict.h"
#include "tests/unit/folder.h"

#define SECOND 1000000000ull

static struct skep_str of(const char *s)
{
	return (struct skep_str){ s, (uint32_t)strlen(s), (uint32_t)strlen(s) };
}

static void learnt_and_bounded(void **state)
{
	struct cgroups *c = cgroups_new("/nonexistent");
	struct skep_str a = of("/a"), b = of("/b"), s;

	(void)state;
	assert_false(cgroups_known(c, 5, NULL));
	assert_true(cgroups_known(c, 5, &a));
	assert_true(cgroups_known(c, 5, NULL));
	s = cgroups_path(c, 5, 0);
	assert_memory_equal(s.ptr, "/a", 2);
	assert_true(cgroups_known(c, 5, &b)); /* renamed */
	s = cgroups_path(c, 5, 0);
	assert_memory_equal(s.ptr, "/b", 2);
	assert_int_equal(cgroups_path(c, 6, 0).len, 0);
	assert_int_equal(cgroups_path(c, 0, 0).len, 0);
	for (uint64_t id = 100; id < 100 + CGROUP_MAX; id++) {
		char path[32];

		snprintf(path, sizeof(path), "/x/%llu", (unsigned long long)id);
		s = of(path);
		cgroups_known(c, id, &s);
		cgroups_known(c, 5, NULL); /* in use all the time, so it stays */
	}
	assert_int_equal(cgroups_count(c), CGROUP_MAX);
	assert_true(cgroups_known(c, 5, NULL));
	assert_false(cgroups_known(c, 100, NULL)); /* the table dropped the oldest */
	assert_true(cgroups_known(c, 101, NULL));
	cgroups_free(c);
	assert_null(cgroups_free(NULL));
}

/* A tree of folders serves as a hierarchy: ids are inode numbers. */
static void walked(void **state)
{
	char dir[] = "/tmp/skep cgroup XXXXXX", path[128], info[128], line[512];
	struct stat deep, root, late;
	struct cgroups *c;
	struct skep_str s;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/h", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(stat(path, &root), 0);
	snprintf(path, sizeof(path), "%s/h/a.slice", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/h/a.slice/job 1", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(stat(path, &deep), 0);
	snprintf(info, sizeof(info), "%s/mountinfo", dir);
	snprintf(line, sizeof(line), "%s/h", dir);
	f = fopen(info, "w");
	assert_non_null(f);
	fputs("20 1 0:1 / /proc rw - proc proc rw\n30 1 0:2 / /sys/fs/cgroup/unified rw shared:1 - cgroup2 cgroup2 rw\ngarbage\n",
	      f);
	fputs("31 1 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n32 1 0:4 / ", f);
	for (const char *p = line; *p; p++)
		if (*p == ' ')
			fputs("\\040", f);
		else
			putc(*p, f);
	fputs(" rw,nosuid shared:9 - cgroup cgroup rw,memory\n", f);
	fclose(f);

	c = cgroups_new(info);
	s = cgroups_path(c, deep.st_ino, SECOND);
	assert_int_equal(s.len, strlen("/a.slice/job 1"));
	assert_memory_equal(s.ptr, "/a.slice/job 1", s.len);
	s = cgroups_path(c, root.st_ino, SECOND);
	assert_memory_equal(s.ptr, "/", 1);
	/* a younger cgroup: the next walk finds it, some time later */
	snprintf(path, sizeof(path), "%s/h/late", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(stat(path, &late), 0);
	assert_int_equal(cgroups_path(c, late.st_ino, SECOND + 5).len, 0);
	s = cgroups_path(c, late.st_ino, 2 * SECOND + 5);
	assert_int_equal(s.len, 5);
	/* after a whole walk without this id, no walk looks for the id for a minute */
	assert_int_equal(cgroups_path(c, 99999999999u, 10 * SECOND).len, 0);
	snprintf(path, sizeof(path), "%s/h/later", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(stat(path, &late), 0);
	assert_int_equal(cgroups_path(c, 99999999999u, 12 * SECOND).len, 0);
	assert_false(cgroups_known(c, late.st_ino, NULL));
	assert_int_equal(cgroups_path(c, 99999999999u, 71 * SECOND).len, 0);
	assert_true(cgroups_known(c, late.st_ino, NULL));
	cgroups_free(c);

	/* a mount of a part of the hierarchy: paths begin at the hierarchy's root all the same */
	f = fopen(info, "w");
	assert_non_null(f);
	fprintf(f, "30 1 0:2 /docker/abc ");
	for (const char *p = line; *p; p++)
		fprintf(f, *p == ' ' ? "\\040" : "%c", *p);
	fputs(" rw - cgroup2 cgroup2 rw\n", f);
	fclose(f);
	c = cgroups_new(info);
	s = cgroups_path(c, deep.st_ino, SECOND);
	assert_int_equal(s.len, strlen("/docker/abc/a.slice/job 1"));
	assert_memory_equal(s.ptr, "/docker/abc/a.slice/job 1", s.len);
	s = cgroups_path(c, root.st_ino, SECOND);
	assert_memory_equal(s.ptr, "/docker/abc", s.len);
	assert_int_equal(cgroups_id(c, "/docker/abc/a.slice/job 1", SECOND), deep.st_ino);
	assert_int_equal(cgroups_id(c, "/a.slice/job 1", SECOND), 0);
	assert_int_equal(cgroups_id(c, "/docker/abcd", SECOND), 0);
	/* nothing outside of the hierarchy, where a folder may be of a file server that is gone */
	assert_int_equal(cgroups_id(c, "/docker/abc/../..", SECOND), 0);
	assert_int_equal(cgroups_id(c, "/docker/abc/../../../../../../../tmp", SECOND), 0);
	assert_int_equal(cgroups_id(c, "/docker/abc/a.slice/..//a.slice/job 1", SECOND), deep.st_ino);
	cgroups_free(c);
	assert_int_equal(folder_remove(dir), 0);
}

/* More cgroups than the table holds: no call walks through all of them, and in the end each is found. */
static void very_many(void **state)
{
	char dir[] = "/tmp/skep-cgroup-XXXXXX", path[128], info[128];
	uint64_t now = SECOND, ids[17];
	struct cgroups *c;
	struct stat st;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 17; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		assert_int_equal(mkdir(path, 0755), 0);
		for (int k = 0; k < 1000; k++) {
			snprintf(path, sizeof(path), "%s/%d/%d", dir, i, k);
			assert_int_equal(mkdir(path, 0755), 0);
		}
		assert_int_equal(stat(path, &st), 0);
		ids[i] = st.st_ino;
	}
	snprintf(info, sizeof(info), "%s/mountinfo", dir);
	f = fopen(info, "w");
	assert_non_null(f);
	fprintf(f, "30 1 0:2 / %s rw - cgroup2 cgroup2 rw\n", dir);
	fclose(f);
	c = cgroups_new(info);
	cgroups_path(c, 99999999999u, now);
	assert_true(cgroups_count(c) < CGROUP_MAX);
	for (int i = 0; i < 17; i++) {
		for (int k = 0; k < 20000 && cgroups_path(c, ids[i], now).len == 0; k++)
			cgroups_tick(c, now += SECOND / 4);
		snprintf(path, sizeof(path), "/%d/999", i);
		assert_int_equal(cgroups_path(c, ids[i], now).len, strlen(path));
		assert_memory_equal(cgroups_path(c, ids[i], now).ptr, path, strlen(path));
	}
	assert_int_equal(cgroups_count(c), CGROUP_MAX);
	cgroups_path(c, 99999999999u, now += 100 * SECOND); /* a walk is under way when cgroups_free() runs */
	cgroups_free(c);
	assert_int_equal(folder_remove(dir), 0);
}

static void clocks(void **state)
{
	char id[CLOCK_BOOT_ID_SIZE];
	uint64_t a = clock_boot_ns(), b = clock_boot_ns();
	int64_t offset = clock_realtime_offset_ns(), apart;

	(void)state;
	assert_true(b >= a && a > 0);
	apart = clock_realtime_offset_ns() - offset;
	assert_true(apart < 1000000 && apart > -1000000);
	assert_true(offset > 0);
	assert_int_equal(clock_boot_id(id), 0);
	assert_int_equal(strlen(id), 36);
	assert_int_equal(id[8], '-');
}

static void verdicts(void **state)
{
	const struct pins none = { .fd = -1 };
	struct verdict v;

	(void)state;
	verdict_open(&v, &none, VERDICT_EXCLUDED);
	assert_true(v.pids >= 300 && v.pids % 8 == 0);
	if (v.fd < 0) {
		/* without privilege every call does nothing, and the reason is set */
		assert_true(v.error < 0);
		assert_null(v.bytes);
	} else {
		assert_int_equal(v.bytes[0], VERDICT_EXCLUDED);
		assert_int_equal(v.bytes[v.pids - 1], VERDICT_EXCLUDED);
		verdict_set(&v, 7, VERDICT_COLLECT);
		assert_int_equal(v.bytes[7], VERDICT_COLLECT);
		assert_int_equal(v.bytes[8], VERDICT_EXCLUDED);
	}
	verdict_set(&v, -1, 0);
	verdict_set(&v, 0, 0);
	verdict_set(&v, INT32_MAX, 0);
	verdict_close(&v);
	verdict_close(&v);
	verdict_set(&v, 7, 0);
}

#define HEX64 "3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2d4a6c"
#define POD "8b2f3a4c-1111-2222-3333-444455556666"
#define MIB (1u << 20)

/* Writes a file of a cgroup; makes its folders. */
static void put(const char *dir, const char *cgroup, const char *name, const char *value)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", dir, cgroup);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s%s/%s", dir, cgroup, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(value, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct containers *builtin(void)
{
	struct containers *table;
	struct diag diag;

	diag_init(&diag);
	table = containers_new(NULL, &diag);
	diag_clear(&diag);
	assert_non_null(table);
	return table;
}

static struct cgroup_limits limits_of(struct cgroups *c, const char *path, const char *starter, bool job)
{
	struct skep_str at = of(path), from = of(starter);
	struct cgroup_limits found = { 1, 1 };
	static uint64_t id = 1000;

	id += 2;
	cgroups_known(c, id, &at);
	cgroups_known(c, id + 1, &from);
	cgroups_limits(c, id, id + 1, job, SECOND, &found);
	return found;
}

static void limits(void **state)
{
	static const char session[] = "/user.slice/user-0.slice/session-3.scope";
	char dir[] = "/tmp/skep-cgroup-XXXXXX", h[64], info[64];
	struct containers *table = builtin();
	struct skep_str late = of("/docker/" HEX64);
	struct cgroup_limits l;
	struct cgroups *c;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(h, sizeof(h), "%s/h", dir);
	mkdir(h, 0755);
	snprintf(info, sizeof(info), "%s/mountinfo", dir);
	f = fopen(info, "w");
	assert_non_null(f);
	fprintf(f, "30 1 0:2 / %s rw - cgroup2 cgroup2 rw\n", h);
	fclose(f);
	put(h, "/system.slice", "memory.max", "16777216\n");
	put(h, "/system.slice/docker-" HEX64 ".scope", "memory.max", "268435456\n");
	put(h, "/system.slice/docker-" HEX64 ".scope", "cpu.max", "50000 100000\n");
	put(h, "/system.slice/docker-" HEX64 ".scope/init", "memory.max", "134217728\n");
	put(h, "/system.slice/docker-" HEX64 ".scope/init", "cpu.max", "max 100000\n");
	put(h, session, "memory.max", "67108864\n");
	put(h, "/user.slice/user-0.slice/user@0.service/app.slice/run-7.scope", "memory.max", "100663296\n");
	put(h, "/user.slice/user-0.slice/user@0.service", "memory.max", "67108864\n");
	put(h, "/kubepods.slice/kubepods-pod" POD ".slice", "memory.max", "33554432\n");
	put(h, "/kubepods.slice/kubepods-pod" POD ".slice/cri-containerd-" HEX64 ".scope", "memory.max", "max\n");
	put(h, "/system.slice/slurmstepd.scope/job_7", "memory.max", "100663296\n");
	put(h, "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "memory.max", "max\n");
	put(h, "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00", "memory.max", "50331648\n");
	put(h, "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0", "memory.max", "max\n");
	put(h, "/docker/" HEX64, "memory.max", "max\n");
	put(h, "/machine.slice/machine-big.scope", "memory.max", "9007199254740992\n");
	put(h, "/machine.slice/machine-big.scope", "cpu.max", "99999900000 100000\n");
	put(h, "/machine.slice/machine-bad.scope", "cpu.max", "100000\n");
	c = cgroups_new(info);
	cgroups_identify(c, table);

	/* the least from the process's cgroup up to the container's own; a slice further out limits others too */
	l = limits_of(c, "/system.slice/docker-" HEX64 ".scope", session, false);
	assert_int_equal(l.memory_bytes, 256 * MIB);
	assert_int_equal(l.milli_cpus, 500);
	l = limits_of(c, "/system.slice/docker-" HEX64 ".scope/init", session, false);
	assert_int_equal(l.memory_bytes, 128 * MIB);
	assert_int_equal(l.milli_cpus, 500);
	/* the starter is in the container as well: its limits are those of the whole run */
	l = limits_of(c, "/system.slice/docker-" HEX64 ".scope/init", "/system.slice/docker-" HEX64 ".scope", false);
	assert_int_equal(l.memory_bytes, 0);
	assert_int_equal(l.milli_cpus, 0);
	/* a user's session, also as another one than the starter's, and the user's manager */
	assert_int_equal(limits_of(c, session, "/system.slice/cron.service", false).memory_bytes, 0);
	assert_int_equal(limits_of(c, "/user.slice/user-0.slice/user@0.service", session, false).memory_bytes, 0);
	assert_int_equal(limits_of(c, "/user.slice/user-0.slice/user@0.service/app.slice/run-7.scope", session, false)
				 .memory_bytes, 96 * MIB);
	/* a limit of the pod */
	l = limits_of(c, "/kubepods.slice/kubepods-pod" POD ".slice/cri-containerd-" HEX64 ".scope",
		      "/system.slice/containerd.service", false);
	assert_int_equal(l.memory_bytes, 32 * MIB);
	/* slurmstepd is in the job's cgroup itself, and so is a workflow in the job, of whose tasks it is no limit */
	l = limits_of(c, "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
		      "/system.slice/slurmstepd.scope/job_7/step_0/slurm", true);
	assert_int_equal(l.memory_bytes, 96 * MIB);
	l = limits_of(c, "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
		      "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", false);
	assert_int_equal(l.memory_bytes, 0);
	/* a job of Slurm 26.05 */
	l = limits_of(c, "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0",
		      "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/slurm", true);
	assert_int_equal(l.memory_bytes, 48 * MIB);
	/* more than the host has, and what no kernel writes */
	l = limits_of(c, "/machine.slice/machine-big.scope", session, false);
	assert_int_equal(l.memory_bytes, 0);
	assert_int_equal(l.milli_cpus, 0);
	l = limits_of(c, "/machine.slice/machine-bad.scope", session, false);
	assert_int_equal(l.milli_cpus, 0);
	/* a starter that is not known */
	assert_true(cgroups_known(c, 4, &late));
	assert_true(cgroups_known(c, 3, &(struct skep_str){ "/", 1, 1 }));
	put(h, "/docker/" HEX64, "memory.max", "16777216\n");
	assert_true(cgroups_limits(c, 4, 0, false, SECOND, &l));
	assert_int_equal(l.memory_bytes, 0);
	assert_true(cgroups_limits(c, 4, 3, false, SECOND, &l));
	assert_int_equal(l.memory_bytes, 16 * MIB);
	cgroups_free(c);

	/* the runtime sets the limit after the container's first exec; skep looks at three execs, then no more */
	put(h, "/docker/" HEX64, "memory.max", "max\n");
	for (unsigned set = 1; set <= 3; set++) {
		c = cgroups_new(info);
		cgroups_identify(c, table);
		cgroups_known(c, 4, &late);
		cgroups_known(c, 3, &(struct skep_str){ "/", 1, 1 });
		for (unsigned i = 1; i <= set; i++)
			assert_int_equal(cgroups_limits(c, 4, 3, false, SECOND, &l), i == 3);
		put(h, "/docker/" HEX64, "memory.max", "16777216\n");
		assert_true(cgroups_limits(c, 4, 3, false, SECOND, &l));
		assert_int_equal(l.memory_bytes, set == 3 ? 0 : 16 * MIB);
		put(h, "/docker/" HEX64, "memory.max", "max\n");
		cgroups_free(c);
	}
	containers_free(table);
	folder_remove(dir);
}

/* Of this machine's hierarchies the folder in which a controller's limits are; NULL: none that can be written. */
static bool make_real(const char *controller, const char *cgroup, char *ret, size_t size, bool *ret_v2)
{
	snprintf(ret, size, "/sys/fs/cgroup/%s/cgroup.procs", controller);
	*ret_v2 = access(ret, F_OK) != 0;
	snprintf(ret, size, "/sys/fs/cgroup/%s%s", *ret_v2 ? "" : controller, cgroup);
	return mkdir(ret, 0755) == 0 || errno == EEXIST;
}

static bool write_real(const char *folder, const char *file, const char *value)
{
	char path[256];
	FILE *f;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "w");
	if (!f)
		return false;
	good = fputs(value, f) >= 0;
	return fclose(f) == 0 && good;
}

static void real_limits(void **state)
{
	static const char name[] = "/docker-3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2dfeed.scope";
	struct containers *table = builtin();
	struct cgroups *c = cgroups_new(NULL);
	bool memory_v2, cpu_v2, memory_set = false, cpu_set = false;
	char memory[160], cpu[160];
	struct cgroup_limits l;

	(void)state;
	cgroups_identify(c, table);
	if (make_real("memory", name, memory, sizeof(memory), &memory_v2))
		memory_set = write_real(memory, memory_v2 ? "memory.max" : "memory.limit_in_bytes", "67108864");
	if (make_real("cpu", name, cpu, sizeof(cpu), &cpu_v2))
		cpu_set = write_real(cpu, cpu_v2 ? "cpu.max" : "cpu.cfs_quota_us", cpu_v2 ? "25000 100000" : "25000");
	l = limits_of(c, name, "/", false);
	rmdir(memory);
	rmdir(cpu);
	cgroups_free(c);
	containers_free(table);
	if (!memory_set && !cpu_set)
		skip(); /* no right to make cgroups here */
	assert_int_equal(l.memory_bytes, memory_set ? 64 * MIB : 0);
	assert_int_equal(l.milli_cpus, cpu_set ? 250 : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learnt_and_bounded),
		cmocka_unit_test(walked),
		cmocka_unit_test(very_many),
		cmocka_unit_test(limits),
		cmocka_unit_test(real_limits),
		cmocka_unit_test(clocks),
		cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
