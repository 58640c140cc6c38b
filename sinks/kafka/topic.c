/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the topic of a message, and asks the brokers why messages to a topic time out.
 */
#include <stdio.h>
#include <string.h>

#include "sinks/kafka/kafka.h"

#define ASK_MS 2000 /* a live broker answers at once; skepd waits for this worker when it stops */

/* Replaces "{stream}" in the topic. A Kafka topic's name has only letters, digits and ._- in it. */
void topic_of(const struct kafka_slot *s, const struct kafka_message *m, char *ret, size_t room)
{
	const char *topic = s->kafka->topic, *brace = strstr(topic, "{stream}");
	const char *name = m->record == MESSAGE_ALL ? "batch" : s->batch->records[m->record]->stream->name;

	if (brace)
		snprintf(ret, room, "%.*s%s%s", (int)(brace - topic), topic, name, brace + strlen("{stream}"));
	else
		snprintf(ret, room, "%s", topic);
	for (char *c = ret; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
		      strchr("._-", *c)))
			*c = '_';
}

/*
 * Runs on a worker.  A broker may deny a topic before librdkafka knows the topic's partitions.  librdkafka 2.0.2 then
 * lets the messages time out, and the time-out does not name the cause.  The topic's metadata does.
 */
void topic_ask(void *slot)
{
	struct kafka_slot *s = slot;
	const struct rd_kafka_metadata *meta;
	const struct kafka_message *m = s->messages;
	rd_kafka_topic_t *t;
	char name[TOPIC_MAX];

	while (m < s->messages + s->n && m->state != MESSAGE_OPEN)
		m++;
	if (m == s->messages + s->n)
		return;
	topic_of(s, m, name, sizeof(name));
	t = rd_kafka_topic_new(s->kafka->producer, name, NULL);
	if (!t)
		return;
	if (rd_kafka_metadata(s->kafka->producer, 0, t, &meta, ASK_MS) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (meta->topic_cnt == 1 && errors_fate(meta->topics[0].err) == FATE_HOLD)
			s->at_once.hold = meta->topics[0].err;
		rd_kafka_metadata_destroy(meta);
	}
	rd_kafka_topic_destroy(t);
}
