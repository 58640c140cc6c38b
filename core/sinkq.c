/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/sinkq.c - a sink's queue.
 */
#include "core/sinkq.h"

#include <stdlib.h>
#include <sys/random.h>

#define BACKOFF_FIRST_NS 100000000u   /* 0.1 s */
#define BACKOFF_MOST_NS 60000000000u  /* 60 s */

void sinkq_init(struct sinkq *q, uint32_t max_in_flight, int (*submit)(void *, const struct skep_batch *), void *submit_arg,
		void (*settled)(void *, const struct batch *, unsigned fate), void *settled_arg)
{
	*q = (struct sinkq){
		.max_in_flight = max_in_flight ? max_in_flight : 1,
		.submit = submit,
		.submit_arg = submit_arg,
		.settled = settled,
		.settled_arg = settled_arg,
	};
	q->last = &q->first;
	if (getrandom(&q->random, sizeof(q->random), GRND_NONBLOCK) != (ssize_t)sizeof(q->random))
		q->random = (uint64_t)(uintptr_t)q;
}

int sinkq_push(struct sinkq *q, struct batch *b)
{
	struct sinkq_item *item = calloc(1, sizeof(*item));

	if (!item)
		return -ENOMEM;
	item->batch = batch_ref(b);
	*q->last = item;
	q->last = &item->next;
	q->n++;
	q->bytes += b->bytes;
	return 0;
}

static void take_out(struct sinkq *q, struct sinkq_item **at, unsigned fate)
{
	struct sinkq_item *item = *at;

	*at = item->next;
	if (q->last == &item->next)
		q->last = at;
	q->n--;
	q->bytes -= item->batch->bytes;
	if (item->in_flight)
		q->in_flight--;
	q->settled(q->settled_arg, item->batch, fate);
	batch_unref(item->batch);
	free(item);
}

static struct sinkq_item **find(struct sinkq *q, const struct skep_batch *pub)
{
	for (struct sinkq_item **at = &q->first; *at; at = &(*at)->next)
		if (&(*at)->batch->pub == pub)
			return at;
	return NULL;
}

/*
 * Full jitter: anywhere in [0, ceiling], so that many hosts that lost one receiver at the
 * same moment do not come back to it at the same moment.
 */
static void back_off(struct sinkq *q, struct sinkq_item *item, uint64_t now_ns)
{
	uint64_t ceiling = BACKOFF_FIRST_NS;

	for (unsigned i = 0; i < item->attempts && ceiling < BACKOFF_MOST_NS; i++)
		ceiling *= 2;
	if (ceiling > BACKOFF_MOST_NS)
		ceiling = BACKOFF_MOST_NS;
	q->random = q->random * 6364136223846793005u + 1442695040888963407u;
	item->in_flight = false;
	q->in_flight--;
	item->attempts++;
	/* Never at once: a sink that answers RETRY from inside submit() must not spin. */
	item->retry_ns = now_ns + 1000000 + (q->random >> 20) % ceiling;
	q->retries++;
}

void sinkq_pump(struct sinkq *q, uint64_t now_ns)
{
	struct sinkq_item *item = q->first;

	if (q->pumping || q->paused) /* pumping: answered from inside submit(), and the loop below goes on by itself */
		return;
	q->pumping = true;
	q->now_ns = now_ns;
	while (item && q->in_flight < q->max_in_flight) {
		const struct skep_batch *pub = &item->batch->pub;
		struct sinkq_item **at;

		if (item->in_flight) {
			item = item->next;
			continue;
		}
		if (item->retry_ns > now_ns)
			break; /* in order: nothing overtakes one that waits */
		item->in_flight = true;
		q->in_flight++;
		if (q->submit(q->submit_arg, pub) < 0) {
			at = find(q, pub); /* it may have answered as well, and the item be gone */
			if (at && (*at)->in_flight)
				back_off(q, *at, now_ns);
		}
		/* submit() may have settled any: begin again, those in flight are few */
		item = q->first;
	}
	q->pumping = false;
}

uint64_t sinkq_next_ns(const struct sinkq *q)
{
	if (q->paused || q->in_flight >= q->max_in_flight)
		return SINKQ_NEVER;
	for (const struct sinkq_item *item = q->first; item; item = item->next)
		if (!item->in_flight)
			return item->retry_ns;
	return SINKQ_NEVER;
}

int sinkq_done(struct sinkq *q, const struct skep_batch *pub, enum skep_batch_result result, uint64_t now_ns)
{
	struct sinkq_item **at = find(q, pub);

	if (!at || !(*at)->in_flight)
		return -ENOENT;
	if (result == SKEP_BATCH_ACK)
		take_out(q, at, SINKQ_DELIVERED);
	else if (result == SKEP_BATCH_REJECT)
		take_out(q, at, SKEP_LOSS_SINK);
	else
		back_off(q, *at, now_ns);
	return 0;
}

bool sinkq_drop_oldest(struct sinkq *q)
{
	for (struct sinkq_item **at = &q->first; *at; at = &(*at)->next)
		if (!(*at)->in_flight) {
			take_out(q, at, SKEP_LOSS_QUEUE);
			return true;
		}
	return false;
}

void sinkq_kick(struct sinkq *q)
{
	for (struct sinkq_item *item = q->first; item; item = item->next)
		item->retry_ns = 0;
}

void sinkq_pause(struct sinkq *q, bool paused)
{
	q->paused = paused;
}

void sinkq_reclaim(struct sinkq *q)
{
	for (struct sinkq_item *item = q->first; item; item = item->next) {
		item->in_flight = false;
		item->retry_ns = 0;
	}
	q->in_flight = 0;
}

void sinkq_abandon(struct sinkq *q)
{
	while (q->first)
		take_out(q, &q->first, SKEP_LOSS_SINK);
}

uint64_t sinkq_oldest_id(const struct sinkq *q)
{
	return q->first ? q->first->batch->pub.id : UINT64_MAX;
}
