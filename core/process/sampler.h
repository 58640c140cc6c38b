/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/sampler.h - what each tool of each run used since the last sample: cells that the
 * process table adds to whenever it learns a counter, so that an interval costs one step
 * per tool and not one per process.
 */
#ifndef SKEP_CORE_SAMPLER_H
#define SKEP_CORE_SAMPLER_H

#include "core/base/intern.h"
#include "core/process/records.h"

struct run;
struct sampler;

struct cell {
	struct cell *next;           /* of its bucket */
	struct cell *run_next, **run_at; /* in run->cells */
	struct run *run;             /* a reference. NULL: outside of any */
	const struct interned *tool; /* NULL: not known */
	uint32_t refs;
	uint64_t alive, rss_bytes; /* now */
	uint64_t cpu_ns, run_delay_ns, read_bytes, write_bytes, started; /* since the last sample */
};

struct sampler *sampler_new(struct intern *);
struct sampler *sampler_free(struct sampler *);

/* A reference to the cell, made when it is not there. NULL: no memory. */
struct cell *sampler_cell(struct sampler *, struct run *, const struct interned *tool);
void sampler_unref(struct cell *); /* NULL is fine; the cell goes after its last sample */
/*
 * Call back once for each cell that has something to say and begin its next interval;
 * only: the cells of `run` (all false), or of every run (all true).
 */
void sampler_take(struct sampler *, bool all, struct run *run, void (*cb)(const struct cell *, void *arg), void *arg);

#endif
