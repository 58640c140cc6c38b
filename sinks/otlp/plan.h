/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/plan.h - how a stream's records become points of metrics.  The sink makes a plan once per stream, from the
 * stream's table of fields.
 */
#ifndef SKEP_SINKS_OTLP_PLAN_H
#define SKEP_SINKS_OTLP_PLAN_H

#include <skep/plugin.h>

#include "sinks/otlp/names.h"

enum point_kind {
	POINT_SUM = 1,    /* u64 */
	POINT_SUM_SIGNED, /* i64: may decrease */
	POINT_SUM_REAL,   /* f64 */
	POINT_LEVEL,      /* u64 */
	POINT_LEVEL_SIGNED,
	POINT_LEVEL_REAL,
	POINT_HIST,       /* adds up the distributions of a field */
	POINT_SPREAD,     /* the distribution of a number's values */
	POINT_COUNT,      /* counts records; has no field */
	POINT_DURATION,   /* the distribution of the times from start_ns to end_ns */
};
static inline bool point_is_hist(enum point_kind k)
{
	return k == POINT_HIST || k == POINT_SPREAD || k == POINT_DURATION;
}

struct plan_point {
	const struct skep_field *field; /* NULL: COUNT, DURATION */
	enum point_kind kind;
	uint32_t metric;                /* index; points of one metric are adjacent */
	bool running;                   /* the field is a running sum (CUMULATIVE): keep the last value */
	const char *attribute, *value;  /* NULL: no attribute */
};

struct plan_metric {
	struct names_metric name;
	const char *unit, *help; /* as the sink sends them: ns become s, except in histograms */
	bool seconds;            /* ns / 1e9 */
	bool sum, hist, signed_sum;
};

struct plan_attribute {
	const struct skep_field *field;
	const char *name;
};

struct group;

struct plan {
	const struct skep_stream *stream;
	enum names_stream kind;
	const struct skep_field *start, *end, *interval, *cpu, *run; /* NULL: the stream has no such field */
	uint32_t n_points, n_metrics, n_attributes;
	struct plan_point *points;
	struct plan_metric *metrics;
	struct plan_attribute *attributes;
	struct group *touched; /* groups that the current batch has changed */
};

/*
 * True when adding up several series makes sense: not for running sums or levels, except the levels of tools.
 */
static inline bool plan_adds_up(const struct plan *p, const struct plan_point *point)
{
	bool is_level =
		point->kind == POINT_LEVEL || point->kind == POINT_LEVEL_SIGNED || point->kind == POINT_LEVEL_REAL;

	return !point->running && (!is_level || p->kind == NAMES_TOOL);
}

struct plan *plan_new(const struct skep_stream *); /* NULL: no memory */
struct plan *plan_free(struct plan *);

#endif
