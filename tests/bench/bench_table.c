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

#define PAIRS 15

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double processes_of(uint64_t *t, uint32_t parent, uint64_t parent_start, unsigned n)
{
	double s = cpu_seconds();

	for (unsigned i = 0; i < n; i++, *t += 10) {
		uint32_t pid = 500000 + i % 20000;
		char exe[64];
		struct skep_process_exec rec = {
			.comm = str("x"),
			.cwd = str("/data/project/run7"),
			.argv = { "sort\0-k1,1\0x.bed\0", 17, 17 },
			.cgroup_id = 5,
		};

		snprintf(exe, sizeof(exe), "/usr/bin/tool%u", i % 100);
		rec.exe = rec.filename = str(exe);
		tell_fork(&f, *t, pid, *t, parent, parent_start);
		tell(&f, SKEP_ROLE_PROC_EXEC, *t + 1, pid, *t, &rec);
		tell_exit(&f, *t + 2, pid, *t, 0);
		tell_final(&f, *t + 3, pid, *t, 0, 500000, 2u << 20);
		if (i % 200 == 0)
			delivery_tick(f.out, *t);
	}
	return (cpu_seconds() - s) / n * 1e9;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What the recognizers add to a process: with and without the table, one after the other, the median of the pairs. */
static void recognizers(uint64_t t, unsigned n)
{
	static const char *const where[] = { "outside of engines", "in a rule of Snakemake" };
	struct skep_process_exec engine = { .comm = str("snakemake"),
					    .exe = str("/usr/bin/python3.11"),
					    .filename = str("/usr/bin/snakemake"),
					    .cwd = str("/data/project/run7"),
					    .argv = { "python3\0/usr/bin/snakemake\0-j4\0", 31, 31 } };
	struct skep_process_exec rule = { .comm = str("bash"),
					  .exe = str("/bin/bash"),
					  .filename = str("/bin/bash"),
					  .cwd = str("/data/project/run7"),
					  .argv = { "bash\0-c\0set -euo pipefail; sort\0", 32, 32 } };
	uint32_t parents[2] = { 10, 400001 };
	uint64_t starts[2] = { T0 + 10, t + 2 };

	tell_fork(&f, t, 400000, t, 10, T0 + 10);
	tell(&f, SKEP_ROLE_PROC_EXEC, t + 1, 400000, t, &engine);
	tell_fork(&f, t + 2, 400001, t + 2, 400000, t);
	tell(&f, SKEP_ROLE_PROC_EXEC, t + 3, 400001, t + 2, &rule);
	t += 10;
	for (int k = 0; k < 2; k++) {
		double off[PAIRS], on[PAIRS], more[PAIRS];

		for (int i = 0; i < PAIRS; i++) {
			track_recognizers(f.track, NULL);
			off[i] = processes_of(&t, parents[k], starts[k], n);
			track_recognizers(f.track, f.recognizers);
			on[i] = processes_of(&t, parents[k], starts[k], n);
			more[i] = on[i] - off[i];
		}
		qsort(off, PAIRS, sizeof(*off), by_size);
		qsort(more, PAIRS, sizeof(*more), by_size);
		printf("recognizers, a process %s: %.0f ns without, %+.0f ns with them (%+.0f to %+.0f)\n", where[k],
		       off[PAIRS / 2], more[PAIRS / 2], more[PAIRS / 4], more[3 * PAIRS / 4]);
	}
}

/* A look over `live` processes, ten in a task, all of which hold a GPU, and what an image that ends in a task costs. */
static void findings(unsigned live, unsigned n)
{
	static const struct config_findings limits = { 600 * SECOND, 300 * SECOND, 3600 * SECOND, 1800 * SECOND, true };
	static const struct config_findings none = { 0 };
	struct run_spec spec = { .id = "run", .name = "n", .root = 10 };
	struct fixture_gpu gpu = { 0, 1, 1 };
	double off[PAIRS], on[PAIRS], look[PAIRS];
	struct run *run = NULL;
	uint64_t t = T0 + 10;

	fixture_open(&f, false, T0);
	f.discard = true;
	tell_live(&f, T0 + 1, 1, 1, 0, 0, 1, 0);
	begin(t, 10);
	if (run_new(track_runs(f.track), &spec, t, &run) < 0 || track_run_root(f.track, run, t) < 0)
		abort();
	for (unsigned i = 1; i <= live; i++) {
		struct skep_upid upid = { .pid = 10 + i, .start_ns = t += 10 };
		struct skep_process_exec rec = { .comm = str("step"), .exe = str("/bin/step") };
		unsigned first = 11 + (i - 1) / 10 * 10;

		rec.environ = i % 10 == 1 ? (struct skep_str){ "SKEP_TASK=step", 15, 15 } : str("");
		tell_fork(&f, t, 10 + i, t, i % 10 == 1 ? 10 : first, T0 + 10 + 10ull * (i % 10 == 1 ? 0 : first - 10));
		tell(&f, SKEP_ROLE_PROC_EXEC, t + 1, 10 + i, t, &rec);
		track_facet(f.track, &fixture_gpu, &upid, &gpu, t);
	}
	track_findings(f.track, &limits);
	for (int i = 0; i < PAIRS; i++) {
		double s;

		f.track->swept_ns = t += 15 * SECOND;
		s = cpu_seconds();
		track_findings_look(f.track, 5 * SECOND, t);
		look[i] = cpu_seconds() - s;
	}
	for (int i = 0; i < PAIRS; i++) {
		track_findings(f.track, &none);
		off[i] = processes_of(&t, 11, T0 + 20, n);
		track_findings(f.track, &limits);
		on[i] = processes_of(&t, 11, T0 + 20, n) - off[i];
	}
	qsort(look, PAIRS, sizeof(*look), by_size);
	qsort(off, PAIRS, sizeof(*off), by_size);
	qsort(on, PAIRS, sizeof(*on), by_size);
	printf("findings: a look over %u processes in %zu tasks: %.0f us; a process that ends in a task: %.0f ns, %+.0f "
	       "(%+.0f to %+.0f) with findings\n", live, f.track->tasks.n, look[PAIRS / 2] * 1e6, off[PAIRS / 2], on[PAIRS / 2],
	       on[PAIRS / 4], on[3 * PAIRS / 4]);
	fixture_close(&f);
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
	recognizers(t + 10ull * rounds, rounds / 15);
	fixture_close(&f);
	findings(live, rounds / 15);
	findings(200, rounds / 15);
	return 0;
}
