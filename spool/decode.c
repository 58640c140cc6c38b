/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool/decode.c - decodes a body to records.  It trusts no byte: a length, a number or a type that does not fit is an
 * error with its offset, never a read beyond the body.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "spool/code_priv.h"

#define STREAMS_MAX 4096u
#define FIELDS_MAX 4096u

struct spool_code *spool_code_new(void)
{
	struct spool_code *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->compress = ZSTD_createCCtx();
	c->decompress = ZSTD_createDCtx();
	if (!c->compress || !c->decompress ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->compress, ZSTD_c_compressionLevel, 1)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->compress, ZSTD_c_checksumFlag, 1)))
		return spool_code_free(c);
	return c;
}

struct spool_code *spool_code_free(struct spool_code *c)
{
	if (!c)
		return NULL;
	ZSTD_freeCCtx(c->compress);
	ZSTD_freeDCtx(c->decompress);
	free(c->raw.at);
	free(c->records.at);
	free(c->frame.at);
	free(c->streams);
	free(c->lasts);
	free(c->contexts);
	free(c->own_contexts);
	free(c->scratch);
	free(c);
	return NULL;
}

int code_context_room(struct spool_code *c)
{
	uint32_t room = c->room_contexts ? c->room_contexts * 2 : 64;
	const struct skep_context **contexts;
	struct skep_context *own;

	if (c->n_contexts < c->room_contexts)
		return 0;
	contexts = realloc(c->contexts, room * sizeof(*contexts));
	if (!contexts)
		return -ENOMEM;
	c->contexts = contexts;
	own = realloc(c->own_contexts, room * sizeof(*own));
	if (!own)
		return -ENOMEM;
	c->own_contexts = own;
	c->room_contexts = room;
	return 0;
}

/* ---- the field tables ---------------------------------------------------------- */

static uint32_t type_size(uint32_t type)
{
	switch (type) {
	case SKEP_T_U64:
	case SKEP_T_I64:
	case SKEP_T_F64:
	case SKEP_T_TIME:
	case SKEP_T_BOOL: /* padded to 8 bytes, so that all other fields are aligned */
		return 8;
	case SKEP_T_STR:
	case SKEP_T_STRV:
	case SKEP_T_UPID:
	case SKEP_T_HASH:
	case SKEP_T_IP:
		return 16;
	case SKEP_T_HIST:
		return sizeof(struct skep_hist);
	default:
		return 0;
	}
}

struct stored {
	struct skep_stream stream;
	struct skep_field *fields;
	char *text; /* names, helps and units, NUL-terminated */
	size_t text_len, text_room;
};

static void stored_free(struct stored *s)
{
	free(s->fields);
	free(s->text);
	*s = (struct stored){ 0 };
}

/* Copies a string to s->text. *ret: its offset there; stored_read turns the offsets into pointers at the end. */
static int take_text(struct bytes_in *in, struct stored *s, const char **ret)
{
	uint64_t len = bytes_take_number(in);
	const char *from = bytes_take(in, len);
	char *text;

	if (!from || memchr(from, '\0', (size_t)len))
		return -EBADMSG;
	if (s->text_room - s->text_len <= len) {
		size_t room = (s->text_room + (size_t)len) * 2 + 256;

		text = realloc(s->text, room);
		if (!text)
			return -ENOMEM;
		s->text = text;
		s->text_room = room;
	}
	*ret = (const char *)(uintptr_t)s->text_len; /* an offset: realloc may still move the text */
	memcpy(s->text + s->text_len, from, (size_t)len);
	s->text[s->text_len + len] = '\0';
	s->text_len += (size_t)len + 1;
	return 0;
}

