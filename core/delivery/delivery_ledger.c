/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_ledger.c - the streams, and each sink's counts of their records.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/delivery/delivery_spool_priv.h"

int delivery_counts_resize(struct delivery_sink *s, int n)
{
	struct delivery_count *counts = realloc(s->counts, (size_t)n * sizeof(*counts));
	uint64_t(*reported)[DELIVERY_LOSSES];

	if (!counts)
		return -ENOMEM;
	s->counts = counts;
	reported = realloc(s->reported, (size_t)n * sizeof(*reported));
	if (!reported)
		return -ENOMEM;
	memset(reported[n - 1], 0, sizeof(reported[n - 1]));
	s->reported = reported;
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
	if (o->spool && commit_stream_known(o->spool->streams, stream) < 0)
		return -ENOMEM;
	streams = realloc(o->streams, (size_t)(o->n_streams + 1) * sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	o->streams = streams;
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (delivery_counts_resize(s, o->n_streams + 1) < 0)
			return -ENOMEM;
		s->counts[o->n_streams] = (struct delivery_count){ .stream = stream, .sink = s->name };
	}
	streams[o->n_streams] = stream;
	return o->n_streams++;
}

void delivery_stream_swap(struct delivery *o, int stream, const struct skep_stream *to)
{
	o->streams[stream] = to;
	if (o->spool) /* without memory, restored batches use a copy of the stream */
		commit_stream_known(o->spool->streams, to);
	for (struct delivery_sink *s = o->sinks; s; s = s->next)
		s->counts[stream].stream = to;
}

void delivery_count_lost(struct delivery_sink *s, const struct batch *b, enum skep_loss where)
{
	for (uint32_t i = 0; i < b->pub.n; i++) {
		s->counts[b->streams[i]].pending--;
		s->counts[b->streams[i]].lost[where]++;
	}
}

void delivery_offer(struct delivery_sink *s, struct batch *b)
{
	if (sinkq_push(&s->queue, b) < 0)
		delivery_count_lost(s, b, SKEP_LOSS_QUEUE);
}

void delivery_lost(struct delivery *o, int stream, enum skep_loss where, uint64_t n)
{
	for (struct delivery_sink *s = o->sinks; s; s = s->next) {
		if (delivery_sink_retired(s))
			continue;
		s->counts[stream].seen += n;
		s->counts[stream].lost[where] += n;
	}
}

uint64_t delivery_lost_total(const struct delivery *o, enum skep_loss where)
{
	uint64_t n = o->gone_lost[where];

	for (const struct delivery_sink *s = o->sinks; s; s = s->next)
		for (int i = 0; i < o->n_streams; i++)
			n += s->counts[i].lost[where];
	return n;
}

void delivery_losses(struct delivery *o,
		     void (*cb)(void *arg, const char *sink, const struct skep_stream *, enum skep_loss where,
				uint64_t n),
		     void *arg)
{
	/* each probe reports SKEP_LOSS_KERNEL itself */
	static const enum skep_loss here[] = { SKEP_LOSS_QUEUE, SKEP_LOSS_SPOOL, SKEP_LOSS_SINK };

	for (struct delivery_sink *s = o->sinks; s; s = s->next)
		for (int i = 0; i < o->n_streams; i++)
			for (size_t k = 0; k < sizeof(here) / sizeof(here[0]); k++) {
				uint64_t n = s->counts[i].lost[here[k]] - s->reported[i][here[k]];

				if (n == 0)
					continue;
				/* before cb: cb may emit, and an emit may lose a record */
				s->reported[i][here[k]] += n;
				cb(arg, s->name, s->counts[i].stream, here[k], n);
			}
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
