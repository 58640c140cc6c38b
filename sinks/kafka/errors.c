/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps each librdkafka error to a message's fate (retry, hold until an operator acts, give up) and to a remedy, for the
 * whole sink.
 */
#include "sinks/kafka/kafka.h"

enum kafka_fate errors_fate(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
		return FATE_TOO_LARGE;
	/* the broker rejects the message itself */
	case RD_KAFKA_RESP_ERR_INVALID_MSG:
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
	case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
		return FATE_REFUSED;
	/* the configuration of skepd, or of the broker, is wrong */
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
	case RD_KAFKA_RESP_ERR__SSL:
	case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
	case RD_KAFKA_RESP_ERR__INVALID_ARG:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
	case RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS:
		return FATE_HOLD;
	default:
		/*
		 * time-outs, lost brokers, moving leaders, too few replicas, and errors that librdkafka adds in later
		 * versions
		 */
		return FATE_RETRY;
	}
}

const char *errors_remedy(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		return "allow this user to WRITE to the topic and to DESCRIBE it";
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		return "allow this user IDEMPOTENT_WRITE on the cluster, or WRITE to the topic where brokers are 3.0 or later";
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		return "make the topic, or mend the option topic";
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
		return "mend the option topic";
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
	case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
		return "mend sasl.mechanism, sasl.username or sasl.password in the option properties";
	case RD_KAFKA_RESP_ERR__SSL:
		return "mend ssl.ca.location and its like in the option properties, or the broker's certificate";
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
		return "choose another compression";
	default:
		return NULL;
	}
}

void errors_note(struct kafka_errors *e, struct kafka_message *m, rd_kafka_resp_err_t err)
{
	switch (errors_fate(err)) {
	case FATE_TOO_LARGE:
	case FATE_REFUSED:
		e->refused = err;
		/* the plugin host can split a whole batch, so a whole batch stays open; a single record is given up */
		if (m->record != MESSAGE_ALL)
			m->state = MESSAGE_REFUSED;
		break;
	case FATE_HOLD:
		e->hold = err;
		break;
	case FATE_RETRY:
		e->retry = err;
		break;
	}
}
