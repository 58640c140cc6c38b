/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_lake FOLDER [ROWS [BATCH [NORMAL|FULL [PER_RUN]]]] - writes process records into a new
 * lake in FOLDER through the sink plugin and prints rows/s, CPU and bytes per row; then
 * how long the report of a run of PER_RUN (20,000) processes takes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "lake/lake.h"
#include "tests/unit/lake_records.h"

const struct skep_plugin *skep_plugin_entry(const struct skep_host *);

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_lake: %s: %s\n", what, why);
	exit(1);
}

int main(int argc, char **argv)
{
	uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000, n = 0;
	uint64_t per_batch = argc > 3 ? strtoull(argv[3], NULL, 10) : 500;
	uint64_t per_run = argc > 5 ? strtoull(argv[5], NULL, 10) : 20000;
	double wall = 0, used = 0, worst = 0, t0, c0, t;
	struct lake_report *report = NULL;
	struct lake *lake = NULL;
	char run[64] = "", path[4096], why[1024] = "";
	struct skep_mock m;
	struct stat st;

	if (argc < 2 || argc > 6 || !rows || !per_batch || !per_run) {
		fprintf(stderr, "usage: bench_lake FOLDER [ROWS [BATCH [NORMAL|FULL [PER_RUN]]]]\n");
		return 2;
	}
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	skep_mock_option(&m, "path", argv[1]);
	if (argc > 4 && strcasecmp(argv[4], "full") == 0)
		skep_mock_option(&m, "synchronous", "full");
	if (skep_mock_start(&m) != 0)
		die("start", m.why);
	for (uint64_t id = 1; n < rows; id++) {
		struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
		struct record_process p;
		struct record_run r;

		for (uint64_t k = 0; k < per_batch && n < rows; k++, n++) {
			if (n % per_run == 0) {
				snprintf(run, sizeof(run), "20261110T0000-%06" PRIu64, n / per_run);
				records_run(run, "running", 1000 * SECOND + n * 20000000, &r);
				records_add_run(b, &r);
			}
			records_process(n, run, &p);
			records_add_process(b, &p);
		}
		t0 = now(CLOCK_MONOTONIC);
		c0 = cpu();
		if (skep_mock_submit(&m, &b->batch) != 0 || m.acks != id)
			die("submit", m.why);
		t = now(CLOCK_MONOTONIC) - t0;
		used += cpu() - c0;
		wall += t;
		worst = t > worst ? t : worst;
		skep_mock_batch_free(b);
	}
	t0 = now(CLOCK_MONOTONIC);
	skep_mock_end(&m);
	wall += now(CLOCK_MONOTONIC) - t0; /* the last checkpoint is a part of the time */
	snprintf(path, sizeof(path), "%s/lake-2026-11.db", argv[1]);
	if (stat(path, &st) != 0)
		die(path, "missing");
	printf("rows %" PRIu64 "  batch %" PRIu64
	       "  rows/s %.0f  cpu us/row %.2f  worst batch ms %.1f  bytes/row %.1f  file MB %.1f\n",
	       rows, per_batch, (double)rows / wall, used / (double)rows * 1e6, worst * 1e3,
	       (double)st.st_size / (double)rows, (double)st.st_size / 1e6);
	for (int i = 0; i < 3; i++) {
		t0 = now(CLOCK_MONOTONIC);
		if (lake_open(argv[1], &lake, why, sizeof(why)) != 0 ||
		    lake_report(lake, "last", &report, why, sizeof(why)) != 0)
			die("report", why);
		t = now(CLOCK_MONOTONIC) - t0;
		printf("report of %zu processes ms %.1f  tools %zu\n", report->n_processes, t * 1e3, report->n_tools);
		report = lake_report_free(report);
		lake = lake_close(lake);
	}
	return 0;
}
