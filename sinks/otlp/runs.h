/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/runs.h - the traces of runs: ids as skep/trace.h makes them, and ids adopted from a TRACEPARENT, which
 * only the run's own record has.
 */
#ifndef SKEP_SINKS_OTLP_RUNS_H
#define SKEP_SINKS_OTLP_RUNS_H

#include <skep/record.h>
#include <skep/trace.h>

/*
 * Runs that the table holds.  A run that has ended makes room first, then a run whose trace follows from its id; of
 * several the run with the least recent look-up.  Only the run's own record has an adopted trace: when the table drops
 * such a run, later spans get another trace.
 */
#define RUNS_MOST 1024

struct run_trace {
	char *id;
	uint32_t len, hash;
	struct skep_trace trace;
	uint8_t span[SKEP_SPAN_ID];
	uint64_t spans;   /* of its processes so far, with those beyond the bound */
	uint64_t full_ns; /* time of the first record that was too many */
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
/* traceparent: empty where the record has none. NULL: no memory, or no run. Borrowed until the next call. */
struct run_trace *runs_get(struct runs *, const char *boot_id, struct skep_str run, struct skep_str traceparent);

#endif
