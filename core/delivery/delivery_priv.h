/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_priv.h - shared by the files of delivery. Each calls only the files below it:
 *
 *   delivery.c              the sinks' queues and their timing
 *   delivery_sink.c         sinks that are replaced, paused and removed
 *   delivery_spool.c        commits to the spool (delivery_spool_priv.h)
 *   delivery_spool_load.c   reading batches back
 *   delivery_spool_sink.c   each sink's offset in the spool
 *   delivery_spool_job.c    jobs for the spool's thread
 *   delivery_open.c         the open batches
 *   delivery_ledger.c       the streams, and each sink's counts of their records
 */
#ifndef SKEP_CORE_DELIVERY_PRIV_H
#define SKEP_CORE_DELIVERY_PRIV_H

#include "core/base/magic.h"
#include "core/delivery/batch.h"
#include "core/delivery/delivery.h"
#include "core/delivery/sinkq.h"
#include "spool/db.h"

#define MAGIC_delivery_sink 0xde115142u
struct delivery_sink {
	uint32_t magic;
	struct delivery *out;
	const char *name;
	struct sinkq queue;
	uint64_t last_id;         /* its last batch, since it is about to be removed; UINT64_MAX: it gets new ones */
	struct sink_terms terms;
	/* With a spool. */
	uint64_t serial;          /* unique: a job of a removed sink may return later and must not match a new sink */
	bool begun;               /* its offset is known */
	bool beginning;           /* a job is reading its offset */
	/* the spool's file contains `cursor`: false after a failed write, and in a new file */
	bool placed;
	uint64_t taken_id;        /* the queue has got all batches up to this one */
	bool behind;              /* the disk holds batches that the queue has not got */
	bool loading;             /* a job is reading the next one */
	bool keeping;             /* skepd ends: the spool keeps the sink's batches */
	bool lost;                /* its batches on disk have been counted as lost, and the spool forgets it */
	/* the ledger counts batches from this id on when they are made, earlier batches when they are loaded */
	uint64_t first_id;
	uint64_t cursor;          /* the offset that the spool has stored */
	struct spool_lag lag;     /* the sink's lag, as of a few seconds ago */
	struct delivery_count *counts; /* by stream number */
	uint64_t (*reported)[DELIVERY_LOSSES]; /* by stream number: losses that delivery_losses has reported */
	struct delivery_sink *next;
};

static inline bool delivery_sink_retired(const struct delivery_sink *s)
{
	return s->last_id != UINT64_MAX;
}

struct delivery {
	struct batch_origin origin; /* owns its texts */
	uint64_t age_ns;
	size_t max_bytes, bytes; /* memory of closed batches; a batch in many queues counts once */
	void (*wake)(void *);
	void *arg;
	const struct skep_stream **streams;
	int n_streams;
	struct delivery_sink *sinks, **last_sink;
	uint64_t n_sinks_ever;
	struct batch *open[2]; /* by enum spool_kind; without a spool only SPOOL_LIFE */
	uint64_t next_id;
	int64_t realtime_offset_ns; /* of all batches; 0: each is measured */
	struct delivery_spool *spool; /* NULL: none */
	uint64_t gone_lost[DELIVERY_LOSSES]; /* losses of removed sinks */
};

void delivery_sink_free(struct delivery_sink *); /* frees the memory, not the queue's batches */

/* delivery_ledger.c */
/* Makes room for n streams; the last one is new. 0 or -ENOMEM. */
int delivery_counts_resize(struct delivery_sink *, int n);
/* Pushes the batch to the sink's queue. Without memory, counts its records as lost(queue). */
void delivery_offer(struct delivery_sink *, struct batch *);
void delivery_count_lost(struct delivery_sink *, const struct batch *, enum skep_loss where);

/* delivery_open.c */
void delivery_close_all(struct delivery *);

/* delivery_spool.c, delivery_spool_sink.c */
void delivery_spool_begin(struct delivery *, struct delivery_sink *);             /* a new sink: reads its offset */
void delivery_spool_rename(struct delivery *, struct delivery_sink *, const char *old);
/* the sink is being removed: its pending records count as lost(sink) */
void delivery_spool_gone(struct delivery *, struct delivery_sink *);
void delivery_spool_dead(struct delivery *, const struct delivery_sink *, const struct batch *,
			 const struct sinkq_fate *);
void delivery_spool_tick(struct delivery *, uint64_t now_ns);
uint64_t delivery_spool_next_ns(const struct delivery *);
uint64_t delivery_spool_cursor(const struct delivery_sink *);       /* all batches up to this id are acknowledged */
void delivery_spool_free(struct delivery *);

#endif
