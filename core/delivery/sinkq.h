/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/sinkq.h - what one sink has still to take: batches in order, offered again with
 * exponential backoff and full jitter until it takes or refuses them.  Knows no loop: the
 * caller says what time it is and calls sinkq_pump when sinkq_next_ns has come.
 *
 * While the sink fails, one batch alone is offered: many at once would only be as many failures, and a
 * receiver that has just come back meets one request of each host.
 *
 * There are two lanes, for what waited long and for what is new: each is in order, and the next one is
 * taken from them in turn.
 */
#ifndef SKEP_CORE_SINKQ_H
#define SKEP_CORE_SINKQ_H

#include <skep/plugin.h>

#include "core/delivery/batch.h"

#define SINKQ_NEVER UINT64_MAX
#define SINKQ_LANES 2u
#define SINKQ_DELIVERED 0 /* a batch's fate: this, or an enum skep_loss */
#define SINKQ_SUSPECTS 10 /* so many SKEP_BATCH_SUSPECT, and another one acknowledged: it is to blame */
/*
 * A batch that the receiver got and put off (403, 409, 502, a reset connection) so often lets others pass.  A sink that
 * needs its order waits longer: half an hour of the longest backoff, because an outage also looks like that.
 */
#define SINKQ_DOUBTS 10
#define SINKQ_DOUBTS_IN_ORDER 60
#define SINKQ_REFUSALS \
	16 /* so many refused in a row, none acknowledged: the receiver refuses everything, and the sink is held */
#define SINKQ_STUCK 16 /* so many batches of which each has failed so often: one of them is taken apart to find out */

/* What became of a batch. */
struct sinkq_fate {
	unsigned what;     /* SINKQ_DELIVERED, or an enum skep_loss */
	uint32_t rejected; /* DELIVERED: so many of its records the receiver refused */
	uint32_t status;   /* the receiver's; 0: none */
	const char *why;   /* NULL: nothing was said */
};

struct sinkq_item {
	struct sinkq_item *next;
	struct batch *batch;
	uint64_t retry_ns; /* not before */
	unsigned attempts;
	unsigned suspects; /* answers SKEP_BATCH_SUSPECT */
	unsigned doubts;   /* answers RETRY or HOLD that may be about this batch */
	unsigned blamed;   /* of one record: so often it failed again and another batch was taken */
	uint8_t lane;
	bool in_flight, failed; /* failed: since another one was acknowledged */
};

struct sinkq {
	struct sinkq_item *first, **last;
	size_t n, in_flight, bytes, in_lane[SINKQ_LANES];
	unsigned turn; /* the lane that comes first next time */
	uint32_t max_in_flight;
	bool pumping, paused;
	bool held;        /* the last answer was SKEP_BATCH_HOLD */
	char why[160];    /* of the last answer while it fails; "" */
	unsigned failing; /* answers since the last ACK or REJECT that were neither */
	bool takes;       /* the last answer was ACK or REJECT */
	bool any_order;   /* the receiver does not mind which batch comes first */
	unsigned refusals; /* answers REJECT since the last ACK */
	uint64_t quiet_ns; /* the receiver fails: nothing is offered before */
	uint64_t now_ns;  /* of the latest pump */
	uint64_t retries; /* offers that were answered by "not now" */
	uint64_t sent_bytes;
	uint64_t random;
	int (*submit)(void *arg, const struct skep_batch *);
	/* The batch leaves the queue; called before its reference goes. */
	void (*settled)(void *arg, const struct batch *, const struct sinkq_fate *);
	void *submit_arg, *settled_arg;
};

void sinkq_init(struct sinkq *, uint32_t max_in_flight, int (*submit)(void *, const struct skep_batch *),
		void *submit_arg, void (*settled)(void *, const struct batch *, const struct sinkq_fate *),
		void *settled_arg);
int sinkq_push(struct sinkq *, struct batch *, unsigned lane); /* takes a reference of its own; 0 or -ENOMEM */
void sinkq_join(struct sinkq *); /* moves all batches to lane 0 */
void sinkq_pump(struct sinkq *, uint64_t now_ns); /* offers due batches */
uint64_t sinkq_next_ns(const struct sinkq *); /* 0: at once; SINKQ_NEVER: nothing waits for a time */
/* The sink's answer; fine from inside submit. -ENOENT: no such batch in flight. */
int sinkq_done(struct sinkq *, const struct skep_batch *, const struct skep_batch_answer *, uint64_t now_ns);
bool sinkq_drop_oldest(struct sinkq *); /* lost(queue); false: all batches are in flight */
/* drops older batches that are not in flight: lost(spool) */
void sinkq_drop_before(struct sinkq *, uint64_t born_ns);
void sinkq_kick(struct sinkq *);        /* forget the backoff: the sink is there again */
void sinkq_pause(struct sinkq *, bool paused); /* while paused nothing is offered */
/* The sink has stopped and another takes its place: what was in flight is offered again. */
void sinkq_reclaim(struct sinkq *);
void sinkq_abandon(struct sinkq *);     /* everything left is lost(sink). Only when the sink has stopped. */
/* the number of batches that failed so often that others may pass them */
size_t sinkq_suspects(const struct sinkq *, unsigned lane);
bool sinkq_refused(const struct sinkq *); /* the receiver refuses everything */
uint64_t sinkq_oldest_id(const struct sinkq *, unsigned lane); /* UINT64_MAX: empty */

#endif
