/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/delivery/delivery_commit.c - writes batches, offsets of sinks and saved state in one transaction; reads batches
 * back.
 */
#include "core/delivery/delivery_commit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"

#define PASSED_MOST 1024u /* batches that one job passes over: other jobs wait for the thread */

void commit_batches_free(struct commit_batch *b)
{
	while (b) {
		struct commit_batch *next = b->next;

		batch_unref(b->batch);
		free(b);
		b = next;
	}
}

void commit_gone_free(struct commit_gone *g)
{
	while (g) {
		struct commit_gone *next = g->next;

		free(g->counts);
		free(g);
		g = next;
	}
}

void commit_gone_counts(const struct commit_gone *g, void (*cb)(void *arg, const char *stream, uint64_t n), void *arg)
{
	char stream[256];
	unsigned long long n;
	int used;

	for (const char *at = g->counts; at && sscanf(at, "%255s %llu%n", stream, &n, &used) == 2; at += used)
		cb(arg, stream, n);
}

void commit_free(struct delivery_commit *c)
{
	commit_batches_free(c->batches);
	commit_gone_free(c->gone);
	for (size_t i = 0; i < c->n_cursors; i++)
		free(c->cursors[i].name);
	free(c->cursors);
	free(c->chunk);
	for (size_t i = 0; i < c->n_values; i++) {
		free(c->values[i].name);
		free(c->values[i].data);
	}
	free(c->values);
	free(c);
}

/* ---- put together ---------------------------------------------------------------- */

static bool more(void **list, size_t *room, size_t n, size_t size)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *at;

	if (n < *room)
		return true;
	at = realloc(*list, wanted * size);
	if (!at)
		return false;
	*list = at;
	*room = wanted;
	return true;
}

uint64_t delivery_commit_number(const struct delivery_commit *c)
{
	return c->number;
}

void delivery_commit_chunk(struct delivery_commit *c, const void *chunk, size_t size, bool whole)
{
	c->chunk = malloc(size);
	if (!c->chunk) {
		c->err = -ENOMEM;
		return;
	}
	memcpy(c->chunk, chunk, size);
	c->chunk_size = size;
	c->chunk_whole = whole;
}

void delivery_commit_value(struct delivery_commit *c, const char *name, const void *value, size_t size)
{
	struct commit_value v = { .name = strdup(name), .data = malloc(size ? size : 1), .size = size };

	if (!v.name || !v.data || !more((void **)&c->values, &c->room_values, c->n_values, sizeof(*c->values))) {
		free(v.name);
		free(v.data);
		c->err = -ENOMEM;
		return;
	}
	if (size) /* an empty value may be NULL, and memcpy does not allow NULL */
		memcpy(v.data, value, size);
	c->values[c->n_values++] = v;
}

/* ---- written --------------------------------------------------------------------- */

static void on_gone(void *arg, uint64_t id, uint32_t n, const char *counts)
{
	struct commit_gone **list = arg, *g = calloc(1, sizeof(*g));

	if (!g)
		return;
	g->id = id;
	g->n = n;
	g->counts = strdup(counts ? counts : "");
	g->next = *list;
	*list = g;
}

char *commit_counts(const struct skep_batch *b)
{
	struct {
		const struct skep_stream *stream;
		uint32_t n;
	} seen[64] = { 0 };
	size_t n = 0, len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < b->n; i++) {
		size_t k = 0;

		while (k < n && seen[k].stream != b->records[i]->stream)
			k++;
		if (k == n && n < 64)
			seen[n++].stream = b->records[i]->stream;
		if (k < 64)
			seen[k].n++;
		else
			fprintf(out, "%s 1\n", b->records[i]->stream->name);
	}
	for (size_t k = 0; k < n; k++)
		fprintf(out, "%s %u\n", seen[k].stream->name, seen[k].n);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int append(struct delivery_commit *c, struct commit_batch *b, struct spool_db *db, struct spool_code *code)
{
	const void *body;
	size_t size;
	char *counts;
	int err = spool_encode(code, &b->batch->pub, &body, &size, NULL);

	if (err == -E2BIG || err == -EINVAL) {
		b->refused = true;
		return 0;
	}
	if (err == 0)
		err = spool_make_room(db, size, on_gone, &c->gone);
	if (err < 0)
		return err;
	counts = commit_counts(&b->batch->pub);
	if (!counts)
		return -ENOMEM;
	err = spool_append(db, b->batch->pub.id, (enum spool_kind)b->kind, b->batch->pub.n, counts, body, size);
	free(counts);
	return err;
}

