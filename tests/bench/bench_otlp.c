/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_otlp [--dump FOLDER] [BATCHES] - what the sink otlp costs before the network: batches of 500 records
 * (490 processes of 40 tools in 8 pipelines, 10 samples of tools) encoded and compressed on one core.
 *
 * --dump writes the requests of the first batch, as they would be sent, to FOLDER/traces, metrics and logs:
 * tests/otlp/wire.py reads them.
 */
#include <skep/sink/http_body.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sinks/otlp/attr.h"
#include "sinks/otlp/request.h"
#include "tests/bench/otlp_batch.h"

#define MS UINT64_C(1000000)

static int dump(const char *folder, const struct encoder *e)
{
	char path[4096];

	for (int s = 0; s < SIGNALS; s++) {
		FILE *f;
		size_t n;

		snprintf(path, sizeof(path), "%s/%s", folder, signal_names[s]);
		f = fopen(path, "we");
		n = f ? fwrite(pb_data(&e->out[s]), 1, pb_len(&e->out[s]), f) : 0;
		if (!f || fclose(f) != 0 || n != pb_len(&e->out[s])) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int measure(struct encoder *e, struct otlp_batch *b, unsigned long batches)
{
	uint64_t items[SIGNALS] = { 0 }, plain[SIGNALS] = { 0 }, wire[SIGNALS] = { 0 }, random = 1, total = 0;
	double encoding = 0, compressing = 0, t;
	struct http_body body = { 0 };
	const void *data;
	size_t len;

	for (unsigned long i = 0; i < batches; i++) {
		otlp_batch_make(b, i, &random);
		t = cpu_seconds();
		if (encoder_batch(e, &b->batch, true) < 0)
			return 1;
		encoding += cpu_seconds() - t;
		t = cpu_seconds();
		for (int s = 0; s < SIGNALS; s++) {
			if (skep_http_body_encode(&body, HTTP_GZIP, pb_data(&e->out[s]), pb_len(&e->out[s]), &data,
						  &len) < 0)
				return 1;
			items[s] += e->n_out[s];
			plain[s] += pb_len(&e->out[s]);
			wire[s] += len;
			total += len;
		}
		compressing += cpu_seconds() - t;
	}
	printf("%lu batches of %d records; on one core for each record: %.2f us encoding, %.2f us gzip; %.0f records/s\n",
	       batches, OTLP_RECORDS, encoding * 1e6 / (double)batches / OTLP_RECORDS,
	       compressing * 1e6 / (double)batches / OTLP_RECORDS,
	       (double)batches * OTLP_RECORDS / (encoding + compressing));
	for (int s = 0; s < SIGNALS; s++)
		printf("%-8s %8.1f a batch, %6.1f bytes each, %5.1f with gzip\n", signal_names[s],
		       (double)items[s] / (double)batches, (double)plain[s] / (double)(items[s] ? items[s] : 1),
		       (double)wire[s] / (double)(items[s] ? items[s] : 1));
	printf("on the wire %.1f bytes for each record\n", (double)total / (double)batches / OTLP_RECORDS);
	skep_http_body_free(&body);
	return 0;
}

int main(int argc, char **argv_)
{
	struct encoder e = {
		.wanted = { true, true, true }, .span_least_ns = 100 * MS, .spans_most = UINT64_MAX, .service = "skep"
	};
	struct otlp_batch *b = calloc(1, sizeof(*b));
	const char *folder = NULL;
	unsigned long batches;
	uint64_t random = 1;
	int code;

	if (argc > 2 && strcmp(argv_[1], "--dump") == 0) {
		folder = argv_[2];
		argv_ += 2;
		argc -= 2;
	}
	batches = argc > 1 ? strtoul(argv_[1], NULL, 10) : 400;
	if (!b || encoder_init(&e, 10000, false, 1000 * MS) < 0)
		return 1;
	attr_text(&e.resource, 1, "host.name", "node1");
	if (folder) {
		otlp_batch_make(b, 0, &random);
		code = encoder_batch(&e, &b->batch, true) < 0 ? 1 : dump(folder, &e);
	} else {
		code = measure(&e, b, batches ? batches : 1);
	}
	encoder_free(&e);
	free(b);
	return code;
}
