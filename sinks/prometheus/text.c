/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the store as a page.
 */
#include "sinks/prometheus/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(struct jsonw *w, const char *s)
{
	skep_jsonw_raw(w, s, strlen(s));
}

/*
 * Escapes backslash, newline and, in label values, the quote, as both formats require.  jsonw cleans UTF-8, and writes
 * other control characters as \u00XX, whose backslash a parser of labels would read as an escape.  So this function
 * first replaces them by spaces.
 */
static void put_escaped(struct jsonw *w, const char *s, size_t n, bool quote)
{
	for (size_t i = 0; i < n;) {
		size_t plain = i;

		while (plain < n && (unsigned char)s[plain] >= 0x20 && s[plain] != '\\' && s[plain] != '"' &&
		       s[plain] != 0x7f)
			plain++;
		skep_jsonw_string_part(w, s + i, plain - i);
		i = plain;
		if (i == n)
			break;
		if (s[i] == '\\')
			jsonw_lit(w, "\\\\");
		else if (s[i] == '\n')
			jsonw_lit(w, "\\n");
		else if (s[i] == '"')
			put(w, quote ? "\\\"" : "\"");
		else
			jsonw_lit(w, " ");
		i++;
	}
}

static void put_number(struct jsonw *w, double v)
{
	if (isnan(v))
		jsonw_lit(w, "NaN");
	else if (isinf(v))
		put(w, v > 0 ? "+Inf" : "-Inf");
	else
		skep_jsonw_f64(w, v);
}

/*
 * Writes a metric family's header. base: the name without "_total", which the family of a counter has in format 0.0.4.
 */
static void put_head(struct jsonw *w, const struct text_format *f, const char *base, size_t n, const char *total,
		     const char *help, const char *type, const char *unit)
{
	const char *end = f->openmetrics ? "" : total;

	jsonw_lit(w, "# HELP ");
	skep_jsonw_raw(w, base, n);
	put(w, end);
	jsonw_lit(w, " ");
	put_escaped(w, help, strlen(help), f->openmetrics);
	jsonw_lit(w, "\n# TYPE ");
	skep_jsonw_raw(w, base, n);
	put(w, end);
	jsonw_lit(w, " ");
	put(w, type);
	jsonw_lit(w, "\n");
	if (!f->openmetrics || !unit)
		return;
	jsonw_lit(w, "# UNIT ");
	skep_jsonw_raw(w, base, n);
	jsonw_lit(w, " ");
	put(w, unit);
	jsonw_lit(w, "\n");
}

static void put_label(struct jsonw *w, const char *name, const char *value, size_t n)
{
	put(w, w->len && w->buf[w->len - 1] == '{' ? "" : ",");
	put(w, name);
	jsonw_lit(w, "=\"");
	put_escaped(w, value, n, true);
	jsonw_lit(w, "\"");
}

static void put_labels(struct jsonw *w, const struct text_format *f, const char *labels, uint32_t len, double le)
{
	bool has_host = false;

	if (!len && !f->host && le == 0)
		return;
	jsonw_lit(w, "{");
	for (const char *at = labels, *end = len ? labels + len : labels; at < end;) {
		const char *value = at + strlen(at) + 1;

		has_host = has_host || strcmp(at, "host") == 0;
		put_label(w, at, value, strlen(value));
		at = value + strlen(value) + 1;
	}
	if (f->host && !has_host)
		put_label(w, "host", f->host, strlen(f->host));
	if (le != 0) {
		put(w, w->len && w->buf[w->len - 1] == '{' ? "le=\"" : ",le=\"");
		put_number(w, le);
		jsonw_lit(w, "\"");
	}
	jsonw_lit(w, "}");
}

static void put_sample(struct jsonw *w, const struct text_format *f, const char *name, size_t n, const char *suffix,
		       const struct row *r, double le, double value)
{
	skep_jsonw_raw(w, name, n);
	put(w, suffix);
	put_labels(w, f, r ? r->labels : NULL, r ? r->labels_len : 0, le);
	jsonw_lit(w, " ");
	put_number(w, value);
	jsonw_lit(w, "\n");
}

static void put_histogram(struct jsonw *w, const struct text_format *f, const struct metric *m, const struct row *r,
			  size_t n)
{
	const double *v = &r->values[m->at];
	double below = 0;

	for (uint32_t i = 0; i < METRIC_LES; i++) {
		below += v[i];
		put_sample(w, f, m->name, n, "_bucket", r, exp2((double)(METRIC_LE_FIRST + i)) / m->divisor, below);
	}
	put_sample(w, f, m->name, n, "_bucket", r, (double)INFINITY, v[METRIC_LES]);
	put_sample(w, f, m->name, n, "_sum", r, 0, v[METRIC_LES + 1] / m->divisor);
	put_sample(w, f, m->name, n, "_count", r, 0, v[METRIC_LES]);
}

static void put_metric(struct jsonw *w, const struct text_format *f, const struct plan *p, const struct metric *m)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
	};
	const char *total = m->type == METRIC_COUNTER ? "_total" : "";
	size_t n = strlen(m->name) - strlen(total);

	put_head(w, f, m->name, n, total, m->help, types[m->type], m->unit);
	for (const struct row *r = p->rows; r; r = r->next) {
		if (m->type == METRIC_HISTOGRAM)
			put_histogram(w, f, m, r, n);
		else if (m->adds || r != p->overflow)
			put_sample(w, f, m->name, n, total, r, 0, r->values[m->at] / m->divisor);
		if (f->openmetrics && f->created && m->type != METRIC_GAUGE) {
			int64_t ms = r->created_ns / 1000000;

			put_sample(w, f, m->name, n, "_created", r, 0, (double)ms / 1e3);
		}
	}
}

void text_store(struct jsonw *w, const struct store *s, const struct text_format *f)
{
	for (const struct plan *p = s->plans; p; p = p->next)
		for (uint32_t i = 0; p->rows && i < p->n_metrics; i++)
			if (p->metrics[i].seen)
				put_metric(w, f, p, &p->metrics[i]);
}

void text_figure(struct jsonw *w, const struct text_format *f, const char *name, const char *help, bool counter,
		 double value)
{
	const char *total = counter ? "_total" : "";

	put_head(w, f, name, strlen(name), total, help, counter ? "counter" : "gauge", NULL);
	put_sample(w, f, name, strlen(name), total, NULL, 0, value);
}

void text_end(struct jsonw *w, const struct text_format *f)
{
	if (f->openmetrics)
		jsonw_lit(w, "# EOF\n");
}
