/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/sinkq.h - the queue of one sink, for delivery: batches in order.  The queue offers a failed batch again
 * with exponential backoff and full jitter, until the sink accepts or refuses it.  The queue has no event loop: the
 * caller passes the time and calls sinkq_pump when sinkq_next_ns has come.
 *
 * While the sink fails, the queue offers one batch at a time.  Many at once would only fail as often, and a receiver
 * that has just come back gets one request from each host.
 */
#ifndef SKEP_CORE_SINKQ_H
#define SKEP_CORE_SINKQ_H

#include <skep/plugin.h>

#include "core/delivery/batch.h"

#define SINKQ_NEVER UINT64_MAX
#define SINKQ_DELIVERED 0 /* a batch's fate: this, or an enum skep_loss */
#define SINKQ_SUSPECTS 10 /* after this many SKEP_BATCH_SUSPECT and an ACK of another batch, the batch is to blame */
/*
 * After this many answers that the receiver got the batch and put it off (403, 409, 502, a reset connection), other
 * batches may pass it.  A sink that needs order waits longer: half an hour of the longest backoff, because an outage
 * gives the same answers.
 */
#define SINKQ_DOUBTS 10
#define SINKQ_DOUBTS_IN_ORDER 60
#define SINKQ_REFUSALS \
	16 /* after this many REJECT in a row without an ACK, the receiver refuses everything: the sink is held */
#define SINKQ_STUCK 16 /* when this many batches are suspects, the queue halves the first to find the bad record */

/* What became of a batch. */
struct sinkq_fate {
	unsigned what;     /* SINKQ_DELIVERED, or an enum skep_loss */
	uint32_t rejected; /* DELIVERED: number of its records that the receiver refused */
	uint32_t status;   /* the receiver's status code; 0: none */
	const char *why;   /* NULL: the sink gave no reason */
};

struct sinkq_item {
	struct sinkq_item *next;
	struct batch *batch;
	uint64_t retry_ns; /* no offer before this time */
	unsigned attempts;
	unsigned suspects; /* answers SKEP_BATCH_SUSPECT */
	unsigned doubts;   /* answers RETRY or HOLD that may be about this batch */
	unsigned blamed;   /* of a single record: times that it failed and then another batch was acknowledged */
	bool in_flight, failed; /* failed: since the last ACK of another batch */
};

struct sinkq {
	struct sinkq_item *first, **last;
	size_t n, in_flight, bytes;
	uint32_t max_in_flight;
	bool pumping, paused;
	bool held;        /* the last answer was SKEP_BATCH_HOLD */
	char why[160];    /* reason of the last answer while the sink fails; "" */
	unsigned failing; /* answers since the last ACK or REJECT that were neither */
	bool any_order;   /* the receiver accepts batches in any order */
	unsigned refusals; /* answers REJECT since the last ACK */
	uint64_t quiet_ns; /* the receiver fails: the queue offers nothing before this time */
	uint64_t now_ns;  /* time of the latest pump */
	uint64_t retries; /* offers that failed and will be repeated */
	uint64_t sent_bytes;
	uint64_t random;
	int (*submit)(void *arg, const struct skep_batch *);
	/* The batch leaves the queue; called before the queue unrefs the batch. */
	void (*settled)(void *arg, const struct batch *, const struct sinkq_fate *);
	void *submit_arg, *settled_arg;
};

void sinkq_init(struct sinkq *, uint32_t max_in_flight, int (*submit)(void *, const struct skep_batch *),
		void *submit_arg, void (*settled)(void *, const struct batch *, const struct sinkq_fate *),
		void *settled_arg);
int sinkq_push(struct sinkq *, struct batch *); /* takes a reference of its own; 0 or -ENOMEM */
void sinkq_pump(struct sinkq *, uint64_t now_ns); /* offers due batches */
uint64_t sinkq_next_ns(const struct sinkq *); /* 0: at once; SINKQ_NEVER: nothing waits for a time */
/* Processes the sink's answer; may be called from inside submit. -ENOENT: no such batch in flight. */
int sinkq_done(struct sinkq *, const struct skep_batch *, const struct skep_batch_answer *, uint64_t now_ns);
bool sinkq_drop_oldest(struct sinkq *); /* drops a batch as lost(queue); false: all batches are in flight */
/* drops batches born before born_ns that are not in flight, as lost(spool) */
void sinkq_drop_before(struct sinkq *, uint64_t born_ns);
void sinkq_kick(struct sinkq *);        /* forgets the backoff: the sink runs again */
void sinkq_pause(struct sinkq *, bool paused); /* a paused queue offers nothing */
/* A new instance replaces the stopped sink: the queue offers the batches in flight again. */
void sinkq_reclaim(struct sinkq *);
void sinkq_abandon(struct sinkq *);     /* drops all batches as lost(sink). Only when the sink has stopped. */
/* the number of batches that failed so often that others may pass them */
size_t sinkq_suspects(const struct sinkq *);
bool sinkq_refused(const struct sinkq *); /* the receiver refuses everything */
uint64_t sinkq_oldest_id(const struct sinkq *); /* UINT64_MAX: empty */

#endif
