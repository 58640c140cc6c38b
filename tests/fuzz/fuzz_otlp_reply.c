/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver answers: bytes from the network. */
#include <stdlib.h>
#include <string.h>

#include "sinks/common/utf8.h"
#include "sinks/otlp/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reply r;

	if (reply_read(data, size, &r) && utf8_valid(r.words, strlen(r.words)) != strlen(r.words))
		abort();
	if (reply_read_status(data, size, &r) && (!*r.words || utf8_valid(r.words, strlen(r.words)) != strlen(r.words)))
		abort();
	return 0;
}
