/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/cpu.c and account.c: /proc/stat, CPUs that come and go, the account, and what a
 * kernel's types say about it.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <skep/types.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/host/task_time.h"
#include "plugins/host/cpu.h"
#include "tests/unit/host_fixture.h"

#define TICK UINT64_C(10000000)
#define SECOND UINT64_C(1000000000)

static int parse(const char *s, struct cpu_snapshot *snap, struct cpu_counts *counts, uint64_t *bad)
{
	return cpu_parse(skep_text_of(s), snap, counts, bad);
}

static void stat_file(void **state)
{
	struct cpu_snapshot s = { 0 };
	struct cpu_counts c;
	uint64_t bad = 9;

	(void)state;
	assert_int_equal(
		parse("cpu  1 2 3 4 5 6 7 8 9 10\n"
		      "cpu0 1 0 0 0 0 0 0 0 0 0\n"
		      "cpu5 0 2 3 4 5 6 7 8 9 10\n"
		      "intr 123 0 0 1\nctxt 77\nbtime 5\nprocesses 12\nprocs_running 2\nprocs_blocked 1\nsoftirq 1 2\n",
		      &s, &c, &bad),
		0);
	assert_int_equal(bad, 0);
	assert_int_equal(s.online, 2);
	assert_int_equal(s.n, 6);
	assert_true(s.cpu[0].online && s.cpu[5].online && !s.cpu[1].online);
	assert_int_equal(s.total[CPU_STEAL], 8);
	assert_int_equal(s.cpu[5].ticks[CPU_IOWAIT], 5);
	assert_int_equal(c.interrupts, 123);
	assert_int_equal(c.switches, 77);
	assert_int_equal(c.created, 12);
	assert_int_equal(c.running, 2);
	assert_int_equal(c.blocked, 1);
	cpu_snapshot_free(&s);
}

static void stat_bad(void **state)
{
	struct cpu_snapshot s = { 0 };
	struct cpu_counts c;
	uint64_t bad;

	(void)state;
	/* seven modes, letters, the same CPU twice, a number beyond any kernel's: each line is left out and counted */
	assert_int_equal(parse("cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7\ncpu2 1 2 3 4 5 6 7 x\n"
			       "cpu0 1 2 3 4 5 6 7 8\ncpu8192 1 2 3 4 5 6 7 8\ncpux 1 2 3 4 5 6 7 8\nctxt -1\n",
			       &s, &c, &bad),
			 0);
	assert_int_equal(bad, 6);
	assert_int_equal(s.online, 1);
	assert_int_equal(parse("", &s, &c, &bad), -EBADMSG);
	assert_int_equal(parse("cpu  1 2 3 4 5 6 7 8\n", &s, &c, &bad), -EBADMSG);
	assert_int_equal(parse("cpu0 1 2 3 4 5 6 7 8\n", &s, &c, &bad), -EBADMSG);
	cpu_snapshot_free(&s);
}

static void make(struct cpu_snapshot *s, uint64_t mono_ns, const char *text)
{
	struct cpu_counts c;
	uint64_t bad;

	s->mono_ns = mono_ns;
	assert_int_equal(parse(text, s, &c, &bad), 0);
}

/* The same CPUs: by the line of all, which is finer than the sum of the single ones. */
static void same_cpus(void **state)
{
	struct cpu_snapshot a = { 0 }, b = { 0 };
	struct cpu_ledger l = { 0 };
	struct cpu_delta d;

	(void)state;
	make(&a, 5 * SECOND, "cpu  0 0 0 100 10 3 4 5\ncpu0 0 0 0 50 5 0 0 0\ncpu1 0 0 0 50 5 0 0 0\n");
	make(&b, 7 * SECOND, "cpu  90 0 0 380 20 4 6 8\ncpu0 0 0 0 189 9 0 0 0\ncpu1 0 0 0 189 9 0 0 0\n");
	cpu_difference(&a, &b, TICK, &d);
	assert_false(d.changed || d.odd);
	assert_int_equal(d.cpus, 2);
	assert_int_equal(d.time_ns[CPU_IDLE], 280 * TICK);
	cpu_account(&l, &d);
	assert_int_equal(l.capacity, 4 * SECOND);
	assert_int_equal(l.idle, 290 * TICK);
	assert_int_equal(l.irq, 3 * TICK);
	assert_int_equal(l.steal, 3 * TICK);
	cpu_snapshot_free(&a);
	cpu_snapshot_free(&b);
}

