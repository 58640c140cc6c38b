/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe "host" as a whole, on trees of files that change between two samples.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/host_fixture.h"

#define GET(stream_, match_, field_, wanted_) \
	assert_string_equal(host_get(&f, stream_, match_, field_) ?: "(none)", wanted_)

static void up(struct host_fixture *f)
{
	host_fixture_init(f);
	if (host_begin(f))
		fail_msg("start: %s", f->m.why);
}

static void cpu_and_load(void **state)
{
	struct host_fixture f;
	int64_t capacity, idle, steal, irq;
	uint64_t flags;

	(void)state;
	host_fixture_init(&f);
	skep_mock_option(&f.m, "per_cpu", "true");
	assert_int_equal(host_begin(&f), 0);
	/* the posts that later ones are compared with */
	assert_true(host_posted(&f, "cpu", "capacity", &capacity, &flags));
	assert_int_equal(capacity, 0);
	assert_int_equal(flags, SKEP_LEDGER_REFERENCE);

	usleep(100000);
	host_write_stat(&f, "cpu0 12 0 11 1006 10 0 0 1 0 0\ncpu1 10 0 10 1010 12 0 1 0 0 0\n",
			"cpu  22 0 21 2016 22 0 1 1 0 0");
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_CPU, NULL), 3);
	GET(STREAM_CPU, "cpu.logical_number=-1", "system.cpu.logical.count", "2");
	GET(STREAM_CPU, "cpu.logical_number=-1", "system.cpu.time.user", "20000000");
	GET(STREAM_CPU, "cpu.logical_number=-1", "system.cpu.time.idle", "160000000");
	GET(STREAM_CPU, "cpu.logical_number=0", "system.cpu.time.steal", "10000000");
	GET(STREAM_CPU, "cpu.logical_number=1", "system.cpu.time.iowait", "20000000");

	/* first of all records: other probes' posts are of the same time */
	assert_int_equal(f.line[0].stream, STREAM_LEDGER);
	assert_true(host_posted(&f, "cpu", "capacity", &capacity, &flags));
	assert_true(capacity >= 200000000 && capacity < 2000000000);
	assert_true(host_posted(&f, "cpu", "idle", &idle, &flags));
	assert_int_equal(idle, 180000000);
	assert_int_equal(flags, 0);
	assert_true(host_posted(&f, "cpu", "steal", &steal, &flags));
	assert_int_equal(steal, 10000000);
	assert_int_equal(flags, SKEP_LEDGER_MEMO); /* no BTF below this root */
	assert_true(host_posted(&f, "cpu", "irq", &irq, &flags));
	assert_int_equal(irq, 10000000);
	assert_int_equal(flags, SKEP_LEDGER_MEMO);
	assert_non_null(strstr(f.signals, "ledger.cpu.irq=partial"));

	GET(STREAM_LOAD, NULL, "system.cpu.load_average.5m", "1.25");
	GET(STREAM_LOAD, NULL, "system.thread.count", "610");
	GET(STREAM_LOAD, NULL, "system.thread.count.running", "3");
	GET(STREAM_LOAD, NULL, "system.cpu.context_switches", "0");
	assert_int_equal(skep_mock_counter(&f.m, "bad_lines"), 0);

	/* flush posts as well: the end of a run is not an interval away */
	host_forget(&f);
	f.m.plugin->flush(f.m.instance, f.m.state);
	assert_true(host_posted(&f, "cpu", "capacity", &capacity, &flags));
	host_fixture_free(&f);
}

static void cpu_goes(void **state)
{
	struct host_fixture f;
	int64_t idle;
	uint64_t flags;

	(void)state;
	up(&f);
	usleep(100000);
	host_write_stat(&f, "cpu0 10 0 10 1008 10 0 0 0 0 0\n", "cpu  20 0 20 500 20 0 0 0 0 0");
	host_step(&f);
	GET(STREAM_CPU, "cpu.logical_number=-1", "system.cpu.logical.count", "1");
	GET(STREAM_CPU, "cpu.logical_number=-1", "system.cpu.time.idle", "80000000");
	assert_true(host_posted(&f, "cpu", "idle", &idle, &flags));
	assert_int_equal(idle, 80000000);
	assert_int_equal(skep_mock_counter(&f.m, "cpu_changes"), 1);
	host_fixture_free(&f);
}

