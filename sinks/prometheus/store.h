/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/store.h - running sums and levels: plans (how a stream's records become metrics) and rows (a plan's
 * values for one set of labels).
 *
 * The store has no lock; its owner locks it.
 */
#ifndef SKEP_SINKS_PROMETHEUS_STORE_H
#define SKEP_SINKS_PROMETHEUS_STORE_H

#include <skep/hash.h>
#include <skep/plugin.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct stream_metrics;

struct metric {
	char *name;       /* with "_total" for counters */
	const char *help; /* owned by the plan */
	const char *unit; /* the unit at the end of the name ("seconds"), or NULL */
	enum metric_type type;
	bool adds;        /* a gauge that adds up */
	double divisor;   /* rows keep values in the field's unit; the page divides them by this */
	uint32_t field;   /* index in the stream's table; METRIC_COUNT: the metric counts records */
	uint32_t at;      /* index of its first value in a row */
	bool seen;        /* some value was not 0; until then the page omits the metric */
};
#define METRIC_COUNT UINT32_MAX

/* A histogram's buckets end at each power of two from FIRST on; struct skep_hist has the same bounds. */
#define METRIC_LE_FIRST 10u /* 1,024 ns; 1 KiB */
#define METRIC_LE_END 37u   /* 2^36 ns = 69 s; 64 GiB */
#define METRIC_LES (METRIC_LE_END - METRIC_LE_FIRST)
#define METRIC_HIST_SLOTS (METRIC_LES + 2) /* a count per bucket (not cumulative), the total count, the sum */

struct plan_label {
	char *name;
	uint32_t field;   /* index in the field table; PLAN_CONTEXT: a member of the context */
	uint32_t context; /* offset in struct skep_context */
};
#define PLAN_CONTEXT UINT32_MAX

struct plan {
	struct plan *next;
	const struct skep_stream *stream; /* of the last record; the plan follows from its field table */
	const struct stream_metrics *spec;
	char *name;                       /* name of the stream */
	char *shape;                      /* the field table as a text: equal texts need one plan */
	bool skip;
	bool is_info;                     /* METRICS_INFO */
	struct plan_label *labels;        /* sorted by name */
	uint32_t n_labels;
	struct metric *metrics;
	uint32_t n_metrics;
	uint32_t n_values; /* number of values in a row */
	uint32_t width;    /* number of time series in a row */
	struct row *rows, *overflow;
	/* METRICS_INFO: the row of the latest record, which does not expire; store_expire() drops the other rows. */
	struct row *info;
};

struct row {
	struct row *hash_next, *next, **at;
	struct plan *plan;
	uint64_t hash;
	int64_t time_ns;     /* time of the latest record in the row, on the time scale of ingest_batch() */
	uint64_t touched_ns; /* when the store received that record, by its clock */
	int64_t created_ns;  /* realtime */
	uint64_t sent_ms;    /* remote_write: realtime of the last sample; 0: none */
	uint64_t dirty;      /* remote_write: number of the last batch that changed the row */
	size_t point;        /* and the index of the row's point in that batch */
	double *values;
	uint32_t labels_len;
	char labels[];       /* "name\0value\0..." sorted by name, without empty values */
};

struct store {
	struct plan *plans, **plans_end;
	struct row **table;
	struct skep_hash_key key;
	size_t table_size, n_rows;
	uint64_t n_series, max_series;
	uint64_t refused;  /* updates that went to the overflow row, or that the store dropped */
	uint64_t dropped;  /* plans dropped because their field table changed */
	uint64_t expired;  /* rows dropped because no record came for expire_ns */
};

int store_init(struct store *, uint64_t max_series);
void store_free(struct store *);
void store_add_plan(struct store *, struct plan *); /* takes ownership of the plan */
void store_drop_plan(struct store *, struct plan *);
struct plan *store_plan(const struct store *, const char *stream_name);
bool store_has_name(const struct store *, const char *metric);
/*
 * Returns the row of these labels, or a new row while there is room, else the plan's overflow row (labels:
 * overflow="true").  A plan of METRICS_INFO has room always: it has one row.  NULL: no memory.
 */
struct row *store_row(struct store *, struct plan *, const char *labels, uint32_t len, uint64_t now_ns,
		      int64_t realtime_ns);
/* Drops the rows without a record in the last expire_ns, and replaced rows of METRICS_INFO. */
void store_expire(struct store *, uint64_t now_ns, uint64_t expire_ns);

#endif
