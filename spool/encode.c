/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/encode.c - encodes a batch to a body.
 */
#include <string.h>

#include "spool/code_priv.h"

#define CONTEXTS_LOOKED_AT 8u /* consecutive records share contexts; an older match is rare */

static void put_str(struct bytes_out *b, const struct skep_str *s)
{
	uint32_t len = s->ptr ? s->len : 0;

	bytes_number(b, len);
	bytes_number(b, s->total > len ? s->total - len : 0);
	bytes_put(b, s->ptr, len);
}

/* A record of the same stream before it, if it shares the text (core/delivery/batch.c), has it already: 1. */
static void put_text(struct bytes_out *b, const struct skep_str *s, const struct skep_str *before)
{
	uint32_t len = s->ptr ? s->len : 0;

	if (len && before && before->ptr == s->ptr && before->len == s->len && before->total == s->total) {
		bytes_number(b, 1);
		return;
	}
	bytes_number(b, (uint64_t)len << 1);
	bytes_number(b, s->total > len ? s->total - len : 0);
	bytes_put(b, s->ptr, len);
}

static void put_hist(struct bytes_out *b, const struct skep_hist *h)
{
	uint32_t n = h->slots ? h->n : 0;

	if (n > SKEP_HIST_SLOTS)
		n = SKEP_HIST_SLOTS;
	bytes_number(b, n);
	bytes_number(b, h->sum);
	for (uint32_t i = 0; i < n; i++)
		bytes_number(b, h->slots[i]);
}

static void put_upid(struct bytes_out *b, const struct skep_upid *u, uint64_t time_ns)
{
	bytes_number(b, u->pid);
	if (u->pid)
		bytes_number(b, bytes_zigzag((int64_t)(time_ns - u->start_ns)));
}

/* last: the stream's record before this one; NULL: none */
static void put_field(struct bytes_out *b, const struct skep_field *f, const void *data, const void *last,
		      uint64_t time_ns)
{
	const char *from = (const char *)data + f->offset;
	struct skep_upid upid;
	struct skep_str str, before;
	struct skep_hist hist;
	uint64_t u;

	switch (f->type) {
	case SKEP_T_U64:
		memcpy(&u, from, sizeof(u));
		bytes_number(b, u);
		return;
	case SKEP_T_TIME: /* most times are near the record's time: store the difference + 1; 0 is "not known" */
		memcpy(&u, from, sizeof(u));
		bytes_number(b, u ? bytes_zigzag((int64_t)(time_ns - u)) + 1 : 0);
		return;
	case SKEP_T_I64:
		memcpy(&u, from, sizeof(u));
		bytes_number(b, bytes_zigzag((int64_t)u));
		return;
	case SKEP_T_F64:
		bytes_put(b, from, 8);
		return;
	case SKEP_T_BOOL:
		bytes_put(b, from, 1);
		return;
	case SKEP_T_STR:
	case SKEP_T_STRV:
		memcpy(&str, from, sizeof(str));
		if (last)
			memcpy(&before, (const char *)last + f->offset, sizeof(before));
		put_text(b, &str, last ? &before : NULL);
		return;
	case SKEP_T_UPID:
		memcpy(&upid, from, sizeof(upid));
		put_upid(b, &upid, time_ns);
		return;
	case SKEP_T_HASH:
	case SKEP_T_IP:
		bytes_put(b, from, 16);
		return;
	case SKEP_T_HIST:
		memcpy(&hist, from, sizeof(hist));
		put_hist(b, &hist);
		return;
	default: /* the host refuses a stream with a field of another type */
		b->err = -EINVAL;
	}
}

static void put_stream(struct bytes_out *b, const struct skep_stream *s)
{
	bytes_text(b, s->name, strlen(s->name));
	bytes_text(b, s->help ? s->help : "", s->help ? strlen(s->help) : 0);
	bytes_number(b, s->role);
	bytes_number(b, s->flags);
	bytes_number(b, s->n_fields);
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);

		bytes_text(b, f->name, strlen(f->name));
		bytes_text(b, f->unit ? f->unit : "", f->unit ? strlen(f->unit) : 0);
		bytes_number(b, f->type);
		bytes_number(b, f->semantics);
	}
}

/* Finds or adds the stream in the body's list; returns its number or -ENOMEM. */
static int stream_number(struct spool_code *c, const struct skep_stream *s)
{
	const struct skep_stream **streams;
	const void **lasts;

	for (uint32_t i = 0; i < c->n_streams; i++)
		if (c->streams[i] == s)
			return (int)i;
	if (c->n_streams == c->room_streams) {
		uint32_t room = c->room_streams ? c->room_streams * 2 : 32;

		streams = realloc(c->streams, room * sizeof(*streams));
		if (!streams)
			return -ENOMEM;
		c->streams = streams;
		lasts = realloc(c->lasts, room * sizeof(*lasts));
		if (!lasts)
			return -ENOMEM;
		c->lasts = lasts;
		c->room_streams = room;
	}
	c->lasts[c->n_streams] = NULL;
	c->streams[c->n_streams] = s;
	return (int)c->n_streams++;
}

