/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_io_parse.c - the probe "io" without its kernel side: /proc/diskstats, kinds of disks, /proc/vmstat,
 * mounts, the clients of network file systems, levels into differences, and losses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/io/state.h"

/* ---- a root of our own --------------------------------------------------------- */

static char root[] = "/tmp/skep-io-XXXXXX";

static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0755);
		*at = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static FILE *text(const char *s)
{
	FILE *f = fmemopen((void *)(uintptr_t)s, strlen(s), "r");

	assert_non_null(f);
	return f;
}

/* ---- diskstats ------------------------------------------------------------------- */

static void line_of_each_age(void **state)
{
	struct diskstats d;

	(void)state;
	assert_int_equal(diskstats_parse("   8       0 sda 10 1 80 5 20 2 160 6 3 700 900\n", &d), 0);
	assert_int_equal(d.major, 8);
	assert_int_equal(d.read_ops, 10);
	assert_int_equal(d.read_bytes, 80 * 512);
	assert_int_equal(d.write_ops, 20);
	assert_int_equal(d.write_bytes, 160 * 512);
	assert_int_equal(d.in_flight, 3);
	assert_int_equal(d.busy_ms, 700);
	assert_int_equal(d.queue_ms, 900);
	assert_int_equal(d.discard_bytes, 0);
	assert_int_equal(diskstats_parse(" 259 1048575 nvme0n1 1 0 8 0 0 0 0 0 0 1 1 4 0 64 9 7 2\n", &d), 0);
	assert_int_equal(d.minor, 1048575);
	assert_int_equal(d.discard_ops, 4);
	assert_int_equal(d.discard_bytes, 64 * 512);
	assert_int_equal(d.flush_ops, 7);
	/* more numbers than today's kernels write */
	assert_int_equal(diskstats_parse("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n", &d), 0);
	assert_int_equal(d.queue_ms, 11);
}

static void no_line(void **state)
{
	static const char *const bad[] = { "",
					   "\n",
					   "8",
					   "8 0",
					   "8 0 ",
					   "8 0 sda",
					   "8 0 sda 1 2 3 4 5 6 7 8 9 10",
					   "x 0 sda 1 2 3 4 5 6 7 8 9 10 11",
					   "4096 0 sda 1 2 3 4 5 6 7 8 9 10 11",
					   "8 1048576 sda 1 2 3 4 5 6 7 8 9 10 11" };
	struct diskstats d;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(diskstats_parse(bad[i], &d), -EBADMSG);
}

/* A disk with a partition, dm on it, a loop, zram: only the disk's own bytes count. */
static void only_the_lowest_count(void **state)
{
	struct disk_bytes new = { 7, 7 };
	struct disks t = { 0 };
	struct disk *d;

	(void)state;
	put("/sys/class/block/sda/queue/rotational", "1\n");
	put("/sys/class/block/sda/device/model", "SPINNER 9000    \n");
	put("/sys/class/block/sda1/partition", "1\n");
	put("/sys/class/block/dm-0/slaves/sda1", "");
	put("/sys/class/block/lvraid/slaves/sda", ""); /* a name that no table has */
	put("/proc/diskstats", "8 0 sda 1 0 10 0 1 0 20 0 0 100 1000\n"
			       "8 1 sda1 1 0 10 0 1 0 20 0 0 0 0\n"
			       "253 0 dm-0 1 0 10 0 1 0 20 0 0 0 0\n"
			       "240 0 lvraid 1 0 10 0 1 0 20 0 0 0 0\n"
			       "7 0 loop0 1 0 10 0 1 0 20 0 0 0 0\n"
			       "252 0 zram0 1 0 10 0 1 0 20 0 0 0 0\n");
	assert_int_equal(disks_pass(&t, root, 0, &new), 0);
	assert_int_equal(new.read, 0); /* I/O before skepd's start does not count */
	assert_int_equal(t.n, 6);
	assert_true(t.changed);
	d = disks_find(&t, 8 << 20);
	assert_non_null(d);
	assert_string_equal(d->name, "sda");
	assert_string_equal(d->class, "scsi");
	assert_string_equal(d->model, "SPINNER 9000");
	assert_true(d->rotational && !d->stacked && !d->partition);
	assert_true(disks_find(&t, 8 << 20 | 1)->partition);
	assert_true(disks_find(&t, 253 << 20)->stacked);
	assert_true(disks_find(&t, 240 << 20)->stacked);
	assert_true(disks_find(&t, 7 << 20)->stacked);
	assert_true(disks_find(&t, 252 << 20)->memory);
	assert_null(disks_find(&t, 9 << 20));

	put("/proc/diskstats", "8 0 sda 1 0 110 0 1 0 220 0 2 600 3000\n"
			       "8 1 sda1 1 0 110 0 1 0 220 0 0 0 0\n"
			       "253 0 dm-0 1 0 110 0 1 0 220 0 0 0 0\n"
			       "7 0 loop0 1 0 110 0 1 0 220 0 0 0 0\n"
			       "252 0 zram0 1 0 110 0 1 0 220 0 0 0 0\n"
			       "259 0 nvme0n1 1 0 1000 0 1 0 2000 0 0 0 0\n"
			       "garbage\n");
	assert_int_equal(disks_pass(&t, root, 1000000000, &new), 0);
	/* the disk's 100 and 200 sectors, and all sectors of the disk plugged in later */
	assert_int_equal(new.read, (100 + 1000) * 512);
	assert_int_equal(new.written, (200 + 2000) * 512);
	assert_int_equal(t.bad_lines, 1);
	d = disks_find(&t, 8 << 20);
	assert_int_equal(d->in_flight, 2);
	assert_float_equal(d->queue_depth, 2.0, 1e-9);
	assert_float_equal(d->busy_ratio, 0.5, 1e-9);
	assert_true(t.changed);
	assert_false(disks_find(&t, 240 << 20)->present); /* unplugged */
	disks_drop_absent(&t);
	assert_null(disks_find(&t, 240 << 20));
	assert_int_equal(disks_pass(&t, root, 1000000000, &new), 0);
	assert_false(t.changed);

	/* another device with the same number: its counters began at 0 */
	put("/proc/diskstats", "8 0 sdq 1 0 4 0 1 0 6 0 0 0 0\n");
	assert_int_equal(disks_pass(&t, root, 1000000000, &new), 0);
	assert_int_equal(new.read, 4 * 512);
	assert_int_equal(new.written, 6 * 512);
	assert_string_equal(disks_find(&t, 8 << 20)->name, "sdq");
	disks_free(&t);
}

