/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery.c - delivery as a whole, from its start to its end: offers batches to the sinks, in time.
 */
#include "core/base/magic.h"
#include "core/delivery/delivery_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int delivery_host_name(struct delivery *o, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	delivery_close_all(o); /* their records were made under the name before */
	free((char *)(uintptr_t)o->origin.host_name);
	o->origin.host_name = copy;
	return 0;
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

int delivery_sink_add(struct delivery *o, const char *name, uint32_t max_in_flight,
		      int (*submit)(void *, const struct skep_batch *), void *arg, struct delivery_sink **ret)
{
	struct delivery_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->out = o;
	s->magic = MAGIC_delivery_sink;
	s->last_id = UINT64_MAX;
	s->serial = ++o->n_sinks_ever;
	s->name = name;
	sinkq_init(&s->queue, max_in_flight, submit, arg, settled, s);
	if (delivery_counts_resize(s, o->n_streams + 1) < 0) {
		delivery_sink_free(s);
		return -ENOMEM;
	}
	memset(s->reported, 0, (size_t)(o->n_streams + 1) * sizeof(*s->reported));
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
	uint64_t last = delivery_sink_retired(s) ? s->last_id : s->out->next_id - 1;

	if (s->out->spool)
		return s->begun && delivery_spool_cursor(s) >= (id < last ? id : last);
	return sinkq_oldest_id(&s->queue) > id;
}

size_t delivery_bytes(const struct delivery *o)
{
	return o->bytes;
}

