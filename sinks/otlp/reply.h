/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/reply.h - reads a receiver's answer: how many items it refused, or the text of an error.
 * The bytes come from the network, so the reader trusts none of them.
 */
#ifndef SKEP_SINKS_OTLP_REPLY_H
#define SKEP_SINKS_OTLP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
	uint64_t rejected;
	char words[256]; /* printable UTF-8; "" without a text */
};

/*
 * Reads the answer of a 2xx: Export...ServiceResponse { partial_success = 1 { rejected = 1, error_message = 2 } }, the
 * same for all three signals, in protobuf, or in JSON where the content type says so.
 *
 * OTLP 1.0 wants a 200 with this message in the request's content type.  Receivers that store all that they acknowledge
 * deviate: Prometheus and Grafana Cloud send no body, Loki a 204, Fluent Bit a 201.  So the message may be empty and
 * the status any 2xx, but another text is no success: false.
 */
bool reply_read(const char *content_type, const void *, size_t n, struct reply *ret);
/* Reads google.rpc.Status { code = 1, message = 2 }. False: not such a message, or one without a text. */
bool reply_read_status(const void *, size_t n, struct reply *ret);

#endif