static void nvme_paths(void **state)
{
	struct disk head = { .name = "nvme3n1" }, path = { .name = "nvme3c0n1" }, alone = { .name = "nvme4n1" };

	(void)state;
	put("/sys/class/block/nvme3n1/size", "1\n");
	put("/sys/class/block/nvme3c0n1/hidden", "1\n");
	put("/sys/class/block/nvme4n1/device/transport", "tcp\n");
	disk_describe(&head, root);
	disk_describe(&path, root);
	disk_describe(&alone, root);
	assert_true(head.stacked);
	assert_false(path.stacked);
	assert_false(alone.stacked);
	assert_string_equal(head.class, "nvme");
	assert_string_equal(alone.class, "network");
}

/* ---- vmstat ------------------------------------------------------------------------ */

static void vmstat_lines(void **state)
{
	FILE *f = text(
		"nr_free_pages 1\npgpgin 100\npgpgout 7\npswpin 3\nallocstall_dma32 1\nallocstall_normal 2\n"
		"pgscan_direct 10\npgscan_direct_throttle 99\npgsteal_direct 5\nworkingset_refault_file 4\npgmajfault x\n");
	struct vm vm;

	(void)state;
	assert_int_equal(vmstat_read(f, 4096, &vm), 0);
	fclose(f);
	assert_int_equal(vm.v[VM_IN], 100 * 1024);
	assert_int_equal(vm.v[VM_OUT], 7 * 1024);
	assert_int_equal(vm.v[VM_SWAP_IN], 3 * 4096);
	assert_int_equal(vm.v[VM_STALLS], 3);
	assert_int_equal(vm.v[VM_DIRECT_SCANNED], 10 * 4096);
	assert_int_equal(vm.v[VM_DIRECT_RECLAIMED], 5 * 4096);
	assert_int_equal(vm.v[VM_FILE_REFAULTS], 4 * 4096);
	assert_false(vm.have & 1u << VM_MAJOR_FAULTS);
	f = text("nothing of ours 1\n");
	assert_int_equal(vmstat_read(f, 4096, &vm), -EBADMSG);
	fclose(f);
}

/* ---- file systems --------------------------------------------------------------------- */

static struct fs *fs_of(struct filesystems *t, const char *mount)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->at[i].mount, mount) == 0)
			return &t->at[i];
	return NULL;
}

#define MOUNTS \
	"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n" \
	"30 20 0:50 / /nfs\\040a rw shared:1 - nfs4 server:/export rw\n" \
	"31 20 0:50 /sub /again rw - nfs4 server:/export rw\n" \
	"32 20 0:51 / /share rw - cifs //files/ho\\040me rw\n" \
	"33 20 0:52 / /lustre rw - lustre 10.0.0.1@tcp:/scratch rw\n" \
	"34 20 0:53 / /ceph rw - ceph 10.0.0.2:6789:/ rw\n" \
	"35 20 0:54 / /ssh rw - fuse.sshfs me@there: rw\n" \
	"36 20 0:55 / /bee rw - beegfs beegfs_nodev rw\n" \
	"37 20 8:2 / /ntfs rw - fuseblk /dev/sda2 rw\n"

