/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a batch from submit() through encoding and sending.  The sink encodes a batch only at its first offer, because
 * encoding adds the records to running sums.  It keeps the encoded bytes until the batch is done, however often the
 * plugin host offers the batch.  Of the three requests it repeats only requests that the receiver has not accepted.
 */
#include <errno.h>
#include <skep/sink/batch_key.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/state.h"

/* ---- places --------------------------------------------------------------------------------- */

void flight_reset(struct flight *f)
{
	for (int s = 0; s < SIGNALS; s++)
		free(f->parts[s].data);
	free(f->key);
	*f = (struct flight){ .sink = f->sink };
}

/* Returns a free flight, else reuses the flight that was parked first. NULL: every flight is in use. */
static struct flight *flight_take(struct otlp *o)
{
	struct flight *oldest = NULL;

	for (size_t i = 0; i < FLIGHTS; i++) {
		struct flight *f = &o->flights[i];

		if (f->state == FLIGHT_FREE)
			return f;
		if (f->state == FLIGHT_PARKED && (!oldest || f->order < oldest->order))
			oldest = f;
	}
	if (oldest) {
		summed_add(o, oldest);
		flight_reset(oldest);
	}
	return oldest;
}

void flights_clear(struct otlp *o)
{
	for (size_t i = 0; i < FLIGHTS; i++)
		flight_reset(&o->flights[i]);
	for (size_t i = 0; i < SUMMED; i++) {
		free(o->summed[i].key);
		o->summed[i] = (struct summed) { 0 };
	}
	o->is_encoding = false;
}

static void replied(void *arg, struct http_reply *reply, enum signal s)
{
	struct flight *f = arg;

	f->n_sent--;
	part_answered(f, s, reply);
	if (f->n_sent == 0)
		flight_over(f);
}

static void replied_traces(void *arg, struct http_reply *reply)
{
	replied(arg, reply, SIGNAL_TRACES);
}

static void replied_metrics(void *arg, struct http_reply *reply)
{
	replied(arg, reply, SIGNAL_METRICS);
}

static void replied_logs(void *arg, struct http_reply *reply)
{
	replied(arg, reply, SIGNAL_LOGS);
}

/* ---- sending ---------------------------------------------------------------------------------- */

static void flight_send(struct flight *f)
{
	static const http_done_cb done[SIGNALS] = {
		[SIGNAL_TRACES] = replied_traces,
		[SIGNAL_METRICS] = replied_metrics,
		[SIGNAL_LOGS] = replied_logs,
	};
	struct otlp *o = f->sink;

	f->state = FLIGHT_SENDING;
	f->answer = (struct skep_batch_answer){ 0 };
	f->why[0] = '\0';
	for (int s = 0; s < SIGNALS; s++) {
		struct part *p = &f->parts[s];

		if (p->state != PART_WAITS)
			continue;
		if (skep_http_send(o->http[s], &(struct http_request) {
						       .content_type = "application/x-protobuf",
						       .encoding = p->encoding,
						       .body = p->data,
						       .len = p->len,
						       .done = done[s],
						       .arg = f,
					       }) == 0) {
			f->n_sent++;
		} else {
			f->answer.result = SKEP_BATCH_RETRY;
			flight_say(f->why, (enum signal)s, "the request could not be begun", NULL);
		}
	}
	if (f->n_sent == 0)
		flight_over(f);
}

static int keep_part(struct otlp *o, struct flight *f, enum signal s)
{
	struct part *p = &f->parts[s];
	const struct pb *pb = &o->encoder.out[s];
	const void *data;
	size_t len;
	int err;

	p->items = o->encoder.n_out[s];
	if (!pb_len(pb))
		return 0;
	if (pb_len(pb) > o->of[s].http.max_request) {
		f->largest = pb_len(pb) > f->largest ? pb_len(pb) : f->largest;
		return 0;
	}
	p->encoding = skep_http_encoding_of(o->of[s].http.compression);
	err = skep_http_body_encode(&o->body, p->encoding, pb_data(pb), pb_len(pb), &data, &len);
	if (err)
		return err;
	p->data = malloc(len ? len : 1);
	if (!p->data)
		return -ENOMEM;
	memcpy(p->data, data, len);
	p->len = len;
	p->state = PART_WAITS;
	return 0;
}

