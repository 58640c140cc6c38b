/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host: the parsers of loadavg, meminfo, vmstat, diskstats, net/dev and mountinfo, on lines of kernels of
 * several years and on lines that no kernel writes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "plugins/host/state.h"

static void loadavg(void **state)
{
	static const char *const bad[] = {
		"", "0.1 0.2", "0.1 0.2 0.3", "0.1 0.2 0.3 610 1", "0.1 0.2 0.3 1/x 1", "-1 0.2 0.3 1/2 1"
	};
	struct load_record rec = { 0 };

	(void)state;
	assert_int_equal(loadavg_parse(skep_text_of("12.52 0.58 0.05 2/610 4711\n"), &rec), 0);
	assert_true(rec.load1 == 12.52 && rec.load5 == 0.58 && rec.load15 == 0.05);
	assert_int_equal(rec.threads, 610);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(loadavg_parse(skep_text_of(bad[i]), &rec), -EBADMSG);
}

static void meminfo(void **state)
{
	struct memory_record rec = { 0 };
	uint64_t bad = 9;

	(void)state;
	assert_int_equal(
		meminfo_parse(
			skep_text_of("MemTotal:       24684092 kB\nMemFree:        23374016 kB\nMemAvailable:   24214112 kB\n"
				     "Buffers:           38192 kB\nCached:           769280 kB\nSwapCached:            0 kB\n"
				     "Active(anon):       1584 kB\nSwapTotal:        100 kB\nSwapFree:          60 kB\n"
				     "HugePages_Total:       3\nHugePages_Free:        1\nHugepagesize:       2048 kB\n"),
			&rec, &bad),
		0);
	assert_int_equal(bad, 0);
	assert_int_equal(rec.limit, UINT64_C(24684092) * 1024);
	assert_int_equal(rec.used, (UINT64_C(24684092) - 24214112) * 1024);
	assert_int_equal(rec.swap_used, 40 * 1024);
	assert_int_equal(rec.huge_total, 3);
	assert_int_equal(rec.huge_page, 2048 * 1024);

	/* before 3.14: no MemAvailable */
	rec = (struct memory_record){ 0 };
	assert_int_equal(
		meminfo_parse(skep_text_of("MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 5 kB\nCached: 20 kB\n"), &rec, &bad),
		0);
	assert_int_equal(rec.available, 35 * 1024);

	/* four bad lines; the important values are there */
	assert_int_equal(
		meminfo_parse(skep_text_of("MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: x kB\nCached: 20 MB\nDirty 5 kB\n"
					   "Shmem: 18446744073709551615 kB\n"),
			      &rec, &bad),
		0);
	assert_int_equal(bad, 4);
	assert_int_equal(meminfo_parse(skep_text_of("MemTotal: 100 kB\n"), &rec, &bad), -EBADMSG);
	assert_int_equal(meminfo_parse(skep_text_of(""), &rec, &bad), -EBADMSG);
}

static void vmstat(void **state)
{
	uint64_t v[N_VM] = { 0 };
	unsigned found;

	(void)state;
	assert_int_equal(
		vmstat_parse(
			skep_text_of("nr_free_pages 5\npgpgin 3\npswpin 1\npswpout 2\npgfault 30\npgmajfault 4\noom_kill 5\n"),
			v, &found),
		0);
	assert_int_equal(found, (1u << N_VM) - 1);
	assert_int_equal(v[VM_FAULT], 30);
	assert_int_equal(v[VM_OOM], 5);
	assert_int_equal(vmstat_parse(skep_text_of("pgfault 1\n"), v, &found), 0);
	assert_int_equal(found, 1u << VM_FAULT);
	assert_int_equal(vmstat_parse(skep_text_of("pgfault x\n"), v, &found), -EBADMSG);
}

static int disk(const char *s, struct text *name, uint64_t v[N_DISK])
{
	return disk_line(skep_text_of(s), name, v);
}

