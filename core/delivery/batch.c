/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/batch.c - batches: each is an arena of chunks with the copied records and strings.
 */
#include "core/delivery/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unique.h"

#define CHUNK_BYTES (32u << 10)

struct batch_chunk {
	struct batch_chunk *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

/* A field that holds a pointer: a string, or a histogram. */
struct batch_point {
	uint32_t offset;
	bool hist;
	/*
	 * The string of the same field in the record before.  Equal ones share one copy: forks of a program have its
	 * arguments, and most processes a folder and a cgroup with their neighbours.
	 */
	bool shared; /* with the record that is added */
	uint32_t len;
	const char *text;
};

#define KEY_ROOM sizeof(":0123456789abcdef:18446744073709551615") /* the boot id comes before */

static char *put(char *to, const char *text, const char **ret)
{
	*ret = to;
	return stpcpy(to, text) + 1;
}

/* room: bytes of the key, NUL included. */
static struct batch *make(size_t room, const struct batch_origin *origin)
{
	size_t texts = strlen(origin->boot_id) + strlen(origin->host_name) + strlen(origin->kernel) + 3;
	struct batch *b = calloc(1, sizeof(*b));
	char *at;

	if (!b)
		return NULL;
	b->key = malloc(room + texts);
	if (!b->key) {
		free(b);
		return NULL;
	}
	b->key[0] = '\0';
	b->refs = 1;
	b->text_most = UINT32_MAX;
	b->bytes = sizeof(*b) + room + texts;
	b->pub = (struct skep_batch){ .size = sizeof(b->pub), .key = b->key, .records = b->records };
	at = put(b->key + room, origin->boot_id, &b->pub.boot_id);
	at = put(at, origin->host_name, &b->pub.host_name);
	put(at, origin->kernel, &b->pub.kernel);
	return b;
}

void batch_seal(struct batch *b, uint64_t id)
{
	b->pub.id = id;
	snprintf(b->key, strlen(b->pub.boot_id) + KEY_ROOM, "%s:%016" PRIx64 ":%" PRIu64, b->pub.boot_id, unique_u64(),
		 id);
}

struct batch *batch_new(const struct batch_origin *origin, uint64_t now_ns)
{
	struct batch *b = make(strlen(origin->boot_id) + KEY_ROOM, origin);

	if (b)
		b->born_ns = now_ns;
	return b;
}

struct batch *batch_restored(const char *key, const struct batch_origin *origin, uint64_t id,
			     int64_t realtime_offset_ns)
{
	struct batch *b = make(strlen(key) + 1, origin);

	if (!b)
		return NULL;
	strcpy(b->key, key);
	b->pub.id = id;
	b->pub.realtime_offset_ns = realtime_offset_ns;
	return b;
}

struct batch *batch_ref(struct batch *b)
{
	b->refs++;
	return b;
}

void batch_unref(struct batch *b)
{
	if (!b || --b->refs > 0)
		return;
	while (b->chunks) {
		struct batch_chunk *next = b->chunks->next;

		free(b->chunks);
		b->chunks = next;
	}
	if (b->account)
		*b->account -= b->bytes;
	batch_unref(b->whole);
	free(b->points);
	free(b->key);
	free(b);
}

void batch_account(struct batch *b, size_t *account)
{
	b->account = account;
	*account += b->bytes;
}

struct batch *batch_half(struct batch *whole, unsigned which)
{
	uint32_t middle = whole->pub.n / 2, from = which ? middle : 0, n = which ? whole->pub.n - middle : middle;
	size_t room = strlen(whole->key) + sizeof("/0");
	struct batch *b = make(room, &(struct batch_origin){ "", "", "" }); /* `pub` below points to the whole's texts */

