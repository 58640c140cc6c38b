/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/batch.h - a batch of records with all that they point to, copied once and shared
 * by the queues of all sinks.
 */
#ifndef SKEP_CORE_BATCH_H
#define SKEP_CORE_BATCH_H

#include <skep/record.h>

#define BATCH_MAX_RECORDS 500u
#define BATCH_MAX_BYTES (1u << 20)
#define BATCH_CONTEXTS 8u

/* The host as it is when records are made.  Copied into each batch, and stored with it. */
struct batch_origin {
	const char *boot_id, *host_name, *kernel;
};

struct batch_chunk;
struct batch_point;

struct batch {
	struct skep_batch pub; /* what sinks see */
	unsigned refs;
	size_t bytes;   /* memory that it takes */
	uint64_t born_ns;
	char *key;           /* and behind it the origin's texts */
	size_t *account;     /* bytes are in there until it goes; NULL: nowhere */
	struct batch *whole; /* a half: whose records these are */
	struct batch_chunk *chunks;
	/* The fields of points_of that point to something; of the streams that records come from, most are of one. */
	const struct skep_stream *points_of;
	struct batch_point *points;
	uint32_t n_points, room_points;
	/* Of the records before, the latest first: neighbours share them, and tools take turns. */
	const struct skep_context *contexts[BATCH_CONTEXTS];
	const struct skep_record *records[BATCH_MAX_RECORDS];
	uint16_t streams[BATCH_MAX_RECORDS]; /* number of each record's stream, as given to batch_add */
};

/* Empty, without a key. NULL: no memory. */
struct batch *batch_new(const struct batch_origin *, uint64_t now_ns);
/*
 * Its records are complete: gives it its id, and its key "BOOT:RANDOM:ID".  The 64 random bits are drawn now, not at
 * the start: virtual machines that were resumed from one snapshot have the same boot id and count on from the same id.
 */
void batch_seal(struct batch *, uint64_t id);
/* One that was stored: with the key that it had. */
struct batch *batch_restored(const char *key, const struct batch_origin *, uint64_t id, int64_t realtime_offset_ns);
struct batch *batch_ref(struct batch *);
void batch_unref(struct batch *); /* NULL is fine */
void batch_account(struct batch *, size_t *account); /* its bytes are added there, and taken off when it goes */
/*
 * The first or the second half of its records, as a batch of the same id and of key KEY/0 or KEY/1: the same
 * on every retry, so that a receiver still knows it.  n > 1.  NULL: no memory.
 */
struct batch *batch_half(struct batch *whole, unsigned which);

static inline bool batch_full(const struct batch *b)
{
	return b->pub.n >= BATCH_MAX_RECORDS || b->bytes >= BATCH_MAX_BYTES;
}

/* A deep copy of rec and context (may be NULL). 0, or -ENOMEM: nothing was added. Not on a full batch. */
int batch_add(struct batch *, uint16_t stream_number, const struct skep_stream *, const struct skep_upid *,
	      uint64_t time_ns, const void *rec, const struct skep_context *);

#endif
