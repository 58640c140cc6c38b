/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/kafka through its plugin entry, against librdkafka's mock brokers: a consumer reads what the sink sent, through
 * errors of the brokers, a leader that moves, brokers that go and return, and a restart. Without such a fault no record
 * arrives twice.
 */
#include <librdkafka/rdkafka.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sinks/kafka/kafka.h"
#include "tests/unit/kafka_brokers.h"
#include "tests/unit/carried.h"
#include "tests/unit/lake_records.h"

#define RECORDS 4000

/* More runs than partitions: each partition has some. */
static const char *const runs[] = { "run-a", "run-b", "run-c", "run-d", "run-e", "run-f", "run-g", "run-h" };
#define RUNS (sizeof(runs) / sizeof(runs[0]))

static const char *brokers;
static char topic[32];
static unsigned topics;

static int set_up_all(void **state)
{
	(void)state;
	brokers = brokers_start(3);
	return brokers ? 0 : -1;
}

static int tear_down_all(void **state)
{
	(void)state;
	brokers_stop();
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(topic, sizeof(topic), "t%u", ++topics);
	return brokers_topic(topic, 2, 3) ? 0 : -1;
}

static void begin(struct skep_mock *m, const char *timeout, const char *format, const char *const *properties)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	m->quiet = true;
	assert_int_equal(skep_mock_option(m, "brokers", brokers), 0);
	assert_int_equal(skep_mock_option(m, "topic", topic), 0);
	if (timeout)
		assert_int_equal(skep_mock_option(m, "message_timeout", timeout), 0);
	if (format)
		assert_int_equal(skep_mock_option(m, "format", format), 0);
	if (properties)
		assert_int_equal(skep_mock_option_list(m, "properties", properties), 0);
	if (skep_mock_start(m) != 0)
		fail_msg("start: %s", m->why);
}

static struct skep_mock_batch *batch_of(uint64_t id, uint64_t first, uint64_t n)
{
	struct skep_mock_batch *b = skep_mock_batch_new(id, RECORDS_OFFSET);
	struct record_process p;

	for (uint64_t i = first; i < first + n; i++) {
		records_process(i, runs[i % RUNS], &p);
		p.session = i; /* identifies the process to the consumer */
		records_add_process(b, &p);
	}
	return b;
}

static unsigned answers(const struct skep_mock *m)
{
	return m->acks + m->retries + m->rejects + m->holds + m->splits + m->suspects;
}

/* Waits until the batch is answered; true: acknowledged. */
static bool offer(struct skep_mock *m, struct skep_mock_batch *b)
{
	unsigned before = answers(m), acks = m->acks;

	assert_int_equal(skep_mock_submit(m, &b->batch), 0);
	for (int i = 0; answers(m) == before && i < 3000; i++) {
		skep_mock_poll(m, 10);
		skep_mock_settle(m);
	}
	assert_int_equal(answers(m), before + 1);
	return m->acks > acks;
}

struct seen {
	unsigned times[RECORDS];
	unsigned messages, keys_wrong, without_batch;
	bool carried; /* the records of carried_batch() */
	char first[4000];
};
static struct seen seen;

static void look(const rd_kafka_message_t *m)
{
	const char *text = m->payload;
	rd_kafka_headers_t *headers;
	const void *value;
	size_t n;

	if (seen.carried) {
		carried_check_json(text, m->len);
		seen.messages++;
		return;
	}
	if (!seen.messages++)
		snprintf(seen.first, sizeof(seen.first), "%.*s", (int)m->len, text);
	if (rd_kafka_message_headers(m, &headers) || rd_kafka_header_get_last(headers, "skep.batch", &value, &n))
		seen.without_batch++;
	for (const char *line = text, *end = text + m->len; line < end;) {
		const char *eol = memchr(line, '\n', (size_t)(end - line));
		char copy[8000];
		const char *at;
		unsigned id;

		eol = eol ? eol : end;
		snprintf(copy, sizeof(copy), "%.*s", (int)(eol - line), line);
		at = strstr(copy, "\"session\":");
		assert_non_null(at);
		id = (unsigned)atoi(at + strlen("\"session\":"));
		assert_true(id < RECORDS);
		seen.times[id]++;
		if (m->key_len != 5 || memcmp(m->key, runs[id % RUNS], 5) != 0)
			seen.keys_wrong++;
		line = eol + 1;
	}
}