static int stored_read(struct bytes_in *in, struct stored *s)
{
	uint64_t role, flags, n;
	uint32_t offset = 0;
	int err;

	s->stream = (struct skep_stream){ .size = sizeof(s->stream), .field_size = sizeof(struct skep_field) };
	if ((err = take_text(in, s, &s->stream.name)) < 0 || (err = take_text(in, s, &s->stream.help)) < 0)
		return err;
	role = bytes_take_number(in);
	flags = bytes_take_number(in);
	n = bytes_take_number(in);
	if (in->bad || role > UINT32_MAX || flags > UINT32_MAX || n > FIELDS_MAX)
		return -EBADMSG;
	s->fields = calloc(n ? (size_t)n : 1, sizeof(*s->fields));
	if (!s->fields)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		struct skep_field *f = &s->fields[i];
		uint64_t type, semantics;

		if ((err = take_text(in, s, &f->name)) < 0 || (err = take_text(in, s, &f->unit)) < 0)
			return err;
		type = bytes_take_number(in);
		semantics = bytes_take_number(in);
		if (in->bad || type > UINT32_MAX || semantics > UINT32_MAX || type_size((uint32_t)type) == 0)
			return -EBADMSG;
		f->type = (uint32_t)type;
		f->semantics = (uint32_t)semantics;
		f->offset = offset;
		f->help = "";
		offset += type_size(f->type);
	}
	for (uint64_t i = 0; i < n; i++) {
		s->fields[i].name = s->text + (uintptr_t)s->fields[i].name;
		s->fields[i].unit = s->text + (uintptr_t)s->fields[i].unit;
	}
	s->stream.name = s->text + (uintptr_t)s->stream.name;
	s->stream.help = s->text + (uintptr_t)s->stream.help;
	s->stream.role = (uint32_t)role;
	s->stream.flags = (uint32_t)flags;
	s->stream.n_fields = (uint32_t)n;
	s->stream.record_size = offset ? offset : 8;
	s->stream.fields = s->fields;
	return 0;
}

bool spool_same_fields(const struct skep_stream *a, const struct skep_stream *b)
{
	if (a->n_fields != b->n_fields)
		return false;
	for (uint32_t i = 0; i < a->n_fields; i++) {
		const struct skep_field *one = skep_stream_field(a, i), *other = skep_stream_field(b, i);

		if (one->type != other->type || strcmp(one->name, other->name) != 0)
			return false;
	}
	return true;
}

/* ---- records ------------------------------------------------------------------- */

/* What follows the length of a text. */
static bool take_rest(struct bytes_in *in, uint64_t len, struct skep_str *ret)
{
	uint64_t more = bytes_take_number(in);

	if (in->bad || len > UINT32_MAX || more > UINT32_MAX - len)
		return false;
	ret->len = (uint32_t)len;
	ret->total = (uint32_t)(len + more);
	ret->ptr = bytes_take(in, len);
	return !in->bad;
}

static bool take_str(struct bytes_in *in, struct skep_str *ret)
{
	return take_rest(in, bytes_take_number(in), ret);
}

/* before: the same text of the stream's record before this one; its ptr is NULL if there is none. */
static bool take_shared(struct bytes_in *in, const struct skep_str *before, struct skep_str *ret)
{
	uint64_t len = bytes_take_number(in);

	if (len & 1) {
		*ret = *before;
		return !in->bad && len == 1 && before->ptr;
	}
	return take_rest(in, len >> 1, ret);
}

static bool take_upid(struct bytes_in *in, uint64_t time_ns, struct skep_upid *ret)
{
	uint64_t pid = bytes_take_number(in);

	*ret = (struct skep_upid){ 0 };
	if (in->bad || pid > UINT32_MAX)
		return false;
	ret->pid = (uint32_t)pid;
	if (pid)
		ret->start_ns = time_ns - (uint64_t)bytes_unzigzag(bytes_take_number(in));
	return !in->bad;
}

static bool take_hist(struct bytes_in *in, uint64_t *slots, struct skep_hist *ret)
{
	uint64_t n = bytes_take_number(in);

	*ret = (struct skep_hist){ .slots = slots, .sum = bytes_take_number(in) };
	if (in->bad || n > SKEP_HIST_SLOTS)
		return false;
	for (uint64_t i = 0; i < n; i++)
		slots[i] = bytes_take_number(in);
	ret->n = (uint32_t)n;
	return !in->bad;
}

/* data: the stream's record before this one, or zeros. slots: room for the slots of a histogram. */
static bool take_field(struct bytes_in *in, const struct skep_field *f, uint64_t time_ns, char *data, uint64_t *slots)
{
	char *to = data + f->offset;
	struct skep_upid upid;
	struct skep_str str, before;
	struct skep_hist hist;
	const void *from;
	uint64_t u;

	switch (f->type) {
	case SKEP_T_U64:
	case SKEP_T_I64:
	case SKEP_T_TIME:
		u = bytes_take_number(in);
		if (f->type == SKEP_T_I64)
			u = (uint64_t)bytes_unzigzag(u);
		else if (f->type == SKEP_T_TIME && u)
			u = time_ns - (uint64_t)bytes_unzigzag(u - 1);
		memcpy(to, &u, sizeof(u));
		return !in->bad;
	case SKEP_T_F64:
	case SKEP_T_BOOL:
	case SKEP_T_HASH:
	case SKEP_T_IP:
		u = f->type == SKEP_T_F64 ? 8 : f->type == SKEP_T_BOOL ? 1 : 16;
		from = bytes_take(in, u);
		if (from)
			memcpy(to, from, (size_t)u);
		return from != NULL;
	case SKEP_T_UPID:
		if (!take_upid(in, time_ns, &upid))
			return false;
		memcpy(to, &upid, sizeof(upid));
		return true;
	case SKEP_T_HIST:
		if (!take_hist(in, slots, &hist))
			return false;
		memcpy(to, &hist, sizeof(hist));
		return true;
	default: /* STR, STRV: stored_read refuses other types */
		memcpy(&before, to, sizeof(before));
		if (!take_shared(in, &before, &str))
			return false;
		memcpy(to, &str, sizeof(str));
		return true;
	}
}

