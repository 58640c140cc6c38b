/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds records to the rows of the store.
 */
#include "sinks/prometheus/ingest.h"

#include <math.h>
#include <skep/clock.h>
#include <skep/sink/fields.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sinks/prometheus/plan.h"
#include "sinks/prometheus/stream_metrics.h"

#define LABEL_MAX 256u /* bytes of a label's value: a path may be longer, but its beginning identifies it */

void ingest_free(struct ingest *g)
{
	skep_jsonw_free(&g->labels);
}

static struct skep_str context_text(const struct skep_record *r, uint32_t offset)
{
	const struct skep_context *c = r->context;
	struct skep_str s = { 0 };

	if (c && c->size >= offset + sizeof(s))
		memcpy(&s, (const char *)c + offset, sizeof(s));
	return s;
}

/*
 * Cleans a label's value: U+FFFD for bytes that are not UTF-8, a space for a control character that the page cannot
 * hold.  Cuts between characters.
 */
static size_t mend(const char *s, size_t n, char ret[LABEL_MAX])
{
	size_t out = 0;

	for (size_t i = 0; i < n;) {
		int len = skep_utf8_length(s + i, n - i);
		bool control = ((unsigned char)s[i] < 0x20 && s[i] != '\n') || s[i] == 0x7f;
		const char *as = len < 0 ? "\xef\xbf\xbd" : control ? " " : s + i;
		size_t size = len < 0 ? 3 : (size_t)len;

		if (out + size > LABEL_MAX)
			break;
		memcpy(ret + out, as, size);
		out += size;
		i += (size_t)(len < 0 ? -len : len);
	}
	return out;
}

/*
 * Cleans labels before it looks up their row: otherwise two rows that differ only in replaced bytes would make one
 * series twice.
 */
static void add_text(struct jsonw *w, const char *name, const char *value, size_t n)
{
	size_t max = LABEL_MAX + 3; /* leave room for the rest of a character that begins before the end */
	char text[LABEL_MAX];

	n = strnlen(value, n < max ? n : max);
	if (!n)
		return; /* Prometheus treats an empty label as absent */
	if (n > LABEL_MAX || skep_jsonw_plain(value, n) < n) { /* rare */
		n = mend(value, n, text);
		value = text;
	}
	skep_jsonw_raw(w, name, strlen(name) + 1);
	skep_jsonw_raw(w, value, n);
	skep_jsonw_raw(w, "", 1);
}

static void add_number(struct jsonw *w, const char *name, int64_t v)
{
	skep_jsonw_raw(w, name, strlen(name) + 1);
	skep_jsonw_i64(w, v);
	skep_jsonw_raw(w, "", 1);
}

static void collect_labels(struct ingest *g, const struct plan *p, const struct skep_record *r)
{
	skep_jsonw_reset(&g->labels);
	for (uint32_t i = 0; i < p->n_labels; i++) {
		const struct plan_label *l = &p->labels[i];
		const struct skep_field *f;
		struct skep_str s;

		if (l->field == PLAN_CONTEXT) {
			s = context_text(r, l->context);
			if (s.ptr)
				add_text(&g->labels, l->name, s.ptr, s.len);
			continue;
		}
		f = skep_fields_at(p->stream, l->field);
		if (f->type == SKEP_T_STR) {
			s = skep_field_str(f, r->data);
			add_text(&g->labels, l->name, s.ptr, s.len);
		} else if (strcmp(l->name, "cpu") == 0 && skep_field_i64(f, r->data) == -1) {
			add_text(&g->labels, l->name, "all", 3);
		} else {
			add_number(&g->labels, l->name, skep_field_i64(f, r->data));
		}
	}
}

/* Adds a histogram. The upper bound of slot k is 2^((k-1)/4), so slots up to 4j+1 hold values up to 2^j. */
static void add_hist(double *v, const struct skep_hist *h)
{
	for (uint32_t k = 0; k < h->n; k++) {
		uint32_t j = k < 2 ? 0 : (k + 2) / 4; /* the least j with 4j+1 >= k */

		v[METRIC_LES] += (double)h->slots[k];
		if (j < METRIC_LE_FIRST)
			v[0] += (double)h->slots[k];
		else if (j < METRIC_LE_END)
			v[j - METRIC_LE_FIRST] += (double)h->slots[k];
	}
	v[METRIC_LES + 1] += (double)h->sum;
}

