/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/kafka_brokers.h - librdkafka's mock brokers in a process of their own. In the test's process skep/mock.h
 * would count a connection that a broker accepts while the plugin runs as a leak of the plugin.
 */
#ifndef SKEP_TESTS_KAFKA_BROKERS_H
#define SKEP_TESTS_KAFKA_BROKERS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

enum brokers_api { BROKERS_PRODUCE = 0, BROKERS_METADATA = 3, BROKERS_INIT_PRODUCER_ID = 22 };

/*
 * Forks, so call it before the process has any thread. Returns "host:port,host:port"; NULL: this librdkafka has no mock
 * brokers.
 */
const char *brokers_start(int n);
void brokers_stop(void);

/* These functions return when the brokers have obeyed; false: the brokers could not. */
bool brokers_topic(const char *topic, int partitions, int replicas);
bool brokers_topic_error(const char *topic, rd_kafka_resp_err_t); /* until another one, or none, is set */
bool brokers_leader(const char *topic, int partition, int broker);
bool brokers_down(int broker);
bool brokers_up(int broker);
/* The brokers answer the next request of that kind with this error. */
bool brokers_error(enum brokers_api, rd_kafka_resp_err_t);
bool brokers_no_errors(enum brokers_api);

#endif
