/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combines the receiver's answers to a batch's requests into one answer for the plugin host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/reply.h"
#include "sinks/otlp/state.h"

void flight_answer(struct flight *f, enum flight_state then)
{
	struct otlp *o = f->sink;
	const struct skep_batch *batch = f->batch;
	struct skep_batch_answer answer = f->answer;
	char why[sizeof(f->why)];

	memcpy(why, f->why, sizeof(why));
	answer.size = sizeof(answer);
	answer.why = *why ? why : NULL;
	f->batch = NULL;
	f->state = then;
	f->order = ++o->clock;
	if (then == FLIGHT_FREE)
		flight_reset(f);
	o->host->batch_answer(o->inst, batch, &answer); /* last: the plugin host may submit the next batch inside */
}

/* Orders answers about unfinished parts: the batch gets the answer for which an early retry helps least. */
static int weight(uint32_t result)
{
	static const int weights[] = {
		[SKEP_BATCH_RETRY] = 1, [SKEP_BATCH_SUSPECT] = 2, [SKEP_BATCH_SPLIT] = 3, [SKEP_BATCH_HOLD] = 4,
	};

	return result < sizeof(weights) / sizeof(weights[0]) ? weights[result] : 0;
}

/*
 * The records of which the receiver refused everything: span, points and log record.  A receiver that refuses a part of
 * a request says how many items, but not which: the sink takes records that are in no other signal first.
 */
static uint32_t records_lost(const struct flight *f)
{
	uint64_t left[SIGNALS], lost = 0;

	for (int s = 0; s < SIGNALS; s++)
		left[s] = f->parts[s].state == PART_REFUSED ? UINT64_MAX : f->parts[s].refused;
	for (unsigned set = 1; set < SIGNAL_SETS; set++) {
		uint64_t n = f->n_records[set];

		for (int s = 0; s < SIGNALS; s++)
			if (set & 1u << s && left[s] < n)
				n = left[s];
		for (int s = 0; s < SIGNALS; s++)
			if (set & 1u << s && left[s] != UINT64_MAX)
				left[s] -= n;
		lost += n;
	}
	return (uint32_t)lost;
}

/* Answers the batch after the last of its requests has an answer. */
void flight_over(struct flight *f)
{
	struct otlp *o = f->sink;
	unsigned n[PART_REFUSED + 1] = { 0 };
	uint64_t refused = 0;

	for (int s = 0; s < SIGNALS; s++) {
		n[f->parts[s].state]++;
		refused += f->parts[s].refused;
	}
	if (n[PART_WAITS] && f->answer.result == SKEP_BATCH_SPLIT) {
		summed_add(o, f);
		flight_answer(f, FLIGHT_FREE);
		return;
	}
	if (n[PART_WAITS]) {
		flight_answer(f, FLIGHT_PARKED);
		return;
	}
	/*
	 * When one signal's receiver refuses its part for good, the sink does not send the accepted parts of the other
	 * signals again: only the refused part is lost.
	 */
	f->answer.result = n[PART_REFUSED] && !n[PART_TAKEN] ? SKEP_BATCH_REJECT : SKEP_BATCH_ACK;
	f->answer.retry_after_ns = 0;
	f->answer.rejected = f->answer.result == SKEP_BATCH_ACK ? records_lost(f) : 0;
	if (refused)
		memcpy(f->why, f->why_refused, sizeof(f->why));
	else
		f->why[0] = '\0';
	/* the plugin host logs refused records, and the reason with them */
	if (refused && f->answer.result == SKEP_BATCH_ACK && !f->answer.rejected)
		o->host->log(o->inst, SKEP_LOG_WARNING, "%s; other signals have the records", f->why);
	if (o->refused)
		o->host->counter_add(o->refused, refused);
	flight_answer(f, FLIGHT_FREE);
}

void flight_say(char why[512], enum signal s, const char *what, const char *words)
{
	snprintf(why, 512, "%s: %s%s%s", signal_names[s], what, words && *words ? ": " : "", words ? words : "");
}

static void part_over(struct part *p, enum part_state state, uint64_t refused)
{
	free(p->data);
	p->data = NULL;
	p->state = state;
	p->refused = refused < p->items ? (uint32_t)refused : p->items;
}

static void part_taken(struct flight *f, enum signal s, const struct reply *r)
{
	struct otlp *o = f->sink;
	struct part *p = &f->parts[s];

	if (r->rejected)
		flight_say(f->why_refused, s, "the receiver has refused some", r->words);
	else if (*r->words)
		o->host->log(o->inst, SKEP_LOG_WARNING, "%s: the receiver warns: %s", signal_names[s], r->words);
	part_over(p, PART_TAKEN, r->rejected);
	if (o->items[s])
		o->host->counter_add(o->items[s], p->items - p->refused);
}

void part_answered(struct flight *f, enum signal s, struct http_reply *reply)
{
	const char *what = reply->answer.why ? reply->answer.why : "refused", *words = NULL;
	bool is_refused = reply->answer.result == SKEP_BATCH_REJECT;
	struct reply r = { 0 };
	char text[160];

	f->answer.sent_bytes += reply->answer.sent_bytes;
	if (reply->answer.result == SKEP_BATCH_ACK) {
		if (!reply->cut && reply_read(reply->content_type, reply->body, reply->len, &r)) {
			part_taken(f, s, &r);
			return;
		}
		reply->answer.result = SKEP_BATCH_HOLD;
		snprintf(text, sizeof(text), "not the answer of an OTLP receiver, but content type \"%.80s\"",
			 reply->content_type);
		what = text;
		words = reply->said;
	} else if (strstr(reply->content_type, "protobuf") && reply_read_status(reply->body, reply->len, &r)) {
		/* The HTTP layer quotes a body as text; this body is a protobuf message that contains the text. */
		snprintf(text, sizeof(text), "HTTP %u", reply->answer.status);
		what = text;
		words = r.words;
	}
	f->answer.status = reply->answer.status;
	flight_say(is_refused ? f->why_refused : f->why, s, what, words);
	if (is_refused) {
		part_over(&f->parts[s], PART_REFUSED, f->parts[s].items);
		return;
	}
	if (weight(reply->answer.result) > weight(f->answer.result))
		f->answer.result = reply->answer.result;
	if (reply->answer.retry_after_ns > f->answer.retry_after_ns)
		f->answer.retry_after_ns = reply->answer.retry_after_ns;
}
