/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/live/series_table.c - prints many subjects as a table: the largest first, the rest summed in one row.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/answer.h"
#include "cli/base/table.h"
#include "cli/base/text.h"
#include "cli/live/series_priv.h"

#define SHOWN_MOST 40u
#define PATH_LEAST 32u /* columns, even if the terminal is narrower */

/*
 * The order of the rows: of several figures of the same kind (opens, failed opens) the largest decides.  If records
 * have times, times decide before counts.
 */
struct order {
	const struct series_set *set;
	const char *unit;
};

static const char *unit_of(const struct series_set *set)
{
	const char *unit = NULL;

	for (size_t i = 0; i < set->n_fields; i++) {
		if (set->fields[i].kind != FIELD_NUMBER)
			continue;
		if (strcmp(set->fields[i].unit, "ns") == 0)
			return "ns";
		unit = unit ? unit : set->fields[i].unit;
	}
	return unit ? unit : "";
}

static double weight(const struct order *o, const struct series *s)
{
	double most = 0;

	for (size_t i = 0; i < o->set->n_fields; i++)
		if (o->set->fields[i].kind == FIELD_NUMBER && strcmp(o->set->fields[i].unit, o->unit) == 0)
			most = fmax(most, s->values[i].number);
	return most;
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct series *x = *(const struct series *const *)a, *y = *(const struct series *const *)b;
	double wx = weight(arg, x), wy = weight(arg, y);

	if (x->others != y->others)
		return x->others ? 1 : -1;
	if (wx < wy || wx > wy)
		return wx > wy ? -1 : 1;
	return strcmp(x->label, y->label);
}

/* The i-th text of a label; 0 is the process. */
static const char *label_cell(const struct series *s, size_t i)
{
	const char *at = s->label, *end;

	if (s->others) /* without a label: NULL */
		return "";
	end = at + s->label_len;
	for (; i > 0 && at < end; i--)
		at += strlen(at) + 1;
	return i == 0 && at <= end ? at : "";
}

static bool is_path(const struct field *f)
{
	return strcmp(f->name, "file.path") == 0;
}

/* ---- columns ------------------------------------------------------------------------- */

enum column_kind { COLUMN_NUMBER, COLUMN_P50, COLUMN_P99, COLUMN_LABEL, COLUMN_PATH };

struct column {
	enum column_kind kind;
	size_t field;
	size_t label; /* index of the text in the label */
};

#define COLUMNS_MOST (2 * SERIES_FIELDS_MOST + 1)

struct view {
	const struct series_set *set;
	struct series **sorted;
	size_t n, shown;
	struct column columns[COLUMNS_MOST];
	struct table_column titles[COLUMNS_MOST];
	size_t n_columns;
};

/* Has any row a text in this column?  Empty columns are left out. */
static bool some(const struct view *v, size_t label)
{
	for (size_t i = 0; i < v->shown; i++)
		if (*label_cell(v->sorted[i], label))
			return true;
	return false;
}

static void column(struct view *v, enum column_kind kind, size_t field, size_t label, const char *title)
{
	v->columns[v->n_columns] = (struct column){ .kind = kind, .field = field, .label = label };
	v->titles[v->n_columns++] = (struct table_column){ .title = title, .left = kind >= COLUMN_LABEL };
}

/* Orders the columns: figures, process, kind, and paths last, as they are long. */
static void choose_columns(struct view *v)
{
	const struct field *f = v->set->fields;
	size_t label = 0;

	for (size_t i = 0; i < v->set->n_fields; i++) {
		if (f[i].kind == FIELD_NUMBER)
			column(v, COLUMN_NUMBER, i, 0, f[i].name);
		if (f[i].kind == FIELD_HIST) {
			column(v, COLUMN_P50, i, 0, "p50");
			column(v, COLUMN_P99, i, 0, "p99");
		}
	}
	if (some(v, 0))
		column(v, COLUMN_LABEL, 0, 0, "process");
	for (size_t i = 0; i < v->set->n_fields; i++)
		if (f[i].kind == FIELD_LABEL && some(v, ++label) && !is_path(&f[i]))
			column(v, COLUMN_LABEL, i, label, f[i].name);
	label = 0;
	for (size_t i = 0; i < v->set->n_fields; i++)
		if (f[i].kind == FIELD_LABEL && ++label && is_path(&f[i]))
			column(v, COLUMN_PATH, i, label, f[i].name);
}

/* ---- cells --------------------------------------------------------------------------- */