static int put_chunk(struct delivery_commit *c, struct spool_db *db, struct spool_code *code)
{
	const void *body;
	size_t size;
	int err = spool_pack(code, c->chunk, c->chunk_size, &body, &size);

	return err < 0 ? err : spool_chunk_put(db, body, size, c->chunk_whole);
}

/* Commits, or rolls back after an error: the batches in *gone are then still in the spool. */
static int end_transaction(struct spool_db *db, int err, struct commit_gone **gone)
{
	if (err == 0)
		err = spool_commit(db);
	else
		spool_rollback(db);
	if (err < 0) {
		commit_gone_free(*gone);
		*gone = NULL;
	}
	return err;
}

static int write_all(struct delivery_commit *c, struct spool_db *db, struct spool_code *code)
{
	int err = spool_begin(db);

	for (struct commit_batch *b = c->batches; b && err == 0; b = b->next)
		err = append(c, b, db, code);
	for (size_t i = 0; i < c->n_cursors && err == 0; i++)
		err = spool_sink_move(db, c->cursors[i].name, c->cursors[i].id);
	if (err == 0 && c->chunk)
		err = put_chunk(c, db, code);
	for (size_t i = 0; i < c->n_values && err == 0; i++)
		err = spool_state_put(db, c->values[i].name, c->values[i].data, c->values[i].size);
	return end_transaction(db, err, &c->gone);
}

void commit_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct delivery_commit *c = (struct delivery_commit *)job;

	c->err = db ? write_all(c, db, code) : -EIO;
	if (!db)
		snprintf(c->why, sizeof(c->why), "the spool has no usable file");
	else if (c->err < 0)
		snprintf(c->why, sizeof(c->why), "%s", spool_why(db)[0] ? spool_why(db) : strerror(-c->err));
	db = c->err == -EBADMSG ? spooler_replace(c->spooler) : NULL;
	if (db) {
		c->err = write_all(c, db, code);
		if (c->err < 0)
			snprintf(c->why, sizeof(c->why), "%s", spool_why(db));
	}
	c->replaced = spooler_replaced(c->spooler);
}

static int drop_step(struct commit_drop *d, struct spool_db *db)
{
	bool more_acked = false, more_old = false;
	int err = spool_begin(db);

	if (err == 0)
		err = spool_trim(db, d->trim, &more_acked);
	if (err == 0 && d->expire_ns)
		err = spool_expire(db, d->expire_ns, d->aged_upto, on_gone, &d->gone, &more_old);
	d->more = more_acked || more_old;
	return end_transaction(db, err, &d->gone);
}

void commit_drop_work(struct spooler_job *job, struct spool_db *db, struct spool_code *code)
{
	struct commit_drop *d = (struct commit_drop *)job;

	(void)code;
	d->err = db ? drop_step(d, db) : -EIO;
	if (d->err == -EBADMSG)
		spooler_replace(d->spooler);
	d->replaced = spooler_replaced(d->spooler);
}

/* ---- read back --------------------------------------------------------------------- */

struct known {
	struct known *next;
	const struct skep_stream *stream;
	bool own; /* a copy of keep(), freed with the commit_streams */
};

struct commit_streams {
	uv_mutex_t lock;
	struct known *known;
};

struct commit_streams *commit_streams_new(void)
{
	struct commit_streams *c = calloc(1, sizeof(*c));

	if (c && uv_mutex_init(&c->lock) != 0) {
		free(c);
		return NULL;
	}
	return c;
}

void commit_streams_free(struct commit_streams *c)
{
	if (!c)
		return;
	while (c->known) {
		struct known *next = c->known->next;

		if (c->known->own)
			free((void *)(uintptr_t)c->known->stream);
		free(c->known);
		c->known = next;
	}
	uv_mutex_destroy(&c->lock);
	free(c);
}

static struct known *known_find(const struct commit_streams *c, const struct skep_stream *s)
{
	for (struct known *k = c->known; k; k = k->next)
		if (strcmp(k->stream->name, s->name) == 0 && k->stream->flags == s->flags &&
		    spool_same_fields(k->stream, s))
			return k;
	return NULL;
}

static int known_add(struct commit_streams *c, const struct skep_stream *s, bool own)
{
	struct known *k = malloc(sizeof(*k));

	if (!k)
		return -ENOMEM;
	*k = (struct known){ c->known, s, own };
	c->known = k;
	return 0;
}

int commit_stream_known(struct commit_streams *c, const struct skep_stream *s)
{
	int err = 0;

	uv_mutex_lock(&c->lock);
	for (const struct known *k = c->known; k; k = k->next)
		if (k->stream == s)
			goto out;
	err = known_add(c, s, false); /* at the head: known_find prefers the newest stream of a name */
out:
	uv_mutex_unlock(&c->lock);
	return err;
}

