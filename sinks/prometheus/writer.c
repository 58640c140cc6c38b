/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a batch as a remote-write request.
 */
#include "sinks/prometheus/writer.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#define REPEAT_MS 60000

int writer_init(struct writer *w, uint64_t max_series)
{
	int err = store_init(&w->store, max_series);

	w->ingest.store = &w->store;
	return err;
}

void writer_free(struct writer *w)
{
	store_free(&w->store);
	ingest_free(&w->ingest);
	skep_jsonw_free(&w->series);
	skep_jsonw_free(&w->message);
	skep_jsonw_free(&w->request);
	free(w->points);
	free(w->order);
	free(w->values);
	free(w->base);
	free(w->body);
}

/* ---- points ---------------------------------------------------------------------- */

/* Copies a row's values; *ret_at: index of the copy. */
static int keep_values(struct writer *w, const struct row *r, bool zero, size_t *ret_at)
{
	uint32_t n = r->plan->n_values;

	if (w->values_room - w->n_values < n) {
		size_t room = w->values_room * 2 + n + 4096;
		double *more = reallocarray(w->values, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->values = more;
		w->values_room = room;
	}
	for (uint32_t i = 0; i < n; i++)
		w->values[w->n_values + i] = zero ? 0 : r->values[i];
	*ret_at = w->n_values;
	w->n_values += n;
	return 0;
}

static int add_point(struct writer *w, struct row *r, int64_t time_ms, bool zero)
{
	size_t at;
	int err;

	if (!w->points || w->n_points == w->room) {
		size_t room = w->room * 2 + 256;
		struct point *more = reallocarray(w->points, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->points = more;
		w->room = room;
	}
	err = keep_values(w, r, zero, &at);
	if (err)
		return err;
	w->points[w->n_points] =
		(struct point) { .row = r, .time_ms = time_ms, .values = at, .records = !zero, .zero = zero };
	r->point = w->n_points++;
	r->dirty = w->batches;
	r->sent_ms = (uint64_t)time_ms;
	return 0;
}

/*
 * Adds a point after a record has changed its row at this time.  The times of a series only grow, even when records of
 * several processes arrive slightly out of order.
 */
static int note(struct writer *w, struct row *r, int64_t time_ms)
{
	struct point *last = r->dirty == w->batches ? &w->points[r->point] : NULL;
	int err = 0;

	if (last && !last->zero && time_ms < last->time_ms + (int64_t)(w->step_ns / 1000000)) {
		memcpy(&w->values[last->values], r->values, r->plan->n_values * sizeof(double));
		/* the time of its latest record, while the step lasts */
		if (time_ms > last->time_ms)
			last->time_ms = time_ms;
		r->sent_ms = (uint64_t)last->time_ms;
		last->records++;
		return 0;
	}
	/* a counter that begins with 5 has grown by 5, but receivers see the growth only after a 0 */
	if (!r->sent_ms)
		err = add_point(w, r, time_ms - 1, true);
	if (time_ms <= (int64_t)r->sent_ms)
		time_ms = (int64_t)r->sent_ms + 1;
	return err ? err : add_point(w, r, time_ms, false);
}

/* ---- a batch ------------------------------------------------------------------------- */

/*
 * True for the batch that was added last, and for its parts (KEY/0, KEY/1, ...): the sums include its records.
 */
static bool is_part_of_last(const struct writer *w, const char *key)
{
	size_t n = w->base ? strlen(w->base) : 0;

	return n && strncmp(key, w->base, n) == 0 && (key[n] == '\0' || key[n] == '/');
}

static int compress(struct writer *w)
{
	size_t len = snappy_max_compressed_length(w->request.len);

	w->plain = w->request.len;
	if (len > w->body_room) {
		free(w->body);
		w->body_room = 0;
		w->body = malloc(len);
		if (!w->body)
			return -ENOMEM;
		w->body_room = len;
	}
	if (snappy_compress(w->request.buf, w->request.len, w->body, &len) != SNAPPY_OK)
		return -ENOMEM;
	w->len = len;
	return 0;
}

/*
 * Links each row's points into a list in their order, from the end to the beginning. Then orders the points row by row.
 */
static int put_in_order(struct writer *w)
{
	size_t n = 0;

	if (w->order_room < w->n_points) {
		free(w->order);
		w->order_room = 0;
		w->order = calloc(w->room, sizeof(*w->order));
		if (!w->order)
			return -ENOMEM;
		w->order_room = w->room;
	}
	w->batches++;
	for (size_t i = w->n_points; i-- > 0;) {
		struct point *p = &w->points[i];

		p->next = p->row->dirty == w->batches ? &w->points[p->row->point] : NULL;
		p->row->dirty = w->batches;
		p->row->point = i;
	}
	for (size_t i = 0; i < w->n_points; i++)
		if (w->points[i].row->point == i)
			for (const struct point *p = &w->points[i]; p; p = p->next)
				w->order[n++] = (size_t)(p - w->points);
	return 0;
}

int writer_part(struct writer *w, size_t from, size_t to)
{
	struct point *last = to > from ? &w->points[w->order[to - 1]] : NULL, *after = last ? last->next : NULL;

	w->samples = w->len = 0;
	skep_jsonw_reset(&w->request);
	if (last)
		last->next = NULL; /* cut the list where the next part begins */
	for (size_t i = from; i < to; i++)
		if (i == from || w->points[w->order[i]].row != w->points[w->order[i - 1]].row)
			writer_put_row(w, &w->points[w->order[i]]);
	if (last)
		last->next = after;
	if (w->request.err)
		return w->request.err;
	return w->request.len ? compress(w) : 0;
}

uint32_t writer_part_records(const struct writer *w, size_t from, size_t to)
{
	uint32_t n = 0;

	for (size_t i = from; i < to; i++)
		n += w->points[w->order[i]].records;
	return n;
}

/*
 * Prometheus forgets a series 5 minutes after its last sample, and the record of a METRICS_INFO row comes once.  So a
 * request repeats it each minute, at the time of its latest record.
 */
static int repeat_infos(struct writer *w, int64_t time_ms)
{
	int err = 0;

	for (const struct plan *p = w->store.plans; p && !err; p = p->next) {
		if (!p->info || time_ms < (int64_t)p->info->sent_ms + REPEAT_MS)
			continue;
		err = add_point(w, p->info, time_ms, false);
		if (!err)
			w->points[w->n_points - 1].records = 0;
	}
	return err;
}

int writer_encode(struct writer *w, const struct skep_batch *b, uint64_t now_ns, int64_t realtime_ns,
		  uint64_t expire_ns)
{
	bool again = is_part_of_last(w, b->key);
	uint64_t dropped = w->store.dropped;
	int64_t latest_ms = 0;
	int err = 0;

	w->batches++;
	w->n_points = w->n_values = w->len = 0;
	w->records = w->old = 0;
	w->ingest.only_find = again;
	if (!again) {
		/* before the first record, so that a failure adds no record twice */
		free(w->base);
		w->base = strndup(b->key, strcspn(b->key, "/"));
		if (!w->base)
			return -ENOMEM;
	}
	store_expire(&w->store, now_ns, expire_ns);
	ingest_batch(&w->ingest, b);
	for (uint32_t i = 0; i < b->n && !err; i++) {
		const struct skep_record *r = b->records[i];
		int64_t real = r ? (int64_t)r->time_ns + b->realtime_offset_ns : 0;
		struct row *row;

		if (r && w->max_age_ns && realtime_ns - real > (int64_t)w->max_age_ns) {
			w->old++;
			continue;
		}
		row = ingest_record(&w->ingest, r, now_ns, realtime_ns, &err);
		if (w->store.dropped != dropped) {
			/*
			 * A reload replaced a plugin within the batch, and the store dropped rows that points refer to.
			 * New rows continue the sums.
			 */
			w->n_points = w->n_values = 0;
			w->batches++;
			dropped = w->store.dropped;
		}
		if (!row)
			continue;
		w->records++;
		latest_ms = real / 1000000 > latest_ms ? real / 1000000 : latest_ms;
		err = note(w, row, real / 1000000);
	}
	if (!err && w->n_points)
		err = repeat_infos(w, latest_ms);
	if (!err)
		err = put_in_order(w);
	return err ? err : writer_part(w, 0, w->n_points);
}
