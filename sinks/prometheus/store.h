/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/store.h - running sums and levels: plans (what a stream's records are
 * turned into) and rows (a plan's values for one set of labels).
 *
 * Not locked: its owner does that.
 */
#ifndef SKEP_SINKS_PROMETHEUS_STORE_H
#define SKEP_SINKS_PROMETHEUS_STORE_H

#include <skep/hash.h>
#include <skep/plugin.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct stream_metrics;

struct metric {
	char *name;       /* with "_total" for counters */
	const char *help; /* the plan's copy */
	const char *unit; /* a word that the name ends in ("seconds"), or NULL */
	enum metric_type type;
	bool adds;        /* a gauge that is a sum */
	double divisor;   /* values are kept in the field's unit; the page has them divided by this */
	uint32_t field;   /* index in the stream's table; METRIC_COUNT: of the records themselves */
	uint32_t at;      /* where its values begin in a row */
	bool seen;        /* a value was not 0 once: the page omits the metric until then */
};
#define METRIC_COUNT UINT32_MAX

/* Buckets of a histogram end at each power of two from FIRST on, which are bounds of struct skep_hist, too. */
#define METRIC_LE_FIRST 10u /* 1,024 ns; 1 KiB */
#define METRIC_LE_END 37u   /* 2^36 ns = 69 s; 64 GiB */
#define METRIC_LES (METRIC_LE_END - METRIC_LE_FIRST)
#define METRIC_HIST_SLOTS (METRIC_LES + 2) /* counts up to each bound (not summed), of all, and the sum of values */

struct plan_label {
	char *name;
	uint32_t field;   /* index in the table; PLAN_CONTEXT: a member of the context */
	uint32_t context; /* offset in struct skep_context */
};
#define PLAN_CONTEXT UINT32_MAX

struct plan {
	struct plan *next;
	const struct skep_stream *stream; /* of the last record; this plan was made from its field table */
	const struct stream_metrics *spec;
	char *name;                       /* of the stream */
	char *shape;                      /* the table as a text: the same text, the same plan */
	bool skip;
	struct plan_label *labels;        /* sorted by name */
	uint32_t n_labels;
	struct metric *metrics;
	uint32_t n_metrics;
	uint32_t n_values; /* in a row */
	uint32_t width;    /* time series in a row */
	struct row *rows, *overflow;
};

struct row {
	struct row *hash_next, *next, **at;
	struct plan *plan;
	uint64_t hash;
	int64_t time_ns;     /* of the latest record in it, as ingest_batch has it */
	uint64_t touched_ns; /* when that came, by the store's clock */
	int64_t created_ns;  /* real time */
	uint64_t sent_ms;    /* remote_write: real time of the last sample; 0: none */
	uint64_t dirty;      /* likewise: number of the batch that has changed it, */
	size_t point;        /* and which of that batch's points is its */
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
	uint64_t refused;  /* updates that found no room and went to the overflow row, or nowhere */
	uint64_t dropped;  /* plans whose table has changed */
	uint64_t expired;  /* rows that were dropped because nothing came for them any more */
};

int store_init(struct store *, uint64_t max_series);
void store_free(struct store *);
void store_add_plan(struct store *, struct plan *); /* takes it */
void store_drop_plan(struct store *, struct plan *);
struct plan *store_plan(const struct store *, const char *stream_name);
bool store_has_name(const struct store *, const char *metric);
/*
 * The row of these labels; a new one where there is room, else the plan's overflow row (labels: overflow="true").
 * NULL: no memory.
 */
struct row *store_row(struct store *, struct plan *, const char *labels, uint32_t len, uint64_t now_ns,
		      int64_t realtime_ns);
/* Drop rows that nothing has come for in expire_ns. */
void store_expire(struct store *, uint64_t now_ns, uint64_t expire_ns);

#endif
