/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_cgroup.c - cgroup paths: noted from records, found by a walk, bounded; the clock; the verdict bytes.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learnt_and_bounded),
		cmocka_unit_test(walked),
		cmocka_unit_test(very_many),
		cmocka_unit_test(clocks),
		cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
