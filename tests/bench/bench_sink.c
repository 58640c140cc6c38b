/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_clickhouse, bench_http [ROWS [BATCH]] OPTION=VALUE... - gives process records to a sink, as many batches at a
 * time as it takes, from submit to acknowledgement, and prints records/s, the CPU that this process used for a record
 * (encoding, compression, HTTP), and bytes on the wire.  The receiver is a real one, and its own CPU is not counted:
 *
 *	taskset -c 0 tests/bench/bench_clickhouse 200000 500 url=http://127.0.0.1:8123 database=skep
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/lake_records.h"

#define PREPARED \
	256 /* batches, sent repeatedly with other processes each time; more than any sink has in flight */
#define TEXTS 4      /* so many batches have different texts */
#define MOST 1024    /* so many times TEXTS records have strings at a time */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static struct skep_mock_batch *prepare(uint64_t id, uint64_t n)
{
	struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
	struct record_process p;

	for (uint64_t i = 0; i < n; i++) {
		records_process(id % TEXTS * n + i, "run-1", &p);
		records_add_process(b, &p);
	}
	return b;
}

/* Reuses the batch for processes that no other batch has: a receiver may drop repeated records. */
static void renew(struct skep_mock_batch *b, uint64_t id)
{
	for (uint32_t i = 0; i < b->batch.n; i++) {
		struct skep_record *r = (struct skep_record *)(uintptr_t)b->batch.records[i];
		struct record_process *p = (struct record_process *)(uintptr_t)r->data;

		p->upid.start_ns = r->upid.start_ns = 1000000000000 + id * MOST + i;
	}
}

static unsigned answers(const struct skep_mock *m)
{
	return m->acks + m->retries + m->rejects + m->holds + m->splits + m->suspects;
}

int main(int argc, char **argv)
{
	uint64_t rows = 200000, per_batch = 500, id = 0, batches;
	struct skep_mock_batch *prepared[PREPARED];
	unsigned most = 4, done = 0;
	double t, c, turned;
	struct skep_mock m;
	int i = 1;

	if (argc > i && !strchr(argv[i], '='))
		rows = strtoull(argv[i++], NULL, 10);
	if (argc > i && !strchr(argv[i], '='))
		per_batch = strtoull(argv[i++], NULL, 10);
	if (!rows || !per_batch || per_batch > MOST || argc <= i) {
		fprintf(stderr, "usage: %s [ROWS [BATCH]] OPTION=VALUE...   (BATCH: at most %d)\n", argv[0], MOST);
		return 2;
	}
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	for (; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value) {
			fprintf(stderr, "%s: expected OPTION=VALUE\n", argv[i]);
			return 2;
		}
		*value++ = '\0';
		if (skep_mock_option(&m, argv[i], value) != 0) {
			fprintf(stderr, "%s\n", m.why);
			return 2;
		}
	}
	if (skep_mock_start(&m) != 0) {
		fprintf(stderr, "%s\n", m.why);
		return 1;
	}
	if (m.plugin->sink->max_in_flight)
		most = m.plugin->sink->max_in_flight;
	if (most > PREPARED)
		most = PREPARED;
	for (unsigned k = 0; k < PREPARED; k++)
		prepared[k] = prepare(k, per_batch);
	batches = (rows + per_batch - 1) / per_batch;
	t = turned = now();
	c = cpu();
	while (done < batches) {
		double next;

		while (id < batches && id - done < most) {
			struct skep_mock_batch *b = prepared[id % PREPARED];

			b->batch.id = id;
			renew(b, id);
			snprintf(b->key, sizeof(b->key), "bench-%.6f:%" PRIu64, t, id);
			if (skep_mock_submit(&m, &b->batch) != 0)
				break;
			id++;
		}
		skep_mock_settle(&m);
		next = now();
		skep_mock_advance(&m, (uint64_t)((next - turned) * 1e9));
		turned = next;
		skep_mock_poll(&m, 5);
		done = answers(&m);
		if (m.acks != done) {
			fprintf(stderr, "not acknowledged: %s\n", m.why);
			return 1;
		}
	}
	t = now() - t;
	c = cpu() - c;
	printf("%" PRIu64 " records in batches of %" PRIu64
	       ": %.0f records/s, %.2f us CPU a record, %.1f bytes a record on the wire\n",
	       batches * per_batch, per_batch, (double)(batches * per_batch) / t,
	       c * 1e6 / (double)(batches * per_batch),
	       (double)skep_mock_counter(&m, "sent_bytes") / (double)(batches * per_batch));
	skep_mock_stop(&m);
	for (unsigned k = 0; k < PREPARED; k++)
		skep_mock_batch_free(prepared[k]);
	return skep_mock_end(&m) ? 1 : 0;
}