/* Reads all records of the topic. */
static void consume(void)
{
	rd_kafka_topic_partition_list_t *parts = rd_kafka_topic_partition_list_new(2);
	rd_kafka_conf_t *c = rd_kafka_conf_new();
	unsigned ends = 0;
	rd_kafka_t *rk;
	char why[200];

	seen = (struct seen){ .carried = seen.carried };
	rd_kafka_conf_set(c, "bootstrap.servers", brokers, NULL, 0);
	rd_kafka_conf_set(c, "group.id", "test", NULL, 0);
	rd_kafka_conf_set(c, "enable.partition.eof", "true", NULL, 0);
	rd_kafka_conf_set(c, "fetch.wait.max.ms", "10", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, c, why, sizeof(why));
	assert_non_null(rk);
	rd_kafka_poll_set_consumer(rk);
	for (int p = 0; p < 2; p++)
		rd_kafka_topic_partition_list_add(parts, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
	assert_int_equal(rd_kafka_assign(rk, parts), 0);
	for (int i = 0; ends < 2 && i < 20000; i++) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 1000);

		if (!m)
			continue;
		if (!m->err)
			look(m);
		ends += m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
		rd_kafka_message_destroy(m);
	}
	assert_int_equal(ends, 2);
	rd_kafka_topic_partition_list_destroy(parts);
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
}

static void check(unsigned n, unsigned most)
{
	for (unsigned i = 0; i < n; i++)
		if (seen.times[i] < 1 || seen.times[i] > most)
			fail_msg("record %u is there %u times", i, seen.times[i]);
	for (unsigned i = n; i < RECORDS; i++)
		assert_int_equal(seen.times[i], 0);
	assert_int_equal(seen.without_batch, 0);
}

static void test_records(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 1000), *c = batch_of(2, 1000, 1000);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL, NULL);
	assert_true(offer(&m, b));
	assert_int_equal(m.answer.rejected, 0);
	assert_true(m.answer.sent_bytes > 100000);
	assert_true(offer(&m, c));
	assert_int_equal(skep_mock_counter(&m, "messages"), 2000);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(2000, 1);
	assert_int_equal(seen.messages, 2000);
	assert_int_equal(seen.keys_wrong, 0);
	assert_int_equal(strncmp(seen.first, "{\"host\":\"", 9), 0);
	assert_non_null(strstr(seen.first, "\",\"stream\":\"process.exit\","));
	skep_mock_batch_free(b);
	skep_mock_batch_free(c);
}

static void test_carried(void **state)
{
	union carried_record records[3];
	struct skep_mock_batch *b = carried_batch(records);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL, NULL);
	assert_true(offer(&m, b));
	assert_int_equal(skep_mock_end(&m), 0);
	seen.carried = true;
	consume();
	seen.carried = false;
	assert_int_equal(seen.messages, 3);
	skep_mock_batch_free(b);
}

static void test_batches(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 500);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, "batch", NULL);
	assert_true(offer(&m, b));
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(500, 1);
	assert_int_equal(seen.messages, 1);
	/* the host splits a batch that is too large for the broker */
	begin(&m, NULL, "batch", (const char *const[]){ "message.max.bytes=20000", NULL });
	assert_false(offer(&m, b));
	assert_int_equal(m.splits, 1);
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_batch_free(b);
}

