/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/sinkq.h - what one sink has still to take: batches in order, offered again with
 * exponential backoff and full jitter until it takes or refuses them.  Knows no loop: the
 * caller says what time it is and calls sinkq_pump when sinkq_next_ns has come.
 */
#ifndef SKEP_CORE_SINKQ_H
#define SKEP_CORE_SINKQ_H

#include <skep/plugin.h>

#include "core/batch.h"

#define SINKQ_NEVER UINT64_MAX
#define SINKQ_DELIVERED 0 /* a batch's fate: this, or an enum skep_loss */

struct sinkq_item {
	struct sinkq_item *next;
	struct batch *batch;
	uint64_t retry_ns; /* not before */
	unsigned attempts;
	bool in_flight;
};

struct sinkq {
	struct sinkq_item *first, **last;
	size_t n, in_flight, bytes;
	uint32_t max_in_flight;
	bool pumping, paused;
	uint64_t now_ns;  /* of the latest pump */
	uint64_t retries; /* offers that were answered by "not now" */
	uint64_t random;
	int (*submit)(void *arg, const struct skep_batch *);
	/* The batch leaves the queue; called before its reference goes. */
	void (*settled)(void *arg, const struct batch *, unsigned fate);
	void *submit_arg, *settled_arg;
};

void sinkq_init(struct sinkq *, uint32_t max_in_flight, int (*submit)(void *, const struct skep_batch *), void *submit_arg,
		void (*settled)(void *, const struct batch *, unsigned fate), void *settled_arg);
int sinkq_push(struct sinkq *, struct batch *); /* takes a reference of its own; 0 or -ENOMEM */
void sinkq_pump(struct sinkq *, uint64_t now_ns); /* offer what is due */
uint64_t sinkq_next_ns(const struct sinkq *); /* 0: at once; SINKQ_NEVER: nothing waits for a time */
/* The sink's answer; fine from inside submit. -ENOENT: no such batch in flight. */
int sinkq_done(struct sinkq *, const struct skep_batch *, enum skep_batch_result, uint64_t now_ns);
bool sinkq_drop_oldest(struct sinkq *); /* lost(queue); false: all that is left is in flight */
void sinkq_kick(struct sinkq *);        /* forget the backoff: the sink is there again */
void sinkq_pause(struct sinkq *, bool paused); /* while paused nothing is offered */
/* The sink has stopped and another takes its place: what was in flight is offered again. */
void sinkq_reclaim(struct sinkq *);
void sinkq_abandon(struct sinkq *);     /* everything left is lost(sink). Only when the sink has stopped. */
uint64_t sinkq_oldest_id(const struct sinkq *); /* UINT64_MAX: empty */

#endif