static void add_value(struct metric *m, double *at, double v, bool same_time, bool newest, bool sums)
{
	if (!isfinite(v))
		return;
	if (m->adds) {
		/* a negative delta from a faulty probe would look like a counter reset */
		if (v < 0 && m->type == METRIC_COUNTER)
			return;
		*at += v;
	} else if (sums && same_time) {
		*at += v;
	} else if (newest) {
		*at = v;
	}
	if (v != 0)
		m->seen = true;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ingest_batch(struct ingest *g, const struct skep_batch *b)
{
	g->shift = 0;
	if (strcmp(b->boot_id, g->boot_id) == 0)
		return;
	/*
	 * Compute this once per boot: the kernel adjusts both clocks now and then, but records of one moment must keep
	 * one time.
	 */
	if (strcmp(b->boot_id, g->other_boot) != 0) {
		snprintf(g->other_boot, sizeof(g->other_boot), "%s", b->boot_id);
		g->other_shift = b->realtime_offset_ns - (clock_ns(CLOCK_REALTIME) - (int64_t)skep_boot_ns());
	}
	g->shift = g->other_shift;
}

static void add_values(struct row *row, const struct skep_record *r, int64_t time_ns)
{
	const struct plan *p = row->plan;
	bool newest = time_ns >= row->time_ns, same = time_ns == row->time_ns;
	bool sums = p->spec && (p->spec->flags & METRICS_SUM);
	/* a level of one process has no meaning in a row of many, nor has a level in the overflow row */
	bool levels = r->upid.pid == 0 && row != p->overflow;

	for (uint32_t i = 0; i < p->n_metrics; i++) {
		struct metric *m = &p->metrics[i];
		const struct skep_field *f;

		if (m->field == METRIC_COUNT) {
			add_value(m, &row->values[m->at], 1, false, true, false);
			continue;
		}
		f = skep_fields_at(p->stream, m->field);
		if (m->type == METRIC_HISTOGRAM) {
			struct skep_hist h = skep_field_hist(f, r->data);

			add_hist(&row->values[m->at], &h);
			m->seen = m->seen || row->values[m->at + METRIC_LES] > 0;
		} else if (m->adds || levels) {
			add_value(m, &row->values[m->at], skep_field_f64(f, r->data), same, newest, sums);
		}
	}
	if (newest)
		row->time_ns = time_ns;
}

/* A record that waited in the spool is older than the row that replaced it. */
static void make_current(struct row *row)
{
	struct plan *p = row->plan;

	if (p->is_info && (!p->info || row->time_ns >= p->info->time_ns))
		p->info = row;
}

static bool is_about_a_run(const struct plan *p, const struct skep_record *r)
{
	for (uint32_t i = 0, n = skep_fields_count(p->stream); i < n; i++) {
		const struct skep_field *f = skep_fields_at(p->stream, i);

		if (f && f->type == SKEP_T_STR && strcmp(f->name, "run") == 0)
			return skep_field_str(f, r->data).len > 0;
	}
	return false;
}

struct row *ingest_record(struct ingest *g, const struct skep_record *r, uint64_t now_ns, int64_t realtime_ns,
			  int *ret_err)
{
	struct plan *p;
	struct row *row;

	if (!skep_fields_wanted(g->streams, r) || !r->stream->name || !r->data)
		return NULL;
	p = plan_get(g->store, r->stream, g->with_run);
	if (!p) {
		*ret_err = -ENOMEM;
		return NULL;
	}
	if (p->skip)
		return NULL;
	if (p->spec && (p->spec->flags & METRICS_NOT_RUNS) && is_about_a_run(p, r))
		return NULL;
	collect_labels(g, p, r);
	if (g->labels.err) {
		*ret_err = g->labels.err;
		return NULL;
	}
	row = store_row(g->store, p, g->labels.len ? g->labels.buf : "", (uint32_t)g->labels.len, now_ns, realtime_ns);
	if (!row) {
		*ret_err = -ENOMEM;
		return NULL;
	}
	if (!g->only_find)
		add_values(row, r, (int64_t)r->time_ns + g->shift);
	make_current(row);
	return row;
}