/* false: bad data, or no memory (*err) */
static bool take_context(struct spool_code *c, struct bytes_in *in, int64_t realtime_offset_ns,
			 const struct skep_context **ret, int *err)
{
	uint64_t which = bytes_take_number(in), offset;
	struct skep_context *context;

	*ret = NULL;
	if (in->bad)
		return false;
	if (which == 0)
		return true;
	if (which >= 2) {
		if (which - 2 >= c->n_contexts)
			return false;
		*ret = &c->own_contexts[which - 2];
		return true;
	}
	if (code_context_room(c) < 0) {
		*err = -ENOMEM;
		return false;
	}
	context = &c->own_contexts[c->n_contexts++];
	*context = (struct skep_context){ .size = sizeof(*context), .payer = (uint32_t)bytes_take_number(in) - 1 };
	*ret = context;
	if (!take_str(in, &context->run) || !take_str(in, &context->pipeline) || !take_str(in, &context->task) ||
	    !take_str(in, &context->tool) || !take_str(in, &context->container))
		return false;
	offset = bytes_take_number(in);
	if (offset)
		context->realtime_offset_ns =
			(int64_t)((uint64_t)realtime_offset_ns + (uint64_t)bytes_unzigzag(offset - 1));
	return !in->bad;
}

/* A stream of the body, and room for one of its records: each is decoded over the one before it. */
struct decoded {
	const struct skep_stream *stream;
	char *record;
	uint64_t *slots; /* of its histograms */
};

static int take_record(struct spool_code *c, struct bytes_in *in, const struct spool_head *head,
		       const struct decoded *streams, uint64_t n_streams, uint64_t *time_ns,
		       const struct spool_taker *taker, void *arg)
{
	uint64_t number = bytes_take_number(in), *slots;
	const struct skep_context *context;
	const struct skep_stream *s;
	struct skep_upid who;
	char *record;
	int err = -EBADMSG;

	if (in->bad || number >= n_streams)
		return -EBADMSG;
	s = streams[number].stream;
	record = streams[number].record;
	slots = streams[number].slots;
	*time_ns += (uint64_t)bytes_unzigzag(bytes_take_number(in));
	if (!take_upid(in, *time_ns, &who) || !take_context(c, in, head->realtime_offset_ns, &context, &err))
		return err;
	for (uint32_t i = 0; i < s->n_fields; i++) {
		if (!take_field(in, skep_stream_field(s, i), *time_ns, record, slots))
			return -EBADMSG;
		if (skep_stream_field(s, i)->type == SKEP_T_HIST)
			slots += SKEP_HIST_SLOTS;
	}
	return taker->record(arg, s, &who, *time_ns, record, context);
}

/* ---- the whole ------------------------------------------------------------------- */

/* Reads a string to ret, NUL-terminated, at most `room` bytes. false: longer, or bad data. */
static bool take_name(struct bytes_in *in, char *ret, size_t room)
{
	uint64_t len = bytes_take_number(in);
	const char *from = bytes_take(in, len);

	if (!from || len >= room)
		return false;
	memcpy(ret, from, (size_t)len);
	ret[len] = '\0';
	return true;
}

static int take_head(struct bytes_in *in, struct spool_head *ret)
{
	uint64_t version = bytes_take_number(in), len;

	*ret = (struct spool_head){ 0 };
	if (in->bad)
		return -EBADMSG;
	if (version != CODE_VERSION)
		return -ENOTSUP;
	ret->id = bytes_take_number(in);
	if (!take_name(in, ret->key, sizeof(ret->key)) || !take_name(in, ret->boot_id, sizeof(ret->boot_id)) ||
	    !take_name(in, ret->host_name, sizeof(ret->host_name)) || !take_name(in, ret->kernel, sizeof(ret->kernel)))
		return -EBADMSG;
	ret->realtime_offset_ns = bytes_unzigzag(bytes_take_number(in));
	len = bytes_take_number(in);
	if (in->bad || len > SPOOL_RECORDS_MAX)
		return -EBADMSG;
	ret->n = (uint32_t)len;
	return 0;
}