/* wakeup: the CPUs' time without idle time, tasks' time, and interrupts and stolen time outside of tasks' time. */
static void waking_up(void **state)
{
	struct cpu_snapshot a = { 0 }, b = { 0 };
	struct cpu_ledger l = { 0 };
	struct cpu_delta d;

	(void)state;
	make(&a, 0, "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n");
	make(&b, SECOND, "cpu  0 0 0 60 0 2 1 4\ncpu0 0 0 0 60 0 2 1 4\n");
	cpu_difference(&a, &b, TICK, &d);
	cpu_account(&l, &d);
	assert_int_equal(l.wakeup, 0); /* not known */
	a.task_ns = 5000 * SECOND;
	b.task_ns = a.task_ns + 30 * TICK;
	cpu_difference(&a, &b, TICK, &d);
	cpu_account(&l, &d);
	assert_int_equal(l.wakeup, 10 * TICK);
	l = (struct cpu_ledger){ .irq_is_part = true, .steal_is_part = true };
	cpu_account(&l, &d);
	assert_int_equal(l.wakeup, 3 * TICK);
	assert_int_equal(l.steal, 4 * TICK);
	/* the sum exceeds the CPUs' time: part of the stolen time was stolen from idle CPUs */
	b.task_ns = a.task_ns + 35 * TICK;
	cpu_difference(&a, &b, TICK, &d);
	l = (struct cpu_ledger){ .irq_is_part = true, .steal_is_part = true };
	cpu_account(&l, &d);
	assert_int_equal(l.wakeup, 0);
	assert_int_equal(l.steal, 2 * TICK);
	/* an excess beyond the stolen time stays visible as a negative wakeup */
	b.task_ns = a.task_ns + 40 * TICK;
	cpu_difference(&a, &b, TICK, &d);
	l = (struct cpu_ledger){ .irq_is_part = true, .steal_is_part = true };
	cpu_account(&l, &d);
	assert_int_equal(l.steal, 0);
	assert_true(l.wakeup == -3 * (int64_t)TICK);
	cpu_snapshot_free(&a);
	cpu_snapshot_free(&b);
}