static void diskstats(void **state)
{
	static const char *const bad[] = {
		"",
		"8 0",
		"8 0 sda",
		"8 0 sda 1 2 3 4 5 6 7 8 9 10",
		"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12",
		"x 0 sda 1 2 3 4 5 6 7 8 9 10 11",
		"8 0 sda 1 2 3 4 5 6 7 8 9 10 -11",
		"8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
		"0 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14",
	};
	uint64_t v[N_DISK];
	struct text name;

	(void)state;
	assert_int_equal(disk("   8       0 sda 1 2 3 4 5 6 7 8 9 10 11", &name, v), 0); /* to 4.17 */
	assert_true(skep_text_is(name, "sda"));
	assert_int_equal(v[DISK_QUEUE_MS], 11);
	assert_int_equal(v[DISK_FLUSHES], 0);
	assert_int_equal(disk("   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", &name, v), 0); /* 4.18 */
	assert_int_equal(v[DISK_DISCARD_SECTORS], 14);
	assert_int_equal(disk(" 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", &name, v), 0); /* 5.5 */
	assert_int_equal(v[DISK_FLUSH_MS], 17);
	/* a future kernel with more fields */
	assert_int_equal(disk(" 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19", &name, v), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(disk(bad[i], &name, v), -EBADMSG);
}

static void net_dev(void **state)
{
	static const char *const bad[] = {
		"",
		"eth0",
		"eth0:",
		"eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
		": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
		"eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
		"eth0: 1 2 3 4 5 6 7 8 x 10 11 12 13 14 15 16",
	};
	uint64_t v[N_NET];
	struct text name;

	(void)state;
	assert_int_equal(network_line(skep_text_of("  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"), &name, v), 0);
	assert_true(skep_text_is(name, "eth0"));
	assert_int_equal(v[NET_RX_DROPPED], 4);
	assert_int_equal(v[NET_TX_BYTES], 9);
	/* no blank behind the colon where the number is long */
	assert_int_equal(
		network_line(skep_text_of("wlp0s20f3:18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"), &name, v),
		0);
	assert_true(v[NET_RX_BYTES] == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(network_line(skep_text_of(bad[i]), &name, v), -EBADMSG);
}

static enum mount_kind mount_line(const char *text, struct mount *ret)
{
	static char line[2048];
	struct skep_mount m;

	snprintf(line, sizeof(line), "%s", text);
	assert_int_equal(skep_mountinfo_line(line, &m), 0);
	return mount_kind_of(&m, ret);
}

static void mount_lines(void **state)
{
	char line[2048], path[1024];
	struct mount m;

	(void)state;
	assert_int_equal(mount_line("27 1 254:3 / / rw,relatime - ext4 /dev/vda rw,discard", &m), MOUNT_REAL);
	assert_string_equal(m.path, "/");
	assert_string_equal(m.device, "/dev/vda");
	assert_string_equal(m.type, "ext4");
	assert_int_equal(m.major, 254);
	assert_int_equal(m.minor, 3);
	assert_false(m.readonly || m.network);

	/* read only by the super block */
	assert_int_equal(mount_line("40 27 0:50 / /data\\040of rw shared:7 - nfs4 srv:/export/a ro,vers=4.2", &m), MOUNT_REAL);
	assert_string_equal(m.path, "/data of");
	assert_true(m.readonly && m.network);
	assert_int_equal(mount_line("41 27 0:51 / /x ro,nosuid - fuse.sshfs a@b:/ rw", &m), MOUNT_REAL);
	assert_true(m.readonly && m.network);

	assert_int_equal(mount_line("22 27 0:21 / /proc rw,relatime - proc proc rw", &m), MOUNT_PSEUDO);
	assert_int_equal(mount_line("22 27 0:21 / /var/lib/docker/x/merged rw - overlay overlay rw", &m), MOUNT_PSEUDO);
	assert_int_equal(mount_line("22 27 0:21 / / rw - overlay overlay rw", &m), MOUNT_REAL);
	assert_int_equal(mount_line("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw", &m), MOUNT_PSEUDO);
	assert_int_equal(mount_line("31 23 0:28 / /system rw - tmpfs tmpfs rw", &m), MOUNT_REAL);

	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	snprintf(line, sizeof(line), "27 1 254:3 / %s rw - ext4 /dev/vda rw", path);
	assert_int_equal(mount_line(line, &m), MOUNT_TOO_LONG);
}

static void mounts_of(char *text, struct mounts *m)
{
	struct skep_mountinfo file = { .file = fmemopen(text, strlen(text), "r") };

	mounts_read(&file, m);
	skep_mountinfo_close(&file);
}

static void mount_table(void **state)
{
	char few[] = "1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 254:0 /home /home rw - ext4 /dev/vda rw\n"
		     "3 1 0:23 / /dev/shm rw - tmpfs tmpfs rw\n4 3 0:27 / /dev/shm rw - tmpfs tmpfs2 rw\nnonsense\n";
	char sandbox[] = "1 0 8:1 / / ro - ext4 /dev/sda1 rw\n2 1 8:2 / /data ro - ext4 /dev/sda2 ro\n"
			 "3 1 8:3 / /usr ro - ext4 /dev/sda3 rw\n4 1 0:30 / /tmp ro - tmpfs tmpfs rw\n";
	char host[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - ext4 /dev/sda2 ro\n"
		      "3 1 8:3 / /usr ro - ext4 /dev/sda3 rw\n4 1 0:31 / /tmp rw - tmpfs tmpfs rw\n";
	struct skep_mountinfo file = { 0 };
	struct mounts *m = calloc(1, sizeof(*m));
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	assert_non_null(m);
	/* the same file system twice (bind), one over another, one bad line */
	mounts_of(few, m);
	assert_int_equal(m->n, 2);
	assert_int_equal(m->bad, 1);
	assert_string_equal(m->mount[0].path, "/");
	assert_int_equal(m->mount[1].minor, 27);
	assert_string_equal(m->mount[1].device, "tmpfs2");

	/* skepd has all mounts read-only; for process 1 one file system is so after errors, and one mount is */
	mounts_of(sandbox, m);
	assert_int_equal(m->n, 4);
	for (uint32_t i = 0; i < m->n; i++)
		assert_true(m->mount[i].readonly);
	file.file = fmemopen(host, strlen(host), "r");
	mounts_read_modes(&file, m);
	skep_mountinfo_close(&file);
	assert_false(m->mount[0].readonly);
	assert_true(m->mount[1].readonly);
	assert_true(m->mount[2].readonly);
	assert_true(m->mount[3].readonly); /* process 1 has another device there */

	out = open_memstream(&text, &size);
	assert_non_null(out);
	for (unsigned i = 0; i < MOUNT_MOST + 5; i++)
		fprintf(out, "%u 1 0:%u / /m%u rw - tmpfs tmpfs rw\n", i, i, i);
	fclose(out);
	mounts_of(text, m);
	assert_int_equal(m->n, MOUNT_MOST);
	assert_int_equal(m->left_out, 5);
	free(text);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loadavg),   cmocka_unit_test(meminfo), cmocka_unit_test(vmstat),
		cmocka_unit_test(diskstats), cmocka_unit_test(net_dev), cmocka_unit_test(mount_lines),
		cmocka_unit_test(mount_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
