/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/request.h - encodes a batch as the three requests of OTLP: traces, metrics, logs.
 */
#ifndef SKEP_SINKS_OTLP_REQUEST_H
#define SKEP_SINKS_OTLP_REQUEST_H

#include "sinks/otlp/metrics.h"
#include "sinks/otlp/runs.h"

enum signal { SIGNAL_TRACES = 0, SIGNAL_METRICS, SIGNAL_LOGS, SIGNALS };
#define SIGNAL_SETS (1 << SIGNALS) /* the number of sets of signals; a set has the bits 1 << enum signal */
extern const char *const signal_names[SIGNALS]; /* "traces" ... */

/* A record that becomes a span, an event, or both. */
struct item {
	struct view view;
	const struct skep_record *record;
	uint32_t order; /* position in the batch */
	bool span, event, traced;
	uint8_t trace[SKEP_TRACE_ID], run_span[SKEP_SPAN_ID], run_parent[SKEP_SPAN_ID], flags;
	uint8_t parent[SKEP_SPAN_ID]; /* parent of a process's or a task's span */
	bool linked;                  /* the process carries the context of another trace: */
	struct skep_trace link;
};

struct encoder {
	/* settings */
	bool wanted[SIGNALS];
	/* a shorter process gets no span, unless it failed or is a known tool */
	uint64_t span_least_ns;
	uint64_t spans_most;    /* most spans of one run */
	const char *service;    /* service.name of records without a pipeline */
	/* The metrics' resource attributes, as fields of Resource: the sums belong to this skepd. */
	struct pb writer;
	struct pb resource;     /* The resource of spans and events: the machine when the batch was made. */
	/* state */
	struct views *views;
	struct metrics metrics;
	struct runs runs;
	const char *boot_id;    /* of the current batch */
	struct item *items;     /* of the current batch */
	size_t n_items, room_items;
	/* the result */
	struct pb out[SIGNALS]; /* empty: nothing to send */
	uint32_t n_out[SIGNALS];
	uint32_t n_records[SIGNAL_SETS]; /* number of records, by the set of signals that have the record */
	uint64_t spans_left_out; /* spans omitted beyond spans_most */
};

int encoder_init(struct encoder *, uint32_t most_groups, bool by_run, uint64_t interval_ns); /* 0 or -ENOMEM */
void encoder_free(struct encoder *);
/* Encodes a batch. Returns 0 or -ENOMEM. count: see metrics_add(). */
int encoder_batch(struct encoder *, const struct skep_batch *, bool count);

/* For the encoders of the three signals. */
/*
 * Opens and closes ResourceSpans, ResourceMetrics or ResourceLogs (field 1 of their requests): { resource = 1,
 * scope_... = 2, schema_url = 3 }, and in it ScopeSpans ...: { scope = 1, its spans, metrics or log records = 2,
 * schema_url = 3 }.  The caller writes field 2 between open and close.  The resource's service.name is the pipeline, if
 * the record has one.
 */
struct request_frame {
	size_t resource, scope;
};
struct request_frame request_open(struct pb *);
void request_close(const struct encoder *, struct pb *, const struct request_frame *, struct skep_str pipeline,
		   struct skep_str run);
/* Writes "exit_1", "signal_9" or "oom"; "" when nothing failed. */
void request_error_type(const struct view *, char ret[24]);
static inline uint64_t request_time(uint64_t boot_ns, int64_t offset)
{
	return boot_ns ? boot_ns + (uint64_t)offset : 0;
}

/* True when the process gets a span. */
bool traces_want(const struct encoder *, const struct view *);
/* Writes ResourceSpans (field 1) of the items with a span into out[SIGNAL_TRACES]. Sorts the items by run. */
void traces_write(struct encoder *, const struct skep_batch *);
bool logs_want(const struct view *);
/* Writes ResourceLogs (field 1) of the items with an event into out[SIGNAL_LOGS]. */
void logs_write(struct encoder *, const struct skep_batch *);

#endif
