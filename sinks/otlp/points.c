/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes the sums as data points (opentelemetry/proto/metrics/v1).
 */
#include <string.h>

#include "sinks/otlp/metrics.h"

#define CUMULATIVE 2
#define MS UINT64_C(1000000)

/* NumberDataPoint { attributes = 7, start = 2, time = 3, as_double = 4, as_int = 6 } */
static void write_number(struct pb *pb, const struct plan_metric *metric, const struct plan_point *point,
			 const struct group *g, union group_value v)
{
	bool real = point->kind == POINT_SUM_REAL || point->kind == POINT_LEVEL_REAL;
	bool has_sign = point->kind == POINT_SUM_SIGNED || point->kind == POINT_LEVEL_SIGNED;
	size_t opened = pb_open(pb);

	pb_raw(pb, g->attrs, g->attrs_len);
	if (point->attribute) {
		size_t whole = pb_open(pb), value = pb_open(pb);

		pb_text(pb, 1, point->value);
		pb_close(pb, 2, value);
		pb_text(pb, 1, point->attribute);
		pb_close(pb, 7, whole);
	}
	if (metric->seconds)
		pb_double(pb, 4, (real ? v.f : has_sign ? (double)v.i : (double)v.u) / 1e9);
	else if (real)
		pb_double(pb, 4, v.f);
	else
		pb_fixed64(pb, 6, !has_sign && v.u > INT64_MAX ? INT64_MAX : v.u);
	pb_fixed64(pb, 3, g->sent_ns);
	if (metric->sum)
		pb_fixed64(pb, 2, g->start_ns);
	pb_close(pb, 1, opened);
}

/*
 * ExponentialHistogramDataPoint { attributes = 1, start = 2, time = 3, count = 4, sum = 5, scale = 6, zero_count = 7,
 * positive = 8 }, Buckets { offset = 1, bucket_counts = 2 }.  Slot k from 1 on is bucket k - 2: record.h says why.
 */
static void write_hist(struct pb *pb, const struct group *g, const struct group_hist *h)
{
	size_t opened = pb_open(pb), buckets, packed;
	uint32_t first = 1, end = SKEP_HIST_SLOTS;
	uint64_t n = 0;

	while (end > 1 && !h->slots[end - 1])
		end--;
	while (first < end && !h->slots[first])
		first++;
	for (uint32_t k = 0; k < end; k++)
		n += h->slots[k];
	if (first < end) {
		buckets = pb_open(pb);
		packed = pb_open(pb);
		for (uint32_t k = end; k > first; k--)
			pb_varint(pb, h->slots[k - 1]);
		pb_close(pb, 2, packed);
		pb_s64(pb, 1, (int64_t)first - 2);
		pb_close(pb, 8, buckets);
	}
	pb_fixed64(pb, 7, h->slots[0]);
	pb_s64(pb, 6, SKEP_HIST_SCALE);
	pb_double(pb, 5, (double)h->sum);
	pb_fixed64(pb, 4, n);
	pb_fixed64(pb, 3, g->sent_ns);
	pb_fixed64(pb, 2, g->start_ns);
	pb_raw(pb, g->hist_attrs, g->hist_attrs_len);
	pb_close(pb, 1, opened);
}

/* True for a sum or histogram without any value yet: the sink sends no point of it. */
static bool is_silent(const struct plan_metric *metric, union group_value v)
{
	return metric->hist ? !v.hist : metric->sum && v.u == 0;
}

static uint32_t write_points(const struct plan *p, uint32_t metric, struct pb *pb)
{
	uint32_t n = 0;

	for (const struct group *g = p->touched; g; g = g->next_touched)
		for (uint32_t i = 0; i < p->n_points; i++) {
			const struct plan_point *point = &p->points[i];

			if (point->metric != metric || (g->overflow && !plan_adds_up(p, point)) ||
			    is_silent(&p->metrics[metric], g->values[i]))
				continue;
			if (p->metrics[metric].hist)
				write_hist(pb, g, g->values[i].hist);
			else
				write_number(pb, &p->metrics[metric], point, g, g->values[i]);
			n++;
		}
	return n;
}

/* Metric { name = 1, description = 2, unit = 3, gauge = 5, sum = 7, exponential_histogram = 10 } */
static uint32_t write_metric(const struct plan *p, uint32_t index, struct pb *pb)
{
	const struct plan_metric *m = &p->metrics[index];
	size_t opened = pb_open(pb), data = pb_open(pb), before = pb_len(pb);
	uint32_t n;

	if (m->sum)
		pb_u64(pb, 3, !m->signed_sum);
	if (m->sum || m->hist)
		pb_u64(pb, 2, CUMULATIVE);
	n = write_points(p, index, pb);
	if (n == 0) {
		pb->at += pb_len(pb) - before; /* drops the message that the writer has begun */
		return 0;
	}
	pb_close(pb, m->hist ? 10 : m->sum ? 7 : 5, data);
	pb_text(pb, 3, m->unit);
	pb_text(pb, 2, m->help);
	pb_text(pb, 1, m->name.metric);
	pb_close(pb, 2, opened);
	return n;
}

uint32_t metrics_write(struct metrics *m, struct pb *pb)
{
	uint32_t n = 0;

	for (size_t i = 0; i < m->n_plans; i++) {
		struct plan *p = m->plans[i];

		/*
		 * A receiver refuses two points of a series at the same time, so the later batch's point is a
		 * millisecond later.
		 */
		for (struct group *g = p->touched; g; g = g->next_touched) {
			g->sent_ns = g->last_ns > g->sent_ns ? g->last_ns : g->sent_ns + MS;
			if (g->start_ns > g->sent_ns)
				g->start_ns = g->sent_ns;
		}
		for (uint32_t k = 0; k < p->n_metrics; k++)
			n += write_metric(p, k, pb);
		while (p->touched) {
			struct group *g = p->touched;

			p->touched = g->next_touched;
			g->next_touched = NULL;
			g->touched = false;
		}
	}
	return n;
}
