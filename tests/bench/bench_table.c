/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/bench_table.c - what the tracker costs: life-cycle records per second, and
 * memory for each live process.  Usage: bench_table [LIVE [ROUNDS]]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/delivery/delivery.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct fixture f;

static void begin(uint64_t t, uint32_t pid)
{
	struct skep_process_exec rec = {
		.parent = { .pid = 1, .start_ns = 1 },
		.counters = { .cpu_ns = 400000 },
		.maxrss_bytes = 1u << 20,
		.cgroup_id = 5,
		.comm = str("samtools"),
		.cgroup = str("/system.slice/batch.service"),
		.cwd = str("/data/project/run7"),
	};
	char argv[128], exe[64];

	rec.argv.len =
		(uint32_t)snprintf(argv, sizeof(argv), "samtools%csort%c-@%c4%c-o%c/data/project/out/sample_%u.bam", 0,
				   0, 0, 0, 0, pid) +
		1;
	rec.argv.ptr = argv;
	snprintf(exe, sizeof(exe), "/usr/bin/tool%u", pid % 100);
	rec.exe = rec.filename = str(exe);
	tell_fork(&f, t, pid, t, 1, 1);
	tell(&f, SKEP_ROLE_PROC_EXEC, t + 1, pid, t, &rec);
}

/*
 * Each process leads a session, which is a run, and is a task of its own; a child outlives both for a moment. A sample
 * frees the runs.
 */
static void sessions_and_tasks(uint64_t t, unsigned n)
{
	double s = seconds();

	for (unsigned i = 0; i < n; i++, t += 10) {
		uint32_t pid = 200000 + 2 * i;
		struct skep_process_exec rec = {
			.parent = { .pid = 10, .start_ns = T0 + 10 },
			.comm = str("step"),
			.exe = str("/bin/step"),
			.environ = str("SKEP_TASK=step"),
			.session = pid,
		};

		tell_fork(&f, t, pid, t, 10, T0 + 10);
		tell(&f, SKEP_ROLE_PROC_EXEC, t + 1, pid, t, &rec);
		tell_fork(&f, t + 2, pid + 1, t + 2, pid, t);
		tell_exit(&f, t + 3, pid, t, 0);
		tell_final(&f, t + 4, pid, t, 0, 500000, 2u << 20);
		tell_exit(&f, t + 5, pid + 1, t + 2, 0);
		tell_final(&f, t + 6, pid + 1, t + 2, 0, 500000, 2u << 20);
	}
	fixture_sample(&f);
	s = seconds() - s;
	printf("sessions of one task that end beside them: %.2f us each\n", s / n * 1e6);
}

int main(int argc, char **argv)
{
	unsigned live = argc > 1 ? (unsigned)atoi(argv[1]) : 20000,
		 rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 300000;
	struct mallinfo2 before, after;
	uint64_t t = T0 + 10;
	double s;

	fixture_open(&f, false, T0);
	f.discard = true;
	tell_live(&f, T0 + 1, 1, 1, 0, 0, 1, 0);
	before = mallinfo2();
	s = seconds();
	for (unsigned i = 0; i < live; i++, t += 10)
		begin(t, 10 + i);
	s = seconds() - s;
	fixture_settle(&f);
	after = mallinfo2();
	printf("%u live processes: %.0f bytes each (%.1f MB), made at %.0f records/s\n", live,
	       (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / live,
	       (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / 1e6, 2 * live / s);

	s = seconds();
	track_sweep_begin(f.track, t, t);
	for (unsigned i = 0; i < live; i++)
		tell_live(&f, t, 10 + i, T0 + 10 + 10ull * i, 1, 1, 500000, 0);
	track_sweep_end(f.track, true, t);
	s = seconds() - s;
	printf("a sweep over them: %.2f ms, %.0f ns a process\n", s * 1e3, s / live * 1e9);

	s = seconds();
	for (unsigned i = 0; i < rounds; i++, t += 10) {
		uint32_t pid = 100000 + i % 20000;

		begin(t, pid);
		tell_exit(&f, t + 2, pid, t, 0);
		tell_final(&f, t + 3, pid, t, 0, 500000, 2u << 20);
		if (i % 200 == 0)
			delivery_tick(f.out, t);
	}
	s = seconds() - s;
	fixture_settle(&f);
	printf("fork+exec+exit+final beside them: %.0f records/s, %.2f us a process (%zu records out)\n",
	       4.0 * rounds / s, s / rounds * 1e6, f.n_records);
	sessions_and_tasks(t, rounds / 100);
	fixture_close(&f);
	return 0;
}