/* Copies the stream with its texts and fields into one allocation. NULL: no memory. */
static const struct skep_stream *keep(const struct skep_stream *s)
{
	size_t text = strlen(s->name) + strlen(s->help) + 2,
	       size = sizeof(*s) + s->n_fields * sizeof(struct skep_field);
	struct skep_stream *copy;
	struct skep_field *fields;
	char *at;

	for (uint32_t i = 0; i < s->n_fields; i++)
		text += strlen(s->fields[i].name) + strlen(s->fields[i].unit) + 2;
	copy = calloc(1, size + text);
	if (!copy)
		return NULL;
	fields = (struct skep_field *)(copy + 1);
	at = (char *)copy + size;
	*copy = *s;
	copy->fields = fields;
	copy->name = strcpy(at, s->name);
	at += strlen(at) + 1;
	copy->help = strcpy(at, s->help);
	at += strlen(at) + 1;
	for (uint32_t i = 0; i < s->n_fields; i++) {
		fields[i] = s->fields[i]; /* spool_decode built the array: its stride is sizeof(struct skep_field) */
		fields[i].name = strcpy(at, s->fields[i].name);
		at += strlen(at) + 1;
		fields[i].unit = strcpy(at, s->fields[i].unit);
		at += strlen(at) + 1;
	}
	return copy;
}

struct loading {
	struct commit_streams *streams;
	struct batch *batch;
};

static int on_head(void *arg, const struct spool_head *head)
{
	struct loading *l = arg;
	struct batch_origin origin = { head->boot_id, head->host_name, head->kernel };

	l->batch = batch_restored(head->key, &origin, head->id, head->realtime_offset_ns);
	return l->batch ? 0 : -ENOMEM;
}

static int on_stream(void *arg, const struct skep_stream *stored, const struct skep_stream **ret)
{
	struct commit_streams *c = ((struct loading *)arg)->streams;
	struct known *k;
	int err = 0;

	uv_mutex_lock(&c->lock);
	k = known_find(c, stored);
	*ret = k ? k->stream : keep(stored);
	if (!k)
		err = *ret ? known_add(c, *ret, true) : -ENOMEM;
	uv_mutex_unlock(&c->lock);
	return err;
}

static int on_record(void *arg, const struct skep_stream *s, const struct skep_upid *who, uint64_t time_ns,
		     const void *data, const struct skep_context *context)
{
	struct batch *b = ((struct loading *)arg)->batch;

	if (b->pub.n >= BATCH_MAX_RECORDS)
		return -E2BIG; /* skepd never stores such a batch */
	return batch_add(b, 0, s, who, time_ns, data, context);
}

int commit_read(struct spool_code *code, struct commit_streams *streams, const void *body, size_t size,
		struct batch **ret, char *why, size_t why_size)
{
	static const struct spool_taker taker = { on_head, on_stream, on_record };
	struct loading l = { .streams = streams };
	int err;

	snprintf(why, why_size, "it has more records than a batch may have");
	err = spool_decode(code, body, size, &taker, &l, why, why_size);
	*ret = l.batch;
	if (err < 0) {
		batch_unref(l.batch);
		*ret = NULL;
	}
	return err;
}

int commit_load(struct spool_db *db, struct spool_code *code, struct commit_streams *streams, struct commit_ask *ask,
		struct batch **ret, struct commit_gone **gone, struct commit_gone **expired)
{
	uint64_t after = ask->after;
	unsigned passed = 0;
	char why[256];
	int err;

	*ret = NULL;
	for (;;) {
		struct spool_row row;

		err = spool_next(db, after, &row);
		if (err < 0 || row.id == 0 || row.id > ask->upto)
			return err;
		after = row.id;
		if (row.made_ns < ask->before_ns && row.id <= ask->aged_upto) {
			on_gone(expired, row.id, row.n, row.counts);
			ask->more = ++passed >= PASSED_MOST;
			if (ask->more)
				return 0;
			continue;
		}
		err = commit_read(code, streams, row.body, row.size, ret, why, sizeof(why));
		if (err == 0 && (*ret)->pub.id == row.id) {
			int64_t born_ns = row.id <= ask->aged_upto ? row.made_ns - clock_realtime_offset_ns()
								   : (int64_t)clock_boot_ns();

			(*ret)->born_ns = born_ns > 0 ? (uint64_t)born_ns : 0; /* negative: made before this boot */
			return 0;
		}
		if (err == 0)
			snprintf(why, sizeof(why), "the id belongs to another batch");
		batch_unref(*ret);
		*ret = NULL;
		if (err == -ENOMEM)
			return err;
		err = spool_bury(db, row.id, why, on_gone, gone);
		if (err < 0)
			return err;
	}
}
