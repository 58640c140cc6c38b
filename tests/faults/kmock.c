/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmock - Kafka brokers for tests where no Kafka runs: librdkafka's mock cluster as a program.  Other processes talk to
 * it over TCP as they would to Apache Kafka; it keeps messages in memory and drops them at its end.
 *
 *	kmock serve FILE [BROKERS]     writes the brokers' addresses to FILE, then obeys lines from standard input until
 *	                               their end, and runs until it is killed:
 *	                                 down N | up N           a broker goes down, comes back
 *	                                 leader TOPIC PART N     a partition is led by broker N from now on
 *	                                 error N CODE           the next N produce requests are answered with error CODE
 *	kmock consume BROKERS TOPIC [HEADER...]
 *	                               prints every message of the topic, a line each, before it the values of
 *	                               these headers, with a tab behind each; and ends
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "kmock: %s\n", what);
	return 1;
}

static void obey(rd_kafka_mock_cluster_t *c, const char *line)
{
	char topic[250];
	int a, b;

	if (sscanf(line, "down %d", &a) == 1)
		rd_kafka_mock_broker_set_down(c, a);
	else if (sscanf(line, "up %d", &a) == 1)
		rd_kafka_mock_broker_set_up(c, a);
	else if (sscanf(line, "leader %249s %d %d", topic, &a, &b) == 3)
		rd_kafka_mock_partition_set_leader(c, topic, a, b);
	else if (sscanf(line, "error %d %d", &a, &b) == 2)
		for (; a > 0; a--)
			rd_kafka_mock_push_request_errors(c, 0 /* request type Produce */, 1, b);
	else
		fail("a line is not understood; kmock.c has the list");
}

static int serve(const char *file, int brokers)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_mock_cluster_t *c;
	rd_kafka_t *rk;
	char line[400];
	FILE *f;

	rd_kafka_conf_set(conf, "log_level", "2", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, line, sizeof(line));
	c = rk ? rd_kafka_mock_cluster_new(rk, brokers) : NULL;
	if (!c)
		return fail("no cluster");
	f = fopen(file, "w");
	if (!f || fprintf(f, "%s\n", rd_kafka_mock_cluster_bootstraps(c)) < 0 || fclose(f) != 0)
		return fail("the file of addresses cannot be written");
	while (fgets(line, sizeof(line), stdin))
		obey(c, line);
	pause();
	return 0;
}

static void print(const rd_kafka_message_t *m, char **wanted)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t n;

	for (; *wanted; wanted++) {
		if (!rd_kafka_message_headers(m, &headers) && !rd_kafka_header_get_last(headers, *wanted, &value, &n))
			printf("%.*s", (int)n, (const char *)value);
		putchar('\t');
	}
	printf("%.*s\n", (int)m->len, (const char *)m->payload);
}

static int consume(const char *brokers, const char *topic, char **headers)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	const struct rd_kafka_metadata *meta;
	rd_kafka_topic_partition_list_t *parts;
	rd_kafka_topic_t *t;
	rd_kafka_t *rk;
	char why[200];
	int left;

	rd_kafka_conf_set(conf, "bootstrap.servers", brokers, NULL, 0);
	rd_kafka_conf_set(conf, "group.id", "kmock", NULL, 0);
	rd_kafka_conf_set(conf, "enable.partition.eof", "true", NULL, 0);
	rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	if (!rk)
		return fail(why);
	t = rd_kafka_topic_new(rk, topic, NULL);
	if (!t || rd_kafka_metadata(rk, 0, t, &meta, 10000) || meta->topic_cnt != 1)
		return fail("no answer about that topic");
	left = meta->topics[0].partition_cnt;
	parts = rd_kafka_topic_partition_list_new(left);
	for (int p = 0; p < left; p++)
		rd_kafka_topic_partition_list_add(parts, topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_metadata_destroy(meta);
	rd_kafka_poll_set_consumer(rk);
	if (rd_kafka_assign(rk, parts))
		return fail("the partitions cannot be read");
	while (left > 0) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, 10000);

		if (!m)
			return fail("no answer in 10 s");
		if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			left--;
		else if (m->err)
			fail(rd_kafka_message_errstr(m));
		else
			print(m, headers);
		rd_kafka_message_destroy(m);
	}
	rd_kafka_topic_partition_list_destroy(parts);
	rd_kafka_topic_destroy(t);
	rd_kafka_consumer_close(rk);
	rd_kafka_destroy(rk);
	return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "serve") == 0 && (argc == 3 || atoi(argv[3]) > 0))
		return serve(argv[2], argc == 4 ? atoi(argv[3]) : 3);
	if (argc >= 4 && strcmp(argv[1], "consume") == 0)
		return consume(argv[2], argv[3], argv + 4);
	fprintf(stderr, "usage: kmock serve FILE [BROKERS] | kmock consume BROKERS TOPIC [HEADER...]\n");
	return 2;
}