static void memory(void **state)
{
	struct host_fixture f;

	(void)state;
	up(&f);
	host_write(&f, "proc/vmstat", "pswpin 4\npswpout 2\npgfault 1500\npgmajfault 12\noom_kill 1\n");
	host_step(&f);
	GET(STREAM_MEMORY, NULL, "system.memory.limit", "1024000");
	GET(STREAM_MEMORY, NULL, "system.memory.usage.used", "409600");
	GET(STREAM_MEMORY, NULL, "system.memory.linux.dirty", "8192");
	GET(STREAM_MEMORY, NULL, "system.memory.linux.hugepages.limit", "4");
	GET(STREAM_MEMORY, NULL, "system.paging.usage.used", "102400");
	GET(STREAM_MEMORY, NULL, "system.paging.faults.minor", "498");
	GET(STREAM_MEMORY, NULL, "system.paging.faults.major", "2");
	GET(STREAM_MEMORY, NULL, "system.paging.operations.in", "3");
	GET(STREAM_MEMORY, NULL, "system.memory.linux.oom_kills", "1");
	host_fixture_free(&f);
}

static void disks(void **state)
{
	struct host_fixture f;

	(void)state;
	up(&f);
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_DISK, NULL), 0); /* nothing done, nothing said */

	host_write(&f, "sys/block/dm-0/slaves/sda/", "");
	host_write(&f, "sys/block/cciss!c0d0/slaves/", "");
	host_write(
		&f, "proc/diskstats",
		"   8       0 sda 11 1 88 6 23 2 168 9 4 9 15 2 0 16 2 3 4\n   8       1 sda1 2 0 16 2 2 0 16 2 0 2 3\n"
		" 253       0 dm-0 5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n 104 0 cciss/c0d0 1 0 8 1 0 0 0 0 0 1 1\nnonsense\n");
	host_step(&f);
	/* a partition is not a device of its own, and a device seen for the first time has no difference yet */
	assert_int_equal(host_count(&f, STREAM_DISK, NULL), 1);
	GET(STREAM_DISK, "system.device=sda", "system.disk.io.read", "4096");
	GET(STREAM_DISK, "system.device=sda", "system.disk.io.write", "4096");
	GET(STREAM_DISK, "system.device=sda", "system.disk.io.discard", "4096");
	GET(STREAM_DISK, "system.device=sda", "system.disk.operations.read", "1");
	GET(STREAM_DISK, "system.device=sda", "system.disk.operations.write", "3");
	GET(STREAM_DISK, "system.device=sda", "system.disk.operations.flush", "1");
	GET(STREAM_DISK, "system.device=sda", "system.disk.operation_time.write", "3000000");
	GET(STREAM_DISK, "system.device=sda", "system.disk.io_time", "2000000");
	GET(STREAM_DISK, "system.device=sda", "system.disk.pending_operations", "4");
	assert_int_equal(skep_mock_counter(&f.m, "bad_lines"), 1);

	host_write(&f, "proc/diskstats",
		   " 253       0 dm-0 6 0 48 2 0 0 0 0 0 2 2 0 0 0 0 0 0\n 104 0 cciss/c0d0 2 0 16 1 0 0 0 0 0 1 1\n");
	host_step(&f);
	GET(STREAM_DISK, "system.device=dm-0", "stacked", "1");
	GET(STREAM_DISK, "system.device=cciss/c0d0", "stacked", "0");
	assert_int_equal(host_count(&f, STREAM_DISK, NULL), 2);

	/* the same answers as in disk.io */
	host_write(&f, "sys/block/zd0/size", "1\n");
	host_write(&f, "sys/block/zram0/size", "1\n");
	host_write(&f, "sys/block/nvme3n1/size", "1\n");
	host_write(&f, "sys/class/block/nvme3c0n1/hidden", "1\n");
	for (int i = 1; i < 3; i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 " 230 0 zd0 %d 0 8 1 0 0 0 0 0 1 1\n 252 0 zram0 %d 0 8 1 0 0 0 0 0 1 1\n"
			 " 259 0 nvme3n1 %d 0 8 1 0 0 0 0 0 1 1\n", i, i, i);
		host_write(&f, "proc/diskstats", text);
		host_step(&f);
	}
	GET(STREAM_DISK, "system.device=zd0", "stacked", "1");
	GET(STREAM_DISK, "system.device=zd0", "class", "zfs");
	GET(STREAM_DISK, "system.device=nvme3n1", "stacked", "1");
	GET(STREAM_DISK, "system.device=zram0", "stacked", "0");
	GET(STREAM_DISK, "system.device=zram0", "class", "zram");

	/* sda was gone, and is another one with smaller counters now */
	host_write(&f, "proc/diskstats", "   8       0 sda 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_DISK, NULL), 0);
	host_write(&f, "proc/diskstats", "   8       0 sda 9 0 72 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
	host_step(&f);
	GET(STREAM_DISK, "system.device=sda", "system.disk.io.read", "32768");
	/* set back without being gone: nothing, and then on from there */
	host_write(&f, "proc/diskstats", "   8       0 sda 2 0 16 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_DISK, NULL), 0);
	host_write(&f, "proc/diskstats", "   8       0 sda 3 0 24 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	host_step(&f);
	GET(STREAM_DISK, "system.device=sda", "system.disk.io.read", "4096");
	host_fixture_free(&f);
}

static void posted(struct host_fixture *f, const char *account, const char *item, int64_t wanted, uint64_t wanted_flags)
{
	int64_t amount = -1;
	uint64_t flags = 9;

	assert_true(host_posted(f, account, item, &amount, &flags));
	assert_int_equal(amount, wanted);
	assert_int_equal(flags, wanted_flags);
}

static void interfaces(void **state)
{
	struct host_fixture f;

	(void)state;
	up(&f);
	posted(&f, "net.rx", "interfaces", 0, SKEP_LEDGER_REFERENCE);
	host_write(&f, "proc/1/net/dev",
		   HOST_NET_HEAD
		   "    lo: 150 1 0 0 0 0 0 0 150 1 0 0 0 0 0 0\n  eth0:1300 13 1 2 0 0 0 0 900 7 3 4 0 0 0 0\n");
	host_step(&f);
	GET(STREAM_NETWORK, "network.interface.name=eth0", "uplink", "1");
	GET(STREAM_NETWORK, "network.interface.name=eth0", "hw.network.up", "1");
	GET(STREAM_NETWORK, "network.interface.name=eth0", "hw.network.bandwidth.limit", "125000000");
	GET(STREAM_NETWORK, "network.interface.name=eth0", "system.network.io.receive", "300");
	GET(STREAM_NETWORK, "network.interface.name=eth0", "system.network.io.transmit", "400");
	GET(STREAM_NETWORK, "network.interface.name=eth0", "system.network.errors.receive", "1");
	GET(STREAM_NETWORK, "network.interface.name=eth0", "system.network.packet.dropped.transmit", "4");
	GET(STREAM_NETWORK, "network.interface.name=lo", "uplink", "0");
	posted(&f, "net.rx", "interfaces", 300, SKEP_LEDGER_REFERENCE);
	posted(&f, "net.tx", "interfaces", 400, SKEP_LEDGER_REFERENCE);
	posted(&f, "net.rx", "loopback", 50, SKEP_LEDGER_MEMO);

	/* 32 bits that wrap, as an old driver has them */
	host_write(&f, "proc/1/net/dev", HOST_NET_HEAD "  eth0:4294967290 13 0 0 0 0 0 0 900 7 0 0 0 0 0 0\n");
	host_step(&f);
	host_write(&f, "proc/1/net/dev", HOST_NET_HEAD "  eth0:4 13 0 0 0 0 0 0 900 7 0 0 0 0 0 0\n");
	host_step(&f);
	GET(STREAM_NETWORK, "network.interface.name=eth0", "system.network.io.receive", "10");
	/* an uplink without traffic is reported, another interface is not */
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_NETWORK, NULL), 1);

	/* one comes, with a past: it counts from now on */
	host_write(&f, "sys/class/net/eth1/device/", "");
	host_write(&f, "proc/1/net/dev",
		   HOST_NET_HEAD
		   "  eth0:4 13 0 0 0 0 0 0 900 7 0 0 0 0 0 0\n  eth1:7777 1 0 0 0 0 0 0 7777 7 0 0 0 0 0 0\n");
	host_step(&f);
	posted(&f, "net.tx", "interfaces", 400, SKEP_LEDGER_REFERENCE);
	host_write(&f, "proc/1/net/dev",
		   HOST_NET_HEAD
		   "  eth0:4 13 0 0 0 0 0 0 900 7 0 0 0 0 0 0\n  eth1:7777 1 0 0 0 0 0 0 7787 7 0 0 0 0 0 0\n");
	host_step(&f);
	posted(&f, "net.tx", "interfaces", 410, SKEP_LEDGER_REFERENCE);
	host_fixture_free(&f);
}

/* name, bytes: the same received and sent. */
static void net_dev(struct host_fixture *f, const char *const *names, unsigned bytes)
{
	char text[2048] = HOST_NET_HEAD;

	for (; *names; names++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%6s:%u 1 0 0 0 0 0 0 %u 1 0 0 0 0 0 0\n",
			 *names, bytes, bytes);
	host_write(f, "proc/1/net/dev", text);
}

/* What a packet to the outside passes is counted once. */
static void no_double_count(void **state)
{
	/*
	 * a bond of two cards with a VLAN; a bridge with a container's pair; Azure's synthetic card over a virtual
	 * function; a tunnel
	 */
	static const char *const names[] = { "lo",    "eth0", "eth1", "bond0", "bond0.7", "br0",
					     "veth0", "syn0", "vf0",  "wg0",   NULL };
	static const char *const with_device[] = { "eth1", "syn0", "vf0", NULL };
	struct host_fixture f;
	char path[128];

	(void)state;
	host_fixture_init(&f);
	for (const char *const *name = with_device; *name; name++) {
		snprintf(path, sizeof(path), "sys/class/net/%s/device/", *name);
		host_write(&f, path, "");
	}
	host_write(&f, "sys/class/net/bond0/bonding/", "");
	host_link(&f, "sys/class/net/eth0/master", "../bond0");
	host_link(&f, "sys/class/net/eth1/master", "../bond0");
	host_link(&f, "sys/class/net/vf0/master", "../syn0");
	host_write(&f, "sys/class/net/veth0/ifindex", "9\n");
	host_write(&f, "sys/class/net/veth0/iflink", "2\n"); /* in the container's namespace */
	net_dev(&f, names, 1000);
	assert_int_equal(host_begin(&f), 0);
	net_dev(&f, names, 1010);
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_NETWORK, NULL), 10);
	assert_int_equal(host_count(&f, STREAM_NETWORK, "uplink=1"), 3); /* both cards, and the synthetic one */
	GET(STREAM_NETWORK, "network.interface.name=vf0", "uplink", "0");
	posted(&f, "net.rx", "interfaces", 30, SKEP_LEDGER_REFERENCE);
	posted(&f, "net.rx", "loopback", 10, SKEP_LEDGER_MEMO);
	host_fixture_free(&f);
}