static void number_cell(struct table *t, const struct paint *p, double value, const char *unit)
{
	char buf[HUMAN_SIZE];

	if (value > 0)
		table_cell(t, INK_NONE, "%s", histogram_value(value, unit, paint_units(p), buf));
	else if (value < 0)
		table_cell(t, INK_NONE, "-%s", histogram_value(-value, unit, paint_units(p), buf));
	else
		table_cell(t, INK_DIM, "-");
}

static void quantile_cell(struct table *t, const struct paint *p, const struct histogram *h, double q, const char *unit)
{
	const struct skep_hist v = { .slots = h ? h->slots : NULL,
				     .n = h ? SKEP_HIST_SLOTS : 0,
				     .sum = h ? h->sum : 0 };

	number_cell(t, p, h ? skep_hist_quantile(&v, q) : 0, unit);
}

/* Cuts the beginning of a long path: its end is more useful. */
static void path_cell(struct table *t, const struct paint *p, const char *path, size_t width)
{
	char *safe = text_safe(path, p->unicode);
	const char *at = safe, *dots = p->unicode ? "…" : "...";
	size_t room = width > text_width(dots) ? width - text_width(dots) : 1;

	if (!safe || text_width(safe) <= width) {
		table_cell(t, INK_NONE, "%s", safe ? safe : "");
		free(safe);
		return;
	}
	while (*at && text_width(at) > room) {
		uint32_t code;
		size_t n = text_decode(at, &code);

		at += n ? n : 1;
	}
	table_cell(t, INK_NONE, "%s%s", dots, at);
	free(safe);
}

static void row(struct table *t, const struct paint *p, const struct view *v, const struct series *s, const char *rest)
{
	size_t path_width = p->width > 40 + PATH_LEAST ? p->width - 40 : PATH_LEAST;

	for (size_t i = 0; i < v->n_columns; i++) {
		const struct column *c = &v->columns[i];
		const struct field *f = &v->set->fields[c->field];

		switch (c->kind) {
		case COLUMN_NUMBER:
			number_cell(t, p, s->values[c->field].number, f->unit);
			break;
		case COLUMN_P50:
			quantile_cell(t, p, s->values[c->field].hist, 0.5, f->unit);
			break;
		case COLUMN_P99:
			quantile_cell(t, p, s->values[c->field].hist, 0.99, f->unit);
			break;
		case COLUMN_LABEL:
			answer_cell(t, p, INK_NONE, label_cell(s, c->label), "");
			break;
		case COLUMN_PATH:
			if (rest)
				table_cell(t, INK_DIM, "%s", rest);
			else
				path_cell(t, p, label_cell(s, c->label), path_width);
			break;
		}
	}
}

/* Prints the sums of the other subjects in one row; cells of distributions are empty. */
static int rest_row(struct table *t, const struct paint *p, const struct view *v)
{
	const struct series_set *set = v->set;
	struct series *sum = calloc(1, sizeof(*sum) + set->n_fields * sizeof(sum->values[0]));
	char text[64];

	if (!sum)
		return -ENOMEM;
	sum->others = true;
	for (size_t i = v->shown; i < v->n; i++)
		for (size_t k = 0; k < set->n_fields; k++)
			if (set->fields[k].add)
				sum->values[k].number += v->sorted[i]->values[k].number;
	snprintf(text, sizeof(text), "%zu more", v->n - v->shown);
	row(t, p, v, sum, text);
	free(sum);
	return 0;
}

int series_table_print(const struct series_set *set, const struct paint *p)
{
	struct order order = { .set = set, .unit = unit_of(set) };
	struct view v = { .set = set, .n = set->n };
	struct table *t = NULL;
	size_t n = 0;
	int rc = -ENOMEM;

	v.sorted = calloc(set->n + 1, sizeof(struct series *));
	if (!v.sorted)
		return -ENOMEM;
	for (struct series *s = set->first; s; s = s->next)
		v.sorted[n++] = s;
	qsort_r(v.sorted, n, sizeof(struct series *), by_weight, &order);
	/* if a single subject is left, show it instead of a row of sums */
	v.shown = n > SHOWN_MOST + 1 ? SHOWN_MOST : n;
	choose_columns(&v);
	t = table_new(v.titles, v.n_columns);
	if (!t)
		goto out;
	for (size_t i = 0; i < v.shown; i++)
		row(t, p, &v, v.sorted[i], v.sorted[i]->others ? "all others" : NULL);
	if (v.shown < n && rest_row(t, p, &v) < 0)
		goto out;
	fputc('\n', p->out);
	rc = table_print(t, p, 0, 2);
out:
	table_free(t);
	free(v.sorted);
	return rc;
}
