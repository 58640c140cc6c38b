/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_export LAKE [PROCESSES [FORMAT]] - what `skep lake export` costs, in CPU time of one core: reading the
 * processes of a lake's newest run, and writing them in each format, again until PROCESSES (1,000,000) are written,
 * to /dev/null.
 *
 *	tests/bench/fill_lake 1 100000 1 0 path=/tmp/lake && tests/bench/bench_export /tmp/lake
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/lake/export_write.h"

static double cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_export: %s: %s\n", what, why);
	exit(1);
}

static void measure(const struct lake_report *r, enum export_format format, const char *name, size_t least)
{
	const struct export_kind *kind = &export_kinds[EXPORT_PROCESSES];
	struct export_writer e = { .format = format, .kind = kind };
	size_t n = 0, size = 0;
	char *text = NULL;
	double began;

	/* the bytes of each row, from a file in memory; the time, from one that is not */
	for (int timed = 0; timed < 2; timed++) {
		e.out = timed ? fopen("/dev/null", "we") : open_memstream(&text, &size);
		if (!e.out)
			die(name, "no file");
		began = cpu();
		n = 0;
		if (export_begin(&e) != 0)
			die(name, "begin");
		do {
			if (export_rows(&e, kind, r->run.id, r->processes, r->n_processes, 0) != 0)
				die(name, "rows");
			n += r->n_processes;
		} while (timed && n < least);
		if (export_end(&e) != 0)
			die(name, "end");
		fclose(e.out);
		export_free(&e);
	}
	printf("%-8s %9.0f processes/s  %6.1f bytes a process\n", name, (double)n / (cpu() - began),
	       (double)size / (double)r->n_processes);
	free(text);
}

int main(int argc, char **argv)
{
	static const struct {
		enum export_format format;
		const char *name;
	} formats[] = { { EXPORT_PARQUET, "parquet" }, { EXPORT_NDJSON, "ndjson" }, { EXPORT_CSV, "csv" } };
	size_t least = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	struct lake_report *report = NULL;
	struct lake *lake = NULL;
	char why[1024] = "";
	double began;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: bench_export LAKE [PROCESSES [FORMAT]]\n");
		return 2;
	}
	if (lake_open(argv[1], &lake, why, sizeof(why)) != 0)
		die(argv[1], why);
	for (int i = 0; i < 3; i++) {
		report = lake_report_free(report);
		began = cpu();
		if (lake_report(lake, "last", &report, why, sizeof(why)) != 0)
			die("last", why);
		printf("%-8s %9.0f processes/s  (%zu processes)\n", "reading", (double)report->n_processes / (cpu() - began),
		       report->n_processes);
	}
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof(formats) / sizeof(formats[0]); k++)
			if (argc < 4 || strcmp(argv[3], formats[k].name) == 0)
				measure(report, formats[k].format, formats[k].name, least);
	lake_report_free(report);
	lake_close(lake);
	return 0;
}
