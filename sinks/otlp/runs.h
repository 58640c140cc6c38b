/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/runs.h - the traces of runs: ids built as in skep/trace.h, and ids adopted from a TRACEPARENT, which only
 * the run's own record has.
 */
#ifndef SKEP_SINKS_OTLP_RUNS_H
#define SKEP_SINKS_OTLP_RUNS_H

#include <skep/record.h>
#include <skep/trace.h>

/*
 * How many runs the table holds.  A full table drops an ended run first, then a run whose trace follows from its id;
 * among several, the run with the least recent look-up.  Only the run's own record has an adopted trace: when the table
 * drops such a run, later spans get another trace.
 */
#define RUNS_MOST 1024

struct run_trace {
	char *id;
	uint32_t len, hash;
	struct skep_trace trace;
	uint8_t span[SKEP_SPAN_ID];
	uint64_t spans;   /* spans of the run so far, including those beyond the limit */
	uint64_t full_ns; /* time of the first record beyond the limit */
	uint64_t used;
	bool adopted, ended;
};

struct runs {
	struct run_trace *runs;
	uint32_t n;
	uint64_t clock;
};

int runs_init(struct runs *);
void runs_free(struct runs *);
/* traceparent: empty when the record has none. Valid until the next call. NULL: no memory, or no run. */
struct run_trace *runs_get(struct runs *, const char *boot_id, struct skep_str run, struct skep_str traceparent);

#endif
