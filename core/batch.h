/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch.h - a batch of records with all that they point to, copied once and shared
 * by the queues of all sinks.
 */
#ifndef SKEP_CORE_BATCH_H
#define SKEP_CORE_BATCH_H

#include <skep/record.h>

#define BATCH_MAX_RECORDS 500u
#define BATCH_MAX_BYTES (1u << 20)

struct batch_chunk;

struct batch {
	struct skep_batch pub; /* what sinks see */
	unsigned refs;
	size_t bytes;   /* memory that it takes */
	uint64_t born_ns;
	char *key;
	struct batch_chunk *chunks;
	const struct skep_context *context; /* of the record before: neighbours often share it */
	const struct skep_record *records[BATCH_MAX_RECORDS];
	uint16_t streams[BATCH_MAX_RECORDS]; /* number of each record's stream, as given to batch_add */
};

/* key_prefix: "<boot id>:<collector's start>"; the key is that, ":" and the id. NULL: no memory. */
struct batch *batch_new(const char *key_prefix, uint64_t id, uint64_t now_ns);
struct batch *batch_ref(struct batch *);
void batch_unref(struct batch *); /* NULL is fine */

static inline bool batch_full(const struct batch *b)
{
	return b->pub.n >= BATCH_MAX_RECORDS || b->bytes >= BATCH_MAX_BYTES;
}

/* A deep copy of rec and context (may be NULL). 0, or -ENOMEM: nothing was added. Not on a full batch. */
int batch_add(struct batch *, uint16_t stream_number, const struct skep_stream *, const struct skep_upid *, uint64_t time_ns,
	      const void *rec, const struct skep_context *);

#endif