/* The broker refuses only the one record that is too large; the sink delivers the others. */
static void test_large_record(void **state)
{
	struct skep_mock_batch *b = skep_mock_batch_new(1, RECORDS_OFFSET);
	char *large = calloc(1, 30000);
	struct record_process p;
	struct skep_mock m;

	(void)state;
	assert_non_null(large);
	memset(large, 'x', 29999);
	for (uint64_t i = 0; i < 10; i++) {
		records_process(i, runs[i % RUNS], &p);
		p.session = i;
		if (i == 9)
			p.cwd = skep_mock_text(large);
		records_add_process(b, &p);
	}
	begin(&m, NULL, NULL, (const char *const[]){ "message.max.bytes=20000", NULL });
	b->batch.boot_id = "0f0e0d0c-0b0a-4908-8706-050403020100"; /* the batch waited in the spool over a reboot */
	assert_true(offer(&m, b));
	assert_int_equal(m.answer.rejected, 1);
	assert_true(strlen(m.why) > 0);
	assert_int_equal(skep_mock_counter(&m, "refused"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(9, 1);
	assert_non_null(strstr(seen.first, "\"host\":\"testhost\""));
	assert_non_null(strstr(seen.first, "\"upid\":\"0f0e0d0c-"));
	skep_mock_batch_free(b);
	free(large);
}

/* A broker refuses messages sent together and accepts each alone: all arrive. */
static void test_refused_together(void **state)
{
	static const rd_kafka_resp_err_t errors[] = {
		RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
		RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
	};
	struct skep_mock_batch *b, *c = batch_of(9, 200, 50);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL, NULL);
	for (unsigned i = 0; i < 2; i++) {
		b = batch_of(i + 1, i * 100, 100);
		assert_true(brokers_error(BROKERS_PRODUCE, errors[i]));
		assert_false(offer(&m, b));
		assert_int_equal(m.retries, i + 1);
		assert_true(offer(&m, b));
		assert_int_equal(m.answer.rejected, 0);
		skep_mock_batch_free(b);
	}
	assert_true(offer(&m, c)); /* and the sink sends together again */
	assert_int_equal(m.rejects + m.holds + m.splits, 0);
	assert_int_equal(skep_mock_counter(&m, "messages"), 250);
	assert_int_equal(skep_mock_counter(&m, "refused"), 0);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(250, 1);
	assert_int_equal(seen.messages, 250);
	skep_mock_batch_free(c);
}

/* The same with whole batches, several of which librdkafka packs together as well. */
static void test_refused_batch(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 100), *c = batch_of(2, 100, 100);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, "batch", NULL);
	assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_POLICY_VIOLATION));
	assert_false(offer(&m, b));
	assert_int_equal(m.retries, 1);
	assert_true(offer(&m, b));
	for (int i = 0; i < 2; i++) {
		assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_POLICY_VIOLATION));
		assert_false(offer(&m, c));
	}
	assert_int_equal(m.retries, 2);
	assert_int_equal(m.rejects, 1);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(100, 1);
	skep_mock_batch_free(b);
	skep_mock_batch_free(c);
}

/* A record refused alone is to blame: no other batch is under way then. */
static void test_refused_alone(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 40), *c = batch_of(2, 40, 40);
	unsigned there = 0;
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL, NULL);
	assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_INVALID_RECORD));
	assert_false(offer(&m, b));
	assert_int_equal(skep_mock_submit(&m, &c->batch), 0);
	assert_int_equal(skep_mock_submit(&m, &b->batch), -EAGAIN);
	for (int i = 0; !m.acks && i < 3000; i++) {
		skep_mock_poll(&m, 10);
		skep_mock_settle(&m);
	}
	assert_int_equal(m.acks, 1);
	assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_INVALID_RECORD));
	assert_int_equal(skep_mock_submit(&m, &b->batch), 0);
	assert_int_equal(skep_mock_submit(&m, &c->batch), -EAGAIN);
	for (int i = 0; m.acks < 2 && i < 3000; i++) {
		skep_mock_poll(&m, 10);
		skep_mock_settle(&m);
	}
	assert_int_equal(m.acks, 2);
	assert_int_equal(m.answer.rejected, 1);
	assert_int_equal(skep_mock_counter(&m, "refused"), 1);
	assert_int_equal(skep_mock_counter(&m, "messages"), 79);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	for (unsigned i = 0; i < 80; i++) {
		assert_true(seen.times[i] <= 1);
		there += seen.times[i];
	}
	assert_int_equal(there, 79);
	skep_mock_batch_free(b);
	skep_mock_batch_free(c);
}

/* Errors after which librdkafka itself tries again, and a leader that moves meanwhile. */
static void test_errors(void **state)
{
	struct skep_mock_batch *b;
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL, (const char *const[]){ "retry.backoff.ms=20", NULL });
	for (unsigned i = 0; i < 4; i++) {
		assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS));
		assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION));
		for (int part = 0; part < 2; part++)
			assert_true(brokers_leader(topic, part, 1 + (int)(i + (unsigned)part) % 3));
		b = batch_of(i + 1, i * 250, 250);
		while (!offer(&m, b))
			;
		skep_mock_batch_free(b);
	}
	assert_true(brokers_no_errors(BROKERS_PRODUCE));
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(1000, 1);
}

/*
 * All brokers are away for longer than a message may wait: the sink returns the batch, and the host offers it again
 * when they are back.
 */
