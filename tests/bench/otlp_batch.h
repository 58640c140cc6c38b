/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/otlp_batch.h - batches of 500 records: processes of 40 tools in 8 pipelines, samples of tools, and the
 * end of a run.
 */
#ifndef SKEP_TESTS_BENCH_OTLP_BATCH_H
#define SKEP_TESTS_BENCH_OTLP_BATCH_H

#include "core/process/records.h"

#define OTLP_RECORDS 500
#define OTLP_BOOT "01234567-89ab-cdef-0123-456789abcdef"

struct otlp_batch {
	struct skep_batch batch;
	struct skep_record records[OTLP_RECORDS];
	const struct skep_record *pointers[OTLP_RECORDS];
	struct skep_context contexts[OTLP_RECORDS];
	struct record_process processes[OTLP_RECORDS];
	struct record_tool_sample samples[OTLP_RECORDS];
	struct record_run run;
	char key[64];
};

void otlp_batch_make(struct otlp_batch *, uint64_t id, uint64_t *random);

#endif