static void every_client(void **state)
{
	struct filesystems t = { 0 };
	struct fs *f;

	(void)state;
	put("/proc/self/mountinfo", MOUNTS);
	put("/proc/self/mountstats",
	    "device /dev/sda1 mounted on / with fstype ext4\n\tbytes:\t9 9 9 9 9 9 9 9\n"
	    "device server:/export mounted on /nfs\\040a with fstype nfs4 statvers=1.1\n"
	    "\topts:\trw,vers=4.2\n\tage:\t86\n\tcaps:\tcaps=0x3\n"
	    "\tbytes:\t1 2 3 4 5242880 4096 1280 1\n"
	    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\txprt:\ttcp 0 0 2 0 0 767 766 0 897 0 2 0 0\n"
	    "\tper-op statistics\n"
	    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
	    "\t        READ: 10 12 1 1400 5243000 5 70 76 0\n"
	    "\t       WRITE: 3 3 0 4500 300 1 9 11 2\n"
	    "\t     GETATTR: 7 7 0 100 100 0 3 3 0\n"
	    "device server:/export mounted on /again with fstype nfs4 statvers=1.1\n"
	    "\tbytes:\t1 2 3 4 5242880 4096 1280 1\n");
	put("/proc/fs/cifs/Stats",
	    "Resources in use\nCIFS Session: 1\nShare (unique mount targets): 2\n\n1) \\\\files\\other\nSMBs: 25\n"
	    "Bytes read: 1  Bytes written: 1\n"
	    "2) \\\\files\\ho me\nSMBs: 25\nBytes read: 1000  Bytes written: 2000\nOpen files: 1 total (local), 1 open on server\n"
	    "TreeConnects: 1 total 0 failed\nReads: 4 total 1 failed\nWrites: 5 sent 0 failed\nCreates: 6 total 2 failed\n");
	put("/sys/kernel/debug/lustre/llite/scratch-ffff8881/stats",
	    "snapshot_time 1523008010.8 secs.nsecs\nread_bytes 25 samples [bytes] 1 4096 102400\n"
	    "write_bytes 13 samples [bytes] 1 4096 53248 999\nread 25 samples [usec] 1 2 3\nopen 4 samples [regs]\n");
	put("/sys/kernel/debug/lustre/llite/other-ffff8882/stats", "read_bytes 1 samples [bytes] 1 1 1\n");
	put("/sys/kernel/debug/ceph/aa-bb.client1/metrics/size",
	    "item          total       avg_sz(bytes)   min_sz(bytes)   max_sz(bytes)  total_sz(bytes)\n"
	    "----------------------------------------------------------------------------------------\n"
	    "read          2           4096            4096            4096            8192\n"
	    "write         1           100             100             100             100\n");
	put("/sys/fs/fuse/connections/54/waiting", "3\n");
	assert_int_equal(filesystems_pass(&t, root), 0);
	assert_int_equal(t.n, 6);
	assert_true(t.changed);
	f = fs_of(&t, "/nfs a");
	assert_non_null(f);
	assert_true(f->counted);
	assert_string_equal(fs_class(f), "network");
	assert_int_equal(f->now.read_bytes, 5242880);
	assert_int_equal(f->now.write_bytes, 4096);
	assert_int_equal(f->now.read_operations, 10);
	assert_int_equal(f->now.write_operations, 3);
	assert_int_equal(f->now.other_operations, 8);
	assert_int_equal(f->now.retransmissions, 2);
	assert_int_equal(f->now.timeouts, 1);
	assert_int_equal(f->now.errors, 2);
	assert_int_equal(f->now.queue_ns, 6000000);
	assert_int_equal(f->now.rtt_ns, 82000000);
	f = fs_of(&t, "/share");
	assert_int_equal(f->now.read_bytes, 1000);
	assert_int_equal(f->now.write_bytes, 2000);
	assert_int_equal(f->now.read_operations, 4);
	assert_int_equal(f->now.write_operations, 5);
	assert_int_equal(f->now.other_operations, 7);
	assert_int_equal(f->now.errors, 3);
	f = fs_of(&t, "/lustre");
	assert_string_equal(fs_class(f), "parallel");
	assert_int_equal(f->now.read_bytes, 102400);
	assert_int_equal(f->now.write_operations, 13);
	assert_int_equal(f->now.write_bytes, 53248);
	assert_int_equal(f->now.other_operations, 4);
	f = fs_of(&t, "/ceph");
	assert_int_equal(f->now.read_operations, 2);
	assert_int_equal(f->now.write_bytes, 100);
	f = fs_of(&t, "/ssh");
	assert_int_equal(f->now.waiting, 3);
	f = fs_of(&t, "/bee");
	assert_false(f->counted);
	assert_false(fs_has_counters(f));

	/* one unmounted, one new: the new one begins with its mount's count */
	put("/proc/self/mountinfo",
	    "30 20 0:50 / /elsewhere rw - nfs4 server:/export rw\n40 20 0:60 / /two rw - nfs b:/ rw\nbad\n");
	assert_int_equal(filesystems_pass(&t, root), 0);
	assert_int_equal(t.n, 2);
	assert_true(t.changed);
	assert_non_null(fs_of(&t, "/elsewhere"));
	assert_true(fs_of(&t, "/two")->begun);
	assert_int_equal(t.mounts.bad, 1);
	assert_int_equal(filesystems_pass(&t, root), 0);
	assert_false(t.changed);
	filesystems_free(&t);
}

