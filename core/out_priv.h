/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/out_priv.h - between out.c (records, batches, the books), out_sink.c (sinks that
 * come, change and go) and out_spool.c (the durable store between them).
 */
#ifndef SKEP_CORE_OUT_PRIV_H
#define SKEP_CORE_OUT_PRIV_H

#include "core/batch.h"
#include "core/out.h"
#include "core/sinkq.h"
#include "spool/db.h"

/* A way from the spool to a sink: its batches up to taken_id are in the queue, what comes after lies on disk. */
struct out_lane {
	uint64_t taken_id;
	bool behind; /* there is more on disk than is in the queue */
	bool loading;
};

struct out_sink {
	struct out *out;
	const char *name;
	struct sinkq queue;
	bool retired;             /* nothing new for it */
	struct out_terms terms;
	/* With a spool. */
	uint64_t serial;          /* no other has it: jobs of one that is gone come back, too */
	bool begun;               /* its place is known */
	bool beginning;           /* the spool is asked for it */
	bool placed;              /* the spool has `place`: not where it could not be written, nor in a file that has been made anew */
	struct out_lane lanes[SINKQ_LANES]; /* 1: what is new, behind gap_id; 0: all, or what waited */
	uint64_t gap_id;          /* 0: there is one lane */
	bool keeping;             /* skep ends: what it has not taken stays in the spool */
	uint64_t first_id;        /* the first batch that was counted for it as it was made; those before are as they are loaded */
	struct spool_place place; /* as the spool has it */
	struct spool_lag lag;     /* the same, a few seconds ago */
	struct out_count *counts; /* by stream number */
	uint64_t (*told)[OUT_LOSSES]; /* the same: of its losses, by out_losses */
	struct out_sink *next;
};

struct out {
	struct batch_origin origin; /* its texts are ours */
	uint64_t age_ns;
	size_t max_bytes, bytes; /* of closed batches, each counted once however many queues have it */
	void (*wake)(void *);
	void *arg;
	const struct skep_stream **streams;
	int n_streams;
	struct out_sink *sinks, **last_sink;
	uint64_t n_sinks_ever;
	struct batch *open[2]; /* by enum spool_kind; without a spool the first alone */
	uint64_t next_id;
	struct out_spool *spool; /* NULL: none */
	uint64_t gone_lost[OUT_LOSSES]; /* of sinks that were removed */
};

void out_sink_free(struct out_sink *); /* its memory only */
/* Pushed to that sink's queue, or counted as lost there. */
void out_offer(struct out_sink *, struct batch *, unsigned lane);
void out_count_lost(struct out_sink *, const struct batch *, enum skep_loss where);
void out_close_batch(struct out *, unsigned kind);
void out_close_all(struct out *);

/* out_spool.c */
void out_spool_take(struct out *, struct batch *, unsigned kind); /* it is closed; takes the reference */
int out_spool_stream(struct out *, const struct skep_stream *);     /* batches may be restored as that: 0 or -ENOMEM */
void out_spool_begin(struct out *, struct out_sink *);             /* a sink that is new */
void out_spool_rename(struct out *, struct out_sink *, const char *old);
void out_spool_gone(struct out *, struct out_sink *);              /* it is not among the sinks any more */
void out_spool_dead(struct out *, const struct out_sink *, const struct batch *, const struct sinkq_fate *);
void out_spool_tick(struct out *, uint64_t now_ns);
uint64_t out_spool_next_ns(const struct out *);
uint64_t out_spool_cursor(const struct out_sink *);                /* it and all before it are settled */
void out_spool_free(struct out *);

#endif
