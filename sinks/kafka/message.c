/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes records as messages and hands the messages to librdkafka, on a worker.  A message is one record, or with
 * format=batch all records of a batch.
 */
#include <skep/sink/fields.h>
#include <skep/sink/record_json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/kafka/kafka.h"

/* Writes {"host":"h","stream":... : every message names its host, as many hosts write to one topic. */
static void encode_record(struct jsonw *j, const struct skep_batch *b, const struct skep_record *r)
{
	bool named = !skep_fields_find(r->stream, "host");
	size_t at;

	if (named) {
		jsonw_lit(j, "{\"host\":");
		skep_jsonw_string(j, b->host_name, strlen(b->host_name));
	}
	at = j->len;
	skep_record_json(j, r, b->boot_id, skep_record_realtime_offset(b, r), RECORD_JSON_ENVELOPE);
	if (named && !j->err)
		j->buf[at] = ',';
}

static int add_message(struct kafka_slot *s, size_t at, uint32_t record)
{
	if (s->n == s->room) {
		uint32_t room = s->room ? s->room * 2 : 512;
		struct kafka_message *more = reallocarray(s->messages, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->messages = more;
		s->room = room;
	}
	s->messages[s->n++] = (struct kafka_message){ .slot = s, .at = at, .len = s->json.len - at, .record = record };
	return 0;
}

int message_encode(struct kafka_slot *s)
{
	const struct skep_batch *b = s->batch;
	struct kafka *k = s->kafka;
	bool whole = strcmp(k->format, "batch") == 0;
	int err = 0;

	skep_jsonw_reset(&s->json);
	s->n = 0;
	for (uint32_t i = 0; i < b->n && !err && !s->json.err; i++) {
		size_t at = s->json.len;

		if (!skep_fields_wanted(k->streams, b->records[i]) || !b->records[i]->stream->name)
			continue;
		encode_record(&s->json, b, b->records[i]);
		if (whole)
			jsonw_lit(&s->json, "\n");
		else if (!s->json.err)
			err = add_message(s, at, i);
	}
	if (whole && s->json.len && !err && !s->json.err)
		err = add_message(s, 0, MESSAGE_ALL);
	return err ? err : s->json.err;
}

/* Returns the run that a record belongs to, or an empty string. */
static struct skep_str run_of(const struct skep_record *r)
{
	const struct skep_field *f = skep_fields_find(r->stream, "run");
	struct skep_str s = { 0 };

	if (f && f->type == SKEP_T_STR)
		s = skep_field_str(f, r->data);
	return s.len ? s : skep_fields_context(r, "run");
}

static struct skep_str key_of(const struct kafka *k, const struct skep_batch *b, const struct skep_record *r)
{
	struct skep_str s = { 0 };

	if (strcmp(k->key, "none") == 0)
		return s;
	if (r && strcmp(k->key, "run") == 0)
		s = run_of(r);
	if (!s.ptr || !s.len)
		s = (struct skep_str){ .ptr = b->host_name, .len = (uint32_t)strlen(b->host_name) };
	return s;
}

static rd_kafka_resp_err_t produce(struct kafka *k, struct kafka_slot *s, struct kafka_message *m, uint32_t index)
{
	const struct skep_record *r = m->record == MESSAGE_ALL ? NULL : s->batch->records[m->record];
	struct skep_str key = key_of(k, s->batch, r);
	char topic[TOPIC_MAX], number[12];
	int len = snprintf(number, sizeof(number), "%u", index);
	rd_kafka_headers_t *headers;
	rd_kafka_resp_err_t err;
	rd_kafka_error_t *e;

	/*
	 * The sink builds the header list itself.  When a topic has no partition (any more), librdkafka 2.0.2 frees a
	 * list twice that it built from single headers.
	 */
	headers = rd_kafka_headers_new(2);
	if (!headers)
		return RD_KAFKA_RESP_ERR__QUEUE_FULL; /* no memory: retry later */
	rd_kafka_header_add(headers, "skep.batch", -1, s->batch->key, -1);
	rd_kafka_header_add(headers, "skep.record", -1, number, len);
	topic_of(s, m, topic, sizeof(topic));
	rd_kafka_vu_t v[] = {
		{ .vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic },
		{ .vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = { s->json.buf + m->at, m->len } },
		{ .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers },
		{ .vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = m },
		{ .vtype = RD_KAFKA_VTYPE_KEY, .u.mem = { (void *)(uintptr_t)key.ptr, key.len } },
	};

	/* librdkafka does not copy the value: the slot keeps the text until librdkafka reports the message */
	e = rd_kafka_produceva(k->producer, v, sizeof(v) / sizeof(v[0]) - (key.len ? 0 : 1));
	if (!e)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	err = rd_kafka_error_code(e);
	rd_kafka_error_destroy(e);
	rd_kafka_headers_destroy(headers);
	return err;
}

void message_produce(struct kafka_slot *s)
{
	struct kafka *k = s->kafka;

	for (uint32_t i = 0; i < s->n; i++) {
		struct kafka_message *m = &s->messages[i];
		rd_kafka_resp_err_t err;

		if (m->state != MESSAGE_OPEN)
			continue;
		err = produce(k, s, m, i);
		if (!err) {
			s->produced++;
			s->sent_bytes += m->len;
			if (s->singly)
				return;
			continue;
		}
		errors_note(&s->at_once, m, err);
		if (s->at_once.hold || s->at_once.retry)
			return; /* librdkafka would refuse the next message with the same error */
	}
}