static void test_down_and_restart(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 300), *c = batch_of(2, 300, 300), *d = batch_of(3, 600, 300);
	struct skep_mock m;

	(void)state;
	begin(&m, "1s", NULL, (const char *const[]){ "reconnect.backoff.max.ms=200", NULL });
	/* on a busy machine the first attempt may take longer */
	for (int tries = 0; tries < 20 && !offer(&m, b); tries++)
		;
	assert_int_equal(m.acks, 1);
	m.retries = 0;
	for (int i = 1; i <= 3; i++)
		assert_true(brokers_down(i));
	assert_false(offer(&m, c));
	assert_int_equal(m.retries, 1);
	assert_int_equal(m.rejects + m.holds + m.splits, 0);
	/* meanwhile this skepd ends, and the next one gets the batch from the spool */
	assert_int_equal(skep_mock_end(&m), 0);
	begin(&m, "1s", NULL, (const char *const[]){ "reconnect.backoff.max.ms=200", NULL });
	assert_false(offer(&m, c));
	for (int i = 1; i <= 3; i++)
		assert_true(brokers_up(i));
	for (int tries = 0; tries < 20 && !offer(&m, c); tries++)
		;
	assert_int_equal(m.acks, 1);
	assert_true(offer(&m, d));
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(900, 1);
	skep_mock_batch_free(b);
	skep_mock_batch_free(c);
	skep_mock_batch_free(d);
}

/* When all but some records of a batch are delivered, the sink sends only those again. */
static void test_only_what_is_missing(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 400);
	struct skep_mock m;

	(void)state;
	begin(&m, "1s", NULL,
	      (const char *const[]) { "reconnect.backoff.max.ms=200", "topic.metadata.refresh.interval.ms=300", NULL });
	assert_true(brokers_leader(topic, 0, 1));
	assert_true(brokers_leader(topic, 1, 2));
	assert_true(brokers_down(2)); /* one run's partition is away */
	assert_false(offer(&m, b));
	assert_true(brokers_up(2));
	for (int tries = 0; tries < 20 && !offer(&m, b); tries++)
		;
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_counter(&m, "messages"), 400);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(400, 1);
	skep_mock_batch_free(b);
}