/* In a container: the pair's other end is elsewhere; a pair with both ends here leads nowhere. */
static void in_a_container(void **state)
{
	static const char *const names[] = { "lo", "eth0", "va", "vb", NULL };
	struct host_fixture f;

	(void)state;
	host_fixture_init(&f);
	host_remove(&f, "sys/class/net/eth0/device");
	host_write(&f, "sys/class/net/eth0/ifindex", "2\n");
	host_write(&f, "sys/class/net/eth0/iflink", "57\n");
	host_write(&f, "sys/class/net/va/ifindex", "3\n");
	host_write(&f, "sys/class/net/va/iflink", "4\n");
	host_write(&f, "sys/class/net/vb/ifindex", "4\n");
	host_write(&f, "sys/class/net/vb/iflink", "3\n");
	net_dev(&f, names, 1000);
	assert_int_equal(host_begin(&f), 0);
	net_dev(&f, names, 1010);
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_NETWORK, "uplink=1"), 1);
	posted(&f, "net.rx", "interfaces", 10, SKEP_LEDGER_REFERENCE);
	host_fixture_free(&f);
}

static void sensors(void **state)
{
	struct host_fixture f;

	(void)state;
	host_fixture_init(&f);
	skep_mock_option(&f.m, "sensors", "1ms");
	host_write(&f, "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
	host_write(&f, "sys/class/thermal/thermal_zone0/temp", "47500\n");
	host_write(&f, "sys/class/thermal/cooling_device0/type", "fan\n");
	host_write(&f, "sys/class/hwmon/hwmon0/name", "k10temp\n");
	host_write(&f, "sys/class/hwmon/hwmon0/temp1_input", "-5000\n");
	host_write(&f, "sys/class/hwmon/hwmon1/name", "drivetemp\n"); /* would wake the disk */
	host_write(&f, "sys/class/hwmon/hwmon1/temp1_input", "30000\n");
	host_write(&f, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
	host_write(&f, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "9999999\n");
	host_write(&f, "sys/class/powercap/intel-rapl:0/energy_uj", "9000000\n");
	host_write(&f, "sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n");
	assert_int_equal(host_begin(&f), 0);
	assert_non_null(strstr(f.signals, "host.temperature=ok"));
	assert_non_null(strstr(f.signals, "host.energy=ok"));
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_SENSOR, NULL), 2); /* energy has no difference yet */
	GET(STREAM_SENSOR, "hw.id=thermal_zone0", "hw.temperature", "47.5");
	GET(STREAM_SENSOR, "hw.id=hwmon0", "hw.temperature", "-5");
	usleep(2000);
	host_write(&f, "sys/class/powercap/intel-rapl:0/energy_uj", "500000\n"); /* wrapped */
	host_write(&f, "sys/class/thermal/thermal_zone0/temp", "hot\n");
	host_step(&f);
	GET(STREAM_SENSOR, "hw.id=intel-rapl:0", "hw.energy", "1.5");
	GET(STREAM_SENSOR, "hw.id=intel-rapl:0", "hw.name", "package-0");
	assert_int_equal(host_count(&f, STREAM_SENSOR, NULL), 2);
	host_fixture_free(&f);
}

