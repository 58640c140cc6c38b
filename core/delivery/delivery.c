/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery.c - the open batches, the sinks' queues, the memory bound over all queues, the ledger.
 */
#include "core/base/magic.h"
#include "core/delivery/delivery_priv.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "spool/db.h"

struct delivery *delivery_new(const struct batch_origin *origin, uint64_t batch_age_ns, size_t max_bytes,
			      void (*wake)(void *arg), void *arg)
{
	struct delivery *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->origin = (struct batch_origin){ strdup(origin->boot_id), strdup(origin->host_name), strdup(origin->kernel) };
	o->age_ns = batch_age_ns;
	o->max_bytes = max_bytes;
	o->wake = wake;
	o->arg = arg;
	o->next_id = 1;
	o->last_sink = &o->sinks;
	return o->origin.boot_id && o->origin.host_name && o->origin.kernel ? o : delivery_free(o);
}

struct delivery *delivery_free(struct delivery *o)
{
	if (!o)
		return NULL;
	while (o->sinks) {
		struct delivery_sink *s = o->sinks;

		sinkq_abandon(&s->queue);
		o->sinks = s->next;
		delivery_sink_free(s);
	}
	batch_unref(o->open[0]);
	batch_unref(o->open[1]);
	delivery_spool_free(o);
	free(o->streams);
	free((char *)(uintptr_t)o->origin.boot_id);
	free((char *)(uintptr_t)o->origin.host_name);
	free((char *)(uintptr_t)o->origin.kernel);
	free(o);
	return NULL;
}

static void settled(void *arg, const struct batch *b, const struct sinkq_fate *fate)
{
	struct delivery_sink *s = MAGIC_OBJECT(delivery_sink, arg);

	if (s->keeping)
		return;
	if (fate->what == SKEP_LOSS_SINK && fate->why && s->out->spool)
		delivery_spool_dead(s->out, s, b, fate);
	for (uint32_t i = 0; i < b->pub.n; i++) {
		struct delivery_count *c = &s->counts[b->streams[i]];

		c->pending--;
		if (fate->what != SINKQ_DELIVERED)
			c->lost[fate->what]++;
		else if (i < fate->rejected)
			c->lost[SKEP_LOSS_SINK]++; /* the receiver reports how many, not which: take the first */
		else
			c->delivered++;
	}
}

/* Makes room for n streams; the last one is new. */
static int counts_resize(struct delivery_sink *s, int n)
{
	struct delivery_count *counts = realloc(s->counts, (size_t)n * sizeof(*counts));
	uint64_t(*told)[DELIVERY_LOSSES];

	if (!counts)
		return -ENOMEM;
	s->counts = counts;
	told = realloc(s->told, (size_t)n * sizeof(*told));
	if (!told)
		return -ENOMEM;
	memset(told[n - 1], 0, sizeof(told[n - 1]));
	s->told = told;
	return 0;
}

int delivery_sink_add(struct delivery *o, const char *name, uint32_t max_in_flight,
		      int (*submit)(void *, const struct skep_batch *), void *arg, struct delivery_sink **ret)
{
	struct delivery_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->out = o;
	s->magic = MAGIC_delivery_sink;
	s->serial = ++o->n_sinks_ever;
	s->name = name;
	sinkq_init(&s->queue, max_in_flight, submit, arg, settled, s);
	if (counts_resize(s, o->n_streams + 1) < 0) {
		delivery_sink_free(s);
		return -ENOMEM;
	}
	memset(s->told, 0, (size_t)(o->n_streams + 1) * sizeof(*s->told));
	for (int i = 0; i < o->n_streams; i++)
		s->counts[i] = (struct delivery_count){ .stream = o->streams[i], .sink = name };
	delivery_close_all(o); /* the open batches' records are not counted for the new sink */
	*o->last_sink = s;
	o->last_sink = &s->next;
	if (o->spool)
		delivery_spool_begin(o, s);
	*ret = s;
	return 0;
}

int delivery_stream_add(struct delivery *o, const struct skep_stream *stream)
{
	const struct skep_stream **streams;

	for (int i = 0; i < o->n_streams; i++)
		if (o->streams[i] == stream)
			return i;
	if (o->n_streams >= UINT16_MAX)
		return -E2BIG;
	if (o->spool && delivery_spool_stream(o, stream) < 0)
		return -ENOMEM;
	streams = realloc(o->streams, (size_t)(o->n_streams + 1) * sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	o->streams = streams;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (counts_resize(s, o->n_streams + 1) < 0)
			return -ENOMEM;
		s->counts[o->n_streams] = (struct delivery_count){ .stream = stream, .sink = s->name };
	}
	streams[o->n_streams] = stream;
	return o->n_streams++;
}

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

