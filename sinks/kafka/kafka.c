/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kafka - the sink that produces records to an Apache Kafka topic.
 * This file holds the plugin's descriptor, and takes a batch from submit() to its answer.
 *
 * The sink acknowledges a batch when librdkafka has reported each of its messages as persisted.  When some messages are
 * not persisted, the plugin host offers the batch again later, and the sink produces only these messages again.
 *
 * librdkafka packs messages of several batches into one record set.  A broker refuses the whole set because of one
 * message, or because the set is too large.  The sink then sends the messages of such a set again, one at a time.
 */
#include "sinks/kafka/kafka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct skep_option options[] = {
	{
		.name = "brokers",
		.type = SKEP_O_STR,
		.flags = SKEP_OPT_REQUIRED,
		.offset = offsetof(struct kafka, brokers),
		.help = "brokers to begin with, \"host:port,host:port\"",
	},
	{
		.name = "topic",
		.type = SKEP_O_STR,
		.offset = offsetof(struct kafka, topic),
		.default_value = "skep",
		.help = "topic; {stream} in it is the stream's name: \"skep.{stream}\"",
	},
	{
		.name = "key",
		.type = SKEP_O_STR,
		.offset = offsetof(struct kafka, key),
		.default_value = "run",
		.help = "key of messages, which decides the partition: run (the host's name for records without a "
			"run), host or none",
	},
	{
		.name = "format",
		.type = SKEP_O_STR,
		.offset = offsetof(struct kafka, format),
		.default_value = "record",
		.help = "record: a message for each record, a JSON object; batch: a message for each batch, a line for "
			"each record, with key host or none",
	},
	{
		.name = "streams",
		.type = SKEP_O_STRV,
		.offset = offsetof(struct kafka, streams),
		.help = "names of the streams to send, for example [\"process.exit\", \"run\"]; not set: all",
	},
	{
		.name = "compression",
		.type = SKEP_O_STR,
		.offset = offsetof(struct kafka, compression),
		.default_value = "zstd",
		.help = "zstd, lz4, snappy, gzip or none",
	},
	{
		.name = "message_timeout",
		.type = SKEP_O_TIME,
		.offset = offsetof(struct kafka, timeout_ns),
		.default_value = "30s",
		.min = 1000000000,
		.max = 900000000000,
		.help = "a message that the brokers have not stored after this time goes back to the spool; the sink "
			"produces it again later",
	},
	{
		.name = "client_id",
		.type = SKEP_O_STR,
		.offset = offsetof(struct kafka, client_id),
		.default_value = "skep",
		.help = "name of this client in the brokers' logs and quotas",
	},
	{
		.name = "properties",
		.type = SKEP_O_STRV,
		.flags = SKEP_OPT_SECRET,
		.offset = offsetof(struct kafka, properties),
		.help = "further properties of librdkafka, [\"name=value\"]; for a value env:NAME or file:PATH the "
			"sink reads the variable or the file",
	},
	{ 0 },
};

static bool is_one_of(const char *s, const char *a, const char *b, const char *c)
{
	return strcmp(s, a) == 0 || strcmp(s, b) == 0 || (c && strcmp(s, c) == 0);
}

static int kafka_open(struct skep_instance *i, void *state, const struct skep_host *host)
{
	struct kafka *k = state;
	rd_kafka_conf_t *c;
	int err = 0;

	k->host = host;
	k->inst = i;
	k->event_fd = -1;
	for (size_t n = 0; n < KAFKA_IN_FLIGHT; n++)
		k->slots[n].kafka = k;
	if (!k->brokers || !*k->brokers)
		return host->fail(i, -EINVAL, "brokers is empty; give it \"host:port\"");
	if (!is_one_of(k->key, "run", "host", "none"))
		return host->fail(i, -EINVAL, "key \"%s\": expected run, host or none", k->key);
	if (!is_one_of(k->format, "record", "batch", NULL))
		return host->fail(i, -EINVAL, "format \"%s\": expected record or batch", k->format);
	if (!*k->topic || strlen(k->topic) > 200)
		return host->fail(i, -EINVAL, "topic \"%s\": expected a name of 1 to 200 characters", k->topic);
	if (strcmp(k->format, "batch") == 0 && strstr(k->topic, "{stream}"))
		return host->fail(
			i, -EINVAL,
			"topic \"%s\": a batch has records of several streams; "
			"use format record, or a topic without {stream}",
			k->topic);
	c = properties_new(k, &err); /* properties_new() only checks the options here, for skepd -t */
	if (!c)
		return err;
	rd_kafka_conf_destroy(c);
	return 0;
}

static int kafka_start(struct skep_instance *i, void *state)
{
	struct kafka *k = state;

	k->messages = k->host->counter(i, "messages", "messages that brokers have persisted");
	k->refused = k->host->counter(i, "refused", "records that brokers refuse for good, or that are too large");
	k->renewals = k->host->counter(i, "renewals", "producers replaced, after a fatal error or because a file of "
						      "properties has changed");
	return producer_open(k);
}

/* ---- answers --------------------------------------------------------------------- */