/* Encodes the resource when the batch is from another boot than the last one; only batches left in the spool are. */
static int make_resource(struct otlp *o, const struct skep_batch *b)
{
	char *of = NULL, why[256];
	int err;

	if (asprintf(&of, "%s %s %s", b->boot_id, b->host_name, b->kernel) < 0)
		return -ENOMEM;
	if (o->resource_of && strcmp(o->resource_of, of) == 0) {
		free(of);
		return 0;
	}
	/* open() has checked the resource already, so the only possible error is -ENOMEM */
	err = settings_resource(&o->settings, b, &o->encoder.resource, why, sizeof(why));
	free(o->resource_of);
	o->resource_of = err ? NULL : of;
	if (err)
		free(of);
	return err;
}

static void encode(void *arg)
{
	struct flight *f = arg;
	struct otlp *o = f->sink;

	for (int s = 0; s < SIGNALS; s++)
		o->encoder.wanted[s] = o->wanted[s] && !f->skip[s];
	f->err = make_resource(o, f->batch);
	if (!f->err)
		f->err = encoder_batch(&o->encoder, f->batch, !f->was_summed);
	f->left_out = o->encoder.spans_left_out;
	memcpy(f->n_records, o->encoder.n_records, sizeof(f->n_records));
	for (int s = 0; s < SIGNALS && !f->err; s++)
		f->err = keep_part(o, f, (enum signal)s);
}

static void encode_next(struct otlp *o);

static void encoded(struct skep_instance *i, void *arg)
{
	struct flight *f = arg;
	struct otlp *o = f->sink;

	(void)i;
	o->is_encoding = false;
	if (o->left_out && f->left_out)
		o->host->counter_add(o->left_out, f->left_out);
	if (o->overflowed)
		o->host->counter_set(o->overflowed, o->encoder.metrics.groups.overflowed);
	if (f->err) {
		/* Some records are in the sums already: a later offer must not add them again. */
		f->answer = (struct skep_batch_answer){ .result = SKEP_BATCH_RETRY };
		snprintf(f->why, sizeof(f->why), "%s", f->err == -ENOMEM ? "out of memory" : "compression failed");
		summed_add(o, f);
		flight_answer(f, FLIGHT_FREE);
	} else if (f->largest) {
		f->answer = (struct skep_batch_answer){ .result = SKEP_BATCH_SPLIT };
		snprintf(f->why, sizeof(f->why), "a body of %zu bytes is larger than max_request", f->largest);
		summed_add(o, f);
		flight_answer(f, FLIGHT_FREE);
	} else {
		flight_send(f);
	}
	encode_next(o);
}

/* Encodes one batch at a time, in the order of submission, because sums continue from one batch to the next. */
static void encode_next(struct otlp *o)
{
	const struct summed *before;
	struct flight *first = NULL;

	for (size_t i = 0; i < FLIGHTS && !o->is_encoding; i++) {
		struct flight *f = &o->flights[i];

		if (f->state == FLIGHT_QUEUED && (!first || f->order < first->order))
			first = f;
	}
	if (!first)
		return;
	before = summed_find(o, first->key);
	first->was_summed = before;
	for (int s = 0; s < SIGNALS && before; s++)
		first->skip[s] = before->done[s];
	first->state = FLIGHT_ENCODING;
	o->is_encoding = true;
	if (o->host->work(o->inst, encode, encoded, first) == 0)
		return;
	/* The instance is stopping, or no thread started: the plugin host keeps the batch. */
	o->is_encoding = false;
	first->answer = (struct skep_batch_answer){ .result = SKEP_BATCH_RETRY };
	snprintf(first->why, sizeof(first->why), "cannot start a worker thread");
	flight_answer(first, FLIGHT_FREE);
}

int flight_submit(struct otlp *o, const struct skep_batch *batch)
{
	struct flight *f;

	for (size_t i = 0; i < FLIGHTS; i++) {
		f = &o->flights[i];
		if (f->state != FLIGHT_PARKED || !skep_batch_key_is_part(batch->key, f->key))
			continue;
		if (strcmp(f->key, batch->key) == 0) {
			f->batch = batch;
			flight_send(f);
			return 0;
		}
		summed_add(o, f); /* the plugin host has split the batch */
		flight_reset(f);
	}
	f = flight_take(o);
	if (!f)
		return o->host->fail(o->inst, -EAGAIN, "%d batches are in flight already", FLIGHTS);
	f->key = strdup(batch->key);
	if (!f->key)
		return o->host->fail(o->inst, -ENOMEM, "out of memory");
	f->state = FLIGHT_QUEUED;
	f->batch = batch;
	f->order = ++o->clock;
	encode_next(o);
	return 0;
}
