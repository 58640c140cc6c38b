/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_otlp URL [BATCHES [COMPRESSION]] - the throughput and the cost of the sink otlp with a receiver, from submit()
 * to the answer: batches of 500 records, as many in flight as the sink accepts, through the mock host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <skep/mock.h>

#include "tests/bench/otlp_batch.h"

#define MOST 64

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void set(struct skep_mock *m, const char *name, const char *value)
{
	if (skep_mock_option(m, name, value) != 0) {
		fprintf(stderr, "send_otlp: %s\n", m->why);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	unsigned long batches = argc > 2 ? strtoul(argv[2], NULL, 10) : 400, sent = 0;
	struct otlp_batch *b = calloc(MOST, sizeof(*b));
	uint64_t random = 1;
	struct skep_mock m;
	double wall, cpu, making = 0;

	if (argc < 2 || !b) {
		fprintf(stderr, "usage: send_otlp URL [BATCHES [COMPRESSION]]\n");
		return 2;
	}
	skep_mock_init(&m, skep_plugin_entry(NULL));
	set(&m, "endpoint", argv[1]);
	set(&m, "span_threshold", "0s");
	set(&m, "spans_per_run", "10000000");
	set(&m, "compression", argc > 3 ? argv[3] : "gzip");
	if (skep_mock_start(&m) != 0) {
		fprintf(stderr, "send_otlp: %s\n", m.why);
		return 1;
	}
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	while (m.acks < batches && !m.retries && !m.rejects && !m.holds && !m.suspects && !m.splits) {
		/* Answers come in any order, but never are more batches unanswered than the sink takes. */
		while (sent < batches && sent - m.acks < m.plugin->sink->max_in_flight) {
			double t = seconds(CLOCK_PROCESS_CPUTIME_ID);

			otlp_batch_make(&b[sent % MOST], sent, &random);
			making += seconds(CLOCK_PROCESS_CPUTIME_ID) - t;
			if (skep_mock_submit(&m, &b[sent % MOST].batch) != 0)
				break;
			sent++;
		}
		skep_mock_settle(&m);
		skep_mock_advance(&m, 1000000);
		skep_mock_poll(&m, 1);
	}
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - making;
	if (m.acks < batches)
		fprintf(stderr, "send_otlp: %s\n", m.why);
	printf("%u of %lu batches taken: %.0f records/s, %.2f us of CPU time each\n", m.acks, batches,
	       (double)m.acks * OTLP_RECORDS / wall, cpu * 1e6 / ((double)m.acks * OTLP_RECORDS));
	skep_mock_end(&m);
	free(b);
	return m.acks == batches ? 0 : 1;
}
