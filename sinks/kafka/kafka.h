/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/kafka/kafka.h - the sink's state, and the functions that its files share.
 *
 * The sink starts no thread of its own; librdkafka does.  A worker thread of the plugin host encodes a batch and hands
 * its messages to librdkafka.  librdkafka writes an eventfd when delivery reports are ready, and the loop reads the
 * reports.
 */
#ifndef SKEP_SINKS_KAFKA_H
#define SKEP_SINKS_KAFKA_H

#include <librdkafka/rdkafka.h>
#include <skep/plugin.h>
#include <skep/sink/jsonw.h>

/*
 * The number of batches that the sink encodes or delivers at the same time.  A message waits 20 ms in librdkafka
 * (linger.ms), then for the broker's answer.  Two batches of 500 records would allow at most 40,000 records/s, on any
 * CPU.
 */
#define KAFKA_IN_FLIGHT 8

enum message_state { MESSAGE_OPEN = 0, MESSAGE_DELIVERED, MESSAGE_REFUSED };

#define MESSAGE_ALL UINT32_MAX
#define TOPIC_MAX 250 /* Kafka allows 249 bytes in a topic's name */

struct kafka_message {
	struct kafka_slot *slot;
	size_t at, len;      /* in slot->json */
	uint32_t record;     /* index in the batch; MESSAGE_ALL: the whole batch */
	uint8_t state;       /* enum message_state */
};

/* The last error of each fate. */
struct kafka_errors {
	rd_kafka_resp_err_t hold, retry, refused;
	rd_kafka_resp_err_t in_doubt; /* a broker refused several messages together; any of them may be the cause */
};

/* A batch in flight. The slot remembers which messages were delivered until another batch takes the slot. */
struct kafka_slot {
	struct kafka *kafka;
	const struct skep_batch *batch; /* NULL: free */
	char *key;                      /* key of the batch that messages belong to; NULL: messages holds none */
	struct jsonw json;
	struct kafka_message *messages;
	uint32_t n, room;
	uint32_t produced; /* messages handed to librdkafka in this attempt */
	uint32_t reported; /* produced messages that librdkafka has reported */
	bool work_over;    /* the worker hands over no more messages in this attempt */
	bool asked;        /* a worker has asked the brokers why the messages timed out */
	/* sends one message at a time, and no other batch meanwhile, so that a refusal names the message at fault */
	bool singly;
	int err;           /* no memory, or no worker */
	uint64_t sent_bytes;
	/* the loop writes errors, from delivery reports; the worker writes at_once until work_over */
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
	bool renewing;        /* a worker closes the old producer; the sink accepts no batch */
	bool all_down;        /* librdkafka lost every broker at some time since the last submit() */
	/* The producer received a message. The sink does not replace a producer that fails before its first message. */
	bool used;
	uint64_t files;       /* properties_files(), from before the producer was made */
	uint64_t look_ns;     /* when the sink looks at these files again, by skep_boot_ns() */
	bool stale;           /* a file has changed: the sink accepts no batch, and replaces the producer when idle */
	rd_kafka_t *old;      /* the previous producer, until a worker has closed it */
	rd_kafka_resp_err_t trouble; /* why no broker accepts it: authentication, TLS; 0: unknown */
	char trouble_text[256];
	struct skep_counter *messages, *refused, *renewals;
	struct kafka_slot slots[KAFKA_IN_FLIGHT];
};

/* producer.c: owns librdkafka's handle. */
int producer_open(struct kafka *); /* reports an error by host->fail() */
void producer_stop(struct kafka *); /* call it from stop() */
void producer_close(struct kafka *);
/* Replaces a producer that failed for good (rd_kafka_fatal_error) or is stale. Call it while no batch is in flight. */
void producer_renew(struct kafka *);
/*
 * True when a file that the properties name has changed since the producer was made, which read it then.  Looks at the
 * files every five minutes, and at each call while no broker accepts the producer.
 */
bool producer_is_stale(struct kafka *);

/* properties.c: builds the configuration. On error returns NULL after host->fail(), and sets *ret_err. */
rd_kafka_conf_t *properties_new(const struct kafka *, int *ret_err);
/* Another number after one of the properties' files was replaced or written; 0: one is missing or empty, for now. */
uint64_t properties_files(const struct kafka *);

/* message.c: encodes and produces messages, on a worker. */
int message_encode(struct kafka_slot *); /* encodes all messages of the batch, as undelivered; -ENOMEM */
/* Hands undelivered messages to librdkafka; when the slot sends one message at a time, only the next one. */
void message_produce(struct kafka_slot *);

/* topic.c: writes the topic's name for a message into ret. */
void topic_of(const struct kafka_slot *, const struct kafka_message *, char *ret, size_t room);
/*
 * Runs on a worker, for a struct kafka_slot.  Asks the brokers about the topic of the first undelivered message, and
 * stores their error in at_once.
 */
void topic_ask(void *slot);

/* errors.c: classifies errors. */
enum kafka_fate { FATE_RETRY, FATE_HOLD, FATE_REFUSED, FATE_TOO_LARGE };
enum kafka_fate errors_fate(rd_kafka_resp_err_t);
/* Returns what the operator can do; NULL when the broker's own text says enough. */
const char *errors_remedy(rd_kafka_resp_err_t);
/* Stores the error of a failed message, and marks the message when no retry can deliver it. */
void errors_note(struct kafka_errors *, struct kafka_message *, rd_kafka_resp_err_t);

/* kafka.c: handles a delivery report, on the loop. */
void kafka_report(struct kafka_message *, rd_kafka_resp_err_t);
void kafka_check_slots(struct kafka *);

#endif
