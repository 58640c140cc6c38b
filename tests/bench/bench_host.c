/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/bench_host.c - what one sample of the probe "host" costs on this machine: CPU time of
 * the loop's thread, the kernel's part included, and real time, against its budget of 5 ms.
 *
 * bench_host [SAMPLES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "plugins/host/state.h"
#include <skep/mock.h>

const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);

static unsigned long records;

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	(void)inst;
	(void)stream;
	(void)who;
	(void)time_ns;
	(void)rec;
	records++;
}

static void lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	(void)stream;
	(void)where;
	(void)n;
}

static double ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(size_t n, const char *what, bool per_cpu)
{
	double *cpu = calloc(n, sizeof(*cpu)), worst = 0, start_ns;
	unsigned long before;
	struct skep_mock m;

	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	m.host.emit = emit;
	m.host.lost = lost;
	skep_mock_option(&m, "per_cpu", per_cpu ? "true" : "false");
	start_ns = ns(CLOCK_THREAD_CPUTIME_ID);
	if (!cpu || skep_mock_start(&m)) {
		fprintf(stderr, "bench_host: %s\n", m.why);
		exit(1);
	}
	start_ns = ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	m.plugin->sample(m.instance, m.state); /* buffers grow, and the probe reports the identity */
	before = records;
	for (size_t i = 0; i < n; i++) {
		double at = ns(CLOCK_THREAD_CPUTIME_ID), real = ns(CLOCK_MONOTONIC);

		m.plugin->sample(m.instance, m.state);
		cpu[i] = ns(CLOCK_THREAD_CPUTIME_ID) - at;
		real = ns(CLOCK_MONOTONIC) - real;
		worst = real > worst ? real : worst;
	}
	qsort(cpu, n, sizeof(*cpu), by_value);
	printf("%-8s median %.0f us CPU, 99 %% %.0f us, worst real %.0f us, %.1f records a sample, start %.1f ms CPU\n",
	       what, cpu[n / 2] / 1e3, cpu[n * 99 / 100] / 1e3, worst / 1e3, (double)(records - before) / (double)n,
	       start_ns / 1e6);
	skep_mock_end(&m);
	free(cpu);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
	struct rusage r;

	measure(n, "default", false);
	measure(n, "per_cpu", true);
	getrusage(RUSAGE_SELF, &r);
	printf("peak memory of this program: %ld KiB\n", r.ru_maxrss);
	return 0;
}
