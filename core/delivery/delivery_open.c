/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_open.c - the open batches: adds records, closes a batch, and gives it to the sinks' queues or
 * to the next commit of the spool.
 */
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/delivery/delivery_spool_priv.h"

#define TEXT_CROWDED 1024u /* bytes of a text while half of the memory for batches is taken: as plugins/proc does */
#define COMMIT_BYTES (2u << 20) /* of closed batches that wait: a commit starts at once */

/* Over the bound, drops the oldest batch of the fullest queue: the stuck sink loses records, not the others. */
static void keep_bound(struct delivery *o)
{
	while (o->bytes > o->max_bytes) {
		struct delivery_sink *fullest = NULL;

		for (struct delivery_sink *s = o->sinks; s; s = s->next)
			if (s->queue.n > s->queue.in_flight && (!fullest || s->queue.bytes > fullest->queue.bytes))
				fullest = s;
		if (!fullest || !sinkq_drop_oldest(&fullest->queue))
			return; /* all other batches are in flight; each sink's max_in_flight bounds them */
	}
}

/* Gives the closed batch, and the reference to it, to the next commit. */
static void spool_take(struct delivery *o, struct batch *b, unsigned kind)
{
	struct delivery_spool *sp = o->spool;
	struct commit_batch *c = calloc(1, sizeof(*c));

	if (!c) {
		for (struct delivery_sink *s = o->sinks; s; s = s->next)
			if (b->pub.id <= s->last_id)
				delivery_count_lost(s, b, SKEP_LOSS_SPOOL);
		batch_unref(b);
		return;
	}
	c->batch = b;
	c->kind = kind;
	*sp->last_waiting = c;
	sp->last_waiting = &c->next;
	sp->n_waiting++;
	sp->waiting_bytes += b->bytes;
	if (!sp->waiting_since_ns || b->born_ns < sp->waiting_since_ns)
		sp->waiting_since_ns = b->born_ns;
	if (sp->waiting_bytes > COMMIT_BYTES)
		sp->soon = true;
	o->wake(o->arg);
}

static void close_batch(struct delivery *o, unsigned kind)
{
	struct batch *b = o->open[kind];

	if (!b)
		return;
	o->open[kind] = NULL;
	if (b->pub.n == 0) { /* no memory for its first record */
		batch_unref(b);
		return;
	}
	batch_seal(b, o->next_id++);
	b->pub.realtime_offset_ns = o->realtime_offset_ns ? o->realtime_offset_ns : clock_realtime_offset_ns();
	batch_account(b, &o->bytes);
	if (o->spool) {
		spool_take(o, b, kind);
		return;
	}
	for (struct delivery_sink *s = o->sinks; s; s = s->next)
		if (b->pub.id <= s->last_id)
			delivery_offer(s, b);
	batch_unref(b);
	keep_bound(o);
	o->wake(o->arg);
}

void delivery_close_all(struct delivery *o)
{
	/* A life-cycle record ends a run: the run's samples must arrive before it. */
	close_batch(o, 1);
	close_batch(o, 0);
}

/*
 * A user can end thousands of processes at once, each with 32 KiB of arguments of its own: faster than a disk takes
 * them, which would cost the records of all.
 */
static bool is_crowded(const struct delivery *o)
{
	return o->spool ? o->spool->waiting_bytes > WAITING_BYTES / 2 : o->bytes > o->max_bytes / 2;
}

void delivery_emit(struct delivery *o, int stream, const struct skep_upid *upid, uint64_t time_ns, const void *rec,
	      const struct skep_context *context)
{
	/* A full spool drops batches of samples first, so samples have batches of their own. */
	unsigned kind = o->spool && (o->streams[stream]->flags & SKEP_STREAM_SAMPLE) ? SPOOL_SAMPLE : SPOOL_LIFE;
	struct batch **open = &o->open[kind];
	bool first = !*open, kept;

	if (!o->sinks)
		return;
	if (first)
		*open = batch_new(&o->origin, clock_boot_ns());
	if (*open)
		(*open)->text_most = is_crowded(o) ? TEXT_CROWDED : UINT32_MAX;
	kept = *open && batch_add(*open, (uint16_t)stream, o->streams[stream], upid, time_ns, rec, context) == 0;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (delivery_sink_retired(s))
			continue;
		s->counts[stream].seen++;
		if (kept)
			s->counts[stream].pending++;
		else
			s->counts[stream].lost[SKEP_LOSS_QUEUE]++;
	}
	if (*open && batch_full(*open))
		close_batch(o, kind);
	else if (first)
		o->wake(o->arg);
}

void delivery_realtime_offset(struct delivery *o, int64_t ns)
{
	o->realtime_offset_ns = ns;
}

void delivery_commit_soon(struct delivery *o)
{
	if (!o->spool || o->spool->soon)
		return;
	o->spool->soon = true;
	if (!o->spool->waiting_since_ns)
		o->spool->waiting_since_ns = clock_boot_ns();
	o->wake(o->arg);
}

bool delivery_closed_before(const struct delivery *o, uint64_t ns)
{
	for (unsigned kind = 0; kind < 2; kind++)
		if (o->open[kind] && o->open[kind]->born_ns <= ns)
			return false;
	return true;
}

void delivery_flush(struct delivery *o)
{
	delivery_close_all(o);
	delivery_commit_soon(o);
}