	if (!b)
		return NULL;
	snprintf(b->key, room, "%s/%u", whole->key, which ? 1u : 0u);
	b->born_ns = whole->born_ns;
	b->pub = whole->pub;
	b->pub.n = n;
	b->pub.key = b->key;
	b->pub.records = b->records;
	memcpy(b->records, whole->records + from, n * sizeof(b->records[0]));
	memcpy(b->streams, whole->streams + from, n * sizeof(b->streams[0]));
	b->whole = batch_ref(whole);
	if (whole->account)
		batch_account(b, whole->account);
	return b;
}

/* Returns room for n more bytes in one piece, so that a copy into it cannot fail half-way. NULL: no memory. */
static char *reserve(struct batch *b, size_t n)
{
	struct batch_chunk *c = b->chunks;
	size_t size;

	if (c && c->size - c->used >= n)
		return c->bytes + c->used;
	size = n > CHUNK_BYTES - sizeof(*c) ? n : CHUNK_BYTES - sizeof(*c);
	c = malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	c->used = 0;
	c->size = size;
	c->next = b->chunks;
	b->chunks = c;
	b->bytes += sizeof(*c) + size;
	return c->bytes;
}

static size_t aligned(size_t n)
{
	return (n + 7) / 8 * 8;
}

/* Bytes of the slots to copy: no more slots than the type has. */
static size_t hist_size(const struct skep_hist *h)
{
	return h->slots ? (h->n < SKEP_HIST_SLOTS ? h->n : SKEP_HIST_SLOTS) * sizeof(uint64_t) : 0;
}

static char *copy_hist(struct skep_hist *h, char *to)
{
	size_t size = hist_size(h);

	if (size > 0)
		memcpy(to, h->slots, size);
	h->slots = (const uint64_t *)(const void *)to;
	h->n = (uint32_t)(size / sizeof(uint64_t));
	return to + size;
}

static bool add_point(struct batch *b, uint32_t offset, bool hist)
{
	if (b->n_points == b->room_points) {
		uint32_t room = b->room_points ? b->room_points * 2 : 16;
		struct batch_point *more = realloc(b->points, room * sizeof(*more));

		if (!more)
			return false;
		b->points = more;
		b->room_points = room;
	}
	b->points[b->n_points++] = (struct batch_point){ .offset = offset, .hist = hist };
	return true;
}

/* Lists the pointer fields of s, histograms first: their slots need alignment, strings do not.  false: no memory. */
static bool find_points(struct batch *b, const struct skep_stream *s)
{
	if (b->points_of == s)
		return true;
	b->points_of = NULL;
	b->n_points = 0;
	for (uint32_t i = 0; i < s->n_fields; i++)
		if (skep_stream_field(s, i)->type == SKEP_T_HIST &&
		    !add_point(b, skep_stream_field(s, i)->offset, true))
			return false;
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);

		if ((f->type == SKEP_T_STR || f->type == SKEP_T_STRV) && !add_point(b, f->offset, false))
			return false;
	}
	b->points_of = s;
	return true;
}

static void cut(const struct batch *b, struct skep_str *str)
{
	if (!str->ptr)
		str->len = 0;
	if (str->total < str->len)
		str->total = str->len;
	if (str->len > b->text_most)
		str->len = b->text_most;
}

static char *copy_string(struct skep_str *str, char *to)
{
	if (str->len == 0 || !str->ptr) {
		str->ptr = "";
		str->len = 0;
		return to;
	}
	memcpy(to, str->ptr, str->len);
	/* The ABI does not promise this NUL. A sink that ignores the length then reads no memory of other strings. */
	to[str->len] = '\0';
	str->ptr = to;
	if (str->total < str->len)
		str->total = str->len;
	return to + str->len + 1;
}

static bool same_string(const struct skep_str *a, const struct skep_str *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->ptr, b->ptr, a->len) == 0);
}

/* Compares the strings that differ most often first. */
static bool same_context(const struct skep_context *a, const struct skep_context *b)
{
	return a->payer == b->payer && same_string(&a->tool, &b->tool) && same_string(&a->task, &b->task) &&
	       a->realtime_offset_ns == b->realtime_offset_ns && same_string(&a->run, &b->run) &&
	       same_string(&a->container, &b->container) && same_string(&a->pipeline, &b->pipeline);
}

