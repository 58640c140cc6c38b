/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/trace.h - the ids by which tracing systems identify a run and its processes, and the header that passes them
 * from program to program (W3C Trace Context, TRACEPARENT in an environment).
 *
 * SHA-256 makes each id from fields that a record has anyway: `skep run`, which hands the span to the command, and a
 * sink that sends the record later, even twice or after a restart, compute the same ids. Link libskep-probe or
 * libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_TRACE_H
#define SKEP_TRACE_H

#include <skep/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_TRACE_ID 16
#define SKEP_SPAN_ID 8
#define SKEP_TRACEPARENT_SIZE 56 /* "00-<32 hex>-<16 hex>-<2 hex>" and its NUL */

struct skep_trace {
	uint8_t trace[SKEP_TRACE_ID];
	uint8_t parent[SKEP_SPAN_ID]; /* parent of the run's span; all 0: the run's span is the root */
	uint8_t flags;                /* of the trace context */
};

/* Computes the trace of a run whose caller gave no trace context.  All functions here: any thread, no allocation. */
void skep_trace_of_run(const char *boot_id, const char *run, size_t run_len, struct skep_trace *ret);

/* Computes the span id of a run.  Here and in the two functions below, ret has SKEP_SPAN_ID bytes. */
void skep_trace_run_span(const uint8_t *trace, const char *run, size_t run_len, uint8_t *ret);

void skep_trace_process_span(const uint8_t *trace, const char *boot_id, const struct skep_upid *upid, uint64_t image,
			     uint8_t *ret);

/* id: "task_id" of the task's record, unique on that boot. */
void skep_trace_task_span(const uint8_t *trace, const char *boot_id, const char *id, size_t id_len, uint8_t *ret);

/* Reads n bytes from 2 * n lower-case hex digits. 1; 0: all bytes are 0; -EINVAL: not hex. */
int skep_trace_hex(const char *text, uint8_t *ret, size_t n);

/* Reads a trace context. false: skep cannot adopt it (version not 00, not lower-case hex, an id all 0). */
bool skep_traceparent_read(const char *text, size_t len, struct skep_trace *ret);

void skep_traceparent_write(const uint8_t *trace, const uint8_t *span, uint8_t flags, char ret[SKEP_TRACEPARENT_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
