/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes time series as protobuf: field 1 of prompb.WriteRequest.
 */
#include <skep/utf8.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/prometheus/writer.h"

static void put_varint(struct jsonw *w, uint64_t v)
{
	unsigned char b[10];
	size_t n = 0;

	if (v < 128) { /* most values are lengths and keys */
		b[0] = (unsigned char)v;
		skep_jsonw_raw(w, (const char *)b, 1);
		return;
	}
	do {
		b[n++] = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	skep_jsonw_raw(w, (const char *)b, n);
}

static void put_bytes(struct jsonw *w, unsigned field, const char *s, size_t n)
{
	put_varint(w, field << 3 | 2);
	put_varint(w, n);
	skep_jsonw_raw(w, s, n);
}

static size_t varint_size(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

/* Returns the value, cleaned to UTF-8 in w->message: a receiver refuses a whole request because of one invalid text. */
static const char *mended(struct writer *w, const char *value, size_t *ret_len)
{
	size_t n = strlen(value);
	char *room;

	*ret_len = n;
	if (skep_utf8_valid(value, n) == n) /* nearly every text is valid */
		return value;
	skep_jsonw_reset(&w->message);
	room = n <= SIZE_MAX / 3 ? skep_jsonw_room(&w->message, 3 * n) : NULL;
	if (room)
		w->message.len = skep_utf8_clean(value, n, room);
	if (w->message.err)
		w->series.err = w->message.err;
	*ret_len = w->message.len;
	return w->message.len ? w->message.buf : "";
}

/* Label: 1 name, 2 value. */
static void put_label(struct writer *w, const char *name, const char *value)
{
	size_t n = strlen(name), m;
	const char *text = mended(w, value, &m);

	put_varint(&w->series, 1 << 3 | 2);
	put_varint(&w->series, 1 + varint_size(n) + n + 1 + varint_size(m) + m);
	put_bytes(&w->series, 1, name, n);
	put_bytes(&w->series, 2, text, m);
}

/*
 * Writes the labels in the order of their names, as receivers require: the row's labels are in order, and "__name__",
 * "host" and "le" are merged in.
 */
static void put_labels(struct writer *w, const struct row *r, const char *name, const char *le)
{
	const char *more[3][2] = { { "__name__", name }, { "host", w->host }, { "le", le } };
	const char *at = r->labels, *end = at + r->labels_len;
	unsigned next = 0;

	for (;;) {
		const char *value = at < end ? at + strlen(at) + 1 : NULL;
		int order;

		while (next < 3 && !more[next][1])
			next++;
		if (next == 3 && !value)
			return;
		order = next == 3 ? 1 : !value ? -1 : strcmp(more[next][0], at);
		if (order < 0) {
			put_label(w, more[next][0], more[next][1]);
			next++;
			continue;
		}
		next += order == 0; /* it was the row's own label */
		put_label(w, at, value);
		at = value + strlen(value) + 1;
	}
}

/* Sample: 1 value, 2 timestamp (ms). */
static void put_sample(struct writer *w, double v, int64_t time_ms)
{
	char bytes[8];

	put_varint(&w->series, 2 << 3 | 2);
	put_varint(&w->series, 1 + 8 + 1 + varint_size((uint64_t)time_ms));
	put_varint(&w->series, 1 << 3 | 1);
	memcpy(bytes, &v, 8); /* little-endian, like most machines that skep runs on */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (int i = 0; i < 4; i++) {
		char c = bytes[i];

		bytes[i] = bytes[7 - i];
		bytes[7 - i] = c;
	}
#endif
	skep_jsonw_raw(&w->series, bytes, 8);
	put_varint(&w->series, 2 << 3 | 0);
	put_varint(&w->series, (uint64_t)time_ms);
	w->samples++;
}

/*
 * Writes one time series: the sum of the slots `from` to `at` of each point, divided. adds: write starting points too.
 */
static void put_series(struct writer *w, const struct point *first, const char *name, const char *le, uint32_t from,
		       uint32_t at, double divisor, bool adds)
{
	uint64_t samples = w->samples;

	skep_jsonw_reset(&w->series);
	put_labels(w, first->row, name, le);
	for (const struct point *p = first; p; p = p->next) {
		double v = 0;

		if (p->zero && !adds)
			continue;
		for (uint32_t i = from; i <= at; i++)
			v += w->values[p->values + i];
		put_sample(w, v / divisor, p->time_ms);
	}
	if (w->series.err)
		w->request.err = w->series.err;
	if (w->samples > samples)
		put_bytes(&w->request, 1, w->series.buf, w->series.len);
}

static void put_histogram(struct writer *w, const struct point *first, const struct metric *m)
{
	struct jsonw name = { 0 }, le = { 0 };

	skep_jsonw_raw(&name, m->name, strlen(m->name));
	skep_jsonw_raw(&name, "_bucket", 8);
	for (uint32_t i = 0; i < METRIC_LES && !name.err; i++) {
		skep_jsonw_reset(&le);
		skep_jsonw_f64(&le, (double)(UINT64_C(1) << (METRIC_LE_FIRST + i)) / m->divisor);
		skep_jsonw_raw(&le, "", 1);
		if (!le.err)
			put_series(w, first, name.buf, le.buf, m->at, m->at + i, 1, true);
	}
	if (!name.err) {
		put_series(w, first, name.buf, "+Inf", m->at + METRIC_LES, m->at + METRIC_LES, 1, true);
		name.len = strlen(m->name);
		skep_jsonw_raw(&name, "_count", 7);
		put_series(w, first, name.buf, NULL, m->at + METRIC_LES, m->at + METRIC_LES, 1, true);
		name.len = strlen(m->name);
		skep_jsonw_raw(&name, "_sum", 5);
		put_series(w, first, name.buf, NULL, m->at + METRIC_LES + 1, m->at + METRIC_LES + 1, m->divisor, true);
	}
	if (name.err || le.err)
		w->request.err = -ENOMEM;
	skep_jsonw_free(&name);
	skep_jsonw_free(&le);
}

void writer_put_row(struct writer *w, const struct point *first)
{
	const struct plan *p = first->row->plan;

	for (uint32_t i = 0; i < p->n_metrics; i++) {
		const struct metric *m = &p->metrics[i];

		if (!m->seen || (!m->adds && first->row == p->overflow))
			continue;
		if (m->type == METRIC_HISTOGRAM)
			put_histogram(w, first, m);
		else
			put_series(w, first, m->name, NULL, m->at, m->at, m->divisor, m->adds);
	}
}