static void refused(const char *option, const char *value, int err, const char *why)
{
	struct host_fixture f;

	host_fixture_init(&f);
	skep_mock_option(&f.m, option, value);
	assert_int_equal(host_begin(&f), err);
	if (!strstr(f.m.why, why))
		fail_msg("'%s' is not in '%s'", why, f.m.why);
	host_fixture_free(&f);
}

static void bad_options(void **state)
{
	(void)state;
	refused("root", "relative/path", -EINVAL, "\"relative/path\" is not an absolute path");
	refused("root", "/no/such/folder", -ENOENT, "/no/such/folder: No such file");
}

/* Files that are not there, and files of nonsense: said, counted, and the rest goes on. */
static void missing_files(void **state)
{
	struct host_fixture f;

	(void)state;
	host_fixture_init(&f);
	host_remove(&f, "proc/stat");
	assert_int_equal(host_begin(&f), -ENODATA);
	assert_non_null(strstr(f.m.why, "proc/stat"));
	host_fixture_free(&f);

	host_fixture_init(&f);
	host_remove(&f, "proc/meminfo");
	host_remove(&f, "proc/vmstat");
	host_remove(&f, "proc/loadavg");
	host_remove(&f, "proc/1/net/dev");
	host_remove(&f, "proc/diskstats");
	assert_int_equal(host_begin(&f), 0);
	assert_non_null(strstr(f.signals, "host.memory=missing"));
	assert_non_null(strstr(f.signals, "host.paging=missing"));
	assert_non_null(strstr(f.signals, "host.load=partial"));
	assert_non_null(strstr(f.signals, "host.network=missing"));
	assert_non_null(strstr(f.signals, "ledger.net=missing"));
	assert_non_null(strstr(f.signals, "host.disk=missing"));
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_CPU, NULL), 1);
	assert_int_equal(host_count(&f, STREAM_MEMORY, NULL), 0);
	host_fixture_free(&f);

	up(&f);
	host_write(&f, "proc/stat", "nonsense\n");
	host_write(&f, "proc/meminfo", "nonsense\n");
	host_write(&f, "proc/1/net/dev", "x");
	host_step(&f);
	assert_int_equal(host_count(&f, STREAM_CPU, NULL), 0);
	assert_true(skep_mock_counter(&f.m, "bad_lines") >= 2);
	/* and back: the difference bridges the gap */
	host_write_stat(&f, "cpu0 10 0 10 1000 10 0 0 0 0 0\ncpu1 10 0 10 1000 10 0 0 0 0 0\n",
			"cpu  23 0 20 2000 20 0 0 0 0 0");
	host_step(&f);
	GET(STREAM_CPU, NULL, "system.cpu.time.user", "30000000");
	host_fixture_free(&f);
}