/* Answers the batch: acknowledges it when every message is persisted or given up, else reports the worst error. */
static void answer(struct kafka *k, struct kafka_slot *s)
{
	const struct skep_batch *b = s->batch;
	struct skep_batch_answer a = { .size = sizeof(a), .result = SKEP_BATCH_ACK, .sent_bytes = s->sent_bytes };
	const struct kafka_errors *e = &s->errors;
	rd_kafka_resp_err_t err = e->hold ? e->hold : e->retry ? e->retry : e->in_doubt ? e->in_doubt : e->refused;
	rd_kafka_resp_err_t fatal = RD_KAFKA_RESP_ERR_NO_ERROR;
	bool barred = !e->hold && e->retry && k->trouble; /* messages timed out because no broker accepts this client */
	const char *remedy;
	char why[1024], text[512];

	if (!e->hold && e->retry && k->producer)
		fatal = rd_kafka_fatal_error(k->producer, text, sizeof(text));
	remedy = errors_remedy(fatal ? fatal : barred ? k->trouble : err);
	snprintf(why, sizeof(why), "%s%s%s%s%s", s->err ? "out of memory" : rd_kafka_err2str(err),
		 fatal || barred ? ": " : "",
		 fatal    ? text
		 : barred ? k->trouble_text
			  : "",
		 !s->err && remedy ? "; " : "", !s->err && remedy ? remedy : "");
	a.why = err || s->err ? why : NULL;
	if (s->err)
		a.result = SKEP_BATCH_RETRY;
	else if (e->hold || barred || (fatal && errors_fate(fatal) == FATE_HOLD))
		a.result = SKEP_BATCH_HOLD;
	else if (e->retry || e->in_doubt)
		a.result = SKEP_BATCH_RETRY;
	else if (e->refused && s->messages[0].record == MESSAGE_ALL)
		a.result = errors_fate(e->refused) == FATE_TOO_LARGE ? SKEP_BATCH_SPLIT : SKEP_BATCH_REJECT;
	for (uint32_t i = 0; a.result == SKEP_BATCH_ACK && i < s->n; i++)
		a.rejected += s->messages[i].state == MESSAGE_REFUSED;
	if (a.rejected && k->refused)
		k->host->counter_add(k->refused, a.rejected);
	if (a.result == SKEP_BATCH_ACK) {
		free(s->key); /* the previous batch in this slot is complete */
		s->key = NULL;
	}
	if (e->in_doubt)
		s->singly = true;
	s->batch = NULL; /* before the answer: the plugin host may submit the next batch inside batch_answer() */
	k->host->batch_answer(k->inst, b, &a);
}

/* True when a broker refused this message, perhaps because of another message in the same set. */
static bool is_in_doubt(const struct kafka_message *m, rd_kafka_resp_err_t err)
{
	const struct kafka_slot *s = m->slot;

	switch (errors_fate(err)) {
	case FATE_TOO_LARGE:
		/* also the single message of a batch that the plugin host cannot split further */
		return !s->singly && (m->record != MESSAGE_ALL || s->batch->n == 1);
	case FATE_REFUSED:
		return !s->singly;
	default:
		return false;
	}
}

void kafka_report(struct kafka_message *m, rd_kafka_resp_err_t err)
{
	struct kafka_slot *s = m->slot;
	struct kafka *k = s->kafka;

	s->reported++;
	if (err && is_in_doubt(m, err)) {
		s->errors.in_doubt = err;
		return;
	}
	if (err) {
		errors_note(&s->errors, m, err);
		return;
	}
	m->state = MESSAGE_DELIVERED;
	k->trouble = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (k->messages)
		k->host->counter_add(k->messages, 1);
}

static bool is_idle(const struct kafka *k)
{
	for (size_t n = 0; n < KAFKA_IN_FLIGHT; n++)
		if (k->slots[n].batch)
			return false;
	return true;
}

static bool goes_singly(const struct kafka *k)
{
	for (size_t n = 0; n < KAFKA_IN_FLIGHT; n++)
		if (k->slots[n].batch && k->slots[n].singly)
			return true;
	return false;
}

static void merge_at_once(struct skep_instance *i, void *arg)
{
	struct kafka_slot *s = arg;

	(void)i;
	s->work_over = true;
	s->errors.hold = s->at_once.hold ? s->at_once.hold : s->errors.hold;
	s->errors.retry = s->at_once.retry ? s->at_once.retry : s->errors.retry;
	s->errors.refused = s->at_once.refused ? s->at_once.refused : s->errors.refused;
	kafka_check_slots(s->kafka); /* librdkafka may have accepted none of the slot's messages */
}

/* Starts a worker that asks the brokers why this slot's messages timed out although a broker is connected. */
static bool ask(struct kafka_slot *s)
{
	struct kafka *k = s->kafka;

	if (s->asked || s->errors.retry != RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || s->errors.hold || k->trouble ||
	    k->all_down)
		return false;
	s->asked = true;
	s->work_over = k->host->work(k->inst, topic_ask, merge_at_once, s) != 0;
	return !s->work_over;
}

static void send_work(void *arg);

