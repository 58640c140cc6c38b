/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/kafka_brokers.h"

#include <librdkafka/rdkafka_mock.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum order_what { ORDER_TOPIC, ORDER_TOPIC_ERROR, ORDER_LEADER, ORDER_DOWN, ORDER_UP, ORDER_ERROR, ORDER_NO_ERRORS };

struct order {
	enum order_what what;
	int a, b;
	char topic[64];
};

static pid_t child;
static int line = -1; /* the test's socket to the process of the brokers: orders and answers */
static char addresses[400];

static int obey(rd_kafka_mock_cluster_t *c, const struct order *o)
{
	switch (o->what) {
	case ORDER_TOPIC:
		return rd_kafka_mock_topic_create(c, o->topic, o->a, o->b);
	case ORDER_TOPIC_ERROR:
		rd_kafka_mock_topic_set_error(c, o->topic, o->a);
		return 0;
	case ORDER_LEADER:
		return rd_kafka_mock_partition_set_leader(c, o->topic, o->a, o->b);
	case ORDER_DOWN:
		return rd_kafka_mock_broker_set_down(c, o->a);
	case ORDER_UP:
		return rd_kafka_mock_broker_set_up(c, o->a);
	case ORDER_ERROR:
		rd_kafka_mock_push_request_errors(c, (int16_t)o->a, 1, o->b);
		return 0;
	case ORDER_NO_ERRORS:
		rd_kafka_mock_clear_request_errors(c, (int16_t)o->a);
		return 0;
	}
	return -1;
}

static void serve(int fd, int n)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_mock_cluster_t *c;
	struct order o;
	rd_kafka_t *rk;
	char why[200];
	int result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
	c = rk ? rd_kafka_mock_cluster_new(rk, n) : NULL;
	if (!c)
		return;
	snprintf(addresses, sizeof(addresses), "%s", rd_kafka_mock_cluster_bootstraps(c));
	if (send(fd, addresses, sizeof(addresses), 0) < 0)
		return;
	while (recv(fd, &o, sizeof(o), 0) == (ssize_t)sizeof(o)) {
		result = obey(c, &o);
		if (send(fd, &result, sizeof(result), 0) < 0)
			break;
	}
}

const char *brokers_start(int n)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return NULL;
	child = fork();
	if (child == 0) {
		close(ends[0]);
		serve(ends[1], n);
		_exit(0); /* leaves librdkafka's threads and memory to the kernel */
	}
	close(ends[1]);
	line = ends[0];
	return child > 0 && recv(line, addresses, sizeof(addresses), 0) == (ssize_t)sizeof(addresses) ? addresses
												      : NULL;
}

void brokers_stop(void)
{
	if (line >= 0)
		close(line);
	line = -1;
	if (child > 0)
		waitpid(child, NULL, 0);
	child = 0;
}

static bool tell(enum order_what what, const char *topic, int a, int b)
{
	struct order o = { .what = what, .a = a, .b = b };
	int result;

	snprintf(o.topic, sizeof(o.topic), "%s", topic);
	return send(line, &o, sizeof(o), MSG_NOSIGNAL) == (ssize_t)sizeof(o) &&
	       recv(line, &result, sizeof(result), 0) == (ssize_t)sizeof(result) && result == 0;
}

bool brokers_topic(const char *topic, int partitions, int replicas)
{
	return tell(ORDER_TOPIC, topic, partitions, replicas);
}

bool brokers_topic_error(const char *topic, rd_kafka_resp_err_t err)
{
	return tell(ORDER_TOPIC_ERROR, topic, err, 0);
}

bool brokers_leader(const char *topic, int partition, int broker)
{
	return tell(ORDER_LEADER, topic, partition, broker);
}

bool brokers_down(int broker)
{
	return tell(ORDER_DOWN, "", broker, 0);
}

bool brokers_up(int broker)
{
	return tell(ORDER_UP, "", broker, 0);
}

bool brokers_error(enum brokers_api api, rd_kafka_resp_err_t err)
{
	return tell(ORDER_ERROR, "", api, err);
}

bool brokers_no_errors(enum brokers_api api)
{
	return tell(ORDER_NO_ERRORS, "", api, 0);
}