/* Only the real root of cpuacct's hierarchy is the sum over all tasks. */
static void waking_up(void **state)
{
	struct host_fixture f;
	int64_t wakeup, capacity, idle;
	uint64_t flags;

	(void)state;
	host_fixture_init(&f);
	host_write(&f, "proc/1/mountinfo", "39 31 0:34 / /sys/fs/cgroup/cpuacct rw - cgroup cpuacct rw,cpuacct\n");
	host_write(&f, "sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000000\n");
	assert_int_equal(host_begin(&f), 0);
	assert_non_null(strstr(f.signals, "ledger.cpu.wakeup=missing")); /* no release_agent: a container's */
	assert_false(host_posted(&f, "cpu", "wakeup", &wakeup, &flags));
	host_fixture_free(&f);

	host_fixture_init(&f);
	host_write(&f, "proc/1/mountinfo", "39 31 0:34 / /sys/fs/cgroup/cpuacct rw - cgroup cpuacct rw,cpuacct\n");
	host_write(&f, "sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000000\n");
	host_write(&f, "sys/fs/cgroup/cpuacct/release_agent", "\n");
	assert_int_equal(host_begin(&f), 0);
	assert_non_null(strstr(f.signals, "ledger.cpu.wakeup=ok"));
	usleep(100000);
	host_write(&f, "sys/fs/cgroup/cpuacct/cpuacct.usage", "1050000000\n");
	host_write_stat(&f, "cpu0 12 0 11 1006 10 0 0 1 0 0\ncpu1 10 0 10 1004 12 0 1 0 0 0\n",
			"cpu  22 0 21 2010 20 0 1 1 0 0");
	host_step(&f);
	assert_true(host_posted(&f, "cpu", "wakeup", &wakeup, &flags));
	assert_int_equal(flags, 0);
	assert_true(host_posted(&f, "cpu", "capacity", &capacity, &flags));
	assert_true(host_posted(&f, "cpu", "idle", &idle, &flags));
	assert_int_equal(wakeup, capacity - idle - 50000000);
	host_fixture_free(&f);
}

/* Every signal is said in start(), each with how. */
static void signals(void **state)
{
	static const char *const all[] = {
		"host.cpu",       "host.load",        "host.memory",       "host.paging",
		"host.disk",      "host.network",     "host.filesystem",   "host.temperature",
		"host.energy",    "ledger.cpu.idle",  "ledger.cpu.irq",    "ledger.cpu.steal",
		"ledger.cpu.wakeup", "ledger.net",
	};
	struct host_fixture f;

	(void)state;
	up(&f);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char start[64];

		snprintf(start, sizeof(start), "%s=", all[i]);
		if (!strstr(f.signals, start))
			fail_msg("nothing is said of %s", all[i]);
	}
	host_fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_and_load),	   cmocka_unit_test(cpu_goes),	     cmocka_unit_test(memory),
		cmocka_unit_test(disks),	   cmocka_unit_test(interfaces),     cmocka_unit_test(no_double_count),
		cmocka_unit_test(in_a_container),  cmocka_unit_test(sensors),
		cmocka_unit_test(bad_options),	   cmocka_unit_test(missing_files),  cmocka_unit_test(signals),
		cmocka_unit_test(waking_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