static void cpuacct_mount(void **state)
{
	struct {
		bool is;
		char line[128];
	} cases[] = {
		{ true, "39 31 0:34 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct" },
		{ true, "39 31 0:34 / /sys/fs/cgroup/cpuacct rw,nosuid - cgroup cpuacct rw,cpuacct" },
		{ false, "39 31 0:34 /docker/4711 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct" },
		{ false, "39 31 0:34 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct2" },
		{ false, "39 31 0:34 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,cpuacct" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct skep_mount m;

		assert_int_equal(skep_mountinfo_line(cases[i].line, &m), 0);
		if (task_time_mount(&m) != cases[i].is)
			fail_msg("%zu", i);
	}
}

/* The scheduler's sum has the CPUs of the list alone: a number in a gap has no counter. */
static void task_time_of_cpus_with_gaps(void **state)
{
	(void)state;
	assert_int_equal(task_time_cpus("0\n", 0), 1);
	assert_int_equal(task_time_cpus("0-3,8-11\n", 0), 0xf0f);
	assert_int_equal(task_time_cpus("8-11,0,2", 0), 0xf05);
	assert_int_equal(task_time_cpus("0-63", 0), UINT64_MAX);
	assert_int_equal(task_time_cpus("0-3,62-65,127-300", 0), UINT64_C(3) << 62 | 15);
	assert_int_equal(task_time_cpus("0-3,62-65,127-300", 64), UINT64_C(1) << 63 | 3);
	assert_int_equal(task_time_cpus("0-3,62-65,127-300", 128), UINT64_MAX);
	assert_int_equal(task_time_cpus("0-3,62-65,127-300", 256), (UINT64_C(1) << 45) - 1);
	assert_int_equal(task_time_cpus("0-3\n", 64), 0);
}

/* iowait goes back when a task is woken elsewhere; idle then has gone on by as much. */
static void iowait_back(void **state)
{
	struct cpu_snapshot a = { 0 }, b = { 0 };
	struct cpu_ledger l = { 0 };
	struct cpu_delta d;

	(void)state;
	make(&a, 0, "cpu  0 0 0 100 50 0 0 0\ncpu0 0 0 0 100 50 0 0 0\n");
	make(&b, SECOND, "cpu  0 0 0 240 10 0 0 0\ncpu0 0 0 0 240 10 0 0 0\n");
	cpu_difference(&a, &b, TICK, &d);
	assert_false(d.odd);
	assert_true(d.time_ns[CPU_IOWAIT] == -40 * (int64_t)TICK);
	cpu_account(&l, &d);
	assert_int_equal(l.idle, SECOND);
	cpu_snapshot_free(&a);
	cpu_snapshot_free(&b);
}

/* One of three goes, another comes: the account has the two that were there all the time. */
static void hotplug(void **state)
{
	struct cpu_snapshot a = { 0 }, b = { 0 };
	struct cpu_ledger l = { 0 };
	struct cpu_delta d;

	(void)state;
	make(&a, 0,
	     "cpu  0 0 0 999999 0 0 0 0\ncpu0 0 0 0 100 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0\ncpu2 0 0 0 7777 0 0 0 0\n");
	make(&b, SECOND,
	     "cpu  0 0 0 12 0 0 0 0\ncpu0 0 0 0 150 0 0 0 1\ncpu1 0 0 0 300 0 0 0 0\ncpu3 0 0 0 99999 0 0 0 0\n");
	cpu_difference(&a, &b, TICK, &d);
	assert_true(d.changed);
	assert_false(d.odd);
	assert_int_equal(d.cpus, 2);
	cpu_account(&l, &d);
	assert_int_equal(l.capacity, 2 * SECOND);
	assert_int_equal(l.idle, 150 * TICK);
	assert_int_equal(l.steal, TICK);
	/* and back to a constant set */
	make(&a, 2 * SECOND,
	     "cpu  0 0 0 162 0 0 0 0\ncpu0 0 0 0 200 0 0 0 1\ncpu1 0 0 0 350 0 0 0 0\ncpu3 0 0 0 100049 0 0 0 0\n");
	cpu_difference(&b, &a, TICK, &d);
	assert_false(d.changed || d.odd);
	cpu_account(&l, &d);
	assert_int_equal(l.capacity, 5 * SECOND);
	assert_int_equal(l.idle, 300 * TICK);
	cpu_snapshot_free(&a);
	cpu_snapshot_free(&b);
}

/* Off and on again between two readings: the same CPUs, but the counters began anew. Not in the account. */
static void began_anew(void **state)
{
	struct cpu_snapshot a = { 0 }, b = { 0 };
	struct cpu_ledger l = { 0 };
	struct cpu_delta d;

	(void)state;
	make(&a, 0, "cpu  0 0 0 9000 0 0 0 0\ncpu0 0 0 0 4500 0 0 0 0\ncpu1 0 0 0 4500 0 0 0 0\n");
	make(&b, SECOND, "cpu  0 0 0 4600 0 0 0 0\ncpu0 0 0 0 4600 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n");
	cpu_difference(&a, &b, TICK, &d);
	assert_true(d.odd);
	cpu_account(&l, &d);
	assert_int_equal(l.capacity, 0);
	assert_int_equal(l.idle, 0);
	/* more idle time than there was time: just as odd; a few ticks more are the reading's own time */
	make(&b, SECOND, "cpu  0 0 0 9210 0 0 0 0\ncpu0 0 0 0 4600 0 0 0 0\ncpu1 0 0 0 4610 0 0 0 0\n");
	cpu_difference(&a, &b, TICK, &d);
	assert_true(d.odd);
	make(&b, SECOND, "cpu  0 0 0 9202 0 0 0 0\ncpu0 0 0 0 4600 0 0 0 0\ncpu1 0 0 0 4602 0 0 0 0\n");
	cpu_difference(&a, &b, TICK, &d);
	assert_false(d.odd);
	/* 50 ms lay between the clock and the file: both CPUs may have been idle in them */
	make(&b, SECOND, "cpu  0 0 0 9210 0 0 0 0\ncpu0 0 0 0 4605 0 0 0 0\ncpu1 0 0 0 4605 0 0 0 0\n");
	b.took_ns = 50000000;
	cpu_difference(&a, &b, TICK, &d);
	assert_false(d.odd);
	cpu_snapshot_free(&a);
	cpu_snapshot_free(&b);
}

/* Over many readings each level is cut to a tick, but the error does not add up. */
static void no_drift(void **state)
{
	struct cpu_snapshot s[2] = { 0 };
	struct cpu_ledger l = { 0 };
	uint64_t idle_ns = 0;
	char text[128];

	(void)state;
	make(&s[0], 0, "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n");
	for (unsigned i = 1; i <= 1000; i++) {
		struct cpu_delta d;

		idle_ns += 13 * SECOND / 1000; /* 1.3 ticks each time */
		snprintf(text, sizeof(text), "cpu  0 0 0 %llu 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n",
			 (unsigned long long)(idle_ns / TICK));
		make(&s[i % 2], i * 20 * SECOND / 1000, text);
		cpu_difference(&s[(i - 1) % 2], &s[i % 2], TICK, &d);
		assert_false(d.odd);
		cpu_account(&l, &d);
	}
	assert_int_equal(l.capacity, 20 * SECOND);
	assert_true(idle_ns - (uint64_t)l.idle < TICK);
	cpu_snapshot_free(&s[0]);
	cpu_snapshot_free(&s[1]);
}

/* A kernel's types, made for the test. */
static void kernel(const char *root, bool irq, bool steal, bool tickless, const char *cmdline)
{
	struct btf *btf = btf__new_empty();
	char path[256];
	const void *raw;
	uint32_t size;
	FILE *out;
	int u64_id;

	assert_non_null(btf);
	u64_id = btf__add_int(btf, "u64", 8, 0);
	assert_true(btf__add_struct(btf, "rq", 24) > 0);
	assert_int_equal(btf__add_field(btf, "clock", u64_id, 0, 0), 0);
	if (irq)
		assert_int_equal(btf__add_field(btf, "prev_irq_time", u64_id, 64, 0), 0);
	if (steal)
		assert_int_equal(btf__add_field(btf, "prev_steal_time_rq", u64_id, 128, 0), 0);
	if (tickless) {
		assert_true(btf__add_struct(btf, "tick_sched", 8) > 0);
		assert_int_equal(btf__add_field(btf, "idle_sleeptime", u64_id, 0, 0), 0);
	}
	raw = btf__raw_data(btf, &size);
	assert_non_null(raw);
	snprintf(path, sizeof(path), "%s/vmlinux", root);
	out = fopen(path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(raw, 1, size, out), size);
	fclose(out);
	btf__free(btf);
	snprintf(path, sizeof(path), "%s/proc", root);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/proc/cmdline", root);
	out = fopen(path, "we");
	assert_non_null(out);
	fputs(cmdline, out);
	fclose(out);
}

static void accounting(void **state)
{
	char root[] = "/tmp/skep-cpu.XXXXXX", btf[64], path[64];
	struct skep_kernel_types *types;
	struct cpu_accounting a;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(root));
	fd = open(root, O_PATH);
	snprintf(btf, sizeof(btf), "%s/vmlinux", root);

	assert_int_equal(skep_types_read(btf, &types), -ENOENT);
	cpu_accounting_read(fd, NULL, &a); /* a kernel without BTF */
	assert_false(a.known || a.irq_time || a.steal_time || a.tickless);

	kernel(root, true, true, true, "quiet root=/dev/vda\n");
	assert_int_equal(skep_types_read(btf, &types), 0);
	cpu_accounting_read(fd, types, &a);
	skep_types_free(types);
	assert_true(a.known && a.irq_time && a.steal_time && a.tickless);
	assert_false(a.irq_time_off || a.tickless_off);

	kernel(root, false, true, false, "quiet tsc=noirqtime nohz=off\n");
	assert_int_equal(skep_types_read(btf, &types), 0);
	cpu_accounting_read(fd, types, &a);
	skep_types_free(types);
	assert_true(a.known && !a.irq_time && a.steal_time && !a.tickless);
	assert_true(a.irq_time_off && a.tickless_off);

	kernel(root, true, false, true, "tsc=noirqtimes\n");
	assert_int_equal(skep_types_read(btf, &types), 0);
	cpu_accounting_read(fd, types, &a);
	skep_types_free(types);
	assert_true(a.known && a.irq_time && !a.steal_time && a.tickless);
	assert_false(a.irq_time_off);

	close(fd);
	unlink(btf);
	snprintf(path, sizeof(path), "%s/proc/cmdline", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/proc", root);
	rmdir(path);
	assert_int_equal(rmdir(root), 0);
}

#if defined(__x86_64__) || defined(__i386__)
/* The probe on a kernel that times interrupts, until it finds the TSC unstable: then tasks' run time has them. */
static void unstable_tsc(void **state)
{
	static const char sources[] = "sys/devices/system/clocksource/clocksource0/available_clocksource";
	char from[128], to[128];
	struct host_fixture f;
	uint64_t flags;
	int64_t irq;

	(void)state;
	host_fixture_init(&f);
	kernel(f.root, true, false, true, "quiet\n");
	host_write(&f, "sys/kernel/btf/", "");
	snprintf(from, sizeof(from), "%s/vmlinux", f.root);
	snprintf(to, sizeof(to), "%s" SKEP_TYPES_PATH, f.root);
	assert_int_equal(rename(from, to), 0);
	host_write(&f, sources, "kvm-clock tsc acpi_pm \n");
	assert_int_equal(host_begin(&f), 0);
	assert_non_null(strstr(f.signals, "ledger.cpu.irq=ok"));
	host_write_stat(&f, "cpu0 10 0 10 1000 10 0 2 0 0 0\ncpu1 10 0 10 1000 10 0 0 0 0 0\n",
			"cpu  20 0 20 2000 20 0 2 0 0 0");
	host_step(&f);
	assert_true(host_posted(&f, "cpu", "irq", &irq, &flags));
	assert_int_equal(irq, 2 * TICK);
	assert_int_equal(flags, 0);

	host_write(&f, sources, "kvm-clock acpi_pm \n");
	host_write_stat(&f, "cpu0 10 0 10 1000 10 0 9 0 0 0\ncpu1 10 0 10 1000 10 0 0 0 0 0\n",
			"cpu  20 0 20 2000 20 0 9 0 0 0");
	for (int i = 0; i < 2; i++) {
		host_step(&f);
		assert_true(host_posted(&f, "cpu", "irq", &irq, &flags));
		assert_int_equal(irq, 2 * TICK); /* a part still, and no more of it */
		assert_int_equal(flags, 0);
	}
	assert_non_null(strstr(f.signals, "ledger.cpu.irq=partial"));
	host_fixture_free(&f);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_file),     cmocka_unit_test(stat_bad),   cmocka_unit_test(same_cpus),
		cmocka_unit_test(iowait_back),   cmocka_unit_test(hotplug),    cmocka_unit_test(began_anew),
		cmocka_unit_test(no_drift),      cmocka_unit_test(accounting), cmocka_unit_test(waking_up),
		cmocka_unit_test(cpuacct_mount), cmocka_unit_test(task_time_of_cpus_with_gaps),
#if defined(__x86_64__) || defined(__i386__)
		cmocka_unit_test(unstable_tsc),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
