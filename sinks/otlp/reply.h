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
 * Reads Export...ServiceResponse { partial_success = 1 { rejected = 1, error_message = 2 } }, the same for all three
 * signals.  False: not such a message.
 */
bool reply_read(const void *, size_t n, struct reply *ret);
/* Reads google.rpc.Status { code = 1, message = 2 }. False: not such a message, or one without a text. */
bool reply_read_status(const void *, size_t n, struct reply *ret);

#endif
