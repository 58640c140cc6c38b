/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export_write.c - see export_write.h: NDJSON and CSV.
 */
#include "cli/lake/export_write.h"

#include <errno.h>
#include <skep/utf8.h>
#include <string.h>

#include "cli/lake/parquet.h"

#define WRITE_SIZE 65536

static int write_out(struct export_writer *e)
{
	int err = e->text.err;

	errno = 0;
	if (!err && e->text.len && fwrite(e->text.buf, 1, e->text.len, e->out) != e->text.len)
		err = errno ? -errno : -EIO;
	skep_jsonw_reset(&e->text);
	return err;
}

/* ---- values as JSON ------------------------------------------------------------------ */

static void put_number(struct jsonw *j, uint64_t n)
{
	skep_jsonw_u64(j, n > INT64_MAX ? INT64_MAX : n); /* JSON readers disagree about larger numbers */
}

static void put_string(struct jsonw *j, const char *s)
{
	skep_jsonw_string(j, s, strlen(s));
}

static void put_list(struct jsonw *j, const char *const *list)
{
	jsonw_lit(j, "[");
	for (size_t i = 0; list && list[i]; i++) {
		if (i)
			jsonw_lit(j, ",");
		put_string(j, list[i]);
	}
	jsonw_lit(j, "]");
}

static void put_facets(struct jsonw *j, const struct lake_process *p)
{
	jsonw_lit(j, "{");
	for (size_t i = 0; i < p->n_facets; i++) {
		if (i)
			jsonw_lit(j, ",");
		put_string(j, p->facets[i].name);
		jsonw_lit(j, ":");
		skep_jsonw_f64(j, p->facets[i].value);
	}
	jsonw_lit(j, "}");
}

static bool is_known(const struct export_column *c, const void *row, const void *at)
{
	switch (c->type) {
	case EXPORT_TEXT:
		return *(const char *const *)at && **(const char *const *)at;
	case EXPORT_KNOWN:
	case EXPORT_TIME:
		return *(const uint64_t *)at != 0;
	case EXPORT_CODE:
		return *(const int64_t *)at >= 0;
	case EXPORT_REAL:
		return *(const double *)at != 0;
	case EXPORT_NET:
		return ((const struct lake_process *)row)->totals.net_known;
	case EXPORT_NUMBER:
	case EXPORT_SIGNED:
	case EXPORT_BOOL:
	case EXPORT_LIST:
	case EXPORT_FACETS:
	default:
		return true;
	}
}

bool export_value(const struct export_column *c, const void *row, const void **ret)
{
	*ret = export_at(c, row);
	return is_known(c, row, *ret);
}

static void put_value(struct jsonw *j, const struct export_column *c, const void *row)
{
	const void *at;

	if (!export_value(c, row, &at)) {
		jsonw_lit(j, "null");
		return;
	}
	switch (c->type) {
	case EXPORT_TEXT:
		put_string(j, *(const char *const *)at);
		break;
	case EXPORT_TIME:
		skep_jsonw_time(j, (int64_t)(*(const uint64_t *)at & INT64_MAX));
		break;
	case EXPORT_CODE:
	case EXPORT_SIGNED:
		skep_jsonw_i64(j, *(const int64_t *)at);
		break;
	case EXPORT_REAL:
		skep_jsonw_f64(j, *(const double *)at);
		break;
	case EXPORT_BOOL:
		if (*(const bool *)at)
			jsonw_lit(j, "true");
		else
			jsonw_lit(j, "false");
		break;
	case EXPORT_LIST:
		put_list(j, *(const char *const *const *)at);
		break;
	case EXPORT_FACETS:
		put_facets(j, row);
		break;
	case EXPORT_NUMBER:
	case EXPORT_KNOWN:
	case EXPORT_NET:
	default:
		put_number(j, *(const uint64_t *)at);
	}
}

/* ---- NDJSON ---------------------------------------------------------------------------- */

static void put_key(struct jsonw *j, const char *key)
{
	put_string(j, key);
	jsonw_lit(j, ":");
}

static void ndjson_row(struct export_writer *e, const struct export_kind *kind, const char *run, const void *row,
		       size_t following)
{
	struct jsonw *j = &e->text;
	const char *comma = "";

	jsonw_lit(j, "{");
	if (!e->kind) {
		put_key(j, "row");
		put_string(j, kind->name);
		comma = ",";
	}
	if (kind != &export_kinds[EXPORT_RUNS]) {
		skep_jsonw_raw(j, comma, strlen(comma));
		put_key(j, "run");
		put_string(j, run);
		comma = ",";
	} else if (!e->kind) {
		jsonw_lit(j, ",");
		put_key(j, "following");
		skep_jsonw_u64(j, following);
	}
	for (const struct export_column *c = kind->columns; c->name; c++) {
		skep_jsonw_raw(j, comma, strlen(comma));
		put_key(j, c->name);
		put_value(j, c, row);
		comma = ",";
	}
	jsonw_lit(j, "}\n");
}

