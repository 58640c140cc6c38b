/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse's answers, as the sink and the reader see them: bytes from the network.  The first line is the value of a
 * header, the rest the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lake/http.h"
#include "sinks/clickhouse/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *header = calloc(size + 2, 1), *body;
	const char *remedy, *exception;
	unsigned code;

	if (!header)
		return 0;
	if (size)
		memcpy(header, data, size);
	body = header + strcspn(header, "\n");
	if (*body)
		*body++ = '\0';
	code = answer_code(header, body);
	if (answer_is_success(200, code, body) && (code || strstr(body, "Code: ")))
		abort();
	if (answer_classify(SKEP_BATCH_ACK, code, &remedy) == SKEP_BATCH_ACK)
		abort();
	if (answer_setting(body) > SETTINGS)
		abort();
	exception = lake_http_exception(body);
	if (exception && (exception < body || exception > body + strlen(body)))
		abort();
	free(header);
	return 0;
}