/* Starts a worker that produces the next message of a batch that the sink sends one message at a time. */
static bool send_next(struct kafka_slot *s)
{
	struct kafka *k = s->kafka;
	const struct kafka_message *m = s->messages;
	int err;

	if (!s->singly || s->err || s->errors.hold || s->errors.retry)
		return false;
	while (m < s->messages + s->n && (m->state != MESSAGE_OPEN || (m->record == MESSAGE_ALL && s->errors.refused)))
		m++;
	if (m == s->messages + s->n)
		return false;
	s->work_over = false;
	err = k->host->work(k->inst, send_work, merge_at_once, s);
	if (!err)
		return true;
	s->err = err; /* the instance is stopping, or no memory is left */
	s->work_over = true;
	return false;
}

/* Answers each batch whose produced messages librdkafka has all reported. Replaces a failed or stale producer. */
void kafka_check_slots(struct kafka *k)
{
	char why[16]; /* rd_kafka_fatal_error() wants a buffer; answer() reports the text */

	for (size_t n = 0; n < KAFKA_IN_FLIGHT; n++) {
		struct kafka_slot *s = &k->slots[n];

		if (s->batch && s->work_over && s->reported == s->produced && !send_next(s) && !ask(s))
			answer(k, s);
	}
	if (is_idle(k) && !k->renewing &&
	    (!k->producer || (k->used && rd_kafka_fatal_error(k->producer, why, sizeof(why))) || producer_is_stale(k)))
		producer_renew(k);
}

/* ---- batches ----------------------------------------------------------------------- */

static void send_work(void *arg)
{
	struct kafka_slot *s = arg;

	if (!s->key || strcmp(s->key, s->batch->key) != 0) {
		free(s->key);
		s->key = NULL;
		s->err = message_encode(s);
		if (!s->err)
			s->key = strdup(s->batch->key); /* on failure a retry produces the whole batch again */
	}
	if (!s->err)
		message_produce(s);
}

static struct kafka_slot *slot_for(struct kafka *k, const char *key)
{
	struct kafka_slot *free_one = NULL;

	for (size_t n = 0; n < KAFKA_IN_FLIGHT; n++) {
		struct kafka_slot *s = &k->slots[n];

		if (s->batch)
			continue;
		if (s->key && strcmp(s->key, key) == 0)
			return s;
		if (!free_one || !s->key)
			free_one = s;
	}
	return free_one;
}

static int kafka_submit(struct skep_instance *i, void *state, const struct skep_batch *batch)
{
	struct kafka *k = state;
	struct kafka_slot *s = slot_for(k, batch->key);
	bool again;
	int err;

	if (!s)
		return k->host->fail(i, -EAGAIN, "all slots are taken");
	again = s->key && strcmp(s->key, batch->key) == 0;
	if ((again && s->singly && !is_idle(k)) || goes_singly(k))
		return k->host->fail(i, -EAGAIN,
				     "a batch of which messages were refused is sent one by one, and alone");
	/* messages in flight would have no delivery report after their producer's end */
	if (producer_is_stale(k) && !is_idle(k))
		return k->host->fail(i, -EAGAIN, "a file of properties has changed; the batches in flight go first");
	if (!k->producer || k->stale) {
		kafka_check_slots(k);
		if (!k->producer)
			return k->host->fail(i, -EAGAIN, "the producer is being replaced");
	}
	s->batch = batch;
	s->produced = s->reported = 0;
	s->work_over = s->asked = false;
	s->singly = again && s->singly;
	s->err = 0;
	s->sent_bytes = 0;
	/* messages that an earlier attempt gave up stay refused, so their error stays too */
	s->errors = (struct kafka_errors){ .refused = again ? s->errors.refused : 0 };
	s->at_once = (struct kafka_errors){ 0 };
	k->used = true;
	k->all_down = false;
	err = k->host->work(i, send_work, merge_at_once, s);
	if (err) {
		s->batch = NULL;
		return k->host->fail(i, err, "cannot start a worker thread");
	}
	return 0;
}

static void kafka_stop(struct skep_instance *i, void *state)
{
	(void)i;
	producer_stop(state);
}

static void kafka_close(struct skep_instance *i, void *state)
{
	struct kafka *k = state;

	(void)i;
	if (!k->host)
		return;
	producer_close(k);
	for (size_t n = 0; n < KAFKA_IN_FLIGHT; n++) {
		skep_jsonw_free(&k->slots[n].json);
		free(k->slots[n].messages);
		free(k->slots[n].key);
	}
}

static const struct skep_sink_ops sink_ops = {
	.size = sizeof(struct skep_sink_ops),
	.max_in_flight = KAFKA_IN_FLIGHT,
	.submit = kafka_submit,
};

static const struct skep_plugin kafka_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_SINK,
	.name = "kafka",
	.version = "1.0",
	.summary = "produces records to Apache Kafka",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.state_size = sizeof(struct kafka),
	.open = kafka_open,
	.start = kafka_start,
	.stop = kafka_stop,
	.close = kafka_close,
	.sink = &sink_ops,
};

SKEP_PLUGIN(kafka_plugin, SKEP_KIND_SINK, "kafka", "1.0")