/* ---- CSV (RFC 4180) -------------------------------------------------------------------- */

static void csv_clean(struct jsonw *j, const char *s, size_t n)
{
	char *to = n ? skep_jsonw_room(j, 3 * n) : NULL;

	if (to)
		j->len += skep_utf8_clean(s, n, to);
}

/* Quotes a text with a comma, a quote or the end of a line. */
static void csv_text(struct jsonw *j, const char *s, size_t n)
{
	const char *quote;

	if (!memchr(s, ',', n) && !memchr(s, '"', n) && !memchr(s, '\n', n) && !memchr(s, '\r', n)) {
		csv_clean(j, s, n);
		return;
	}
	jsonw_lit(j, "\"");
	for (; (quote = memchr(s, '"', n)); n -= (size_t)(quote - s) + 1, s = quote + 1) {
		csv_clean(j, s, (size_t)(quote - s));
		jsonw_lit(j, "\"\"");
	}
	csv_clean(j, s, n);
	jsonw_lit(j, "\"");
}

/* A null is empty; a list and facets are JSON. */
static void csv_value(struct export_writer *e, const struct export_column *c, const void *row)
{
	const void *at;

	if (!export_value(c, row, &at))
		return;
	if (c->type == EXPORT_TEXT) {
		csv_text(&e->text, *(const char *const *)at, strlen(*(const char *const *)at));
	} else if (c->type == EXPORT_LIST || c->type == EXPORT_FACETS) {
		skep_jsonw_reset(&e->cell);
		put_value(&e->cell, c, row);
		e->text.err = e->text.err ? e->text.err : e->cell.err;
		csv_text(&e->text, e->cell.len ? e->cell.buf : "", e->cell.len);
	} else if (c->type == EXPORT_TIME) {
		skep_jsonw_reset(&e->cell);
		put_value(&e->cell, c, row);
		e->text.err = e->text.err ? e->text.err : e->cell.err;
		if (e->cell.len > 2) /* without the quotes */
			skep_jsonw_raw(&e->text, e->cell.buf + 1, e->cell.len - 2);
	} else {
		put_value(&e->text, c, row);
	}
}

static void csv_head(struct export_writer *e)
{
	if (e->kind != &export_kinds[EXPORT_RUNS])
		jsonw_lit(&e->text, "run,");
	for (const struct export_column *c = e->kind->columns; c->name; c++) {
		skep_jsonw_raw(&e->text, c->name, strlen(c->name));
		skep_jsonw_raw(&e->text, c[1].name ? "," : "\n", 1);
	}
}

static void csv_row(struct export_writer *e, const char *run, const void *row)
{
	if (e->kind != &export_kinds[EXPORT_RUNS]) {
		csv_text(&e->text, run, strlen(run));
		jsonw_lit(&e->text, ",");
	}
	for (const struct export_column *c = e->kind->columns; c->name; c++) {
		csv_value(e, c, row);
		skep_jsonw_raw(&e->text, c[1].name ? "," : "\n", 1);
	}
}

/* ---- a file -------------------------------------------------------------------------------- */

int export_begin(struct export_writer *e)
{
	if (e->format == EXPORT_PARQUET)
		return export_parquet_begin(e);
	if (e->format == EXPORT_CSV)
		csv_head(e);
	return e->text.err;
}

int export_rows(struct export_writer *e, const struct export_kind *kind, const char *run, const void *rows, size_t n,
		size_t following)
{
	int err = 0;

	if (e->format == EXPORT_PARQUET)
		return export_parquet_rows(e, run, rows, n);
	for (size_t i = 0; i < n && !err; i++) {
		const void *row = (const char *)rows + i * kind->size;

		if (e->format == EXPORT_CSV)
			csv_row(e, run, row);
		else
			ndjson_row(e, kind, run, row, following);
		err = e->text.len > WRITE_SIZE ? write_out(e) : e->text.err;
	}
	return err;
}

int export_end(struct export_writer *e)
{
	int err = e->format == EXPORT_PARQUET ? export_parquet_end(e) : write_out(e);

	errno = 0;
	if (!err && fflush(e->out) != 0)
		err = errno ? -errno : -EIO;
	return err;
}

void export_free(struct export_writer *e)
{
	skep_jsonw_free(&e->text);
	skep_jsonw_free(&e->cell);
	e->parquet = parquet_free(e->parquet);
}
