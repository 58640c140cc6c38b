/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_cgroup_probe.c - the probe "cgroup": how it reads trees of files as cgroup v1, v2 and both together
 * write them, and the bounds of its table.
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
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/cgroup/state.h"
#include "tests/unit/folder.h"

#define ID "3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2d4a6c"

/* ---- files ---------------------------------------------------------------------- */

static void numbers(void **state)
{
	uint64_t n = 5;
	double cpus = -1;

	(void)state;
	assert_int_equal(cgroup_number("12345\n", &n), 0);
	assert_int_equal(n, 12345);
	assert_int_equal(cgroup_number("max\n", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(cgroup_number("-1\n", &n), 0);
	assert_true(n == UINT64_MAX);
	n = 5;
	assert_int_equal(cgroup_number("", &n), -EBADMSG);
	assert_int_equal(cgroup_number("\n", &n), -EBADMSG);
	assert_int_equal(cgroup_number("maximum", &n), -EBADMSG);
	assert_int_equal(cgroup_number("-12", &n), -EBADMSG);
	assert_int_equal(cgroup_number("12k", &n), -EBADMSG);
	assert_int_equal(cgroup_number("99999999999999999999", &n), -EBADMSG);
	assert_int_equal(n, 5);

	assert_int_equal(cgroup_key("low 1\nhigh 22\nmax 3\noom 4\noom_kill 5\n", "oom", &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(cgroup_key("oom_kill_disable 0\nunder_oom 0\noom_kill 7", "oom_kill", &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(cgroup_key("oom_kill 5\n", "oom", &n), -EBADMSG);
	assert_int_equal(cgroup_key("oom x\n", "oom", &n), -EBADMSG);
	assert_int_equal(cgroup_key("", "oom", &n), -EBADMSG);

	assert_int_equal(cgroup_cpu_max("150000 100000\n", &cpus), 0);
	assert_true(cpus == 1.5);
	assert_int_equal(cgroup_cpu_max("max 100000\n", &cpus), 0);
	assert_true(cpus == 0);
	assert_int_equal(cgroup_cpu_max("150000\n", &cpus), -EBADMSG);
	assert_int_equal(cgroup_cpu_max("150000 0\n", &cpus), -EBADMSG);
}

static void pressure(void **state)
{
	uint64_t some = 1, full = 2;

	(void)state;
	assert_int_equal(
		cgroup_pressure(
			"some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n",
			&some, &full),
		0);
	assert_int_equal(some, 123);
	assert_int_equal(full, 45);
	/* before 5.13 cpu has no line "full" */
	assert_int_equal(cgroup_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n", &some, &full), 0);
	assert_int_equal(some, 9);
	assert_int_equal(full, 0);
	assert_int_equal(cgroup_pressure("some avg10=0.00\nfull total=4\n", &some, &full), -EBADMSG);
	assert_int_equal(cgroup_pressure("", &some, &full), -EBADMSG);
}

/* devices 253:x are stacked on others */
static bool counts(void *arg, unsigned major, unsigned minor)
{
	(void)arg;
	(void)minor;
	return major != 253;
}

static void io(void **state)
{
	struct cgroup_io io = { 1, 1, 1, 1 };
	uint64_t read = 7, write = 7;

	(void)state;
	assert_int_equal(
		cgroup_io_stat(
			"8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
			"253:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
			"8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021 cost.usage=7\n"
			"7:0 \n(unknown) rbytes=1\n",
			counts, NULL, &io),
		0);
	assert_int_equal(io.read_bytes, 1459200 + 90430464);
	assert_int_equal(io.write_bytes, 314773504 + 299008000);
	assert_int_equal(io.read_calls, 192 + 8950);
	assert_int_equal(io.write_calls, 353 + 1252);
	assert_int_equal(cgroup_io_stat("", counts, NULL, &io), 0);
	assert_int_equal(io.read_bytes, 0);
	assert_int_equal(cgroup_io_stat("8:0 rbytes=x\n", counts, NULL, &io), -EBADMSG);

	assert_int_equal(
		cgroup_blkio(
			"8:0 Read 100\n8:0 Write 200\n8:0 Sync 300\n8:0 Async 0\n8:0 Total 300\n253:0 Read 100\nTotal 300\n",
			counts, NULL, &read, &write),
		0);
	assert_int_equal(read, 100);
	assert_int_equal(write, 200);
	/* an empty file is an error, a total of 0 is not */
	assert_int_equal(cgroup_blkio("Total 0\n", counts, NULL, &read, &write), -ENODATA);
	assert_int_equal(read, 100);
}

static void of_process(void **state)
{
	static const char text[] = "9:name=systemd:/s\n4:cpu,cpuacct:/docker/a:b\n3:memory:/m\n0::/u\n";
	struct skep_str s;

	(void)state;
	assert_int_equal(cgroup_of_process(text, "cpuacct", &s), 0);
	assert_int_equal(s.len, 11);
	assert_memory_equal(s.ptr, "/docker/a:b", 11);
	assert_int_equal(cgroup_of_process(text, "memory", &s), 0);
	assert_memory_equal(s.ptr, "/m", s.len);
	assert_int_equal(cgroup_of_process(text, "", &s), 0);
	assert_memory_equal(s.ptr, "/u", s.len);
	assert_int_equal(cgroup_of_process(text, "pids", &s), -ENOENT);
	assert_int_equal(cgroup_of_process("", "", &s), -ENOENT);
	assert_int_equal(cgroup_of_process("garbage", "", &s), -ENOENT);
}

/* ---- trees ---------------------------------------------------------------------- */

static char root[64];

static void put(const char *path, const char *text)
{
	char full[512], *slash;
	FILE *f;

	assert_true(snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full));
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void point(const char *path, const char *to)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(symlink(to, full), 0);
}

static int tree_begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/skep-cgroup-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tree_end(void **state)
{
	(void)state;
	return folder_remove(root);
}

/* Loop devices: the kernel charges the same cgroup for the file below. ZFS has threads in no cgroup. */
static void devices(void **state)
{
	static const struct {
		unsigned major, minor;
		const char *name;
		bool counts;
	} cases[] = {
		{ 8, 0, "sda", true },          { 7, 1, "loop1", false },      { 9, 0, "md0", false },
		{ 147, 0, "drbd0", false },     { 230, 0, "zd0", true },       { 259, 0, "nvme1n1", true },
		{ 259, 1, "nvme1c0n1", false }, { 259, 2, "nvme2n1", true },   { 240, 0, "lvraid", false },
		{ 104, 0, "cciss!c0d0", true },
	};
	struct cgroup_devices d = { .root = root };
	char path[64], to[64];

	(void)state;
	put("/sys/dev/block/x", "");
	put("/sys/class/block/lvraid/slaves/sda", "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), "/sys/class/block/%s/size", cases[i].name);
		put(path, "1\n");
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", cases[i].major, cases[i].minor);
		snprintf(to, sizeof(to), "../../class/block/%s", cases[i].name);
		point(path, to);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (cgroup_device_counts(&d, cases[i].major, cases[i].minor) != cases[i].counts)
			fail_msg("%s: counts is not %d", cases[i].name, cases[i].counts);
	assert_true(cgroup_device_counts(&d, 1, 2)); /* removed meanwhile */
}

static void reader_open(struct cgroup_reader *r, unsigned files_most)
{
	memset(r, 0, sizeof(*r));
	r->root = root;
	r->devices.root = root;
	r->files_most = files_most;
	r->text = malloc(CGROUP_TEXT_ROOM);
	assert_non_null(r->text);
	assert_int_equal(cgroup_mounts_find(root, &r->mounts), 0);
}

static void reader_close(struct cgroup_reader *r)
{
	assert_int_equal(r->files_open, 0);
	cgroup_mounts_free(&r->mounts);
	free(r->text);
}

#define V2 "30 1 0:2 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw\n"

static void put_v2(const char *dir, const char *cpu, const char *memory, const char *kills)
{
	static const char *const names[] = { "cgroup.procs", "memory.current",  "memory.peak",  "memory.events",
					     "cpu.stat",     "io.stat",         "pids.current", "pids.events",
					     "cpu.pressure", "memory.pressure", "io.pressure" };
	char path[256], text[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", dir, names[i]);
		text[0] = '\0';
		if (i == 1)
			snprintf(text, sizeof(text), "%s\n", memory);
		else if (i == 2)
			snprintf(text, sizeof(text), "5000\n");
		else if (i == 3)
			snprintf(text, sizeof(text), "low 0\nhigh 1\nmax 2\noom 3\noom_kill %s\noom_group_kill 0\n",
				 kills);
		else if (i == 4)
			snprintf(
				text, sizeof(text),
				"usage_usec %s\nuser_usec 60\nsystem_usec 40\nnr_periods 10\nnr_throttled 4\nthrottled_usec 77\n",
				cpu);
		else if (i == 5)
			snprintf(
				text, sizeof(text),
				"8:0 rbytes=%s wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n253:0 rbytes=%s wbytes=2 rios=3 wios=4\n",
				cpu, cpu);
		else if (i == 6)
			snprintf(text, sizeof(text), "3\n");
		else if (i == 7)
			snprintf(text, sizeof(text), "max 1\n");
		else if (i > 7)
			snprintf(
				text, sizeof(text),
				"some avg10=0.00 avg60=0.00 avg300=0.00 total=%s\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
				cpu);
		put(path, text);
	}
}

static void v2(void **state)
{
	struct cgroup_reader r;
	struct cgroup_record rec;
	struct groups groups = { .most = 4 };
	struct group *g;

	(void)state;
	put("/proc/self/mountinfo", "20 1 0:1 / /proc rw - proc proc rw\n" V2);
	put("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t50\t1\n");
	put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	put("/sys/class/block/dm-0/slaves/sda/x", "");
	put("/sys/dev/block/x", "");
	point("/sys/dev/block/253:0", "../../class/block/dm-0");
	put_v2("/a.slice/x.scope", "100", "4000", "0");
	put("/sys/fs/cgroup/a.slice/memory.max", "90000\n");
	put("/sys/fs/cgroup/a.slice/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a.slice/pids.max", "64\n");
	put("/sys/fs/cgroup/a.slice/x.scope/memory.max", "max\n");
	put("/sys/fs/cgroup/a.slice/x.scope/cpu.max", "50000 100000\n");
	put("/sys/fs/cgroup/a.slice/x.scope/pids.max", "max\n");
	/* the reader keeps all files open, some, or none */
	for (unsigned files = 0; files <= 20; files += 5) {
		reader_open(&r, files);
		assert_int_equal(r.mounts.hierarchy, 0);
		put_v2("/a.slice/x.scope", "100", "4000", "0");
		g = group_add(&groups, &r, 7, "/a.slice/x.scope", strlen("/a.slice/x.scope"));
		assert_non_null(g);
		assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
		assert_string_equal(rec.controllers.ptr, "memory,cpu,io,pids,pressure");
		assert_int_equal(rec.cgroup_id, 7);
		assert_int_equal(rec.memory_bytes, 4000);
		assert_int_equal(rec.memory_peak_bytes, 5000);
		assert_int_equal(rec.memory_limit_bytes, 90000); /* its parent's */
		assert_true(rec.cpu_limit == 0.5);
		assert_int_equal(rec.pids, 3);
		assert_int_equal(rec.pids_limit, 64);
		assert_int_equal(rec.cpu_ns, 0); /* usage before the first sample does not count for this interval */
		assert_int_equal(rec.interval_ns, 0);
		assert_true(r.files_open <= files);
		/* the reader opens io.stat and the like, but not cgroup.procs */
		assert_int_equal(r.files_open, files < 11 ? files : 10);
		put_v2("/a.slice/x.scope", "350", "4500", "2");
		assert_int_equal(group_sample(&r, g, 3000, &rec), 0);
		assert_int_equal(rec.interval_ns, 2000);
		assert_int_equal(rec.cpu_ns, 250000);
		assert_int_equal(rec.user_ns, 0);
		assert_int_equal(rec.oom_kills, 2);
		assert_int_equal(rec.oom_events, 0);
		assert_int_equal(rec.read_bytes, 250); /* a stacked device's bytes do not count twice */
		assert_int_equal(rec.cpu_some_ns, 250000);
		assert_int_equal(rec.io_full_ns, 0);
		group_remove(&groups, &r, g);
		reader_close(&r);
	}
	/* the probe saw this cgroup's birth: its first record has all usage so far */
	reader_open(&r, 20);
	g = group_add(&groups, &r, 7, "/a.slice/x.scope", strlen("/a.slice/x.scope"));
	g->based = true;
	assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
	assert_int_equal(rec.cpu_ns, 350000);
	assert_int_equal(rec.cpu_throttled_ns, 77000);
	assert_int_equal(rec.oom_kills, 2);
	/* an older kernel has no memory.peak, a machine may have no pressure files */
	assert_int_equal(group_rename(g, &r, "/a.slice/old.scope", strlen("/a.slice/old.scope")), 0);
	assert_int_equal(group_sample(&r, g, 1000, &rec), -ENOENT);
	put("/sys/fs/cgroup/a.slice/old.scope/cgroup.procs", "");
	put("/sys/fs/cgroup/a.slice/old.scope/memory.current", "9000\n");
	assert_int_equal(group_sample(&r, g, 2000, &rec), 0);
	assert_string_equal(rec.controllers.ptr, "memory");
	assert_int_equal(rec.memory_peak_bytes, 9000);
	assert_int_equal(rec.cpu_ns, 0); /* a file that has gone subtracts nothing */
	groups_free(&groups, &r);
	reader_close(&r);
}

static void take_away(const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(unlink(full), 0);
}

/*
 * A controller that is switched off for a cgroup: the record has the other figures. When it is on again the kernel's
 * counters have begun at 0, here up to a higher value than before. This tree's files are opened each time.
 */
static void switched(void **state)
{
	struct cgroup_reader r;
	struct cgroup_record rec;
	struct groups groups = { .most = 4 };
	struct group *g;
	unsigned samples = 0;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t50\t1\n");
	put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	put_v2("/x.scope", "100", "4000", "7");
	reader_open(&r, 0);
	g = group_add(&groups, &r, 7, "/x.scope", strlen("/x.scope"));
	assert_non_null(g);
	assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
	assert_string_equal(rec.controllers.ptr, "memory,cpu,io,pids,pressure");
	take_away("/sys/fs/cgroup/x.scope/memory.current");
	take_away("/sys/fs/cgroup/x.scope/io.stat");
	take_away("/sys/fs/cgroup/x.scope/pids.current");
	assert_int_equal(group_sample(&r, g, 2000, &rec), 0);
	assert_string_equal(rec.controllers.ptr, "cpu,pressure");
	assert_int_equal(rec.memory_bytes, 0);
	put_v2("/x.scope", "9000", "4000", "9");
	do {
		assert_true(++samples <= 12);
		assert_int_equal(group_sample(&r, g, 2000 + samples * 1000, &rec), 0);
		assert_int_equal(rec.interval_ns, 1000);
	} while (strcmp(rec.controllers.ptr, "memory,cpu,io,pids,pressure") != 0);
	assert_int_equal(rec.read_bytes, 2 * 9000);
	assert_int_equal(rec.write_calls, 2 * 4);
	assert_int_equal(rec.oom_kills, 9);
	assert_int_equal(rec.pids_max_events, 1);
	/* from then on as before */
	put_v2("/x.scope", "9001", "4000", "9");
	assert_int_equal(group_sample(&r, g, 100000, &rec), 0);
	assert_int_equal(rec.read_bytes, 2);
	assert_int_equal(rec.oom_kills, 0);
	groups_free(&groups, &r);
	reader_close(&r);
}

/*
 * The kernel's own cgroups. The files of pressure can be switched off for one cgroup (cgroup.pressure, since 6.1), and
 * then a file that is open gives ENODEV, as it does when its cgroup has gone.
 */
static void switched_by_kernel(void **state)
{
	char name[32], procs[256], file[300];
	struct cgroup_reader r = { .root = "", .files_most = 100 };
	const struct cgroup_mount *ids, *pressure;
	struct groups groups = { .most = 4 };
	struct cgroup_record rec;
	unsigned samples = 0;
	struct group *g;
	FILE *f;

	(void)state;
	if (geteuid() != 0 || cgroup_mounts_find("", &r.mounts))
		skip();
	r.devices.root = "";
	r.text = malloc(CGROUP_TEXT_ROOM);
	assert_non_null(r.text);
	ids = &r.mounts.of[r.mounts.ids];
	pressure = &r.mounts.of[CTL_PRESSURE];
	snprintf(name, sizeof(name), "/skep-unit-%d", (int)getpid());
	snprintf(procs, sizeof(procs), "%s%s", ids->at, name);
	snprintf(file, sizeof(file), "%s%s", pressure->at ?: "/nonexistent", name);
	if ((mkdir(procs, 0755) && errno != EEXIST) || (mkdir(file, 0755) && errno != EEXIST)) {
		rmdir(procs);
		reader_close(&r);
		skip();
	}
	strcat(file, "/cgroup.pressure");
	g = group_add(&groups, &r, 7, name, strlen(name));
	assert_non_null(g);
	assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
	f = fopen(file, "we");
	if (f && strstr(rec.controllers.ptr, "pressure")) {
		assert_true(r.files_open > 0);
		assert_true(fputs("0", f) >= 0 && fclose(f) == 0);
		assert_int_equal(group_sample(&r, g, 2000, &rec), 0);
		assert_null(strstr(rec.controllers.ptr, "pressure"));
		f = fopen(file, "we");
		assert_non_null(f);
		assert_true(fputs("1", f) >= 0 && fclose(f) == 0);
		do {
			assert_true(++samples <= 12);
			assert_int_equal(group_sample(&r, g, 2000 + samples, &rec), 0);
		} while (!strstr(rec.controllers.ptr, "pressure"));
	} else if (f) {
		fclose(f);
	}
	*strrchr(file, '/') = '\0';
	assert_int_equal(rmdir(file), 0);
	if (strcmp(file, procs) != 0)
		assert_int_equal(rmdir(procs), 0);
	assert_int_equal(group_sample(&r, g, 9000, &rec), -ENOENT);
	groups_free(&groups, &r);
	reader_close(&r);
}

#define V1 "31 1 0:3 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
	   "32 1 0:4 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory\n" \
	   "33 1 0:5 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n" \
	   "34 1 0:6 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"

/* One cgroup's paths differ between controllers: runc in a cgroup of its own, and a hybrid layout with v2 beside v1. */
static void v1_and_hybrid(void **state)
{
	static const char *const path = "/box/" ID;
	struct cgroup_reader r;
	struct cgroup_record rec;
	struct groups groups = { .most = 4 };
	struct group *g;

	(void)state;
	put("/proc/self/mountinfo", "30 1 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1);
	put("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t3\t50\t1\nmemory\t4\t50\t1\n");
	put("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
	put("/sys/fs/cgroup/my memory/box/" ID "/cgroup.procs", "");
	put("/sys/fs/cgroup/my memory/box/" ID "/memory.usage_in_bytes", "4096\n");
	put("/sys/fs/cgroup/my memory/box/" ID "/memory.max_usage_in_bytes", "8192\n");
	put("/sys/fs/cgroup/my memory/box/" ID "/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/my memory/box/memory.limit_in_bytes", "100000\n");
	put("/sys/fs/cgroup/my memory/box/" ID "/memory.failcnt", "6\n");
	put("/sys/fs/cgroup/my memory/box/" ID "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	put("/sys/fs/cgroup/cpu,cpuacct/" ID "/cpuacct.usage", "1234567\n");
	put("/sys/fs/cgroup/cpu,cpuacct/" ID "/cpuacct.usage_user", "1000000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/" ID "/cpuacct.usage_sys", "234567\n");
	put("/sys/fs/cgroup/cpu,cpuacct/" ID "/cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 999\n");
	put("/sys/fs/cgroup/cpu,cpuacct/" ID "/cpu.cfs_quota_us", "25000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/" ID "/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/blkio/box/" ID "/blkio.throttle.io_service_bytes_recursive",
	    "8:0 Read 512\n8:0 Write 1024\nTotal 1536\n");
	put("/sys/fs/cgroup/blkio/box/" ID "/blkio.throttle.io_serviced_recursive",
	    "8:0 Read 1\n8:0 Write 2\nTotal 3\n");
	put("/sys/fs/cgroup/pids/elsewhere/" ID "/pids.current", "2\n");
	put("/sys/fs/cgroup/unified/box/" ID "/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\n");
	reader_open(&r, 100);
	assert_int_equal(r.mounts.hierarchy, 4);
	g = group_add(&groups, &r, 9, path, strlen(path));
	g->based = true;
	assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
	/* no process lives in the cgroup, so nothing names its path in the pids controller */
	assert_string_equal(rec.controllers.ptr, "memory,cpu,io,pressure");
	assert_int_equal(rec.memory_bytes, 4096);
	assert_int_equal(rec.memory_peak_bytes, 8192);
	assert_int_equal(rec.memory_limit_bytes, 100000);
	assert_int_equal(rec.memory_max_events, 6);
	assert_int_equal(rec.oom_kills, 2);
	assert_int_equal(rec.cpu_ns, 1234567);
	assert_int_equal(rec.user_ns, 1000000);
	assert_int_equal(rec.cpu_throttled_ns, 999);
	assert_true(rec.cpu_limit == 0.25);
	assert_int_equal(rec.read_bytes, 512);
	assert_int_equal(rec.write_calls, 2);
	assert_int_equal(rec.cpu_some_ns, 8000);
	group_remove(&groups, &r, g);
	/* /proc of a member process names the path */
	put("/sys/fs/cgroup/my memory/box/" ID "/cgroup.procs", "4711\n");
	put("/proc/4711/cgroup", "4:memory:/box/" ID "\n6:pids:/elsewhere/" ID "\n3:cpu,cpuacct:/" ID "\n");
	g = group_add(&groups, &r, 9, path, strlen(path));
	assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
	assert_string_equal(rec.controllers.ptr, "memory,cpu,io,pids,pressure");
	assert_int_equal(rec.pids, 2);
	group_remove(&groups, &r, g);
	/* a process of an ancestor does not name this cgroup's path */
	put("/sys/fs/cgroup/my memory/user.slice/session-1.scope/cgroup.procs", "4712\n");
	put("/sys/fs/cgroup/my memory/user.slice/session-1.scope/memory.usage_in_bytes", "1\n");
	put("/proc/4712/cgroup", "4:memory:/user.slice/session-1.scope\n3:cpu,cpuacct:/user.slice\n");
	put("/sys/fs/cgroup/cpu,cpuacct/user.slice/cpuacct.usage", "77\n");
	g = group_add(&groups, &r, 10, "/user.slice/session-1.scope", strlen("/user.slice/session-1.scope"));
	assert_int_equal(group_sample(&r, g, 1000, &rec), 0);
	assert_string_equal(rec.controllers.ptr, "memory");
	groups_free(&groups, &r);
	reader_close(&r);
}

static void no_cgroups(void **state)
{
	struct cgroup_mounts m;
	char *path;

	(void)state;
	assert_int_equal(cgroup_mounts_find(root, &m), -ENOENT); /* no /proc either */
	put("/proc/self/mountinfo", "20 1 0:1 / /proc rw - proc proc rw\nshort\n");
	assert_int_equal(cgroup_mounts_find(root, &m), -ENOENT);
	/* ids belong to v1's memory controller, which is not mounted: every path would be wrong */
	put("/proc/self/mountinfo", V2);
	put("/proc/cgroups", "memory\t4\t50\t1\n");
	assert_int_equal(cgroup_mounts_find(root, &m), -ENOENT);
	/* inside a container: the mount shows a part of the hierarchy */
	put("/proc/cgroups", "memory\t0\t50\t1\n");
	put("/proc/self/mountinfo", "30 1 0:2 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	assert_int_equal(cgroup_mounts_find(root, &m), 0);
	assert_int_equal(cgroup_mount_path(&m.of[m.ids], "/docker/x/y", "f", &path), 0);
	assert_string_equal(path + strlen(root), "/sys/fs/cgroup/y/f");
	free(path);
	assert_int_equal(cgroup_mount_path(&m.of[m.ids], "/docker/x", NULL, &path), 0);
	assert_string_equal(path + strlen(root), "/sys/fs/cgroup");
	free(path);
	assert_int_equal(cgroup_mount_path(&m.of[m.ids], "/docker/xy", NULL, &path), -ENOENT);
	assert_int_equal(cgroup_mount_path(&m.of[m.ids], "/", NULL, &path), -ENOENT);
	cgroup_mounts_free(&m);
}

/* ---- the table, and events -------------------------------------------------------- */

static void bounded(void **state)
{
	struct cgroup_reader r = { .root = "" };
	struct groups groups = { .most = 3 };

	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		assert_non_null(group_add(&groups, &r, id, "/x", 2));
	group_find(&groups, 1)->live = true;
	groups.next = group_find(&groups, 2); /* the pass has reached this entry */
	assert_non_null(group_add(&groups, &r, 4, "/x", 2));
	/* the table drops the oldest entry that is not live, and the pass goes on behind it */
	assert_null(group_find(&groups, 2));
	assert_ptr_equal(groups.next, group_find(&groups, 3));
	for (uint64_t id = 1; id <= 4; id++)
		if (group_find(&groups, id))
			group_find(&groups, id)->live = true;
	assert_null(group_add(&groups, &r, 5, "/x", 2));
	assert_int_equal(groups.n, 3);
	groups_free(&groups, &r);
	assert_int_equal(groups.n, 0);
	assert_null(groups.next);
}

static void last(void **state)
{
	struct cgroup_event e = {
		.id = 7, .time_ns = 5000, .type = CGROUP_GONE, .flags = CGROUP_WANTED | CGROUP_MEMORY | CGROUP_CPU,
		.usage_pages = 1, .peak_pages = 10, .limit_pages = 20, .oom_kills = 3, .throttled_ns = 900,
	};
	struct group g = { .id = 7,
			   .sampled_ns = 2000,
			   .memory_peak_bytes = 4096,
			   .totals = { .oom_kills = 1, .throttled_ns = 400, .cpu_ns = 8 } };
	struct cgroup_record rec;

	(void)state;
	/* first seen, and older than the probe: the probe cannot know its earlier usage */
	group_last(NULL, &e, 4096, &rec);
	assert_true(rec.gone);
	assert_int_equal(rec.memory_peak_bytes, 40960);
	assert_int_equal(rec.memory_limit_bytes, 81920);
	assert_int_equal(rec.oom_kills, 0);
	assert_string_equal(rec.controllers.ptr, "memory,cpu");
	/* the probe saw its birth */
	e.flags |= CGROUP_BORN;
	group_last(NULL, &e, 4096, &rec);
	assert_int_equal(rec.oom_kills, 3);
	/* with an earlier sample: usage since then */
	g.based = true;
	group_last(&g, &e, 4096, &rec);
	assert_int_equal(rec.oom_kills, 2);
	assert_int_equal(rec.cpu_throttled_ns, 500);
	assert_int_equal(rec.cpu_ns, 0);
	assert_int_equal(rec.interval_ns, 3000);
	/* no limit */
	e.limit_pages = INT64_MAX / 4096;
	group_last(NULL, &e, 4096, &rec);
	assert_int_equal(rec.memory_limit_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(pressure),
		cmocka_unit_test(io),
		cmocka_unit_test(of_process),
		cmocka_unit_test_setup_teardown(devices, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(v2, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(switched, tree_begin, tree_end),
		cmocka_unit_test(switched_by_kernel),
		cmocka_unit_test_setup_teardown(v1_and_hybrid, tree_begin, tree_end),
		cmocka_unit_test_setup_teardown(no_cgroups, tree_begin, tree_end),
		cmocka_unit_test(bounded),
		cmocka_unit_test(last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