static void put_context(struct spool_code *c, struct bytes_out *b, const struct skep_context *context,
			int64_t realtime_offset_ns)
{
	uint64_t less = 0;

	if (!context) {
		bytes_number(b, 0);
		return;
	}
	for (uint32_t back = 1; back <= c->n_contexts && back <= CONTEXTS_LOOKED_AT; back++)
		if (c->contexts[c->n_contexts - back] == context) {
			bytes_number(b, c->n_contexts - back + 2);
			return;
		}
	if (code_context_room(c) < 0) {
		b->err = -ENOMEM;
		return;
	}
	c->contexts[c->n_contexts++] = context;
	bytes_number(b, 1);
	bytes_number(b, (uint32_t)(context->payer + 1)); /* SKEP_NOBODY, then root */
	put_str(b, &context->run);
	put_str(b, &context->pipeline);
	put_str(b, &context->task);
	put_str(b, &context->tool);
	put_str(b, &context->container);
	if (context->realtime_offset_ns)
		less = 1 + bytes_zigzag((int64_t)((uint64_t)context->realtime_offset_ns -
						  (uint64_t)realtime_offset_ns));
	bytes_number(b, less);
}

static int put_records(struct spool_code *c, const struct skep_batch *batch)
{
	struct bytes_out *b = &c->records;
	uint64_t before = 0;

	b->len = 0;
	b->err = 0;
	c->n_streams = 0;
	c->n_contexts = 0;
	for (uint32_t i = 0; i < batch->n && !b->err; i++) {
		const struct skep_record *r = batch->records[i];
		int stream = stream_number(c, r->stream);

		if (stream < 0)
			return stream;
		bytes_number(b, (uint64_t)stream);
		bytes_number(b, bytes_zigzag((int64_t)(r->time_ns - before)));
		before = r->time_ns;
		put_upid(b, &r->upid, r->time_ns);
		put_context(c, b, r->context, batch->realtime_offset_ns);
		for (uint32_t k = 0; k < r->stream->n_fields && !b->err; k++)
			put_field(b, skep_stream_field(r->stream, k), r->data, c->lasts[stream], r->time_ns);
		c->lasts[stream] = r->data;
	}
	return b->err;
}

int spool_pack(struct spool_code *c, const void *data, size_t size, const void **ret, size_t *ret_size)
{
	size_t packed = ZSTD_compressBound(size);

	bytes_clear(&c->frame);
	if (!bytes_need(&c->frame, packed))
		return -ENOMEM;
	packed = ZSTD_compress2(c->compress, c->frame.at, c->frame.room, data, size);
	if (ZSTD_isError(packed))
		return -ENOMEM; /* no other cause: the buffer is large enough, and spool_code_new set the parameters */
	c->frame.len = size; /* of the room that its kind of data needs */
	*ret = c->frame.at;
	*ret_size = packed;
	return 0;
}

int spool_encode(struct spool_code *c, const struct skep_batch *batch, const void **ret, size_t *ret_size,
		 size_t *ret_raw)
{
	struct bytes_out *b = &c->raw;
	const char *const head[] = { batch->key, batch->boot_id, batch->host_name, batch->kernel };
	int err;

	if (batch->n > SPOOL_RECORDS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		if (strlen(head[i]) >= (i == 0 ? SPOOL_KEY_MAX : SPOOL_ORIGIN_MAX))
			return -E2BIG;
	err = put_records(c, batch);
	if (err < 0)
		return err;
	b->len = 0;
	b->err = 0;
	bytes_number(b, CODE_VERSION);
	bytes_number(b, batch->id);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		bytes_text(b, head[i], strlen(head[i]));
	bytes_number(b, bytes_zigzag(batch->realtime_offset_ns));
	bytes_number(b, batch->n);
	bytes_number(b, c->n_streams);
	for (uint32_t i = 0; i < c->n_streams; i++)
		put_stream(b, c->streams[i]);
	bytes_put(b, c->records.at, c->records.len);
	if (b->err)
		return b->err;
	if (b->len > SPOOL_RAW_MAX)
		return -E2BIG;
	if (spool_pack(c, b->at, b->len, ret, ret_size) < 0)
		return -ENOMEM;
	if (ret_raw)
		*ret_raw = b->len;
	return 0;
}
