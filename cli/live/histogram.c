/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/histogram.c - formats the quantiles and the bars of a distribution.
 */
#include "cli/live/histogram.h"

#include <errno.h>
#include <string.h>

#include "cli/base/human.h"
#include "cli/base/text.h"

#define FINE_MOST 12u /* more buckets are merged, four to a row: one row for each doubling */
#define PER_DOUBLING 4u
#define BAR_MOST 50u
#define NAMED_MOST 64.0
#define GAP_MOST 2u /* consecutive empty rows; more are shown as one row with their number */

static int count_of(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(o, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EINVAL;
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

int histogram_add(struct histogram *h, const json_t *o)
{
	const json_t *counts = json_object_get(o, "counts"), *at = json_object_get(o, "offset");
	json_int_t offset = json_integer_value(at);
	uint64_t zeros, sum;

	if (json_integer_value(json_object_get(o, "scale")) != SKEP_HIST_SCALE || !json_is_integer(at) ||
	    !json_is_array(counts) || count_of(o, "zero_count", &zeros) < 0 || count_of(o, "sum", &sum) < 0)
		return -EINVAL;
	/* The bucket `offset` of that scale is slot offset + 2. */
	if (offset < -1 || offset > (json_int_t)SKEP_HIST_SLOTS ||
	    (uint64_t)offset + 2 + json_array_size(counts) > SKEP_HIST_SLOTS)
		return -EINVAL;
	for (size_t i = 0; i < json_array_size(counts); i++)
		if (!json_is_integer(json_array_get(counts, i)) || json_integer_value(json_array_get(counts, i)) < 0)
			return -EINVAL;
	h->slots[0] += zeros;
	h->sum += sum;
	for (size_t i = 0; i < json_array_size(counts); i++)
		h->slots[(size_t)(offset + 2) + i] += (uint64_t)json_integer_value(json_array_get(counts, i));
	return 0;
}

static struct skep_hist view(const struct histogram *h)
{
	return (struct skep_hist){ .slots = h->slots, .n = SKEP_HIST_SLOTS, .sum = h->sum };
}

uint64_t histogram_count(const struct histogram *h)
{
	const struct skep_hist v = view(h);

	return skep_hist_count(&v);
}

const char *histogram_value(double value, const char *unit, unsigned flags, char buf[HUMAN_SIZE])
{
	uint64_t n = value < 1.8e19 ? (uint64_t)llround(value) : UINT64_MAX;

	if (strcmp(unit, "ns") == 0)
		return human_time(n, flags, buf);
	if (strcmp(unit, "By") == 0)
		return human_bytes(n, flags, buf);
	return human_count(n, buf);
}

void histogram_summary(const struct histogram *h, const char *unit, const struct paint *p, char *ret, size_t size)
{
	const struct skep_hist v = view(h);
	uint64_t n = skep_hist_count(&v);
	char p50[HUMAN_SIZE], p90[HUMAN_SIZE], p99[HUMAN_SIZE], mean[HUMAN_SIZE];
	unsigned flags = paint_units(p);

	if (n == 0) {
		snprintf(ret, size, "no values");
		return;
	}
	snprintf(ret, size, "p50 %s  p90 %s  p99 %s  mean %s",
		 histogram_value(skep_hist_quantile(&v, 0.5), unit, flags, p50),
		 histogram_value(skep_hist_quantile(&v, 0.9), unit, flags, p90),
		 histogram_value(skep_hist_quantile(&v, 0.99), unit, flags, p99),
		 histogram_value((double)h->sum / (double)n, unit, flags, mean));
}

struct row {
	uint32_t first, last; /* slots */
	uint64_t n;
};

/* The lowest and highest whole number of a row; false: its bounds, such as (1, 1.19], contain none. */
static bool whole_numbers(const struct row *row, double *ret_low, double *ret_high)
{
	*ret_low = row->first < 2 ? (double)row->first : floor(skep_hist_lower(row->first)) + 1;
	*ret_high = floor(skep_hist_upper(row->last));
	return *ret_low <= *ret_high;
}

/* Slots 0 and 1 have a row each; a further row has one slot, or the four slots of a doubling. */
static size_t make_rows(const struct histogram *h, struct row rows[SKEP_HIST_SLOTS])
{
	uint32_t first = 0, end = SKEP_HIST_SLOTS, step;
	double low, high;
	size_t n = 0;

	while (end > 0 && h->slots[end - 1] == 0)
		end--;
	while (first < end && h->slots[first] == 0)
		first++;
	step = end - first <= FINE_MOST ? 1 : PER_DOUBLING;
	for (uint32_t k = first; k < end;) {
		struct row row = { .first = k, .last = k };

		if (k >= 2 && step > 1) {
			row.first = 2 + (k - 2) / step * step;
			row.last = row.first + step - 1;
		}
		if (row.last >= SKEP_HIST_SLOTS)
			row.last = SKEP_HIST_SLOTS - 1;
		for (uint32_t s = row.first; s <= row.last; s++)
			row.n += h->slots[s];
		k = row.last + 1;
		if (row.n > 0 || whole_numbers(&row, &low, &high))
			rows[n++] = row;
	}
	return n;
}

/* Values are whole numbers: for a row with few of them, the text has these numbers, not the bucket's bounds. */
static void row_text(const struct row *row, const char *unit, unsigned flags, char *ret, size_t size)
{
	double low = 0, high = 0;
	char from[HUMAN_SIZE], to[HUMAN_SIZE];

	whole_numbers(row, &low, &high);
	if (low > NAMED_MOST)
		low = skep_hist_lower(row->first);
	histogram_value(low, unit, flags, from);
	if (row->last == SKEP_HIST_SLOTS - 1)
		snprintf(ret, size, "> %s", histogram_value(skep_hist_lower(row->first), unit, flags, to));
	else if (low >= high)
		snprintf(ret, size, "%s", from);
	else
		snprintf(ret, size, "%s to %s", from, histogram_value(high, unit, flags, to));
}

static void pad(const struct paint *p, size_t width, const char *text)
{
	size_t w = text_width(text);

	fprintf(p->out, "%*s%s", (int)(w < width ? width - w : 0), "", text);
}

static void print_bar(const struct paint *p, uint64_t n, uint64_t most, unsigned width)
{
	/* Eighths of a cell if the output is Unicode; every value above 0 gets a mark. */
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	double share = (double)n / (double)most;
	unsigned cells;

	if (!p->unicode) {
		cells = (unsigned)(share * width + 0.5);
		for (unsigned i = 0; i < (n > 0 && cells == 0 ? 1 : cells); i++)
			fputc('#', p->out);
		return;
	}
	cells = (unsigned)(share * width * 8 + 0.5);
	if (n > 0 && cells == 0)
		cells = 1;
	paint_begin(p, INK_CYAN);
	for (unsigned i = 0; i < cells / 8; i++)
		fputs("█", p->out);
	fputs(eighths[cells % 8], p->out);
	paint_end(p, INK_CYAN);
}

void histogram_print(const struct histogram *h, const char *unit, const struct paint *p, size_t indent)
{
	struct row rows[SKEP_HIST_SLOTS];
	size_t n = make_rows(h, rows), range = 0, digits = 0, used;
	char buf[HUMAN_SIZE], text[2 * HUMAN_SIZE + 4];
	unsigned flags = paint_units(p), bar;
	uint64_t most = 0;

	/* two passes: the first measures the widths, the second prints */
	for (int look = 0; look < 2; look++) {
		used = indent + range + 2 + digits + 2;
		bar = p->width > used + 10 ? (unsigned)(p->width - used) : 10;
		if (bar > BAR_MOST)
			bar = BAR_MOST;
		for (size_t i = 0; i < n; i++) {
			size_t empty = 0;

			while (i + empty < n && rows[i + empty].n == 0)
				empty++;
			if (empty > GAP_MOST) {
				if (look == 1)
					fprintf(p->out, "%*s%*s\n", (int)indent, "", (int)range, "...");
				i += empty - 1;
				continue;
			}
			row_text(&rows[i], unit, flags, text, sizeof(text));
			if (look == 0) {
				size_t w = text_width(text);

				range = w > range ? w : range;
				most = rows[i].n > most ? rows[i].n : most;
				w = strlen(human_count(rows[i].n, buf));
				digits = w > digits ? w : digits;
				continue;
			}
			fprintf(p->out, "%*s", (int)indent, "");
			pad(p, range, text);
			fputs("  ", p->out);
			pad(p, digits, human_count(rows[i].n, buf));
			fputs("  ", p->out);
			print_bar(p, rows[i].n, most, bar);
			fputc('\n', p->out);
		}
	}
}
