/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_spool.c - the spool's decoder on any content. The target compresses the input first, so that the
 * fuzzer gets past the checksum. Accepted records must keep the promises of their fields.
 */
#include <skep/plugin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "spool/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_head(void *arg, const struct spool_head *head)
{
	(void)arg;
	if (memchr(head->key, '\0', sizeof(head->key)) == NULL)
		abort();
	return 0;
}

static int on_stream(void *arg, const struct skep_stream *stored, const struct skep_stream **ret)
{
	(void)arg;
	for (uint32_t i = 0; i < stored->n_fields; i++)
		if (stored->fields[i].offset >= stored->record_size)
			abort();
	*ret = stored;
	return 0;
}

/* Reads all memory that the record points to, for the sanitizer. */
static int on_record(void *arg, const struct skep_stream *s, const struct skep_upid *who, uint64_t time_ns,
		     const void *data, const struct skep_context *context)
{
	volatile unsigned char sink = 0;
	struct skep_hist hist;
	struct skep_str str;

	(void)arg;
	(void)who;
	(void)time_ns;
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const char *at = (const char *)data + s->fields[i].offset;

		if (s->fields[i].type == SKEP_T_STR || s->fields[i].type == SKEP_T_STRV) {
			memcpy(&str, at, sizeof(str));
			for (uint32_t k = 0; k < str.len; k++)
				sink ^= (unsigned char)str.ptr[k];
			if (str.total < str.len)
				abort();
		} else if (s->fields[i].type == SKEP_T_HIST) {
			memcpy(&hist, at, sizeof(hist));
			for (uint32_t k = 0; k < hist.n; k++)
				sink ^= (unsigned char)hist.slots[k];
		}
	}
	for (uint32_t k = 0; context && k < context->run.len; k++)
		sink ^= (unsigned char)context->run.ptr[k];
	(void)sink;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct spool_taker taker = { on_head, on_stream, on_record };
	size_t room = ZSTD_compressBound(size), n;
	struct spool_code *code = spool_code_new();
	void *body = malloc(room);
	char why[128];

	if (!code || !body)
		abort();
	n = ZSTD_compress(body, room, data, size, 1);
	if (ZSTD_isError(n))
		abort();
	spool_decode(code, body, n, &taker, NULL, why, sizeof(why));
	free(body);
	spool_code_free(code);
	return 0;
}
