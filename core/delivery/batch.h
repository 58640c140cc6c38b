/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/batch.h - a batch: a deep copy of records, made once and shared by the queues of all sinks.
 */
#ifndef SKEP_CORE_BATCH_H
#define SKEP_CORE_BATCH_H

#include <skep/record.h>

#define BATCH_MAX_RECORDS 500u
#define BATCH_MAX_BYTES (1u << 20)
#define BATCH_MAX_TEXTS (4u << 20)
#define BATCH_CONTEXTS 8u

/* The machine on which the records were made. Each batch holds a copy, and the spool stores the copy with the batch. */
struct batch_origin {
	const char *boot_id, *host_name, *kernel;
};

struct batch_chunk;
struct batch_point;

struct batch {
	struct skep_batch pub; /* what sinks see */
	unsigned refs;
	size_t bytes;   /* memory of this batch, chunks included */
	size_t text_bytes; /* of its records' strings, as sinks write them: shared ones count in each record */
	uint64_t born_ns;
	uint32_t text_most; /* batch_add() cuts a string to so many bytes; its total stays. UINT32_MAX: it cuts none */
	char *key;           /* one allocation: the key, then the texts of the origin */
	size_t *account;     /* a sum that includes `bytes` until this batch is freed; NULL: none */
	struct batch *whole; /* of a half: a reference to the batch that owns the records */
	struct batch_chunk *chunks;
	/* The pointer fields of points_of, the stream of the last record: most records are of one stream. */
	const struct skep_stream *points_of;
	struct batch_point *points;
	uint32_t n_points, room_points;
	/* The contexts used last, latest first: consecutive records share them, and a few tools alternate. */
	const struct skep_context *contexts[BATCH_CONTEXTS];
	const struct skep_record *records[BATCH_MAX_RECORDS];
	uint16_t streams[BATCH_MAX_RECORDS]; /* number of each record's stream, as given to batch_add */
};

/* Returns an empty batch without a key; NULL: no memory. */
struct batch *batch_new(const struct batch_origin *, uint64_t now_ns);
/*
 * Closes the batch: sets its id, and its key "BOOT:RANDOM:ID".  The function draws the 64 random bits now, not at the
 * start: virtual machines resumed from one snapshot have the same boot id and continue from the same batch id.
 */
void batch_seal(struct batch *, uint64_t id);
/* Returns an empty batch for stored records, with the stored key; NULL: no memory. */
struct batch *batch_restored(const char *key, const struct batch_origin *, uint64_t id, int64_t realtime_offset_ns);
struct batch *batch_ref(struct batch *);
void batch_unref(struct batch *); /* NULL is fine */
void batch_account(struct batch *, size_t *account); /* adds bytes to *account; batch_unref subtracts them at the end */
/*
 * Returns the first or second half of the records as a batch with the same id and the key KEY/0 or KEY/1.  A half has
 * the same key on every retry, so the receiver recognizes a duplicate.  Only with n > 1.  NULL: no memory.
 */
struct batch *batch_half(struct batch *whole, unsigned which);

static inline bool batch_full(const struct batch *b)
{
	return b->pub.n >= BATCH_MAX_RECORDS || b->bytes >= BATCH_MAX_BYTES || b->text_bytes >= BATCH_MAX_TEXTS;
}

/* Adds a deep copy of rec and context (may be NULL). 0, or -ENOMEM: nothing was added. Not on a full batch. */
int batch_add(struct batch *, uint16_t stream_number, const struct skep_stream *, const struct skep_upid *,
	      uint64_t time_ns, const void *rec, const struct skep_context *);

#endif
