/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_spool FILE [RECORDS [BACKLOG_MB [REAL_MB]]] - the cost of the spool as skepd uses it. One thread encodes,
 * compresses and appends batches of 500 process records, several to a commit, moves a sink's offset, and drops the
 * batches that every sink has acknowledged. Prints records/s, CPU a record, bytes a record, and the bytes written to
 * the disk for each of those. Then the program makes a backlog of so many MiB and measures the times of opening it and
 * of reading its first batch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "spool/code.h"
#include "spool/db.h"
#include "tests/unit/lake_records.h"

#define BATCH 500
#define PREPARED 8
#define PER_COMMIT 16

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

/* Bytes written to the disk. */
static uint64_t written(void)
{
	unsigned long long n = 0;
	char line[128];
	FILE *f = fopen("/proc/self/io", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "write_bytes: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static struct spool_db *db;
static struct spool_code *code;
static struct skep_mock_batch *prepared[PREPARED];

static void need(int err)
{
	if (err == 0)
		return;
	fprintf(stderr, "%s\n", db ? spool_why(db) : strerror(-err));
	exit(1);
}

static void gone(void *arg, uint64_t id, uint32_t n, const char *counts)
{
	(void)arg;
	(void)id;
	(void)n;
	(void)counts;
	fprintf(stderr, "no room\n");
	exit(1);
}

static size_t append(uint64_t id)
{
	struct skep_batch *b = &prepared[id % PREPARED]->batch;
	const void *body;
	size_t size;

	b->id = id;
	need(spool_encode(code, b, &body, &size, NULL));
	need(spool_make_room(db, size, gone, NULL));
	need(spool_append(db, id, SPOOL_LIFE, b->n, "process.exit 500\n", body, size));
	return size;
}

/* Stores the last batch's body again under a new row. */
static size_t append_again(uint64_t id, const void *body, size_t size)
{
	need(spool_make_room(db, size, gone, NULL));
	need(spool_append(db, id, SPOOL_LIFE, BATCH, "process.exit 500\n", body, size));
	return size;
}

static int any_head(void *arg, const struct spool_head *head)
{
	(void)arg;
	(void)head;
	return 0;
}

static int any_stream(void *arg, const struct skep_stream *stored, const struct skep_stream **ret)
{
	(void)arg;
	*ret = stored;
	return 0;
}

static int any_record(void *arg, const struct skep_stream *s, const struct skep_upid *who, uint64_t time_ns,
		      const void *data, const struct skep_context *context)
{
	(void)s;
	(void)who;
	(void)time_ns;
	(void)data;
	(void)context;
	++*(uint64_t *)arg;
	return 0;
}

static void read_back(uint64_t records)
{
	static const struct spool_taker taker = { any_head, any_stream, any_record };
	uint64_t id = 0, n = 0;
	struct spool_row row;
	char why[128];
	double t = now(), c = cpu();

	while (n < records) {
		need(spool_next(db, id, &row));
		if (row.id == 0)
			break;
		need(spool_decode(code, row.body, row.size, &taker, &n, why, sizeof(why)));
		id = row.id;
	}
	t = now() - t;
	printf("read back: %.0f records/s, %.2f us CPU a record\n", (double)n / t, (cpu() - c) * 1e6 / (double)n);
}

int main(int argc, char **argv)
{
	struct spool_limits limits = { .sync_ns = 1000000000 };
	uint64_t records = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000, id = 0, bytes = 0, disk;
	uint64_t backlog = (argc > 3 ? strtoull(argv[3], NULL, 10) : 0) << 20, made = 0;
	uint64_t real = argc > 4 ? strtoull(argv[4], NULL, 10) << 20 : UINT64_MAX;
	double t, c, worst = 0;
	struct spool_row row;
	const void *body;
	size_t again_size;
	void *again;
	char why[256];

	if (argc < 2 || records == 0 || access(argv[1], F_OK) == 0) {
		fprintf(stderr, "usage: %s FILE [RECORDS [BACKLOG_MB [REAL_MB]]]   (FILE must not be there)\n",
			argv[0]);
		return 2;
	}
	need(spool_db_open(argv[1], &limits, &db, why, sizeof(why)));
	code = spool_code_new();
	for (uint64_t k = 0; k < PREPARED; k++) {
		prepared[k] = skep_mock_batch_new(k, RECORDS_OFFSET);
		for (uint64_t i = 0; i < BATCH; i++) {
			struct record_process p;

			records_process(k * BATCH + i, "run-1", &p);
			records_add_process(prepared[k], &p);
		}
	}
	disk = written();
	t = now();
	c = cpu();
	while (id * BATCH < records) {
		double begin = now(), took;
		bool more;

		need(spool_begin(db));
		for (int i = 0; i < PER_COMMIT; i++)
			bytes += append(++id);
		need(spool_sink_move(db, "sink", id - PER_COMMIT));
		need(spool_trim(db, id - PER_COMMIT, &more));
		need(spool_commit(db));
		took = now() - begin;
		worst = took > worst ? took : worst;
	}
	t = now() - t;
	c = cpu() - c;
	records = id * BATCH;
	printf("%" PRIu64
	       " records in batches of %d, %d to a commit: %.0f records/s, %.2f us CPU a record, %.1f bytes a record, worst commit %.0f ms\n",
	       records, BATCH, PER_COMMIT, (double)records / t, c * 1e6 / (double)records,
	       (double)bytes / (double)records, worst * 1e3);
	printf("given to the disk: %.2f bytes for each of them\n", (double)(written() - disk) / (double)bytes);
	need(spool_encode(code, &prepared[0]->batch, &body, &again_size, NULL));
	again = malloc(again_size);
	need(again ? 0 : -ENOMEM);
	memcpy(again, body, again_size);
	while (bytes && made < backlog) {
		need(spool_begin(db));
		for (int i = 0; i < 64; i++) {
			id++;
			made += made < real ? append(id) : append_again(id, again, again_size);
		}
		need(spool_commit(db));
	}
	free(again);
	if (argc > 3) {
		struct spool_size s;

		need(spool_size(db, &s));
		spool_db_close(db);
		db = NULL;
		t = now();
		need(spool_db_open(argv[1], &limits, &db, why, sizeof(why)));
		c = now();
		need(spool_next(db, 0, &row));
		printf("a backlog of %" PRIu64 " MiB, %" PRIu64
		       " records: opened in %.1f ms, its first batch in %.1f ms\n",
		       s.file_bytes >> 20, s.records, (c - t) * 1e3, (now() - c) * 1e3);
		read_back(2000000);
	}
	spool_db_close(db);
	spool_code_free(code);
	for (int k = 0; k < PREPARED; k++)
		skep_mock_batch_free(prepared[k]);
	return 0;
}
