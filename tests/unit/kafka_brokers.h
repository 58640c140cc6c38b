/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/kafka_brokers.h - librdkafka's mock brokers in a process of their own.
 *
 * Not in the test's: skep/mock.h takes an fd that appears while the plugin runs for the plugin's, and brokers accept
 * connections whenever they like.
 */
#ifndef SKEP_TESTS_KAFKA_BROKERS_H
#define SKEP_TESTS_KAFKA_BROKERS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

enum brokers_api { BROKERS_PRODUCE = 0, BROKERS_METADATA = 3, BROKERS_INIT_PRODUCER_ID = 22 };

/* Before the process has any thread: it forks. "host:port,host:port", NULL: there are none to be had. */
const char *brokers_start(int n);
void brokers_stop(void);

/* Each has happened when it returns; false: it cannot be done. */
bool brokers_topic(const char *topic, int partitions, int replicas);
bool brokers_topic_error(const char *topic, rd_kafka_resp_err_t); /* until another one, or none, is set */
bool brokers_leader(const char *topic, int partition, int broker);
bool brokers_down(int broker);
bool brokers_up(int broker);
/* The next request of that kind is answered so. */
bool brokers_error(enum brokers_api, rd_kafka_resp_err_t);
bool brokers_no_errors(enum brokers_api);

#endif