/* Two Ceph clients: the mount does not say which is its own, so neither counts. */
static void which_client(void **state)
{
	struct filesystems t = { 0 };

	(void)state;
	put("/proc/self/mountinfo", MOUNTS);
	put("/sys/kernel/debug/ceph/aa-bb.client2/metrics/size", "read 1 1 1 1 1\n");
	assert_int_equal(filesystems_pass(&t, root), 0);
	assert_false(fs_of(&t, "/ceph")->counted);
	filesystems_free(&t);
}

/* ---- levels ------------------------------------------------------------------------------ */

/* Compares the table with a plain array, with keys that collide in a few places. */
static void levels_as_an_array(void **state)
{
	enum { KEYS = 500 };
	struct levels t = { 0 };
	uint64_t value[KEYS] = { 0 };
	unsigned n = 0;
	uint32_t x = 12345;

	(void)state;
	for (unsigned round = 0; round < 40000; round++) {
		uint64_t key[2];
		unsigned k;

		x = x * 1664525u + 1013904223u;
		k = x >> 16 & 511;
		if (k >= KEYS)
			continue;
		key[0] = (uint64_t)(k / 3) << 40;
		key[1] = k;
		if (x & 0x8000) {
			struct level *l = levels_get(&t, key);

			assert_non_null(l);
			assert_int_equal(l->last[0], value[k]);
			n += value[k] == 0;
			l->last[0] = value[k] = round + 1;
		} else if (value[k]) {
			levels_remove(&t, levels_get(&t, key));
			value[k] = 0;
			n--;
		}
		assert_int_equal(t.n, n);
	}
	levels_free(&t);
	assert_null(t.at);
}

/* ---- losses ------------------------------------------------------------------ */

uint64_t __wrap_skep_fd_misses(int fd);

static uint64_t misses[IO_PROGRAMS], lost[STREAM_PROCESS + 1], counted;

uint64_t __wrap_skep_fd_misses(int fd)
{
	return fd < 0 ? 0 : misses[fd];
}

static void lose(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	assert_int_equal(where, SKEP_LOSS_KERNEL);
	assert_true(stream == STREAM_DISK || stream == STREAM_PROCESS);
	lost[stream] += n;
}

static void count(struct skep_counter *c, uint64_t n)
{
	(void)c;
	counted += n;
}

/* The kernel may skip any program: a completion is missing in the disk's record, the rest in the processes'. */
static void skipped_programs_are_losses(void **state)
{
	const struct skep_host host = { .lost = lose, .counter_add = count };
	static struct io_probe st;
	const int programs[IO_PROGRAMS] = { 0, 1, 2, 3, -1, -1 };
	struct io_missed seen = { 1, 2 }; /* what the previous skepd has reported */

	(void)state;
	st.host = &host;
	misses[IO_ON_COMPLETE] = 4;
	misses[IO_ON_EXIT] = 5;
	misses[IO_ON_RECLAIM_BEGIN] = 6;
	misses[IO_ON_RECLAIM_END] = 7;
	for (int i = 0; i < 2; i++) {
		io_report_misses(NULL, &st, programs, &seen);
		assert_int_equal(lost[STREAM_DISK], 3);
		assert_int_equal(lost[STREAM_PROCESS], 16);
		assert_int_equal(counted, 19);
	}
	misses[IO_ON_RECLAIM_END]++;
	io_report_misses(NULL, &st, programs, &seen);
	assert_int_equal(lost[STREAM_DISK], 3);
	assert_int_equal(lost[STREAM_PROCESS], 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_of_each_age),
		cmocka_unit_test(no_line),
		cmocka_unit_test(only_the_lowest_count),
		cmocka_unit_test(nvme_paths),
		cmocka_unit_test(vmstat_lines),
		cmocka_unit_test(every_client),
		cmocka_unit_test(which_client),
		cmocka_unit_test(levels_as_an_array),
		cmocka_unit_test(skipped_programs_are_losses),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
