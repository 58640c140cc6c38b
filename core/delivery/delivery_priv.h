/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_priv.h - between delivery.c (records, batches, the books), delivery_sink.c (sinks that
 * come, change and go) and delivery_spool.c (the durable store between them).
 */
#ifndef SKEP_CORE_DELIVERY_PRIV_H
#define SKEP_CORE_DELIVERY_PRIV_H

#include "core/base/magic.h"
#include "core/delivery/batch.h"
#include "core/delivery/delivery.h"
#include "core/delivery/sinkq.h"
#include "spool/db.h"

/* A way from the spool to a sink: batches up to taken_id are in the queue, later ones on disk. */
struct delivery_lane {
	uint64_t taken_id;
	bool behind; /* there is more on disk than is in the queue */
	bool loading;
};

#define MAGIC_delivery_sink 0xde115142u
struct delivery_sink {
	uint32_t magic;
	struct delivery *out;
	const char *name;
	struct sinkq queue;
	bool retired;             /* nothing new for it */
	struct sink_terms terms;
	/* With a spool. */
	uint64_t serial;          /* no other has it: jobs of one that is gone come back, too */
	bool begun;               /* its offset is known */
	bool beginning;           /* the spool is asked for it */
	/* the spool's file has `place`: false after a failed write, and in a new file */
	bool placed;
	struct delivery_lane lanes[SINKQ_LANES]; /* 1: new batches, behind gap_id; 0: all, or the old ones */
	uint64_t gap_id;          /* 0: there is one lane */
	bool keeping;             /* skepd ends: the spool keeps its batches */
	/* the first batch that counts for the sink when it is made; earlier ones count when they are loaded */
	uint64_t first_id;
	struct spool_offset place; /* as the spool has it */
	struct spool_lag lag;     /* the same, a few seconds ago */
	struct delivery_count *counts; /* by stream number */
	uint64_t (*told)[DELIVERY_LOSSES]; /* the same: losses that delivery_losses has reported */
	struct delivery_sink *next;
};

struct delivery {
	struct batch_origin origin; /* its texts are ours */
	uint64_t age_ns;
	size_t max_bytes, bytes; /* of closed batches, each counted once however many queues have it */
	void (*wake)(void *);
	void *arg;
	const struct skep_stream **streams;
	int n_streams;
	struct delivery_sink *sinks, **last_sink;
	uint64_t n_sinks_ever;
	struct batch *open[2]; /* by enum spool_kind; without a spool the first alone */
	uint64_t next_id;
	struct delivery_spool *spool; /* NULL: none */
	uint64_t gone_lost[DELIVERY_LOSSES]; /* of sinks that were removed */
};

void delivery_sink_free(struct delivery_sink *); /* its memory only */
/* Pushed to that sink's queue, or counted as lost there. */
void delivery_offer(struct delivery_sink *, struct batch *, unsigned lane);
void delivery_count_lost(struct delivery_sink *, const struct batch *, enum skep_loss where);
void delivery_close_batch(struct delivery *, unsigned kind);
void delivery_close_all(struct delivery *);

/* delivery_spool.c */
void delivery_spool_take(struct delivery *, struct batch *, unsigned kind); /* it is closed; takes the reference */
/* batches may be restored as that: 0 or -ENOMEM */
int delivery_spool_stream(struct delivery *, const struct skep_stream *);
void delivery_spool_begin(struct delivery *, struct delivery_sink *);             /* a sink that is new */
void delivery_spool_rename(struct delivery *, struct delivery_sink *, const char *old);
/* it is not among the sinks any more */
void delivery_spool_gone(struct delivery *, struct delivery_sink *);
void delivery_spool_dead(struct delivery *, const struct delivery_sink *, const struct batch *,
			 const struct sinkq_fate *);
void delivery_spool_tick(struct delivery *, uint64_t now_ns);
uint64_t delivery_spool_next_ns(const struct delivery *);
uint64_t delivery_spool_cursor(const struct delivery_sink *);                /* it and all before it are settled */
void delivery_spool_free(struct delivery *);

#endif
