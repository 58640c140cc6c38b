/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/batch.c - builds batches for tests of sinks.
 */
#include <string.h>

#include "sdk/mock/priv.h"

struct skep_mock_batch *skep_mock_batch_new(uint64_t id, int64_t realtime_offset_ns)
{
	struct skep_mock_batch *b = mock_need(calloc(1, sizeof(*b)));

	snprintf(b->key, sizeof(b->key), "testhost:epoch:%llu", (unsigned long long)id);
	b->batch = (struct skep_batch){
		.size = sizeof(b->batch),
		.id = id,
		.key = b->key,
		.realtime_offset_ns = realtime_offset_ns,
		.boot_id = SKEP_MOCK_BOOT_ID,
		.host_name = "testhost",
		.kernel = "6.1.0",
	};
	return b;
}

struct skep_mock_batch *skep_mock_batch_free(struct skep_mock_batch *b)
{
	for (uint32_t i = 0; b && i < b->batch.n; i++) {
		free((void *)(uintptr_t)b->records[i]->data);
		free((void *)(uintptr_t)b->records[i]->context);
		free(b->records[i]);
	}
	if (b)
		free(b->records);
	free(b);
	return NULL;
}

static void *mock_copy_of(const void *p, size_t n)
{
	void *copy = mock_need(malloc(n ? n : 1));

	memcpy(copy, p, n);
	return copy;
}

void skep_mock_batch_add(struct skep_mock_batch *b, const struct skep_stream *s, const struct skep_upid *upid,
			 uint64_t time_ns, const void *data, const struct skep_context *context)
{
	struct skep_record r = {
		.size = sizeof(r),
		.stream = s,
		.time_ns = time_ns,
		.data = mock_copy_of(data, s->record_size),
		.context = context ? mock_copy_of(context, sizeof(*context)) : NULL,
	};

	if (upid)
		r.upid = *upid;
	if (b->batch.n == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->records = mock_need(realloc(b->records, b->room * sizeof(*b->records)));
	}
	b->records[b->batch.n++] = mock_copy_of(&r, sizeof(r));
	b->batch.records = (const struct skep_record *const *)b->records;
}

struct skep_str skep_mock_text(const char *s)
{
	return (struct skep_str){ .ptr = s, .len = (uint32_t)strlen(s), .total = (uint32_t)strlen(s) };
}
