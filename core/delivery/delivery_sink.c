/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_sink.c - replaces, pauses and removes sinks while records flow.
 */
#include <stdlib.h>

#include "core/delivery/delivery_priv.h"

void delivery_sink_free(struct delivery_sink *s)
{
	free(s->counts);
	free(s->reported);
	s->magic = 0;
	free(s);
}

void delivery_sink_retire(struct delivery *o, struct delivery_sink *s)
{
	delivery_flush(o);
	s->last_id = o->next_id - 1; /* what waits for a commit is still its own */
	delivery_commit_soon(o);
}

void delivery_sink_lose(struct delivery *o, struct delivery_sink *s)
{
	sinkq_abandon(&s->queue);
	if (o->spool && !s->lost)
		delivery_spool_gone(o, s);
	s->lost = true;
}

void delivery_sink_remove(struct delivery *o, struct delivery_sink *s)
{
	struct delivery_sink **at = &o->sinks;

	delivery_sink_lose(o, s);
	for (int i = 0; i < o->n_streams; i++)
		for (int where = 0; where < DELIVERY_LOSSES; where++)
			o->gone_lost[where] += s->counts[i].lost[where];
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (o->last_sink == &s->next)
		o->last_sink = at;
	delivery_sink_free(s);
}

void delivery_sink_move(struct delivery_sink *s, const char *name, uint32_t max_in_flight, void *arg)
{
	const char *old = s->name;

	s->name = name;
	if (s->out->spool)
		delivery_spool_rename(s->out, s, old);
	for (int i = 0; i < s->out->n_streams; i++)
		s->counts[i].sink = name;
	sinkq_reclaim(&s->queue);
	s->queue.max_in_flight = max_in_flight ? max_in_flight : 1;
	s->queue.submit_arg = arg;
}

void delivery_sink_hold(const struct delivery_sink *s, struct batch ***ret, size_t *ret_n)
{
	struct batch **held = calloc(s->queue.in_flight ? s->queue.in_flight : 1, sizeof(struct batch *));
	size_t n = 0;

	for (const struct sinkq_item *item = s->queue.first; item; item = item->next) {
		if (!item->in_flight)
			continue;
		batch_ref(item->batch);
		if (held)
			held[n++] = item->batch;
	}
	*ret = held;
	*ret_n = n;
}

void delivery_sink_terms(struct delivery_sink *s, const struct sink_terms *terms)
{
	s->terms = *terms;
	s->queue.any_order = terms->any_order;
}

void delivery_sink_pause(struct delivery_sink *s, bool paused)
{
	sinkq_pause(&s->queue, paused);
	s->out->wake(s->out->arg);
}

bool delivery_sink_busy(const struct delivery_sink *s)
{
	return s->queue.in_flight > 0;
}

struct delivery_queue delivery_sink_queue(const struct delivery_sink *s)
{
	return (struct delivery_queue){
		.batches = s->queue.n,
		.bytes = s->queue.bytes,
		.in_flight = s->queue.in_flight,
		.retries = s->queue.retries,
		.sent_bytes = s->queue.sent_bytes,
		.held = s->queue.held,
		.why = s->queue.why,
		.lag_records = s->lag.records,
		.lag_bytes = s->lag.batches_bytes,
		.lag_oldest_ns = s->lag.oldest_ns,
	};
}