/* No topic, no permission: an administrator has to act, so the sink holds. */
static void test_hold(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 10);
	struct skep_mock m;

	(void)state;
	begin(&m, NULL, NULL, (const char *const[]){ "topic.metadata.refresh.interval.ms=300", NULL });
	assert_true(brokers_error(BROKERS_PRODUCE, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
	assert_false(offer(&m, b));
	assert_int_equal(m.holds, 1);
	assert_non_null(strstr(m.why, "authorization"));
	assert_true(brokers_no_errors(BROKERS_PRODUCE));
	/* after the repair librdkafka reads its notes about the topic again */
	for (int tries = 0; tries < 300 && !offer(&m, b); tries++)
		usleep(20000);
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(10, 1);
	skep_mock_batch_free(b);
}

/*
 * The same before librdkafka has seen any partition of the topic: messages only time out, and the sink asks for the
 * reason.
 */
static void test_forbidden(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 10);
	struct skep_mock m;

	(void)state;
	begin(&m, "1s", NULL, (const char *const[]){ "topic.metadata.refresh.interval.ms=300", NULL });
	assert_true(brokers_topic_error(topic, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
	assert_false(offer(&m, b));
	assert_int_equal(m.holds, 1);
	assert_int_equal(m.retries, 0);
	assert_non_null(strstr(m.why, "Topic authorization failed; allow this user to WRITE"));
	assert_true(brokers_topic_error(topic, RD_KAFKA_RESP_ERR_NO_ERROR));
	for (int tries = 0; tries < 300 && !offer(&m, b); tries++)
		usleep(20000);
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(10, 1);
	skep_mock_batch_free(b);
}

/* The broker forbids idempotent producers: librdkafka calls that fatal, and an administrator has to act. */
static void test_forbidden_producer(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 10);
	struct skep_mock m;

	(void)state;
	for (int i = 0; i < 3; i++) /* one error for each broker that the producer may ask */
		assert_true(brokers_error(BROKERS_INIT_PRODUCER_ID, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED));
	begin(&m, "2s", NULL, NULL);
	assert_false(offer(&m, b));
	assert_int_equal(m.holds, 1);
	assert_non_null(strstr(m.why, "allow this user IDEMPOTENT_WRITE"));
	assert_true(brokers_no_errors(BROKERS_INIT_PRODUCER_ID));
	for (int tries = 0; tries < 300 && !(((struct kafka *)m.state)->producer && offer(&m, b)); tries++) {
		skep_mock_poll(&m, 20);
		skep_mock_settle(&m);
	}
	assert_int_equal(m.acks, 1);
	assert_int_equal(skep_mock_end(&m), 0);
	skep_mock_batch_free(b);
}

/* The sink replaces a producer that has failed for good and loses nothing. */
static void test_fatal(void **state)
{
	struct skep_mock_batch *b = batch_of(1, 0, 100), *c = batch_of(2, 100, 100);
	struct skep_mock m;
	bool done = false;

	(void)state;
	begin(&m, NULL, NULL, NULL);
	assert_true(offer(&m, b));
	assert_int_equal(rd_kafka_test_fatal_error(((struct kafka *)m.state)->producer,
						   RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "test"),
			 0);
	assert_false(offer(&m, c));
	for (int tries = 0; !done && tries < 200; tries++) {
		skep_mock_poll(&m, 10);
		skep_mock_settle(&m);
		done = ((struct kafka *)m.state)->producer && offer(&m, c);
	}
	assert_true(done);
	assert_int_equal(skep_mock_counter(&m, "renewals"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
	consume();
	check(200, 1);
	skep_mock_batch_free(b);
	skep_mock_batch_free(c);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Waits for the new producer. */
static void renewed(struct skep_mock *m, unsigned times)
{
	const struct kafka *k = m->state;

	for (int tries = 0; (!k->producer || k->stale) && tries < 3000; tries++) {
		skep_mock_poll(m, 10);
		skep_mock_settle(m);
	}
	assert_non_null(k->producer);
	assert_int_equal(skep_mock_counter(m, "renewals"), times);
}

/* A file of the properties is replaced: a new producer reads it, and each record arrives once. */
static void test_rotated(void **state)
{
	char path[] = "/tmp/skep-kafka-XXXXXX", property[64], now[16];
	struct skep_mock_batch *b[3];
	struct skep_mock m;
	struct kafka *k;
	int fd = mkstemp(path);
	size_t size;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_file(path, "one");
	snprintf(property, sizeof(property), "client.rack=file:%s", path);
	for (unsigned i = 0; i < 3; i++)
		b[i] = batch_of(i + 1, i * 100, 100);
	begin(&m, NULL, NULL, (const char *const[]){ property, NULL });
	k = m.state;
	k->look_ns = 0; /* no change: no new producer */
	assert_int_equal(skep_mock_submit(&m, &b[0]->batch), 0);
	write_file(path, "second");
	k->look_ns = 0;
	assert_int_equal(skep_mock_submit(&m, &b[1]->batch), -EAGAIN); /* the first batch is in flight */
	assert_int_equal(skep_mock_counter(&m, "renewals"), 0);
	for (int i = 0; !m.acks && i < 3000; i++) {
		skep_mock_poll(&m, 10);
		skep_mock_settle(&m);
	}
	assert_int_equal(m.acks, 1);
	renewed(&m, 1);
	assert_true(offer(&m, b[1]));
	write_file(path, ""); /* half-replaced */
	k->look_ns = 0;
	assert_false(producer_is_stale(k));
	write_file(path, "the third");
	assert_false(producer_is_stale(k)); /* not yet, ... */
	k->trouble = RD_KAFKA_RESP_ERR__AUTHENTICATION;
	assert_int_equal(skep_mock_submit(&m, &b[2]->batch), -EAGAIN); /* ... but at once after a refusal */
	renewed(&m, 2);
	assert_true(offer(&m, b[2]));
	size = sizeof(now);
	assert_int_equal(rd_kafka_conf_get(rd_kafka_conf(k->producer), "client.rack", now, &size), RD_KAFKA_CONF_OK);
	assert_string_equal(now, "the third");
	assert_int_equal(skep_mock_end(&m), 0);
	unlink(path);
	consume();
	check(300, 1);
	for (unsigned i = 0; i < 3; i++)
		skep_mock_batch_free(b[i]);
}

/* librdkafka itself reads what these properties name. */
static void test_files(void **state)
{
	const char *properties[] = { "sasl.username=x", "ssl.ca.location=/dev/null/x", NULL };
	struct kafka k = { .properties = properties };
	char path[] = "/tmp/skep-kafka-XXXXXX", property[64];
	uint64_t before;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(properties_files(&k), 0);
	snprintf(property, sizeof(property), "ssl.certificate.location=%s", path);
	properties[1] = property;
	assert_int_equal(properties_files(&k), 0);
	write_file(path, "pem");
	before = properties_files(&k);
	assert_int_not_equal(before, 0);
	assert_int_equal(properties_files(&k), before);
	write_file(path, "other pem");
	assert_int_not_equal(properties_files(&k), before);
	unlink(path);
}

static void test_options(void **state)
{
	char folder[] = "/tmp/skep-kafka-XXXXXX", fifo[64], fifo_property[96];
	const struct {
		const char *option, *value, *why;
	} wrong[] = {
		{ "brokers", "", "brokers is empty" },
		{ "key", "pid", "expected run, host or none" },
		{ "format", "avro", "expected record or batch" },
		{ "compression", "zip", "compression: librdkafka" },
		{ "properties", "acks=0", "acks is set by this sink" },
		{ "properties", "nosuch.thing=s3cret", "does not take nosuch.thing" },
		{ "properties", "s3cret", "not \"name=value\"" },
		{ "properties", "sasl.password=file:/nonexistent/s3", "/nonexistent/s3: No such file" },
		{ "properties", fifo_property, "not a regular file" }, /* reading it would stop the loop */
		{ "properties", "sasl.password=env:SKEP_NO_SUCH_VARIABLE", "no such variable" },
	};

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(fifo_property, sizeof(fifo_property), "sasl.password=file:%s", fifo);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct skep_mock m;

		skep_mock_init(&m, skep_plugin_entry(NULL));
		m.quiet = true;
		skep_mock_option(&m, "brokers", brokers);
		if (strcmp(wrong[i].option, "properties") == 0)
			skep_mock_option_list(&m, "properties", (const char *const[]){ wrong[i].value, NULL });
		else
			skep_mock_option(&m, wrong[i].option, wrong[i].value);
		if (skep_mock_open(&m) == 0)
			fail_msg("%s=%s is taken", wrong[i].option, wrong[i].value);
		if (!strstr(m.why, wrong[i].why))
			fail_msg("%s=%s: %s", wrong[i].option, wrong[i].value, m.why);
		assert_null(strstr(m.why, "s3cret"));
		assert_int_equal(skep_mock_end(&m), 0);
	}
	unlink(fifo);
	rmdir(folder);
}

static int (*mock_work)(struct skep_instance *, skep_work_cb, skep_done_cb, void *);
static unsigned works;

static int count_work(struct skep_instance *i, skep_work_cb work, skep_done_cb done, void *arg)
{
	works++;
	return mock_work(i, work, done, arg);
}

/*
 * librdkafka's end waits for its name look-up (9.6 s with a silent name server), so stop() itself never waits for it.
 */
static void test_stop_does_not_wait(void **state)
{
	struct skep_mock m;

	(void)state;
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.quiet = true;
	mock_work = m.host.work;
	m.host.work = count_work;
	assert_int_equal(skep_mock_option(&m, "brokers", brokers), 0);
	assert_int_equal(skep_mock_option(&m, "topic", topic), 0);
	assert_int_equal(skep_mock_start(&m), 0);
	works = 0;
	skep_mock_stop(&m);
	assert_int_equal(works, 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_files),
		cmocka_unit_test_setup(test_records, set_up),
		cmocka_unit_test_setup(test_carried, set_up),
		cmocka_unit_test_setup(test_batches, set_up),
		cmocka_unit_test_setup(test_large_record, set_up),
		cmocka_unit_test_setup(test_refused_together, set_up),
		cmocka_unit_test_setup(test_refused_batch, set_up),
		cmocka_unit_test_setup(test_refused_alone, set_up),
		cmocka_unit_test_setup(test_errors, set_up),
		cmocka_unit_test_setup(test_only_what_is_missing, set_up),
		cmocka_unit_test_setup(test_down_and_restart, set_up),
		cmocka_unit_test_setup(test_hold, set_up),
		cmocka_unit_test_setup(test_forbidden, set_up),
		cmocka_unit_test_setup(test_forbidden_producer, set_up),
		cmocka_unit_test_setup(test_fatal, set_up),
		cmocka_unit_test_setup(test_rotated, set_up),
		cmocka_unit_test_setup(test_stop_does_not_wait, set_up),
	};

	if (getenv("T"))
		cmocka_set_test_filter(getenv("T"));
	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
