/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/kafka/kafka.h - the sink's state, and what its files have of each other.
 *
 * librdkafka has threads of its own; of ours there is none.  A batch is encoded and handed to
 * librdkafka on a worker thread; its reports are taken on the loop, when an eventfd says
 * that there are some.
 */
#ifndef SKEP_SINKS_KAFKA_H
#define SKEP_SINKS_KAFKA_H

#include <librdkafka/rdkafka.h>
#include <skep/plugin.h>
#include <skep/sink/jsonw.h>

/*
 * Batches that are being encoded or delivered.  A message waits 20 ms in librdkafka (linger.ms), then for the broker's
 * answer.  Two batches of 500 records would allow 40,000 records/s at most, on any CPU.
 */
#define KAFKA_IN_FLIGHT 8

enum message_state { MESSAGE_OPEN = 0, MESSAGE_DELIVERED, MESSAGE_REFUSED };

#define MESSAGE_ALL UINT32_MAX
#define TOPIC_MAX 250 /* 249 bytes are the most that a topic's name may have */

struct kafka_message {
	struct kafka_slot *slot;
	size_t at, len;      /* in slot->json */
	uint32_t record;     /* index in the batch; MESSAGE_ALL: the whole batch */
	uint8_t state;       /* enum message_state */
};

/* The last error of each kind. */
struct kafka_errors {
	rd_kafka_resp_err_t hold, retry, refused;
	rd_kafka_resp_err_t in_doubt; /* messages were refused together: any of them may be to blame */
};

/* A batch on its way. The slot remembers delivered messages until another batch takes the slot. */
struct kafka_slot {
	struct kafka *kafka;
	const struct skep_batch *batch; /* NULL: free */
	char *key;                      /* of the batch that messages are of; NULL: of none */
	struct jsonw json;
	struct kafka_message *messages;
	uint32_t n, room;
	uint32_t produced; /* handed over in this attempt */
	uint32_t reported; /* of them, heard of again */
	bool work_over;    /* no more will be handed over in this attempt */
	bool asked;        /* why its messages time out */
	/* one message at a time, and no other batch meanwhile: so a refusal names the message to blame */
	bool singly;
	int err;           /* no memory */
	uint64_t sent_bytes;
	/* of reports, on the loop; of handing over, on the worker until work_over */
	struct kafka_errors errors, at_once;
};

struct kafka {
	const char *brokers, *topic, *key, *format, *compression, *client_id;
	const char **streams, **properties;
	uint64_t timeout_ns;

	const struct skep_host *host;
	struct skep_instance *inst;
	rd_kafka_t *producer;
	rd_kafka_queue_t *queue;
	int event_fd;
	struct skep_watch *watch;
	bool renewing;        /* the producer is being replaced: nothing is handed over */
	bool all_down;        /* no broker was there, at some time since a batch was taken */
	/* it was given a message; a producer that fails before its first message is not replaced again and again */
	bool used;
	rd_kafka_t *old;      /* the one before, for the worker that takes it down */
	rd_kafka_resp_err_t trouble; /* what keeps it from any broker: authentication, TLS; 0: nothing known */
	char trouble_text[256];
	struct skep_counter *messages, *refused, *renewals;
	struct kafka_slot slots[KAFKA_IN_FLIGHT];
};

/* producer.c: librdkafka's handle. */
int producer_open(struct kafka *); /* fails by host->fail() */
void producer_stop(struct kafka *); /* in stop() */
void producer_close(struct kafka *);
/* It has failed for good (rd_kafka_fatal_error): another one, when nothing is under way. */
void producer_renew(struct kafka *);

/* properties.c: the configuration. NULL after host->fail(), *ret_err says what. */
rd_kafka_conf_t *properties_new(const struct kafka *, int *ret_err);

/* message.c: the texts, on a worker. */
int message_encode(struct kafka_slot *); /* all messages of the batch, none delivered; -ENOMEM */
/* Hands undelivered messages to librdkafka; of a slot that sends singly, the next message. */
void message_produce(struct kafka_slot *);

/* topic.c */
void topic_of(const struct kafka_slot *, const struct kafka_message *, char *ret, size_t room);
/*
 * On a worker, a struct kafka_slot: notes in at_once what the brokers say of the first topic that has not taken its
 * messages.
 */
void topic_ask(void *slot);

/* errors.c */
enum kafka_fate { FATE_RETRY, FATE_HOLD, FATE_REFUSED, FATE_TOO_LARGE };
enum kafka_fate errors_fate(rd_kafka_resp_err_t);
/* The remedy, for the operator; NULL: the broker's words say it. */
const char *errors_remedy(rd_kafka_resp_err_t);
/* A message has failed: it is noted, and in the message that it never will be delivered. */
void errors_note(struct kafka_errors *, struct kafka_message *, rd_kafka_resp_err_t);

/* kafka.c: a report has come, on the loop. */
void kafka_report(struct kafka_message *, rd_kafka_resp_err_t);
void kafka_check_slots(struct kafka *);

#endif