void delivery_count_lost(struct delivery_sink *s, const struct batch *b, enum skep_loss where)
{
	for (uint32_t i = 0; i < b->pub.n; i++) {
		s->counts[b->streams[i]].pending--;
		s->counts[b->streams[i]].lost[where]++;
	}
}

void delivery_offer(struct delivery_sink *s, struct batch *b, unsigned lane)
{
	if (sinkq_push(&s->queue, b, lane) < 0)
		delivery_count_lost(s, b, SKEP_LOSS_QUEUE);
}

void delivery_close_batch(struct delivery *o, unsigned kind)
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
	b->pub.realtime_offset_ns = clock_realtime_offset_ns();
	batch_account(b, &o->bytes);
	if (o->spool) {
		delivery_spool_take(o, b, kind);
		return;
	}
	for (struct delivery_sink *s = o->sinks; s; s = s->next)
		if (!s->retired)
			delivery_offer(s, b, 0);
	batch_unref(b);
	keep_bound(o);
	o->wake(o->arg);
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
	kept = *open && batch_add(*open, (uint16_t)stream, o->streams[stream], upid, time_ns, rec, context) == 0;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (s->retired)
			continue;
		s->counts[stream].seen++;
		if (kept)
			s->counts[stream].pending++;
		else
			s->counts[stream].lost[SKEP_LOSS_QUEUE]++;
	}
	if (*open && batch_full(*open))
		delivery_close_batch(o, kind);
	else if (first)
		o->wake(o->arg);
}

void delivery_lost(struct delivery *o, int stream, enum skep_loss where, uint64_t n)
{
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (s->retired)
			continue;
		s->counts[stream].seen += n;
		s->counts[stream].lost[where] += n;
	}
}

int delivery_done(struct delivery *o, struct delivery_sink *s, const struct skep_batch *b,
		  const struct skep_batch_answer *answer, uint64_t now_ns)
{
	int err = sinkq_done(&s->queue, b, answer, now_ns);

	o->wake(o->arg);
	return err;
}

void delivery_sink_kick(struct delivery_sink *s)
{
	sinkq_kick(&s->queue);
	s->out->wake(s->out->arg);
}

bool delivery_sink_failing(const struct delivery_sink *s)
{
	return s->queue.failing > 0;
}

void delivery_sink_abandon(struct delivery_sink *s)
{
	sinkq_abandon(&s->queue);
}

void delivery_close_all(struct delivery *o)
{
	/* A life-cycle record ends a run: the run's samples must arrive before it. */
	delivery_close_batch(o, 1);
	delivery_close_batch(o, 0);
}

void delivery_flush(struct delivery *o)
{
	delivery_close_all(o);
	delivery_commit_soon(o);
}

void delivery_tick(struct delivery *o, uint64_t now_ns)
{
	for (unsigned kind = 0; kind < 2; kind++)
		if (o->open[kind] && now_ns >= o->open[kind]->born_ns + o->age_ns)
			delivery_close_all(o);
	if (o->spool)
		delivery_spool_tick(o, now_ns);
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (s->terms.max_age_ns && now_ns > s->terms.max_age_ns)
			sinkq_drop_before(&s->queue, now_ns - s->terms.max_age_ns);
		sinkq_pump(&s->queue, now_ns);
	}
}

uint64_t delivery_next_ns(const struct delivery *o)
{
	uint64_t next = o->spool ? delivery_spool_next_ns(o) : UINT64_MAX;

	for (unsigned kind = 0; kind < 2; kind++)
		if (o->open[kind] && o->open[kind]->born_ns + o->age_ns < next)
			next = o->open[kind]->born_ns + o->age_ns;
	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		if (sinkq_next_ns(&s->queue) < next)
			next = sinkq_next_ns(&s->queue);
	return next;
}

uint64_t delivery_last_id(const struct delivery *o)
{
	return o->next_id - 1;
}

bool delivery_sink_settled(const struct delivery_sink *s, uint64_t id)
{
	uint64_t last = s->out->next_id - 1;

	if (s->out->spool)
		return s->begun && delivery_spool_cursor(s) >= (id < last ? id : last);
	return sinkq_oldest_id(&s->queue, 0) > id;
}

uint64_t delivery_lost_total(const struct delivery *o, enum skep_loss where)
{
	uint64_t n = o->gone_lost[where];

	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		for (int i = 0; i < o->n_streams; i++)
			n += s->counts[i].lost[where];
	return n;
}

size_t delivery_bytes(const struct delivery *o)
{
	return o->bytes;
}

size_t delivery_counts(const struct delivery *o, struct delivery_count *ret, size_t room)
{
	size_t n = 0;

	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		for (int i = 0; i < o->n_streams; i++, n++)
			if (n < room)
				ret[n] = s->counts[i];
	return n;
}