/* Returns the batch's copy of the same context and moves it to the front; NULL: there is none. */
static const struct skep_context *known_context(struct batch *b, const struct skep_context *context)
{
	for (unsigned i = 0; i < BATCH_CONTEXTS && b->contexts[i]; i++) {
		const struct skep_context *same = b->contexts[i];

		if (!same_context(same, context))
			continue;
		memmove(&b->contexts[1], &b->contexts[0], i * sizeof(b->contexts[0]));
		b->contexts[0] = same;
		return same;
	}
	return NULL;
}

int batch_add(struct batch *b, uint16_t stream_number, const struct skep_stream *s, const struct skep_upid *upid,
	      uint64_t time_ns, const void *rec, const struct skep_context *context)
{
	const struct skep_context *known = context ? known_context(b, context) : NULL;
	bool copy_context = context && !known;
	size_t need = aligned(sizeof(struct skep_record)) + aligned(s->record_size), texts = 0;
	struct skep_context *c = NULL;
	struct skep_record *r;
	char *at, *data;

	if (!find_points(b, s))
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n_points; i++) {
		const char *from = (const char *)rec + b->points[i].offset;
		struct skep_hist hist;
		struct skep_str str;

		if (b->points[i].hist) {
			memcpy(&hist, from, sizeof(hist));
			need += hist_size(&hist);
		} else {
			memcpy(&str, from, sizeof(str));
			cut(b, &str);
			b->points[i].shared = str.len && str.len == b->points[i].len &&
					      memcmp(str.ptr, b->points[i].text, str.len) == 0;
			need += b->points[i].shared ? 0 : (size_t)str.len + 1;
			texts += str.len;
		}
	}
	if (copy_context)
		need += aligned(sizeof(*c)) + (size_t)context->run.len + context->pipeline.len + context->task.len +
			context->tool.len + context->container.len + 5;
	need = aligned(need);
	at = reserve(b, need);
	if (!at)
		return -ENOMEM;
	b->chunks->used += need;
	b->text_bytes += texts;

	r = (struct skep_record *)(void *)at;
	data = at + aligned(sizeof(*r));
	at = data + aligned(s->record_size);
	if (copy_context) {
		c = (struct skep_context *)(void *)at;
		at += aligned(sizeof(*c));
	}
	memcpy(data, rec, s->record_size);
	for (uint32_t i = 0; i < b->n_points; i++) {
		char *field = data + b->points[i].offset;
		struct skep_hist hist;
		struct skep_str str;

		if (b->points[i].hist) {
			memcpy(&hist, field, sizeof(hist));
			at = copy_hist(&hist, at);
			memcpy(field, &hist, sizeof(hist));
		} else {
			memcpy(&str, field, sizeof(str));
			cut(b, &str);
			if (b->points[i].shared) {
				str.ptr = b->points[i].text;
			} else {
				at = copy_string(&str, at);
				b->points[i].text = str.ptr;
				b->points[i].len = str.len;
			}
			memcpy(field, &str, sizeof(str));
		}
	}
	if (c) {
		*c = *context;
		c->size = sizeof(*c);
		at = copy_string(&c->run, at);
		at = copy_string(&c->pipeline, at);
		at = copy_string(&c->task, at);
		at = copy_string(&c->tool, at);
		copy_string(&c->container, at);
		memmove(&b->contexts[1], &b->contexts[0], (BATCH_CONTEXTS - 1) * sizeof(b->contexts[0]));
		b->contexts[0] = known = c;
	}
	*r = (struct skep_record){
		.size = sizeof(*r),
		.stream = s,
		.time_ns = time_ns,
		.data = data,
		.context = known,
	};
	if (upid)
		r->upid = *upid;
	b->streams[b->pub.n] = stream_number;
	b->records[b->pub.n++] = r;
	return 0;
}
