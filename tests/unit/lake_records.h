/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/lake_records.h - realistic records of the core's streams for tests and
 * measurements of the lake: deterministic, made from a number.
 */
#ifndef SKEP_TESTS_LAKE_RECORDS_H
#define SKEP_TESTS_LAKE_RECORDS_H

#include "core/process/records.h"
#include <skep/mock.h>

/* 2026-11-10T00:00:00Z at boot time 0. */
#define RECORDS_OFFSET INT64_C(1794268800000000000)
#define SECOND         UINT64_C(1000000000)

/* Process number n of a run of tasks x tools; strings live until the next 4,096 calls. */
void records_process(uint64_t n, const char *run, struct record_process *ret);
/* state "running" or "ended" */
void records_run(const char *run, const char *state, uint64_t start_ns, struct record_run *ret);
void records_add_process(struct skep_mock_batch *, const struct record_process *);
void records_add_process_of(struct skep_mock_batch *, const struct record_process *, uint32_t payer);
void records_add_run(struct skep_mock_batch *, const struct record_run *);
/* Task number n of the run: those of records_process(). */
void records_task(unsigned n, const char *run, struct record_task *ret);
void records_add_task(struct skep_mock_batch *, const struct record_task *);
/* Gives the sink the batch, waits a minute at most until it is acknowledged, and frees it. false: it was not. */
bool records_send_take(struct skep_mock *, struct skep_mock_batch *);

#endif
