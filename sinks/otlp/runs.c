/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of runs whose spans the sink has sent lately.
 */
#include "sinks/otlp/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int runs_init(struct runs *r)
{
	*r = (struct runs){ .runs = calloc(RUNS_MOST, sizeof(struct run_trace)) };
	return r->runs ? 0 : -ENOMEM;
}

void runs_free(struct runs *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		free(r->runs[i].id);
	free(r->runs);
	*r = (struct runs){ 0 };
}

static uint32_t hash_of(struct skep_str s)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < s.len; i++)
		h = (h ^ (uint8_t)s.ptr[i]) * 16777619u;
	return h;
}

static void adopt(struct run_trace *t, struct skep_str run, struct skep_str traceparent)
{
	if (!traceparent.len || !skep_traceparent_read(traceparent.ptr, traceparent.len, &t->trace))
		return;
	t->adopted = true;
	skep_trace_run_span(t->trace.trace, run.ptr, run.len, t->span);
}

static bool goes_before(const struct run_trace *a, const struct run_trace *b)
{
	int of_a = a->ended ? 0 : 1 + a->adopted, of_b = b->ended ? 0 : 1 + b->adopted;

	return of_a != of_b ? of_a < of_b : a->used < b->used;
}

struct run_trace *runs_get(struct runs *r, const char *boot_id, struct skep_str run, struct skep_str traceparent)
{
	uint32_t hash = hash_of(run), oldest = 0;
	struct run_trace *t;
	char *id;

	if (!run.ptr || !run.len)
		return NULL;
	for (uint32_t i = 0; i < r->n; i++) {
		t = &r->runs[i];
		if (t->hash == hash && t->len == run.len && memcmp(t->id, run.ptr, run.len) == 0) {
			t->used = ++r->clock;
			adopt(t, run, traceparent);
			return t;
		}
		if (goes_before(t, &r->runs[oldest]))
			oldest = i;
	}
	id = malloc(run.len);
	if (!id)
		return NULL;
	memcpy(id, run.ptr, run.len);
	t = &r->runs[r->n < RUNS_MOST ? r->n++ : oldest];
	free(t->id);
	*t = (struct run_trace){ .id = id, .len = run.len, .hash = hash, .used = ++r->clock };
	skep_trace_of_run(boot_id, run.ptr, run.len, &t->trace);
	skep_trace_run_span(t->trace.trace, run.ptr, run.len, t->span);
	adopt(t, run, traceparent);
	return t;
}