/* Makes room for a record of each stream in the scratch. 0 or -ENOMEM. */
static int make_records(struct spool_code *c, struct decoded *streams, uint64_t n)
{
	size_t need = 0;

	for (int pass = 0; pass < 2; pass++) {
		char *at = c->scratch;

		for (uint64_t i = 0; i < n; i++) {
			const struct skep_stream *s = streams[i].stream;
			size_t size = (s->record_size + 7u) / 8 * 8, slots = 0;

			for (uint32_t k = 0; k < s->n_fields; k++)
				if (skep_stream_field(s, k)->type == SKEP_T_HIST)
					slots += SKEP_HIST_SLOTS * sizeof(uint64_t);
			if (pass == 0) {
				need += size + slots;
				continue;
			}
			streams[i].record = at;
			streams[i].slots = (uint64_t *)(void *)(at + size);
			at += size + slots;
		}
		if (pass == 0 && need > c->scratch_room) {
			free(c->scratch);
			c->scratch_room = 0;
			c->scratch = malloc(need);
			if (!c->scratch)
				return -ENOMEM;
			c->scratch_room = need;
		}
		if (pass == 0 && need)
			memset(c->scratch, 0, need);
	}
	return 0;
}

static int take_all(struct spool_code *c, struct bytes_in *in, const struct spool_taker *taker, void *arg)
{
	struct decoded *streams = NULL;
	struct stored *stored = NULL;
	struct spool_head head;
	uint64_t n = 0, time_ns = 0;
	int err = take_head(in, &head);

	if (err == 0)
		err = taker->head(arg, &head);
	if (err < 0)
		return err;
	n = bytes_take_number(in);
	if (in->bad || n > STREAMS_MAX)
		return -EBADMSG;
	stored = calloc(n ? (size_t)n : 1, sizeof(*stored));
	streams = calloc(n ? (size_t)n : 1, sizeof(*streams));
	if (!stored || !streams)
		err = -ENOMEM;
	for (uint64_t i = 0; i < n && err == 0; i++) {
		err = stored_read(in, &stored[i]);
		if (err == 0)
			err = taker->stream(arg, &stored[i].stream, &streams[i].stream);
	}
	if (err == 0)
		err = make_records(c, streams, n);
	c->n_contexts = 0;
	for (uint32_t i = 0; i < head.n && err == 0; i++)
		err = take_record(c, in, &head, streams, n, &time_ns, taker, arg);
	if (err == 0 && in->at != in->end)
		err = -EBADMSG;
	for (uint64_t i = 0; stored && i < n; i++)
		stored_free(&stored[i]);
	free(stored);
	free(streams);
	return err;
}

int spool_unpack(struct spool_code *c, const void *body, size_t size, const void **ret, size_t *ret_size, char *why,
		 size_t why_size)
{
	unsigned long long raw = ZSTD_getFrameContentSize(body, size);
	size_t got;

	if (raw == ZSTD_CONTENTSIZE_ERROR || raw == ZSTD_CONTENTSIZE_UNKNOWN || raw > SPOOL_RAW_MAX) {
		snprintf(why, why_size, "it is not a zstd frame of at most %u MiB", SPOOL_RAW_MAX >> 20);
		return -EBADMSG;
	}
	bytes_clear(&c->raw);
	if (!bytes_need(&c->raw, (size_t)raw + 1))
		return -ENOMEM;
	got = ZSTD_decompressDCtx(c->decompress, c->raw.at, c->raw.room, body, size);
	if (ZSTD_isError(got)) {
		snprintf(why, why_size, "%s", ZSTD_getErrorName(got));
		return -EBADMSG;
	}
	c->raw.len = got;
	*ret = c->raw.at;
	*ret_size = got;
	return 0;
}

int spool_decode(struct spool_code *c, const void *body, size_t size, const struct spool_taker *taker, void *arg,
		 char *why, size_t why_size)
{
	const void *raw;
	struct bytes_in in;
	size_t got;
	int err = spool_unpack(c, body, size, &raw, &got, why, why_size);

	if (err < 0)
		return err;
	in = (struct bytes_in){ .begin = raw, .at = raw, .end = (const unsigned char *)raw + got };
	err = take_all(c, &in, taker, arg);
	if (err == -ENOTSUP) {
		in.at = in.begin;
		snprintf(why, why_size,
			 "its format has version %llu, this skep reads version %u; read it with the skep that wrote it",
			 (unsigned long long)bytes_take_number(&in), CODE_VERSION);
	}
	if (err == -EBADMSG)
		snprintf(why, why_size, "invalid data at byte %zu of %zu", (size_t)(in.at - in.begin), got);
	return err;
}
