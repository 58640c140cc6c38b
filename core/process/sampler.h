/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/sampler.h - what each tool of each run used since the last sample.  The tracker adds to these cells
 * whenever it reads a counter, so an interval costs one step per tool, not one per process.
 */
#ifndef SKEP_CORE_SAMPLER_H
#define SKEP_CORE_SAMPLER_H

#include "core/base/intern.h"
#include "core/process/records.h"

struct run;
struct sampler;

struct cell {
	struct cell *next;           /* next in its bucket */
	struct cell *run_next, **run_at; /* in run->cells */
	struct run *run;             /* a reference; NULL: outside of any run */
	const struct interned *tool; /* NULL: not known */
	uint32_t refs;
	uint64_t alive, rss_bytes; /* now */
	uint64_t cpu_ns, run_delay_ns, read_bytes, write_bytes, started; /* since the last sample */
};

struct sampler *sampler_new(struct intern *);
struct sampler *sampler_free(struct sampler *);

/* Returns a reference to the cell, and creates a missing cell.  NULL: no memory. */
struct cell *sampler_cell(struct sampler *, struct run *, const struct interned *tool);
void sampler_unref(struct cell *); /* NULL is fine; the sampler frees an unused cell after its last sample */
/* Calls cb for each cell that is not empty, and begins its next interval.  all: all cells; else those of `run`. */
void sampler_take(struct sampler *, bool all, struct run *run, void (*cb)(const struct cell *, void *arg), void *arg);

#endif
