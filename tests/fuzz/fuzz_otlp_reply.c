/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver's answer: bytes from the network.
 */
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/otlp/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { "", "application/x-protobuf", "application/json" };
	struct reply r;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (reply_read(types[i], data, size, &r) &&
		    skep_utf8_valid(r.words, strlen(r.words)) != strlen(r.words))
			abort();
	if (reply_read_status(data, size, &r) &&
	    (!*r.words || skep_utf8_valid(r.words, strlen(r.words)) != strlen(r.words)))
		abort();
	return 0;
}
